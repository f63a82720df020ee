"""An authorization server on loopback, of authlib: registration, authorization code with PKCE, client credentials, and
access tokens that are JWTs (RFC 9068). Its user agrees to everything.
"""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any, ClassVar

import uvicorn
from authlib.oauth2 import AuthorizationServer as Core
from authlib.oauth2.rfc6749 import ClientMixin, JsonPayload, JsonRequest, OAuth2Request, scope_to_list
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant, ClientCredentialsGrant
from authlib.oauth2.rfc6749.requests import BasicOAuth2Payload
from authlib.oauth2.rfc7591 import ClientRegistrationEndpoint
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc9068 import JWTBearerTokenGenerator
from joserfc.jwk import ECKey, KeySet, RSAKey
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from nexus_mcp.web.listening import bind

if TYPE_CHECKING:
    from starlette.requests import Request

SCOPES = ["nexus:read", "nexus:write", "nexus:close"]
USER = "alice@example.org"
Key = RSAKey | ECKey


def rsa(name: str) -> Key:
    return RSAKey.generate_key(2048, {"kid": name, "use": "sig", "alg": "RS256"})


def ec(name: str) -> Key:
    return ECKey.generate_key("P-256", {"kid": name, "use": "sig", "alg": "ES256"})


class Client(ClientMixin):  # type: ignore[misc]
    """A registered client; `data` is what it registered, and `granted` the scopes that it may have."""

    def __init__(self, data: dict[str, Any], granted: set[str]) -> None:
        self.data = data
        self.granted = granted
        self.client_id = data["client_id"]

    def get_client_id(self) -> str:
        return str(self.client_id)

    def get_default_redirect_uri(self) -> str:
        return str(self.data["redirect_uris"][0])

    def get_allowed_scope(self, scope: str | None) -> str:
        return " ".join(one for one in scope_to_list(scope) or [] if one in self.granted)

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return bool(redirect_uri in self.data["redirect_uris"])

    def check_client_secret(self, client_secret: str) -> bool:
        return bool(client_secret == self.data["client_secret"])

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return bool(method == self.data["token_endpoint_auth_method"])

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return bool(grant_type in self.data["grant_types"])


class User:
    def get_user_id(self) -> str:
        return USER


class Code:
    """An authorization code that was issued."""

    def __init__(self, code: str, request: Any) -> None:
        data = request.payload.data
        self.code = code
        self.client_id = request.client.client_id
        self.redirect_uri = data.get("redirect_uri")
        self.scope = request.scope
        self.resource = data.get("resource")
        self.code_challenge = data.get("code_challenge")
        self.code_challenge_method = data.get("code_challenge_method")

    def get_redirect_uri(self) -> Any:
        return self.redirect_uri

    def get_scope(self) -> Any:
        return self.scope


class CodeGrant(AuthorizationCodeGrant):  # type: ignore[misc]
    TOKEN_ENDPOINT_AUTH_METHODS: ClassVar = ["none", "client_secret_basic", "client_secret_post"]

    def save_authorization_code(self, code: str, request: Any) -> None:
        self.server.codes[code] = Code(code, request)

    def query_authorization_code(self, code: str, client: Client) -> Code | None:
        found: Code | None = self.server.codes.get(code)
        return found if found is not None and found.client_id == client.client_id else None

    def delete_authorization_code(self, authorization_code: Code) -> None:
        del self.server.codes[authorization_code.code]

    def authenticate_user(self, authorization_code: Code) -> User:
        self.server.resource = authorization_code.resource
        return User()


class Registration(ClientRegistrationEndpoint):  # type: ignore[misc]
    def authenticate_token(self, request: Any) -> str:
        return "anybody may register"

    def get_server_metadata(self) -> Any:
        return self.server.metadata

    def save_client(self, client_info: Any, client_metadata: Any, request: Any) -> Client:
        return self.server.add_client({**client_metadata, **client_info})  # type: ignore[no-any-return]


class Tokens(JWTBearerTokenGenerator):  # type: ignore[misc]
    """Signs with the newest key. The audience is the resource of the request."""

    def __init__(self, server: AuthorizationServer) -> None:
        super().__init__(issuer=server.issuer)
        self._server = server

    def access_token_generator(self, **asked: Any) -> Any:
        self.alg = self._server.keys[-1].as_dict()["alg"]
        return super().access_token_generator(**asked)

    def get_jwks(self) -> KeySet:
        return KeySet([self._server.keys[-1]])

    def get_audiences(self, client: Client, user: Any, scope: str) -> Any:
        return self._server.resource or super().get_audiences(client, user, scope)

    def get_extra_claims(self, client: Client, grant_type: str, user: Any, scope: str) -> dict[str, Any]:
        return self._server.extra


class Payload(JsonPayload):  # type: ignore[misc]
    def __init__(self, data: Any) -> None:
        self._data = data

    @property
    def data(self) -> Any:
        return self._data


class Form(OAuth2Request):  # type: ignore[misc]
    """A request whose form or query was read already."""

    def __init__(self, request: Request, values: dict[str, str]) -> None:
        super().__init__(request.method, str(request.url), headers=request.headers)
        self.payload = BasicOAuth2Payload(values)
        self._values = values

    @property
    def form(self) -> dict[str, str]:
        return self._values if self.method == "POST" else {}

    @property
    def args(self) -> dict[str, str]:
        return self._values if self.method == "GET" else {}


class AuthorizationServer(Core):  # type: ignore[misc]
    """The server. `keys` are published; the newest one signs. `fetches` counts how often they were fetched."""

    def __init__(self, issuer: str, keys: list[Key]) -> None:
        super().__init__(scopes_supported=SCOPES)
        self.issuer = issuer
        self.keys = keys
        self.codes: dict[str, Code] = {}
        self.clients: dict[str, Client] = {}
        self.resource: str | None = None
        self.extra: dict[str, Any] = {}
        self.granted = set(SCOPES)
        self.fetches = 0
        self.is_down = False
        self.paths: list[str] = []
        self.metadata = {
            "issuer": issuer,
            "authorization_endpoint": f"{issuer}/authorize",
            "token_endpoint": f"{issuer}/token",
            "registration_endpoint": f"{issuer}/register",
            "jwks_uri": f"{issuer}/jwks",
            "scopes_supported": SCOPES,
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "client_credentials"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic", "client_secret_post"],
        }
        self.register_grant(CodeGrant, [CodeChallenge(required=True)])
        self.register_grant(ClientCredentialsGrant)
        self.register_endpoint(Registration)
        self.register_token_generator("default", Tokens(self))
        routes = [
            Route("/.well-known/oauth-authorization-server", self._describe),
            Route("/jwks", self._jwks),
            Route("/authorize", self._authorize),
            Route("/token", self._token, methods=["POST"]),
            Route("/register", self._register, methods=["POST"]),
        ]
        self.app = Starlette(routes=routes)

    def add_client(self, data: dict[str, Any]) -> Client:
        client = self.clients[data["client_id"]] = Client(data, self.granted)
        return client

    def query_client(self, client_id: str) -> Client | None:
        return self.clients.get(client_id)

    def save_token(self, token: Any, request: Any) -> None:
        """Store no access tokens: their signature makes them valid."""

    def send_signal(self, name: str, *args: Any, **kwargs: Any) -> None:
        """Send no signal: the tests need none."""

    def create_oauth2_request(self, request: Any) -> Form:
        return request  # type: ignore[no-any-return]

    def create_json_request(self, request: Any) -> Any:
        return request

    def handle_response(self, status: int, body: Any, headers: Any) -> Response:
        text = json.dumps(body) if isinstance(body, dict) else body
        return Response(text, status, dict(headers))

    async def _describe(self, request: Request) -> Response:
        self.paths.append(request.url.path)
        return JSONResponse(self.metadata)

    async def _jwks(self, request: Request) -> Response:
        self.fetches += 1
        if self.is_down:
            return Response("down", 500)
        return JSONResponse({"keys": [key.as_dict(private=False) for key in self.keys]})

    async def _authorize(self, request: Request) -> Response:
        form = Form(request, dict(request.query_params))
        grant = self.get_consent_grant(form, end_user=User())
        return self.create_authorization_response(form, grant_user=User(), grant=grant)  # type: ignore[no-any-return]

    async def _token(self, request: Request) -> Response:
        values = {name: str(value) for name, value in (await request.form()).items()}
        self.resource = values.get("resource")
        return self.create_token_response(Form(request, values))  # type: ignore[no-any-return]

    async def _register(self, request: Request) -> Response:
        asked = JsonRequest(request.method, str(request.url), request.headers)
        asked.payload = Payload(await request.json())
        return self.create_endpoint_response("client_registration", asked)  # type: ignore[no-any-return]


class Running:
    """A server in a thread, on a free port of loopback, over TLS with a certificate and its key."""

    def __init__(self, make: Any, certificate: tuple[str, str] | None = None) -> None:
        self._listener = bind("127.0.0.1", 0, holder="another server", next_step="")
        scheme = "https" if certificate else "http"
        self.url = f"{scheme}://127.0.0.1:{self._listener.getsockname()[1]}"
        self.server = make(self.url)
        app = getattr(self.server, "app", self.server)
        files = {"ssl_certfile": certificate[0], "ssl_keyfile": certificate[1]} if certificate else {}
        config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off", ws="none", **files)  # type: ignore[arg-type]
        self._uvicorn = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._uvicorn.run, kwargs={"sockets": [self._listener]})

    def __enter__(self) -> Any:
        self._thread.start()
        return self.server

    def __exit__(self, *error: object) -> None:
        self._uvicorn.should_exit = self._uvicorn.force_exit = True
        self._thread.join()
        self._listener.close()
