"""A server on fastmcp: `fastmcp_server.py stdio`, or `http PORT`, `stateless PORT`, `sse PORT`."""

import sys
from dataclasses import dataclass

from fastmcp import Context, FastMCP

server = FastMCP("fastmcp", version="1.0", instructions="Try everything")


@dataclass
class Who:
    name: str


@server.tool
def add(a: int, b: int) -> int:
    """Adds"""
    return a + b


@server.tool
async def count(ctx: Context) -> str:
    """Counts to three, and says so"""
    for number in (1, 2, 3):
        await ctx.report_progress(number, 3)
        await ctx.info(f"counted {number}")
    return "counted"


@server.tool
async def greet(ctx: Context) -> str:
    """Greets who the user says"""
    answer = await ctx.elicit("Who?", response_type=Who)
    return f"Hello, {answer.data.name}" if answer.action == "accept" else "nobody"


@server.tool
def fail() -> str:
    """Fails"""
    raise ValueError("no")


@server.prompt
def essay(topic: str) -> str:
    """Writes"""
    return f"Write about {topic}"


@server.resource("note://1")
def note() -> str:
    """The first note"""
    return "remember"


@server.resource("note://{number}/copy")
def copy(number: str) -> str:
    """A copy of a note"""
    return f"copy of {number}"


def main() -> None:
    mode = sys.argv[1]
    if mode == "stdio":
        server.run(show_banner=False)
        return
    options = {"host": "127.0.0.1", "port": int(sys.argv[2]), "show_banner": False}
    if mode == "stateless":
        server.run(transport="http", stateless_http=True, **options)
    else:
        server.run(transport=mode, **options)


main()
