// The conformance server on the official TypeScript SDK, for clients of both eras: `server.mjs http`, or `stdio`.
// Its packages are those of the directory that it is run in.

import { randomBytes } from "node:crypto";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { serveHttp } from "./http.mjs";
import { describe } from "./features.mjs";

const { resolve } = createRequire(join(process.cwd(), "package.json"));
const load = (name) => import(pathToFileURL(resolve(name)).href);

const sdk = await load("@modelcontextprotocol/server");
const codec = sdk.createRequestStateCodec({ key: randomBytes(32) });

// Replaced by the HTTP endpoint, where subscriptions outlive the server of one request.
const changes = {
  tools: (server) => server.sendToolListChanged(),
  prompts: (server) => server.sendPromptListChanged(),
};

function build({ era }) {
  const server = new sdk.Server(
    { name: "typescript-conformance", version: "1.0.0" },
    {
      capabilities: {
        completions: {},
        logging: {},
        prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        tools: { listChanged: true },
      },
      requestState: { verify: codec.verify },
    },
  );
  describe(server, { sdk, codec, changes, era });
  return server;
}

if (process.argv[2] === "stdio") {
  const { serveStdio } = await load("@modelcontextprotocol/server/stdio");
  serveStdio(build);
} else {
  await serveHttp(build, { sdk, node: await load("@modelcontextprotocol/node"), changes });
}
