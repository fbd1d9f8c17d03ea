// The host of a client id metadata document: `client_document.mjs KEY CERTIFICATE TEMPLATE`.
//
// TEMPLATE is the document with any client id; it is served with the one that it gets here.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';

const [key, cert, template] = process.argv.slice(2).map((path) => readFileSync(path));
const document = JSON.parse(template);

const server = createServer({ key, cert }, (request, response) => {
  const found = request.url === '/client-metadata.json';
  response.writeHead(found ? 200 : 404, { 'content-type': 'application/json' });
  response.end(JSON.stringify(found ? document : {}));
});
server.listen(0, '127.0.0.1', () => {
  document.client_id = `https://localhost:${server.address().port}/client-metadata.json`;
  console.log(`listening on ${document.client_id}`);
});
