"""Send spans and metrics to a collector by OpenTelemetry. This needs the extra `otel`."""
