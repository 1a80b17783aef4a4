"""A client on the Python SDK that signs in wherever a server asks for it, over Streamable HTTP.

    python signing_in_client.py [OPTION]... URL

Goes through the steps of ../README.md and prints what it saw as one JSON object, as client.py does. There is no
browser and no page: it follows the redirects of the authorization server by itself.
"""

import argparse
import json
from typing import Any
from urllib.parse import parse_qsl, urljoin, urlsplit

import anyio
import httpx2
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

VERSION = "2026-07-28"
# Nobody listens there.
REDIRECT = "http://127.0.0.1:33418/callback"

parser = argparse.ArgumentParser()
parser.add_argument("--again", type=float)
parser.add_argument("--client")
parser.add_argument("--document")
parser.add_argument("--issuer")
parser.add_argument("--machine")
parser.add_argument("--tool", action="append")
parser.add_argument("url")
options = parser.parse_args()
tools = options.tool or ["whoami", "write"]
client_id, _, client_secret = (options.client or options.machine or "").partition(":")


class Storage:
    """Keeps all in memory."""

    tokens: OAuthToken | None = None
    information: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.information

    async def set_client_info(self, information: OAuthClientInformationFull) -> None:
        self.information = information


class Browser:
    """Runs at once where the SDK wants the user."""

    def __init__(self) -> None:
        self.authorizations: list[dict[str, str | None]] = []
        self.http = httpx2.AsyncClient(headers={"accept": "text/html"})

    async def redirect(self, url: str) -> None:
        asked = dict(parse_qsl(urlsplit(url).query))
        self.authorizations.append({name: asked.get(name) for name in ("scope", "resource", "prompt")})
        for _ in range(20):
            if url.startswith(REDIRECT):
                self.brought = dict(parse_qsl(urlsplit(url).query))
                return
            page = await self.http.get(url)
            if "location" not in page.headers:
                raise RuntimeError(f"the browser is left with {page.status_code} {page.text}")
            url = urljoin(url, page.headers["location"])
        raise RuntimeError("the browser is sent around without end")

    async def callback(self) -> AuthorizationCodeResult:
        if "error" in self.brought:
            raise RuntimeError(f"{self.brought['error']}: {self.brought.get('error_description')}")
        return AuthorizationCodeResult.model_validate(self.brought)


storage = Storage()
browser = Browser()


def provider() -> OAuthClientProvider:
    if options.machine:
        return ClientCredentialsOAuthProvider(options.url, storage, client_id, client_secret, issuer=options.issuer)
    method = "client_secret_basic" if client_secret else "none"
    metadata = OAuthClientMetadata(client_name="python-peer", redirect_uris=[REDIRECT], token_endpoint_auth_method=method)
    if client_id:
        storage.information = OAuthClientInformationFull(
            client_id=client_id,
            client_secret=client_secret or None,
            redirect_uris=[REDIRECT],
            token_endpoint_auth_method=method,
            issuer=options.issuer,
        )
    return OAuthClientProvider(
        options.url, metadata, storage, browser.redirect, browser.callback, client_metadata_url=options.document
    )


def refused(error: BaseException) -> dict[str, str]:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return {"failed": f"{type(error).__name__}: {error}"}


async def attempt(client: Client, name: str) -> dict[str, Any]:
    try:
        result = await client.call_tool(name, {}, 10)
        return {"isError": bool(result.is_error), "text": ",".join(block.text for block in result.content)}
    except Exception as error:
        return refused(error)


async def steps(report: dict[str, Any]) -> None:
    async with create_mcp_http_client(auth=provider()) as http:
        async with Client(streamable_http_client(options.url, http_client=http), mode=VERSION) as client:
            report["list"] = [tool.name for tool in (await client.list_tools()).tools]
            report["connected"] = True
            report["calls"] = {name: await attempt(client, name) for name in tools}
            if options.again:
                await anyio.sleep(options.again)
                report["again"] = await attempt(client, tools[0])


async def main() -> None:
    report: dict[str, Any] = {"client": "python", "connected": False}
    with anyio.fail_after(25):
        try:
            await steps(report)
        except Exception as error:
            report["connected"] = refused(error)
    token: dict[str, Any] = {"refresh": False}
    if tokens := storage.tokens:
        token = {"tokenType": tokens.token_type, "scope": tokens.scope, "refresh": tokens.refresh_token is not None}
    print(json.dumps({**report, "authorizations": browser.authorizations, "token": token}, ensure_ascii=False))


anyio.run(main)
