// An authorization server on oidc-provider: `authorization_server.mjs DIRECTORY PORT`.
//
// Access tokens live for an hour, and the next one was issued as many seconds ago as the file `age` says. It is signed
// with a well-known key, and with a new one each time that `keys` changes. Every answer of an endpoint that clients use
// is one line of JSON in the file `events`, written before the answer is sent.
import { generateKeyPairSync } from 'node:crypto';
import { appendFileSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

// The packages are beside the working directory, not beside this file.
const packages = createRequire(`${process.cwd()}/`);
const load = (name) => import(pathToFileURL(packages.resolve(name)));
const { default: Provider } = await load('oidc-provider');
const { createMemoryAdapter } = await load('oidc-provider/lib/adapters/memory_adapter.js');

const [directory, port] = process.argv.slice(2);
const REDIRECT = 'http://127.0.0.1:19876/mcp/oauth/callback';
const WATCHED = ['registration', 'token', 'revocation', 'device_authorization'];
const SCOPES = ['mcp:basic', 'mcp:write'];

const clients = [
  {
    client_id: 'static-public',
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    redirect_uris: [REDIRECT],
    grant_types: ['authorization_code', 'refresh_token'],
  },
  {
    client_id: 'static-secret',
    client_secret: 'a secret with ~ and % and + in it',
    application_type: 'native',
    token_endpoint_auth_method: 'client_secret_basic',
    redirect_uris: [REDIRECT],
    grant_types: ['authorization_code', 'refresh_token'],
  },
  {
    client_id: 'device',
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    redirect_uris: [],
    response_types: [],
    grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
  },
  {
    client_id: 'machine',
    client_secret: 'machine-secret',
    redirect_uris: [],
    response_types: [],
    grant_types: ['client_credentials'],
  },
];

// What all providers of this process remember, so that a new key costs no login.
const adapter = createMemoryAdapter();

const told = (what) => Number(readFileSync(`${directory}/${what}`, 'utf8'));

/** What the provider signs with; it has a key of its own if nothing is said. */
function keys(generation) {
  if (generation === 0) return {};
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), alg: 'RS256', use: 'sig' }] } };
}

function makeOlder(_, __, { payload }) {
  payload.iat -= told('age');
  payload.exp -= told('age');
}

function configuration(generation) {
  return {
    ...keys(generation),
    adapter,
    clients,
    scopes: ['offline_access', ...SCOPES],
    pkce: { required: () => true },
    rotateRefreshToken: true,
    ttl: { RefreshToken: 3600 },
    formats: { customizers: { jwt: makeOlder } },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    // Its own guard keeps it away from this machine, where the documents of the clients are.
    fetch: (url, { dispatcher, ...options }) => fetch(url, options),
    features: {
      registration: { enabled: true },
      revocation: { enabled: true },
      clientCredentials: { enabled: true },
      deviceFlow: { enabled: true },
      dPoP: { enabled: true },
      clientIdMetadataDocument: { enabled: true, ack: 'draft-02' },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_, resource) => ({
          scope: SCOPES.join(' '),
          audience: resource,
          accessTokenFormat: 'jwt',
          accessTokenTTL: 3600,
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
  };
}

async function note(ctx, next) {
  await next();
  const { route, params, client } = ctx.oidc ?? {};
  if (!WATCHED.includes(route)) return;
  const event = {
    route,
    grant: params?.grant_type,
    client: client?.clientId,
    resource: params?.resource,
    outcome: ctx.body?.error ?? 'ok',
  };
  appendFileSync(`${directory}/events`, `${JSON.stringify(event)}\n`);
}

/** What answers requests while the keys stay the same. */
function provider(issuer, generation) {
  const provider = new Provider(issuer, configuration(generation));
  provider.use(note);
  provider.on('server_error', (_, error) => console.error(error));
  return provider.callback();
}

const server = createServer();
server.listen(Number(port), '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  let generation;
  let answer;
  server.on('request', (request, response) => {
    if (generation !== told('keys')) {
      generation = told('keys');
      answer = provider(issuer, generation);
    }
    answer(request, response);
  });
  console.log(`listening on ${issuer}`);
});
