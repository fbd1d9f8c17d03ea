"""A server on fastmcp that issues its tokens itself: `own_issuer.py`."""

import socket

import uvicorn
from fastmcp import FastMCP
from fastmcp.server.auth.providers import in_memory
from fastmcp.server.dependencies import get_access_token
from mcp.server.auth.settings import ClientRegistrationOptions, RevocationOptions

SCOPES = ["mcp:basic"]


def whoami() -> str:
    """Says whose token was sent"""
    token = get_access_token()
    return f"{token.client_id} may {' '.join(sorted(token.scopes))}"


def main() -> None:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    base_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    auth = in_memory.InMemoryOAuthProvider(
        base_url=base_url,
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=SCOPES, default_scopes=SCOPES
        ),
        revocation_options=RevocationOptions(enabled=True),
        required_scopes=SCOPES,
    )
    server = FastMCP("own issuer", version="1.0", auth=auth)
    server.tool(whoami)
    print(f"listening on {base_url}/mcp", flush=True)
    uvicorn.run(server.http_app(), fd=listener.fileno(), log_level="warning")


main()
