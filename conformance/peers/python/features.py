"""Tools, prompts and resources that the conformance suite asks for."""

import asyncio
import json
import re
from pathlib import Path

from mcp.server.subscriptions import PromptsListChanged, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, MISSING_REQUIRED_CLIENT_CAPABILITY
from mcp_types import CreateMessageRequestParams
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

CONTRACT = json.loads(Path(__file__).parent.parent.joinpath("contract.json").read_text())
PNG, WAV = CONTRACT["content"]["png"], CONTRACT["content"]["wav"]
IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}


def text(said):
    return {"type": "text", "text": said}


def embedded(uri, media_type, said):
    return {"type": "resource", "resource": {"uri": uri, "mimeType": media_type, "text": said}}


def content(*blocks):
    return {"content": list(blocks)}


def user(block):
    return {"role": "user", "content": block}


def question(asked):
    return {"messages": [user(text(asked))], "maxTokens": 100}


PLAIN = {
    "test_simple_text": content(text("This is a simple text response for testing.")),
    "test_image_content": content(IMAGE),
    "test_audio_content": content({"type": "audio", "data": WAV, "mimeType": "audio/wav"}),
    "test_embedded_resource": content(
        embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ),
    "test_multiple_content_types": content(
        text("Multiple content types test:"),
        IMAGE,
        embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ),
    "test_error_handling": {
        "isError": True,
        **content(text("This tool intentionally returns an error for testing")),
    },
    "json_schema_2020_12_tool": content(text("accepted")),
}


# Notifications on the stream of the request.


async def log(ctx, said):
    await ctx.session.send_log_message("info", said, related_request_id=ctx.request_id)


async def test_tool_with_progress(ctx, _arguments):
    for progress in (0, 50, 100):
        await ctx.session.report_progress(progress, 100)
        await asyncio.sleep(0.05)
    return content(text("done"))


async def test_tool_with_logging(ctx, _arguments):
    for step in ("started", "processing", "completed"):
        await log(ctx, f"Tool execution {step}")
        await asyncio.sleep(0.05)
    return content(text("logged"))


async def test_logging_tool(ctx, _arguments):
    await log(ctx, "called")
    return content(text("logged"))


async def test_streaming_elicitation(ctx, _arguments):
    await log(ctx, "streaming")
    return content(text("streamed"))


# Requests from server to client, which exist in sessions only.


async def ask(ctx, form):
    answer = await ctx.session.elicit_form(form["message"], form["schema"], ctx.request_id)
    return content(text(f"User response: action={answer.action}, content={json.dumps(answer.content)}"))


async def test_sampling(ctx, arguments):
    params = CreateMessageRequestParams.model_validate(question(arguments["prompt"]))
    answer = await ctx.session.create_message(
        params.messages, max_tokens=params.max_tokens, related_request_id=ctx.request_id
    )
    return content(text(f"LLM response: {answer.content.text}"))


async def test_elicitation(ctx, arguments):
    return await ask(ctx, CONTRACT["forms"]["user"] | {"message": arguments["message"]})


async def test_elicitation_sep1034_defaults(ctx, _arguments):
    return await ask(ctx, CONTRACT["forms"]["defaults"])


async def test_elicitation_sep1330_enums(ctx, _arguments):
    return await ask(ctx, CONTRACT["forms"]["choices"])


# Results that ask for input, and are sent again with it.


def form(kind):
    asked = CONTRACT["forms"][kind]
    params = {"mode": "form", "message": asked["message"], "requestedSchema": asked["schema"]}
    return {"method": "elicitation/create", "params": params}


def sample(kind):
    return {"method": "sampling/createMessage", "params": question(CONTRACT["sampling"][kind])}


ROOTS = {"method": "roots/list"}


def need(questions, state=None):
    result = {"resultType": "input_required", "inputRequests": questions}
    return result if state is None else result | {"requestState": json.dumps(state)}


def state_of(ctx):
    state = ctx.params.get("requestState")
    return None if state is None else json.loads(state)


def answer_of(ctx, key, member):
    answer = (ctx.params.get("inputResponses") or {}).get(key)
    return answer.get(member) if isinstance(answer, dict) else None


def accepted(ctx, key, member):
    given = answer_of(ctx, key, "content")
    return given.get(member) if isinstance(given, dict) and answer_of(ctx, key, "action") == "accept" else None


async def test_missing_capability(ctx, _arguments):
    declared = ctx.session.client_capabilities
    if declared is None or declared.sampling is None:
        data = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "the client does not sample", data)
    return content(text("the client samples"))


async def test_input_required_result_elicitation(ctx, _arguments):
    name = accepted(ctx, "user_name", "name")
    return need({"user_name": form("name")}) if name is None else content(text(f"Hello, {name}!"))


async def test_input_required_result_sampling(ctx, _arguments):
    answer = answer_of(ctx, "capital_question", "content")
    return need({"capital_question": sample("capital")}) if answer is None else content(answer)


async def test_input_required_result_list_roots(ctx, _arguments):
    roots = answer_of(ctx, "client_roots", "roots")
    return need({"client_roots": ROOTS}) if roots is None else content(text(json.dumps(roots)))


def confirmed(word):
    async def tool(ctx, _arguments):
        state = state_of(ctx)
        if state is None or accepted(ctx, "confirm", "ok") is None:
            return need({"confirm": form("confirm")}, {"word": word})
        return content(text(state["word"]))

    return tool


async def test_input_required_result_multiple_inputs(ctx, _arguments):
    name = accepted(ctx, "user_name", "name")
    greeting = answer_of(ctx, "greeting", "content")
    roots = answer_of(ctx, "client_roots", "roots")
    if None in (name, greeting, roots):
        questions = {"user_name": form("name"), "greeting": sample("greeting"), "client_roots": ROOTS}
        return need(questions, {"round": 1})
    return content(greeting, text(f"{name} has {len(roots)} roots"))


async def test_input_required_result_multi_round(ctx, _arguments):
    state = state_of(ctx)
    name, color = accepted(ctx, "step1", "name"), accepted(ctx, "step2", "color")
    if state is not None and "name" in state and color is not None:
        return content(text(f"{state['name']} likes {color}"))
    if state is not None and name is not None:
        return need({"step2": form("color")}, {"name": name})
    return need({"step1": form("name")}, {"round": 1})


async def test_input_required_result_capabilities(ctx, _arguments):
    declared = ctx.session.client_capabilities
    possible = {"elicitation": ("user_name", form("name")), "sampling": ("greeting", sample("greeting"))}
    possible["roots"] = ("client_roots", ROOTS)
    questions = dict(asked for kind, asked in possible.items() if getattr(declared, kind, None) is not None)
    is_answered = bool(ctx.params.get("inputResponses"))
    return content(text("asked enough")) if is_answered or not questions else need(questions)


async def test_input_required_result_prompt(ctx, _arguments):
    context = accepted(ctx, "user_context", "context")
    if context is None:
        return need({"user_context": form("context")})
    return {"messages": [user(text(f"It is about {context}"))]}


# Handlers of the methods.


def call_tool(bus):
    async def changed(ctx, event, tell_session):
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            await bus.publish(event)
        else:
            await tell_session()
        return content(text("changed"))

    async def test_trigger_tool_change(ctx, _arguments):
        return await changed(ctx, ToolsListChanged(), ctx.session.send_tool_list_changed)

    async def test_trigger_prompt_change(ctx, _arguments):
        return await changed(ctx, PromptsListChanged(), ctx.session.send_prompt_list_changed)

    tools = globals() | locals()
    tools["test_input_required_result_request_state"] = confirmed("state-ok")
    tools["test_input_required_result_tampered_state"] = confirmed("untampered")

    async def call(ctx, params):
        if params.name in PLAIN:
            return PLAIN[params.name]
        if not any(tool["name"] == params.name for tool in CONTRACT["tools"]):
            raise MCPError(INVALID_PARAMS, f"unknown tool {params.name}")
        return await tools[params.name](ctx, params.arguments or {})

    return call


async def list_tools(_ctx, _params):
    return {"tools": CONTRACT["tools"]}


async def list_prompts(_ctx, _params):
    return {"prompts": CONTRACT["prompts"]}


async def list_resources(_ctx, _params):
    return {"resources": CONTRACT["resources"]}


async def list_templates(_ctx, _params):
    return {"resourceTemplates": CONTRACT["templates"]}


async def get_prompt(ctx, params):
    given = params.arguments or {}
    match params.name:
        case "test_simple_prompt":
            messages = [text("This is a simple prompt for testing.")]
        case "test_prompt_with_arguments":
            messages = [text(f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'")]
        case "test_prompt_with_embedded_resource":
            shown = embedded(given.get("resourceUri"), "text/plain", "Embedded resource content for testing.")
            messages = [shown, text("Please process the embedded resource above.")]
        case "test_prompt_with_image":
            messages = [IMAGE, text("Please analyze the image above.")]
        case "test_input_required_result_prompt":
            return await test_input_required_result_prompt(ctx, given)
        case name:
            raise MCPError(INVALID_PARAMS, f"unknown prompt {name}")
    return {"messages": [user(block) for block in messages]}


async def read_resource(_ctx, params):
    uri = str(params.uri)
    template = re.fullmatch(r"test://template/([^/]+)/data", uri)
    if template:
        data = json.dumps({"id": template[1], "data": f"Data for {template[1]}"})
        return {"contents": [{"uri": uri, "mimeType": "application/json", "text": data}]}
    match uri:
        case "test://static-text":
            found = {"mimeType": "text/plain", "text": "This is the content of the static text resource."}
        case "test://static-binary":
            found = {"mimeType": "image/png", "blob": PNG}
        case "test://watched-resource":
            found = {"mimeType": "text/plain", "text": "This is the content of the watched resource."}
        case _:
            raise MCPError(INVALID_PARAMS, f"unknown resource {uri}", {"uri": uri})
    return {"contents": [{"uri": uri, **found}]}


async def complete(_ctx, _params):
    return {"completion": {"values": ["paris", "park", "party"], "total": 3, "hasMore": False}}


async def accept(_ctx, _params):
    return {}
