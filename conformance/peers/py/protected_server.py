"""A revision 2026-07-28 server on the Python SDK that wants an access token of an authorization server.

    python protected_server.py [--introspect ID:SECRET] [--scopes SCOPES] ISSUER [PORT]

Listens on 127.0.0.1 (a free port unless one is given) at /mcp and prints `listening PORT`, once it has the metadata
of ISSUER. Serves until its standard input closes. What it offers: ../README.md.
"""

import argparse
import os
import socket
import sys
import threading
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2
import jwt
import uvicorn
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.middleware.bearer_auth import RequireAuthMiddleware
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer
from starlette.middleware import Middleware

parser = argparse.ArgumentParser()
parser.add_argument("--introspect")
parser.add_argument("--scopes", default="mcp")
parser.add_argument("issuer")
parser.add_argument("port", nargs="?", type=int, default=0)
options = parser.parse_args()

issuer = urlsplit(options.issuer)
origin = f"{issuer.scheme}://{issuer.netloc}"
metadata = httpx2.get(f"{origin}/.well-known/oauth-authorization-server{issuer.path.rstrip('/')}").json()

listener = socket.create_server(("127.0.0.1", options.port))
port = listener.getsockname()[1]
resource = f"http://127.0.0.1:{port}/mcp"


class Verifier:
    """What the SDK leaves to others: to tell whether a token is good. It compares the resource itself."""

    keys = jwt.PyJWKClient(metadata["jwks_uri"])

    async def verify_token(self, token: str) -> AccessToken | None:
        claims = await (self.introspect(token) if options.introspect else anyio.to_thread.run_sync(self.verify, token))
        # This server would have to check the proof of possession as well.
        if claims is None or "cnf" in claims:
            return None
        return AccessToken(
            token=token,
            client_id=claims["client_id"],
            scopes=claims.get("scope", "").split(),
            expires_at=claims["exp"],
            resource=claims.get("aud"),
            subject=claims.get("sub"),
            claims=claims,
        )

    def verify(self, token: str) -> dict[str, Any] | None:
        try:
            key = self.keys.get_signing_key_from_jwt(token)
            return jwt.decode(token, key, ["ES256", "RS256"], audience=resource, issuer=options.issuer)
        except jwt.PyJWTError:
            return None

    async def introspect(self, token: str) -> dict[str, Any] | None:
        async with httpx2.AsyncClient(auth=tuple(options.introspect.split(":"))) as client:
            claims = (await client.post(metadata["introspection_endpoint"], data={"token": token})).json()
        return claims if claims["active"] else None


server = MCPServer(
    "python-protected",
    version="2.3.0",
    token_verifier=Verifier(),
    auth=AuthSettings(
        issuer_url=options.issuer,
        resource_server_url=resource,
        required_scopes=options.scopes.split(),
        validate_token_resource=True,
    ),
)


@server.tool(description="Says who calls.", structured_output=False)
async def whoami() -> str:
    token = get_access_token()
    return f"{token.subject} by {token.client_id}: {' '.join(token.scopes)}"


@server.tool(description="Needs files:write.", structured_output=False)
async def write() -> str:
    return "written"


class WriteNeedsScope:
    """The SDK knows scopes of the whole server only; what it has for those serves for one tool as well."""

    def __init__(self, app: Any) -> None:
        self.app = app
        document = f"http://127.0.0.1:{port}/.well-known/oauth-protected-resource/mcp"
        self.checked = RequireAuthMiddleware(app, [*options.scopes.split(), "files:write"], document)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope.get("headers", []))
        app = self.checked if headers.get(b"mcp-name") == b"write" else self.app
        await app(scope, receive, send)


def exit_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


threading.Thread(target=exit_with_parent, daemon=True).start()
app = server.streamable_http_app()
# Within the middleware that reads the token.
app.user_middleware.append(Middleware(WriteNeedsScope))
print(f"listening {port}", flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])
