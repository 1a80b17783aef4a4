"""A revision 2026-07-28 server on the Python SDK, over Streamable HTTP or standard input and output.

    python server.py [PORT]
    python server.py --stdio

Listens on 127.0.0.1 (a free port unless one is given) at /mcp and prints `listening PORT`.
Serves until its standard input closes, so it cannot outlive the process that started it.
Tools: ../README.md.
"""

import os
import socket
import sys
import threading

import anyio
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import CallToolResult, TextContent

STDIO = sys.argv[1:] == ["--stdio"]
server = MCPServer("python-peer", version="2.3.0")


def say(line: str) -> None:
    print(line, file=sys.stderr if STDIO else sys.stdout, flush=True)


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
async def slow(ms: int) -> str:
    try:
        await anyio.sleep(ms / 1000)
    except anyio.get_cancelled_exc_class():
        say("cancelled")
        raise
    return "slept"


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
