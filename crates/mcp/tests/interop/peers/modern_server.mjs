// A server that refuses every revision before 2026-07-28: `modern_server.mjs stdio`, or `http PORT`.
// Its packages are those of the directory that it is run in.

import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const { resolve } = createRequire(join(process.cwd(), "package.json"));
const load = (name) => import(pathToFileURL(resolve(name)).href);
const { McpServer, createMcpHandler } = await load("@modelcontextprotocol/server");
const z = await load("zod/v4");

function build() {
  const server = new McpServer({ name: "modern", version: "1.0" });
  const inputSchema = z.object({ name: z.string() });
  server.registerTool("greet", { description: "Greets", inputSchema }, ({ name }) => ({
    content: [{ type: "text", text: `Hello, ${name}` }],
  }));
  return server;
}

const [mode, port] = process.argv.slice(2);
if (mode === "stdio") {
  const { serveStdio } = await load("@modelcontextprotocol/server/stdio");
  await serveStdio(build, { legacy: "reject" });
} else {
  const { toNodeHandler } = await load("@modelcontextprotocol/node");
  const handler = toNodeHandler(createMcpHandler(build, { legacy: "reject" }));
  createServer(handler).listen(Number(port), "127.0.0.1", () => console.error("listening"));
}
