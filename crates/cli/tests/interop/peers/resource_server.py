"""A server on fastmcp that wants tokens with all these scopes: `resource_server.py ISSUER PORT SCOPE...`."""

import socket
import sys

import uvicorn
from fastmcp import FastMCP
from fastmcp.server.auth import RemoteAuthProvider
from fastmcp.server.auth.providers.jwt import JWTVerifier
from fastmcp.server.dependencies import get_access_token


def protected(issuer: str, base_url: str, scopes: list[str]) -> FastMCP:
    verifier = JWTVerifier(
        jwks_uri=f"{issuer}/jwks",
        issuer=issuer,
        audience=f"{base_url}/mcp",
        required_scopes=scopes,
    )
    auth = RemoteAuthProvider(
        token_verifier=verifier, authorization_servers=[issuer], base_url=base_url
    )
    server = FastMCP("protected", version="1.0", auth=auth)

    @server.tool
    def whoami() -> str:
        """Says whose token was sent"""
        token = get_access_token()
        return f"{token.client_id} may {' '.join(sorted(token.scopes))}"

    return server


def main() -> None:
    issuer, port, *scopes = sys.argv[1:]
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(port)))
    listener.listen()
    base_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    server = protected(issuer, base_url, scopes)
    print(f"listening on {base_url}/mcp", flush=True)
    uvicorn.run(server.http_app(), fd=listener.fileno(), log_level="warning")


main()
