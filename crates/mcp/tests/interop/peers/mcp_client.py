"""A client on the Python SDK: `mcp_client.py MODE URL` (`sse+http:` for HTTP+SSE), or `COMMAND ARGS...`.

Reads a JSON array of steps, does them one after the other, and prints what came of each as JSON.
Its user is Ada, its model says "hi", and it works on `file:///project`.
"""

import asyncio
import json
import sys

import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client

heard = asyncio.Queue()


async def elicit(_context, params):
    if params.mode == "url":
        return types.ElicitResult(action="accept")
    return types.ElicitResult(action="accept", content={"name": "Ada"})


async def sample(_context, _params):
    text = types.TextContent(type="text", text="hi")
    return types.CreateMessageResult(role="assistant", content=text, model="parrot")


async def list_roots(_context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///project")])


async def hear(message):
    if isinstance(message, types.ResourceUpdatedNotification):
        await heard.put(message.params.uri)


def texts(result):
    return [block.text for block in result.content if block.type == "text"]


async def tools(client):
    page = await client.list_tools()
    names = [tool.name for tool in page.tools]
    while page.next_cursor:
        page = await client.list_tools(cursor=page.next_cursor)
        names += [tool.name for tool in page.tools]
    return names


async def call(client, name, arguments):
    progress = []

    async def on_progress(value, _total, _message):
        progress.append(value)

    result = await client.call_tool(name, arguments, progress_callback=on_progress)
    outcome = {"content": texts(result)}
    if result.is_error:
        outcome["isError"] = True
    if result.structured_content is not None:
        outcome["structured"] = result.structured_content
    if progress:
        outcome["progress"] = progress
    return outcome


async def subscribe(client, uri, tool):
    """Subscribes, has `tool` change the resource, and waits to be told."""
    if client.protocol_version == "2026-07-28":
        async with client.listen(resource_subscriptions=[uri]) as events:
            await client.call_tool(tool, {})
            async for event in events:
                return event.uri
    await client.subscribe_resource(uri)
    await client.call_tool(tool, {})
    return await heard.get()


async def step(client, name, *args):
    match name:
        case "version":
            return client.protocol_version
        case "server":
            return client.server_info.name
        case "tools":
            return await tools(client)
        case "call":
            return await call(client, *args)
        case "read":
            result = await client.read_resource(args[0])
            return [content.text for content in result.contents]
        case "prompt":
            result = await client.get_prompt(*args)
            return [message.content.text for message in result.messages]
        case "ping":
            await client.send_ping()
            return "pong"
        case "subscribe":
            return await subscribe(client, *args)


def target():
    kind, _, _ = sys.argv[2].partition(":")
    match kind:
        case "http":
            return sys.argv[2]
        case "sse+http":
            return sse_client(sys.argv[2].removeprefix("sse+"))
        case _:
            return StdioServerParameters(command=sys.argv[2], args=sys.argv[3:])


async def main():
    client = Client(
        target(),
        mode=sys.argv[1],
        elicitation_callback=elicit,
        sampling_callback=sample,
        list_roots_callback=list_roots,
        message_handler=hear,
    )
    async with client:
        outcomes = [await step(client, *args) for args in json.load(sys.stdin)]
    json.dump(outcomes, sys.stdout)


asyncio.run(main())
