"""The conformance server on the official Python SDK, for clients of both eras: `server.py http`, or `stdio`."""

import asyncio
import socket
import sys
import warnings

import uvicorn
from mcp.server import Server
from mcp.server.lowlevel import NotificationOptions
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPDeprecationWarning
import mcp_types as types

import features

# Logging and sampling are deprecated, and tested all the same.
warnings.simplefilter("ignore", MCPDeprecationWarning)

NAME = "python-conformance"


def typed(model, handler):
    """The handler, whose results get the members that every result of their kind has."""

    async def handle(ctx, params):
        result = await handler(ctx, params)
        kind = types.InputRequiredResult if "inputRequests" in result else model
        return kind.model_validate(result)

    return handle


def build() -> Server:
    bus = InMemorySubscriptionBus()
    server = Server(
        NAME,
        version="1.0.0",
        on_list_tools=typed(types.ListToolsResult, features.list_tools),
        on_call_tool=typed(types.CallToolResult, features.call_tool(bus)),
        on_list_resources=typed(types.ListResourcesResult, features.list_resources),
        on_list_resource_templates=typed(types.ListResourceTemplatesResult, features.list_templates),
        on_read_resource=typed(types.ReadResourceResult, features.read_resource),
        on_subscribe_resource=features.accept,
        on_unsubscribe_resource=features.accept,
        on_subscriptions_listen=ListenHandler(bus),
        on_list_prompts=typed(types.ListPromptsResult, features.list_prompts),
        on_get_prompt=typed(types.GetPromptResult, features.get_prompt),
        on_completion=typed(types.CompleteResult, features.complete),
        on_set_logging_level=features.accept,
    )
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=NAME))
    return server


async def serve_stdio() -> None:
    server = build()
    changes = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options(changes))


async def serve_http() -> None:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    app = build().streamable_http_app()
    await uvicorn.Server(uvicorn.Config(app, log_level="warning")).serve(sockets=[listener])


asyncio.run(serve_stdio() if sys.argv[1] == "stdio" else serve_http())
