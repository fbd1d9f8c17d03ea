// A client on the TypeScript SDK that logs in by itself: `typescript_client.mjs MODE URL BROWSER`.
//
// BROWSER is the script that stands for a person. Prints as JSON what the client has come to know.
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

// The packages are beside the working directory, not beside this file.
const packages = createRequire(`${process.cwd()}/`);
const sdk = await import(pathToFileURL(packages.resolve('@modelcontextprotocol/client')));
const { Client, StreamableHTTPClientTransport, UnauthorizedError } = sdk;

const [mode, url, browser] = process.argv.slice(2);
// Nobody listens there: the answer is taken from the address bar.
const REDIRECT = 'http://127.0.0.1:9/callback';
const known = {};

const authProvider = {
  redirectUrl: REDIRECT,
  clientMetadata: {
    client_name: 'a client on the TypeScript SDK',
    application_type: 'native',
    redirect_uris: [REDIRECT],
    grant_types: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_method: 'none',
  },
  clientInformation: () => known.client,
  saveClientInformation: (client) => void (known.client = client),
  tokens: () => known.tokens,
  saveTokens: (tokens) => void (known.tokens = tokens),
  codeVerifier: () => known.verifier,
  saveCodeVerifier: (verifier) => void (known.verifier = verifier),
  discoveryState: () => known.discovery,
  saveDiscoveryState: (discovery) => void (known.discovery = discovery),
  redirectToAuthorization(page) {
    const [address] = execFileSync(process.execPath, [browser, page.href], { encoding: 'utf8' }).split('\n');
    known.answer = new URL(address).searchParams;
  },
};

async function connect() {
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider });
  const client = new Client({ name: 'typescript', version: '1.0' }, { versionNegotiation: { mode } });
  try {
    await client.connect(transport);
    return client;
  } catch (error) {
    if (!(error instanceof UnauthorizedError) || known.tokens) throw error;
    await transport.finishAuth(known.answer);
    return connect();
  }
}

const client = await connect();
const { tools } = await client.listTools();
const note = await client.callTool({ name: 'workspace_read', arguments: { path: 'note' } });
console.log(
  JSON.stringify({
    version: client.getNegotiatedProtocolVersion(),
    tools: tools.map(({ name }) => name),
    note: note.structuredContent,
    token: known.tokens.access_token,
  }),
);
await client.close();
