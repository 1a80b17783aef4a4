"""A revision 2026-07-28 server on the Python SDK, over Streamable HTTP or standard input and output.

    python server.py [PORT]
    python server.py --stdio

Listens on 127.0.0.1 (a free port unless one is given) at /mcp and prints `listening PORT`.
Serves until its standard input closes, so it cannot outlive the process that started it.
What it offers: ../README.md.
"""

import os
import socket
import sys
import threading
from typing import Annotated, Any

import anyio
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resolve import Elicit, ListRoots, Resolve, Sample
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp_types import (
    CallToolResult,
    Completion,
    CreateMessageResult,
    ListRootsResult,
    SamplingMessage,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    TextContent,
)
from pydantic import BaseModel

STDIO = sys.argv[1:] == ["--stdio"]
NOTE = "peer://note"
NAMES = ["Ada", "Alan", "Grace"]


def say(line: str) -> None:
    print(line, file=sys.stderr if STDIO else sys.stdout, flush=True)


class Listening(ListenHandler):
    async def __call__(self, ctx: Any, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        try:
            return await super().__call__(ctx, params)
        except anyio.get_cancelled_exc_class():
            say("closed")
            raise


bus = InMemorySubscriptionBus()
listening = Listening(bus)
server = MCPServer("python-peer", version="2.3.0", subscriptions=bus)
# The SDK's own handler cannot be reached, to end subscriptions with.
server._lowlevel_server.add_request_handler("subscriptions/listen", SubscriptionsListenRequestParams, listening)


@server.tool(description="Says it back.", structured_output=False)
async def echo(text: str) -> str:
    return text


@server.tool(description="Always fails.", structured_output=False)
async def fail() -> CallToolResult:
    # A raised ToolError would get a prefix of the SDK's own.
    return CallToolResult(content=[TextContent(type="text", text="failed on purpose")], is_error=True)


@server.tool(description="Reports each step.", structured_output=False)
async def progress(steps: int, ctx: Context) -> str:
    for step in range(1, steps + 1):
        await ctx.report_progress(step, steps)
    return "done"


@server.tool(description="Waits.", structured_output=False)
async def slow(ms: int, ctx: Context) -> str:
    await ctx.report_progress(0, ms)
    try:
        await anyio.sleep(ms / 1000)
    except anyio.get_cancelled_exc_class():
        say("cancelled")
        raise
    return "slept"


class Name(BaseModel):
    name: str


class Colour(BaseModel):
    colour: str


async def who() -> Elicit[Name]:
    return Elicit("Who are you?", Name)


async def which(name: Annotated[Name, Resolve(who)]) -> Elicit[Colour]:
    return Elicit("Which colour?", Colour)


@server.tool(description="Asks twice.", structured_output=False)
async def ask(name: Annotated[Name, Resolve(who)], colour: Annotated[Colour, Resolve(which)]) -> str:
    return f"{name.name} likes {colour.colour}"


async def two_and_two() -> Sample:
    return Sample([SamplingMessage(role="user", content=TextContent(type="text", text="Two and two?"))], max_tokens=10)


@server.tool(description="Asks the model.", structured_output=False)
async def sample(said: Annotated[CreateMessageResult, Resolve(two_and_two)]) -> str:
    return said.content.text


async def where() -> ListRoots:
    return ListRoots()


@server.tool(description="Asks where it may work.", structured_output=False)
async def roots(found: Annotated[ListRootsResult, Resolve(where)]) -> str:
    return ",".join(str(root.uri) for root in found.roots)


@server.tool(description="Says that something has changed.", structured_output=False)
async def change(ctx: Context) -> str:
    await ctx.notify_tools_changed()
    await ctx.notify_resource_updated(NOTE)
    return "changed"


@server.tool(description="Ends every subscription.", structured_output=False)
async def end() -> str:
    listening.close()
    return "ended"


@server.prompt(description="Greets.")
async def greet(name: str) -> str:
    return f"Hello, {name}!"


@server.completion()
async def complete(ref: Any, argument: Any, context: Any) -> Completion:
    return Completion(values=[name for name in NAMES if name.startswith(argument.value)])


@server.resource(NOTE, description="A note.", mime_type="text/plain")
async def note() -> str:
    return "a note"


def exit_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def main() -> None:
    if STDIO:
        return server.run("stdio")
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0))
    threading.Thread(target=exit_with_parent, daemon=True).start()
    # The listener accepts from here on, so a client that comes before uvicorn is ready just waits.
    say(f"listening {listener.getsockname()[1]}")
    app = server.streamable_http_app()
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


main()
