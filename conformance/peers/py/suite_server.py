"""A revision 2026-07-28 server on the Python SDK, with what our suite looks for (../../suite/README.md).

    python suite_server.py [PORT]
    python suite_server.py --stdio

Listens on 127.0.0.1 (a free port unless one is given) at /mcp and prints `listening PORT`.
Serves until its standard input closes, so it cannot outlive the process that started it.
"""

import json
import os
import socket
import sys
import threading
from base64 import b64decode
from typing import Annotated, Any

import anyio
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp.shared.exceptions import MCPError
from mcp_types import (
    AudioContent,
    CallToolResult,
    Completion,
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    EmbeddedResource,
    ImageContent,
    InputRequiredResult,
    ListRootsRequest,
    SamplingMessage,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
    ToolResultContent,
)
from pydantic import BaseModel, Field

STDIO = sys.argv[1:] == ["--stdio"]
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNkAAAAAgABTXhnpwAAAABJRU5ErkJggg=="
WAV = "UklGRigAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQQAAACAgICA"

server = MCPServer("python-suite", version="2.3.0")
running = 0


def tool(name: str, **options: Any) -> Any:
    return server.tool(name=name, description="Does what its name says.", structured_output=False, **options)


def embedded(uri: str) -> EmbeddedResource:
    text = "This is an embedded resource content."
    return EmbeddedResource(type="resource", resource=TextResourceContents(uri=uri, mime_type="text/plain", text=text))


@tool("test_simple_text", annotations=ToolAnnotations(read_only_hint=True))
async def simple_text() -> str:
    return "This is a simple text response for testing."


@tool("test_image_content")
async def image_content() -> ImageContent:
    return ImageContent(type="image", data=PNG, mime_type="image/png")


@tool("test_audio_content")
async def audio_content() -> AudioContent:
    return AudioContent(type="audio", data=WAV, mime_type="audio/wav")


@tool("test_embedded_resource")
async def embedded_resource() -> EmbeddedResource:
    return embedded("test://embedded-resource")


@tool("test_error_handling")
async def error_handling() -> str:
    raise ValueError("This tool intentionally returns an error for testing")


class Number(BaseModel):
    n: int


@server.tool(name="test_structured_output", description="Returns a number.")
async def structured() -> Number:
    return Number(n=1)


@tool("test_tool_with_progress")
async def with_progress(ctx: Context) -> str:
    for done in (0, 50, 100):
        await ctx.report_progress(done, 100)
        await anyio.sleep(0.05)
    return "Done in three steps."


@tool("test_logging_tool")
async def logging(ctx: Context) -> str:
    await ctx.info("The tool was called.")
    return "Logged."


@tool("test_slow")
async def slow(ms: int) -> str:
    global running
    running += 1
    try:
        await anyio.sleep(ms / 1000)
    finally:
        running -= 1
    return "Done."


@tool("test_slow_running")
async def slow_running() -> str:
    return str(running)


def mirrored(name: str) -> Any:
    return Field(json_schema_extra={"x-mcp-header": name})


@tool("test_custom_header")
async def custom_header(
    value: Annotated[str, mirrored("Value")],
    count: Annotated[int, mirrored("Count")] = 0,
    flag: Annotated[bool, mirrored("Flag")] = False,
) -> str:
    return f"{value}, {count}, {flag}"


# What asks the client.


def form(message: str, **properties: str) -> ElicitRequest:
    schema = {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in properties.items()},
        "required": list(properties),
    }
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def question(text: str, max_tokens: int) -> CreateMessageRequest:
    return sampling([SamplingMessage(role="user", content=TextContent(type="text", text=text))], max_tokens=max_tokens)


def sampling(messages: list[SamplingMessage], **params: Any) -> CreateMessageRequest:
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=messages, **params))


def asks(ctx: Context, key: str, request: Any, state: str | None = None) -> InputRequiredResult:
    return asks_all(ctx, {key: request}, state)


def asks_all(ctx: Context, requests: dict[str, Any], state: str | None = None) -> InputRequiredResult:
    """What a handler asks by hand, the SDK does not hold against what the client declared."""
    for request in requests.values():
        needs(ctx, lacking(ctx, request))
    return InputRequiredResult(input_requests=requests, request_state=state)


def lacking(ctx: Context, request: Any) -> dict[str, Any] | None:
    declared = ctx.client_capabilities
    elicitation, sampling, roots = (getattr(declared, name, None) for name in ("elicitation", "sampling", "roots"))
    match request:
        case ListRootsRequest():
            return None if roots is not None else {"roots": {}}
        case CreateMessageRequest():
            if request.params.tools is not None:
                return None if getattr(sampling, "tools", None) is not None else {"sampling": {"tools": {}}}
            return None if sampling is not None else {"sampling": {}}
        case ElicitRequest(params=ElicitRequestURLParams()):
            return None if getattr(elicitation, "url", None) is not None else {"elicitation": {"url": {}}}
    # A client that names no mode has forms.
    has_forms = elicitation is not None and (elicitation.form is not None or elicitation.url is None)
    return None if has_forms else {"elicitation": {"form": {}}}


def needs(ctx: Context, lacks: dict[str, Any] | None) -> None:
    if lacks is not None:
        raise MCPError(-32021, "The client lacks a capability", {"requiredCapabilities": lacks})


def given(ctx: Context, key: str) -> Any:
    return (ctx.input_responses or {}).get(key)


def content(response: Any, member: str) -> str:
    return str((response.content or {}).get(member))


@tool("test_input_required_result_elicitation")
async def elicitation(ctx: Context) -> str | InputRequiredResult:
    said = given(ctx, "user_name")
    if said is None:
        return asks(ctx, "user_name", form("What is your name?", name="string"))
    return f"Hello, {content(said, 'name')}!" if said.action == "accept" else "Hello!"


@tool("test_streaming_elicitation")
async def streaming_elicitation(ctx: Context) -> str | InputRequiredResult:
    return await elicitation(ctx)


@tool("test_input_required_result_sampling")
async def sample(ctx: Context) -> str | InputRequiredResult:
    said = given(ctx, "capital_question")
    return asks(ctx, "capital_question", question("What is the capital of France?", 100)) if said is None else said.content.text


@tool("test_input_required_result_list_roots")
async def list_roots(ctx: Context) -> str | InputRequiredResult:
    found = given(ctx, "client_roots")
    return asks(ctx, "client_roots", ListRootsRequest()) if found is None else ", ".join(str(root.uri) for root in found.roots)


async def with_state(ctx: Context) -> str | InputRequiredResult:
    if given(ctx, "confirm") is not None and ctx.request_state == "state-ok":
        return "state-ok, confirmed"
    return asks(ctx, "confirm", form("Go on?", ok="boolean"), "state-ok")


tool("test_input_required_result_request_state")(with_state)
tool("test_input_required_result_tampered_state")(with_state)


@tool("test_input_required_result_multiple_inputs")
async def multiple_inputs(ctx: Context) -> str | InputRequiredResult:
    requests = {
        "user_name": form("What is your name?", name="string"),
        "greeting": question("Greet somebody.", 50),
        "client_roots": ListRootsRequest(),
    }
    if all(given(ctx, key) is not None for key in requests):
        return "state-ok"
    return asks_all(ctx, requests, "state-ok")


@tool("test_input_required_result_multi_round")
async def multi_round(ctx: Context) -> str | InputRequiredResult:
    state = json.loads(ctx.request_state or "{}")
    first, second = given(ctx, "step1"), given(ctx, "step2")
    name = state.get("name") or (content(first, "name") if first is not None else None)
    if name is None:
        return asks(ctx, "step1", form("First, your name?", name="string"), "{}")
    if second is None:
        return asks(ctx, "step2", form("And your favourite colour?", color="string"), json.dumps({"name": name}))
    return f"{name} likes {content(second, 'color')}"


@tool("test_input_required_result_capabilities")
async def capabilities(ctx: Context) -> str | InputRequiredResult:
    declared = ctx.client_capabilities
    return await elicitation(ctx) if declared is not None and declared.elicitation is not None else await sample(ctx)


@tool("test_url_elicitation")
async def visit(ctx: Context) -> str | InputRequiredResult:
    said = given(ctx, "visit")
    if said is None:
        params = ElicitRequestURLParams(message="Please visit this page.", url="https://example.com/visit")
        return asks(ctx, "visit", ElicitRequest(params=params), "waiting")
    return "Visited." if said.action == "accept" else "Not visited."


# Two messages for each time that the model may use the tool.
TURNS = 8
MESSAGES = [SamplingMessage(role="user", content=TextContent(type="text", text="How is the weather in Paris?"))]
GET_WEATHER = Tool(
    name="get_weather",
    input_schema={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


@tool("test_sampling_with_tools")
async def weather(ctx: Context) -> str | InputRequiredResult:
    # The conversation so far travels in the state.
    sofar = [SamplingMessage.model_validate(it) for it in json.loads(ctx.request_state or "[]")] or list(MESSAGES)
    said = given(ctx, "weather")
    if said is not None:
        blocks = said.content if isinstance(said.content, list) else [said.content]
        uses = [block for block in blocks if block.type == "tool_use"]
        if not uses or len(sofar) > TURNS:
            return getattr(blocks[0], "text", "The model would not stop.")
        rain = [TextContent(type="text", text="Rain.")]
        results = [ToolResultContent(type="tool_result", tool_use_id=use.id, content=rain) for use in uses]
        sofar += [SamplingMessage(role="assistant", content=said.content), SamplingMessage(role="user", content=results)]
    state = json.dumps([message.model_dump(mode="json", by_alias=True, exclude_none=True) for message in sofar])
    return asks(ctx, "weather", sampling(sofar, max_tokens=1000, tools=[GET_WEATHER]), state)


@tool("test_missing_capability")
async def missing_capability(ctx: Context) -> str:
    needs(ctx, lacking(ctx, question("Nobody is asked.", 1)))
    return "This is a simple text response for testing."


# What changes.


@tool("test_trigger_tool_change")
async def tool_change(ctx: Context) -> str:
    await ctx.notify_tools_changed()
    return "Notified."


@tool("test_trigger_prompt_change")
async def prompt_change(ctx: Context) -> str:
    await ctx.notify_prompts_changed()
    return "Notified."


@tool("test_trigger_resource_change")
async def resource_change(ctx: Context) -> str:
    await ctx.notify_resources_changed()
    return "Notified."


@tool("test_trigger_resource_update")
async def resource_update(uri: str, ctx: Context) -> str:
    await ctx.notify_resource_updated(uri)
    return "Notified."


# Prompts.


def prompt(name: str) -> Any:
    return server.prompt(name=name, description="A prompt.")


@prompt("test_simple_prompt")
async def simple_prompt() -> str:
    return "This is a simple prompt for testing."


@prompt("test_prompt_with_arguments")
async def with_arguments(arg1: str, arg2: str) -> str:
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@prompt("test_prompt_with_embedded_resource")
async def with_resource(resourceUri: str) -> list[UserMessage]:
    return [UserMessage(embedded(resourceUri))]


@prompt("test_prompt_with_image")
async def with_image() -> list[UserMessage]:
    return [UserMessage(ImageContent(type="image", data=PNG, mime_type="image/png"))]


@prompt("test_prompt_with_audio")
async def with_audio() -> list[UserMessage]:
    return [UserMessage(AudioContent(type="audio", data=WAV, mime_type="audio/wav"))]


@prompt("test_prompt_with_completions")
async def with_completions(item: str) -> str:
    return f"The item is {item}."


@prompt("test_failing_prompt")
async def failing_prompt() -> str:
    raise OSError("the disk is on fire")


@prompt("test_input_required_result_prompt")
async def asking_prompt(ctx: Context) -> str | InputRequiredResult:
    said = given(ctx, "user_context")
    if said is None:
        return asks(ctx, "user_context", form("What is this about?", context="string"))
    return f"Please say something about {content(said, 'context')}."


@server.completion()
async def complete(ref: Any, argument: Any, context: Any) -> Completion:
    items = [f"item-{number:03}" for number in range(1, 151)]
    known = items if getattr(ref, "name", None) == "test_prompt_with_completions" else ["testing", "testbed", "hello"]
    found = [value for value in known if value.startswith(argument.value)]
    return Completion(values=found[:100], total=len(found), has_more=len(found) > 100)


# Resources.


@server.resource("test://static-text", name="static-text", mime_type="text/plain")
async def static_text() -> str:
    return "This is the content of the static text resource."


@server.resource("test://static-binary", name="static-binary", mime_type="image/png")
async def static_binary() -> bytes:
    return b64decode(PNG)


@server.resource("file:///everything/readme.txt", name="readme.txt", mime_type="text/plain")
async def readme() -> str:
    return "Read me."


@server.resource("test://failing-resource", name="failing-resource", mime_type="text/plain")
async def failing_resource() -> str:
    raise OSError("the disk is on fire")


@server.resource("test://template/{id}/data", name="template", mime_type="application/json")
async def template(id: str) -> str:
    return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


def exit_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def main() -> None:
    if STDIO:
        return server.run("stdio")
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0))
    threading.Thread(target=exit_with_parent, daemon=True).start()
    # The listener accepts from here on, so a client that comes before uvicorn is ready just waits.
    print(f"listening {listener.getsockname()[1]}", flush=True)
    app = server.streamable_http_app()
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


main()
