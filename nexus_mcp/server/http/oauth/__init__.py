"""OAuth 2.1 for a server over HTTP: accept the access tokens (JWTs) that an authorization server issues for it."""
