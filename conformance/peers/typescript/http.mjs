// One HTTP endpoint for both eras: requests of the newest revision on their own, older ones in sessions.

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";

export async function serveHttp(build, { sdk, node, changes }) {
  const modern = sdk.createMcpHandler(build, { legacy: "reject" });
  const serveModern = node.toNodeHandler(modern);
  const sessions = new Map();
  const isHost = node.localhostHostValidation();
  const isOrigin = node.localhostOriginValidation();

  // A server of an old session tells its own client of changes, the endpoint all others.
  for (const [kind, tellSession] of Object.entries(changes)) {
    changes[kind] = async (server, era) => {
      if (era === "legacy") await tellSession(server);
      else modern.notify[`${kind}Changed`]();
    };
  }

  async function open() {
    const transport = new node.NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    await build({ era: "legacy" }).connect(transport);
    return transport;
  }

  function refuse(response, status, message) {
    const error = { jsonrpc: "2.0", id: null, error: { code: -32000, message } };
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(error));
  }

  async function serveSession(request, response, body) {
    const id = request.headers["mcp-session-id"];
    const session = id === undefined ? undefined : sessions.get(id);
    if (session) return session.handleRequest(request, response, body);
    if (id !== undefined) return refuse(response, 404, "no such session");
    if (!sdk.isInitializeRequest(body)) return refuse(response, 400, "a session is needed");
    return (await open()).handleRequest(request, response, body);
  }

  async function serve(request, response) {
    if (!isHost(request, response) || !isOrigin(request, response)) return;
    const body = request.method === "POST" ? await json(request) : undefined;
    const isOld =
      body === undefined || (await sdk.isLegacyRequest(await node.toWebRequest(request, body), body));
    await (isOld ? serveSession : serveModern)(request, response, body);
  }

  const server = createServer((request, response) => {
    serve(request, response).catch((error) => {
      console.error(error);
      if (!response.headersSent) refuse(response, 400, String(error));
    });
  });
  server.listen(0, "127.0.0.1", () => {
    console.log(`listening on http://127.0.0.1:${server.address().port}/mcp`);
  });
}
