"""A revision 2026-07-28 client on the Python SDK, over Streamable HTTP or with a server that it starts.

    python client.py URL
    python client.py --stdio COMMAND [ARGUMENT]...

Goes through the steps of ../README.md and prints what it saw as one JSON object.
Exits 0 if it could run through, whatever the server answered.
"""

import json
import os
import signal
import sys
from typing import Any

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolResult,
    CreateMessageResult,
    ElicitResult,
    ListRootsResult,
    PromptReference,
    Root,
    TextContent,
)

VERSION = "2026-07-28"
NOTE = "peer://note"
TEXT = "Grüße, 世界 🦀\nline two"


def seen(result: CallToolResult) -> dict[str, Any]:
    return {"isError": bool(result.is_error), "text": ",".join(block.text for block in result.content)}


async def attempt(client: Client, name: str, arguments: dict[str, Any], **options: Any) -> dict[str, Any]:
    try:
        return seen(await client.call_tool(name, arguments, 10, **options))
    except MCPError as error:
        return {"error": {"code": error.code, "message": str(error)}}
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}"}


async def progress(client: Client) -> dict[str, Any]:
    values: list[float] = []

    async def on_progress(value: float, total: float | None, message: str | None) -> None:
        # The SDK makes every progress value a float; whole ones are reported as the integers they were.
        values.append(int(value) if value.is_integer() else value)

    result = await attempt(client, "progress", {"steps": 5}, progress_callback=on_progress)
    return {"values": values, **result}


async def cancel(client: Client) -> dict[str, Any]:
    with anyio.CancelScope() as scope:

        async def give_up(*progress: Any) -> None:
            # By now the server is at work on it.
            scope.cancel()

        return {"cancelled": False, **seen(await client.call_tool("slow", {"ms": 10_000}, 10, give_up))}
    return {"cancelled": scope.cancelled_caught}


ANSWERS = {"Who are you?": {"name": "Ada"}, "Which colour?": {"colour": "green"}}
asked: list[str] = []


async def fill_in(context: Any, form: Any) -> ElicitResult:
    asked.append(form.message)
    return ElicitResult(action="accept", content=ANSWERS[form.message])


async def think(context: Any, params: Any) -> CreateMessageResult:
    return CreateMessageResult(role="assistant", content=TextContent(type="text", text="four"), model="none")


async def show_roots(context: Any) -> ListRootsResult:
    return ListRootsResult(roots=[Root(uri="file:///work")])


HANDLERS = {"elicitation_callback": fill_in, "sampling_callback": think, "list_roots_callback": show_roots}


async def listen(client: Client) -> dict[str, Any]:
    heard = []
    async with client.listen(tools_list_changed=True, resource_subscriptions=[NOTE]) as subscription:
        await attempt(client, "change", {})
        async for event in subscription:
            heard.append({"ToolsListChanged": "tools"}.get(type(event).__name__) or event.uri)
            if len(heard) == 2:
                break
    granted = subscription.honored.model_dump(by_alias=True, exclude_none=True)
    return {"granted": granted, "heard": sorted(heard)}


async def end(client: Client) -> str:
    # After a call of a tool that it has not seen the SDK lists the tools, which would be too late.
    await client.list_tools()
    # A subscription that is lost raises an error instead.
    async with client.listen(tools_list_changed=True) as subscription, anyio.create_task_group() as tasks:
        tasks.start_soon(attempt, client, "end", {})
        async for event in subscription:
            return f"heard {event}"
    return "graceful"


async def kill(client: Client) -> dict[str, Any]:
    os.kill(int((await attempt(client, "pid", {}))["text"]), signal.SIGKILL)
    return {"died": "text" not in await attempt(client, "echo", {"text": "still here"})}


async def run(server: str | StdioServerParameters) -> dict[str, Any]:
    report = await steps(server)
    async with Client(server) as client:
        if isinstance(server, StdioServerParameters):
            report["restart"] |= await attempt(client, "echo", {"text": "still here"})
        report["end"] = await end(client)
    return report


async def steps(server: str | StdioServerParameters) -> dict[str, Any]:
    # A pinned mode would never send `server/discover`: probe instead, and refuse the fallback.
    async with Client(server, mode="auto", **HANDLERS) as client:
        if client.protocol_version != VERSION or (found := client.session.discover_result) is None:
            raise SystemExit(f"the server speaks {client.protocol_version}")
        report = {
            "client": "python",
            "discover": {
                "protocolVersion": client.protocol_version,
                "supportedVersions": found.supported_versions,
                "capabilities": sorted(found.capabilities.model_dump(exclude_none=True)),
                "server": client.server_info.name if client.server_info else None,
            },
            "list": [tool.name for tool in (await client.list_tools()).tools],
            "echo": await attempt(client, "echo", {"text": TEXT}),
            "fail": await attempt(client, "fail", {}),
            "unknown": await attempt(client, "no_such_tool", {}),
            "progress": await progress(client),
            "cancel": await cancel(client),
            "after": await attempt(client, "echo", {"text": "still here"}),
            "ask": await attempt(client, "ask", {}) | {"asked": asked},
            "sample": await attempt(client, "sample", {}),
            "roots": await attempt(client, "roots", {}),
            "prompt": [message.content.text for message in (await client.get_prompt("greet", {"name": "Ada"})).messages],
            "resource": [part.text for part in (await client.read_resource(NOTE)).contents],
            "complete": (await client.complete(PromptReference(name="greet"), {"name": "name", "value": "A"})).completion.values,
            "listen": await listen(client),
        }
        if isinstance(server, StdioServerParameters):
            report["restart"] = await kill(client)
        return report


async def main() -> None:
    with anyio.fail_after(25):
        match sys.argv[1:]:
            case ["--stdio", command, *args]:
                report = await run(StdioServerParameters(command=command, args=args))
            case [url]:
                report = await run(url)
        print(json.dumps(report, ensure_ascii=False))


anyio.run(main)
