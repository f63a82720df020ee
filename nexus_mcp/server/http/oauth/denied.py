"""The errors for access tokens that are not accepted."""

from __future__ import annotations


class Denied(Exception):
    """A token that is refused. `text` says why; `kind` is a word for the check that failed: "scope" if the token has
    none of our scopes, "clock" if a wrong clock can be the reason, "" if no signature was verified.
    """

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text


class Unavailable(Exception):
    """The keys of the issuer are not available now, so none of its tokens is accepted."""
