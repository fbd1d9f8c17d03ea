// An authorization server on oidc-provider: `authorization_server.mjs DIRECTORY`.
//
// The next access token lives for as many seconds as the file `lifetime` says. Every answer of an endpoint that clients
// use is one line of JSON in the file `events`, written before the answer is sent.
import { appendFileSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

// The packages are beside the working directory, not beside this file.
const packages = createRequire(`${process.cwd()}/`);
const { default: Provider } = await import(pathToFileURL(packages.resolve('oidc-provider')));

const [directory] = process.argv.slice(2);
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

const lifetime = () => Number(readFileSync(`${directory}/lifetime`, 'utf8'));

function configuration() {
  return {
    clients,
    scopes: ['offline_access', ...SCOPES],
    pkce: { required: () => true },
    rotateRefreshToken: true,
    ttl: { RefreshToken: 3600 },
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
          accessTokenTTL: lifetime(),
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

const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, configuration());
  provider.use(note);
  provider.on('server_error', (_, error) => console.error(error));
  server.on('request', provider.callback());
  console.log(`listening on ${issuer}`);
});
