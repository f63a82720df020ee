"""The real clients, offline, with a scripted model: `make e2e` runs these tests, `make test` does not."""
