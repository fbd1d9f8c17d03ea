// Compares servers of others behind `callgate relay` with the same servers without it, as clients of both eras see
// them: one line of JSON for each server.
// Its packages are those of the directory that it is run in; the environment names the other programs.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { pathToFileURL } from "node:url";

const { resolve } = createRequire(join(process.cwd(), "package.json"));
const load = (name) => import(pathToFileURL(resolve(name)).href);
const { Client, SSEClientTransport, StreamableHTTPClientTransport } = await load("@modelcontextprotocol/client");
const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");
const { CALLGATE, CALLGATE_DATA, FASTMCP_SERVER, PYTHON } = process.env;

const node = process.execPath;
const everything = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";
const supergateway = "node_modules/supergateway/dist/index.js";
const wrapped = ["--outputTransport", "streamableHttp", "--stdio", `${node} ${everything} stdio`];

// `port` is appended as a number, or set as the variable PORT.
const SERVERS = [
  { server: "server-everything", transport: "stdio", command: [node, everything, "stdio"] },
  { server: "server-everything", transport: "Streamable HTTP", command: [node, everything, "streamableHttp"], path: "/mcp" },
  { server: "server-everything", transport: "HTTP+SSE", command: [node, everything, "sse"], path: "/sse" },
  { server: "server-everything behind supergateway", transport: "Streamable HTTP", command: [node, supergateway, ...wrapped, "--port"], path: "/mcp", append: true },
  { server: "fastmcp", transport: "stdio", command: [PYTHON, FASTMCP_SERVER, "stdio"] },
  { server: "fastmcp", transport: "Streamable HTTP", command: [PYTHON, FASTMCP_SERVER, "http"], path: "/mcp", append: true },
  { server: "fastmcp, stateless", transport: "Streamable HTTP", command: [PYTHON, FASTMCP_SERVER, "stateless"], path: "/mcp", append: true },
  { server: "fastmcp", transport: "HTTP+SSE", command: [PYTHON, FASTMCP_SERVER, "sse"], path: "/sse", append: true },
];

const capabilities = { elicitation: {}, roots: {}, sampling: {} };
const CLIENTS = { old: {}, new: { versionNegotiation: { mode: { pin: "2026-07-28" } } } };

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

async function listening(port) {
  for (;;) {
    const socket = connect(port, "127.0.0.1");
    const isOpen = await new Promise((done) => {
      socket.once("connect", () => done(true)).once("error", () => done(false));
    });
    socket.destroy();
    if (isOpen) return;
    await sleep(100);
  }
}

async function start({ command: [program, ...args], path, append }) {
  if (path === undefined) return { command: program, args, stop: () => {} };
  const port = await freePort();
  const env = { ...process.env, PORT: String(port) };
  const all = append ? [...args, String(port)] : args;
  const child = spawn(program, all, { env, stdio: ["ignore", "ignore", "ignore"] });
  await listening(port);
  return { url: `http://127.0.0.1:${port}${path}`, stop: () => child.kill() };
}

async function relay({ url, command, args }) {
  const target = url === undefined ? ["--stdio", [command, ...args].map((word) => `'${word}'`).join(" ")] : [url];
  const options = ["--data-dir", CALLGATE_DATA, "relay", "--no-auth", "--listen", "127.0.0.1:0"];
  const child = spawn(CALLGATE, [...options, ...target], { stdio: ["ignore", "pipe", "ignore"] });
  for await (const line of createInterface(child.stdout)) {
    const [, found] = line.match(/listening on (\S+)/) ?? [];
    if (found) return { url: found, stop: () => child.kill() };
  }
  throw new Error("the relay did not start");
}

function transport({ url, command, args }) {
  if (url === undefined) return new StdioClientTransport({ command, args, stderr: "ignore" });
  const at = new URL(url);
  return at.pathname === "/sse" ? new SSEClientTransport(at) : new StreamableHTTPClientTransport(at);
}

// Members that only one of the two eras has.
const { keys } = Object;
const plain = (value, key) => {
  if (Array.isArray(value)) return value.map((one) => plain(one));
  if (value === null || typeof value !== "object") return value;
  const kept = keys(value).filter((name) => !(key === undefined && ["execution", "_meta"].includes(name)));
  return Object.fromEntries(kept.map((name) => [name, plain(value[name], name)]));
};

async function look(target, options) {
  const client = new Client({ name: "survey", version: "1.0.0" }, { capabilities, ...options });
  client.setRequestHandler("roots/list", () => ({ roots: [] }));
  await client.connect(transport(target));
  const offers = client.getServerCapabilities() ?? {};
  // Servers add tools once they know their client: a list counts when it stays as it is.
  const list = async (isOffered, ask, name) => {
    let [found, times] = [[], isOffered ? 0 : 4];
    while (times < 4) {
      const again = plain((await ask())[name]);
      times = isDeepStrictEqual(found, again) ? times + 1 : 1;
      found = again;
      if (times < 4) await sleep(250);
    }
    return found;
  };
  const lists = {
    tools: await list(offers.tools, () => client.listTools(), "tools"),
    prompts: await list(offers.prompts, () => client.listPrompts(), "prompts"),
    resources: await list(offers.resources, () => client.listResources(), "resources"),
    templates: await list(offers.resources, () => client.listResourceTemplates(), "resourceTemplates"),
  };
  await client.close();
  return lists;
}

function difference(direct, behind) {
  if (behind.error) return String(behind.error);
  const differences = keys(direct).flatMap((kind) => {
    const [here, there] = [direct, behind].map((lists) => new Map(lists[kind].map((one) => [one.name, one])));
    const more = [...there.keys()].filter((name) => !here.has(name)).map((name) => `more: \`${name}\``);
    const changed = [...here].filter(([name, one]) => !isDeepStrictEqual(one, there.get(name)));
    return [...more, ...changed.map(([name]) => `other: \`${name}\``)];
  });
  return differences.length === 0 ? "the same" : differences.join(", ");
}

for (const described of SERVERS) {
  const server = await start(described);
  const direct = await look(server, CLIENTS.old);
  const seen = {};
  for (const [era, options] of Object.entries(CLIENTS)) {
    const behind = await relay(server);
    seen[era] = difference(direct, await look(behind, options).catch((error) => ({ error })));
    behind.stop();
  }
  server.stop();
  const counts = Object.values(direct).map((list) => list.length);
  const { server: name, transport } = described;
  console.log(JSON.stringify({ server: name, transport, counts, ...seen }));
}
process.exit(0);
