"""Maps of other servers, the proxy that applies them, and docs/compared.md."""
