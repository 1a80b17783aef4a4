"""A revision 2026-07-28 client on the Python SDK that goes through the steps of our suite (../../suite/README.md).

    MCP_CONFORMANCE_CONTEXT='{"steps": [...]}' MCP_CONFORMANCE_TRANSPORT=http python suite_client.py URL
    MCP_CONFORMANCE_CONTEXT='{"steps": [...]}' MCP_CONFORMANCE_TRANSPORT=stdio python suite_client.py COMMAND
"""

import json
import os
import sys
from contextlib import AsyncExitStack
from typing import Any

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CreateMessageResult,
    CreateMessageResultWithTools,
    ElicitRequestURLParams,
    ElicitResult,
    ErrorData,
    ListRootsResult,
    PromptReference,
    ResourceTemplateReference,
    Root,
    SamplingCapability,
    SamplingToolsCapability,
    TextContent,
    ToolUseContent,
)

TARGET = sys.argv[1]
STDIO = os.environ["MCP_CONFORMANCE_TRANSPORT"] == "stdio"
CONTEXT = json.loads(os.environ["MCP_CONFORMANCE_CONTEXT"])
ANSWERS = CONTEXT.get("answers", {})
CAPABILITIES = CONTEXT.get("capabilities", {"elicitation": {}, "sampling": {"tools": {}}, "roots": {}})
LOG_LEVEL = "io.modelcontextprotocol/logLevel"
LISTS = {
    "tools/list": ("list_tools", "tools"),
    "prompts/list": ("list_prompts", "prompts"),
    "resources/list": ("list_resources", "resources"),
    "resources/templates/list": ("list_resource_templates", "resource_templates"),
}

# What the step under way has heard, beside its own callbacks.
logged: list[list[Any]] = []


def dumped(it: Any) -> Any:
    return it.model_dump(mode="json", by_alias=True, exclude_none=True)


async def elicited(context: Any, params: Any) -> ElicitResult:
    given = ANSWERS.get("elicitation")
    if isinstance(params, ElicitRequestURLParams):
        return ElicitResult(action=given["action"] if given else "accept")
    if given:
        # An answer may be wrong on purpose; checks of the type are not what is looked for.
        return ElicitResult.model_construct(**given)
    fields = params.requested_schema.get("properties", {})
    return ElicitResult(action="accept", content={name: filled(field) for name, field in fields.items()})


def filled(field: dict[str, Any]) -> Any:
    if "default" in field:
        return field["default"]
    choices = field.get("enum") or [it["const"] for it in field.get("oneOf", [])]
    if choices:
        return choices[0]
    match field.get("type"):
        case "boolean":
            return True
        case "number" | "integer":
            return field.get("minimum", 1)
        case "array":
            items = field.get("items", {})
            known = items.get("enum") or [it["const"] for it in items.get("anyOf", [])]
            return known[: max(1, field.get("minItems", 0))]
    formats = {"email": "text@example.com", "uri": "https://example.com/", "date": "2026-07-28", "date-time": "2026-07-28T00:00:00Z"}
    text = formats.get(field.get("format", ""), "text").ljust(field.get("minLength", 0), "t")
    return text[: field.get("maxLength", len(text))]


async def said(context: Any, params: Any) -> CreateMessageResult | CreateMessageResultWithTools | ErrorData:
    if (params.tools or params.tool_choice) and "tools" not in CAPABILITIES["sampling"]:
        return ErrorData(code=-32602, message="tools were not declared")
    if params.tools and params.tool_choice and params.tool_choice.mode == "required":
        use = ToolUseContent(type="tool_use", id="use-1", name=params.tools[0].name, input={})
        return CreateMessageResultWithTools(role="assistant", content=use, model="none", stop_reason="toolUse")
    text = TextContent(type="text", text="text")
    return CreateMessageResult(role="assistant", content=text, model="none", stop_reason="endTurn")


async def roots(context: Any) -> ListRootsResult:
    return ListRootsResult(roots=[Root.model_validate(it) for it in ANSWERS.get("roots", [{"uri": "file:///root"}])])


async def on_log(params: Any) -> None:
    for log in logged:
        log.append(dumped(params))


def options() -> dict[str, Any]:
    """The SDK declares what it has a callback for; members below that are its own."""
    chosen: dict[str, Any] = {"logging_callback": on_log}
    if "elicitation" in CAPABILITIES:
        chosen["elicitation_callback"] = elicited
    if "sampling" in CAPABILITIES:
        chosen["sampling_callback"] = said
        if "tools" in CAPABILITIES["sampling"]:
            chosen["sampling_capabilities"] = SamplingCapability(tools=SamplingToolsCapability())
    if "roots" in CAPABILITIES:
        chosen["list_roots_callback"] = roots
    return chosen


class Clients:
    """A user is a client."""

    def __init__(self, stack: AsyncExitStack) -> None:
        self.stack = stack
        self.all: dict[str | None, Client] = {}

    async def of(self, token: str | None) -> Client:
        if token not in self.all:
            server: Any = StdioServerParameters(command="sh", args=["-c", TARGET], env=dict(os.environ)) if STDIO else TARGET
            if token is not None:
                http = create_mcp_http_client(headers={"Authorization": f"Bearer {token}"})
                server = streamable_http_client(TARGET, http_client=http)
            self.all[token] = await self.stack.enter_async_context(Client(server, **options()))
        return self.all[token]


async def call(client: Client, step: dict[str, Any], progress: list[Any]) -> Any:
    params = step.get("params", {})
    meta = {LOG_LEVEL: step["log"]} if "log" in step else None

    async def on_progress(value: float, total: float | None, message: str | None) -> None:
        known = {"progress": value, "total": total, "message": message}
        progress.append({name: it for name, it in known.items() if it is not None})

    match step["do"]:
        case "server/discover":
            return await client.session.discover()
        case "tools/call":
            callback = on_progress if step.get("progress") else None
            limit = step["timeout_ms"] / 1000 if "timeout_ms" in step else None
            return await client.call_tool(params["name"], params.get("arguments", {}), limit, callback, meta=meta)
        case "prompts/get":
            return await client.get_prompt(params["name"], params.get("arguments"), meta=meta)
        case "resources/read":
            return await client.read_resource(params["uri"], meta=meta)
        case "completion/complete":
            ref = params["ref"]
            kind = PromptReference if ref["type"] == "ref/prompt" else ResourceTemplateReference
            known = params.get("context", {}).get("arguments")
            return await client.complete(kind.model_validate(ref), params["argument"], known)
    if step["do"] not in LISTS:
        raise ValueError(f"{step['do']} is no step that this client knows")
    name, member = LISTS[step["do"]]
    page = await getattr(client, name)(cursor=params.get("cursor"), meta=meta)
    entries = list(getattr(page, member))
    while step.get("all") and page.next_cursor is not None:
        page = await getattr(client, name)(cursor=page.next_cursor, meta=meta)
        entries += getattr(page, member)
    return page.model_copy(update={member: entries, "next_cursor": None}) if step.get("all") else page


async def listen(client: Client, step: dict[str, Any]) -> dict[str, Any]:
    wanted = step.get("params", {}).get("notifications", {})
    kinds = {f"{what}_list_changed": wanted.get(f"{what}ListChanged", False) for what in ("tools", "prompts", "resources")}
    events: list[Any] = []
    end = "closed"
    async with client.listen(**kinds, resource_subscriptions=wanted.get("resourceSubscriptions", [])) as subscription:
        with anyio.move_on_after(step.get("ms", 2_000) / 1000):
            try:
                async for event in subscription:
                    events.append(named(event))
                    if len(events) == step.get("events"):
                        break
                else:
                    end = "graceful"
            except RuntimeError:
                end = "lost"
    return {"events": events, "end": end, "acknowledged": dumped(subscription.honored)}


def named(event: Any) -> dict[str, Any]:
    if hasattr(event, "uri"):
        return {"method": "notifications/resources/updated", "uri": event.uri}
    what = type(event).__name__.removesuffix("ListChanged").lower()
    return {"method": f"notifications/{what}/list_changed"}


async def take(clients: Clients, step: dict[str, Any]) -> dict[str, Any]:
    if step["do"] == "sleep":
        await anyio.sleep(step.get("ms", 0) / 1000)
        return {"result": {}}
    progress: list[Any] = []
    log: list[Any] = []
    logged.append(log)
    line: dict[str, Any]
    try:
        client = await clients.of(step.get("token"))
        if step["do"] == "subscriptions/listen":
            return await listen(client, step)
        line = {"error": {"message": "cancelled"}}
        # Only calls of tools have a timeout of their own, and none has a longest time.
        own = None if step["do"] == "tools/call" else step.get("timeout_ms")
        limit = step.get("cancel_ms", step.get("max_timeout_ms", own))
        with anyio.move_on_after(None if limit is None else limit / 1000):
            line = {"result": dumped(await call(client, step, progress))}
    except MCPError as error:
        line = {"error": {"message": str(error), "code": error.code}}
    except Exception as error:
        line = {"error": {"message": f"{type(error).__name__}: {error}"}}
    finally:
        logged.remove(log)
    return line | ({"progress": progress} if progress else {}) | ({"log": log} if log else {})


def say(number: int, line: dict[str, Any]) -> None:
    print(json.dumps({"step": number, **line}), flush=True)


async def main() -> None:
    with anyio.fail_after(150):
        async with AsyncExitStack() as stack:
            clients = Clients(stack)
            steps = list(enumerate(CONTEXT["steps"]))
            while steps:
                number, step = steps.pop(0)
                if step["do"] == "wait":
                    say(number, {"result": {}})
                    continue
                if not step.get("beside"):
                    say(number, await take(clients, step))
                    continue
                # A group ends where the next `wait` stands, or at the end. A client must not be entered within one.
                for _, other in [(number, step), *steps]:
                    if other["do"] not in ("sleep", "wait"):
                        await clients.of(other.get("token"))
                async with anyio.create_task_group() as tasks:

                    async def report(number: int = number, step: dict[str, Any] = step) -> None:
                        say(number, await take(clients, step))

                    tasks.start_soon(report)
                    while steps and steps[0][1]["do"] != "wait":
                        number, step = steps.pop(0)
                        if step.get("beside"):
                            tasks.start_soon(report, number, step)
                        else:
                            await report(number, step)


anyio.run(main)
