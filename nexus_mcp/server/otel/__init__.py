"""Send spans and metrics to a collector by OpenTelemetry: needs the extra `otel`."""
