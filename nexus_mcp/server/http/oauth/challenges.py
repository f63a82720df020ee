"""Write the WWW-Authenticate header of refusals (RFC 6750, RFC 9728)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nexus_mcp.server.http.oauth.resources import SCOPE, SCOPES

if TYPE_CHECKING:
    from nexus_mcp.server.http.oauth.resources import Resources


class Challenges:
    """The challenges of a server. With `resources` they have the URL of the metadata for OAuth clients."""

    def __init__(self, resources: Resources | None) -> None:
        self._resources = resources

    def unauthorized(self, project: str | None, error: str = "", description: str = "") -> dict[str, str]:
        """Return the header for a request without a valid token."""
        fields = {"error": error, "error_description": description}
        if self._resources is not None:
            fields |= {"resource_metadata": self._resources.metadata_url(project), "scope": " ".join(SCOPES)}
        return _header(fields)

    def forbidden(self, project: str | None, right: str = "") -> dict[str, str]:
        """Return the header for a token that lacks this right, or any right ("")."""
        fields = {"error": "insufficient_scope", "scope": SCOPE + right if right else " ".join(SCOPES)}
        if self._resources is not None:
            fields["resource_metadata"] = self._resources.metadata_url(project)
        return _header(fields)


def _header(fields: dict[str, str]) -> dict[str, str]:
    """Return the header. The values are ours: none of them has a quotation mark or a backslash."""
    text = ", ".join(f'{name}="{value}"' for name, value in fields.items() if value)
    return {"www-authenticate": f"Bearer {text}".strip()}
