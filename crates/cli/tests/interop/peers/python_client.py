"""A client on the Python SDK that logs in by itself: `python_client.py MODE URL BROWSER...`.

BROWSER is the command that stands for a person.
Prints as JSON what the client has come to know.
"""

import asyncio
import json
import subprocess
import sys
from urllib.parse import parse_qs, urlsplit

from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import OAuthClientMetadata

MODE, URL, *BROWSER = sys.argv[1:]

# Nobody listens there: the answer is taken from the address bar.
REDIRECT = "http://127.0.0.1:9/callback"


class Memory:
    tokens = None
    client = None
    answer = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client_info):
        self.client = client_info

    async def open_page(self, page):
        shown = subprocess.run([*BROWSER, page], check=True, capture_output=True, text=True)
        self.answer = parse_qs(urlsplit(shown.stdout.splitlines()[0]).query)

    async def callback(self):
        names = ["code", "state", "iss"]
        return AuthorizationCodeResult(**{name: self.answer[name][0] for name in names})


async def main():
    memory = Memory()
    metadata = OAuthClientMetadata(
        client_name="a client on the Python SDK",
        redirect_uris=[REDIRECT],
        token_endpoint_auth_method="none",
    )
    auth = OAuthClientProvider(URL, metadata, memory, memory.open_page, memory.callback)
    async with create_mcp_http_client(auth=auth) as http_client:
        transport = streamable_http_client(URL, http_client=http_client)
        async with Client(transport, mode=MODE) as client:
            page = await client.list_tools()
            note = await client.call_tool("workspace_read", {"path": "note"})
            known = {
                "version": client.protocol_version,
                "tools": [tool.name for tool in page.tools],
                "note": note.structured_content,
                "token": memory.tokens.access_token,
            }
    json.dump(known, sys.stdout)


asyncio.run(main())
