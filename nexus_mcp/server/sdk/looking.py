"""Requests that only look (lookups.METHODS) as handlers of the SDK's low-level server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio.to_thread
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from nexus_mcp import log
from nexus_mcp.server.faults import Fault
from nexus_mcp.server.methods import MODERN_VERSION
from nexus_mcp.server.sdk.subscribing import as_error

if TYPE_CHECKING:
    from nexus_mcp.server.app import App
    from nexus_mcp.server.sdk.turns import Turns
    from nexus_mcp.server.stopping import Stop

Context = ServerRequestContext[Any]

PARAMS: dict[str, type[types.RequestParams]] = {
    "completion/complete": types.CompleteRequestParams,
    "prompts/get": types.GetPromptRequestParams,
    "prompts/list": types.PaginatedRequestParams,
    "resources/list": types.PaginatedRequestParams,
    "resources/read": types.ReadResourceRequestParams,
    "resources/templates/list": types.PaginatedRequestParams,
}


class Looking:
    """Each waits for its turn, as calls do, so that it sees what those before it did."""

    def __init__(self, app: App, turns: Turns, stop: Stop | None) -> None:
        self._app = app
        self._turns = turns
        self._stop = stop

    async def look(self, context: Context, _params: types.RequestParams) -> dict[str, Any]:
        client = context.session.client_params
        name = client.client_info.name if client else ""
        modern = context.protocol_version == MODERN_VERSION
        params = dict(context.params or {})
        await self._turns.begin()
        try:
            if self._stop is not None and self._stop.is_due():
                raise MCPError(types.CONNECTION_CLOSED, "Connection closed")
            shown = await anyio.to_thread.run_sync(
                lambda: self._app.look(context.method, params, name, modern=modern).result
            )
        except MCPError:
            raise
        except Fault as fault:
            raise as_error(fault) from None
        except Exception as error:  # noqa: BLE001 - a defect in one look must not end the others
            log.error(f"{context.method}: {type(error).__name__}: {error}")
            raise MCPError(types.INTERNAL_ERROR, "Internal server error") from None
        finally:
            self._turns.give_up()
        return {"resultType": "complete", **shown}
