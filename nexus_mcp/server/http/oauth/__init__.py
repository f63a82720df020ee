"""OAuth 2.1 for a server over HTTP: it accepts the access tokens (JWTs) that an authorization server issues for it."""
