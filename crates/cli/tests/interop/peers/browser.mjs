// A person with a browser: `browser.mjs URL` opens the page, signs in as Ada and agrees to everything.
//
// Prints what the address bar shows in the end, and then the page. Fails unless that page is a success, or cannot be
// reached at all.
const [start] = process.argv.slice(2);
const MOST_PAGES = 20;
const cookies = new Map();

async function load(url, form) {
  const response = await fetch(url, {
    method: form ? 'POST' : 'GET',
    body: form,
    redirect: 'manual',
    headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
  });
  for (const cookie of response.headers.getSetCookie()) {
    const [pair] = cookie.split(';');
    const at = pair.indexOf('=');
    cookies.set(pair.slice(0, at), pair.slice(at + 1));
  }
  return response;
}

function attribute(tag, name) {
  const found = new RegExp(`\\b${name}="([^"]*)"`).exec(tag);
  return found?.[1].replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');
}

/** The first form of a page, as a person fills it in; the device page has its form sent by a script. */
function filledIn(page, url) {
  const form = /<form[^>]*>/.exec(page)?.[0];
  if (!form) return undefined;
  const end = page.indexOf('</form>');
  const fields = new URLSearchParams();
  for (const [input] of page.slice(page.indexOf(form), end).matchAll(/<input[^>]*>/g)) {
    fields.set(attribute(input, 'name'), attribute(input, 'value') ?? 'ada');
  }
  return { action: new URL(attribute(form, 'action'), url).href, fields };
}

let [url, form] = [start, undefined];
for (let pages = 0; ; pages += 1) {
  if (pages === MOST_PAGES) throw new Error(`still going after ${pages} pages, at ${url}`);
  const response = await load(url, form).catch(() => undefined);
  if (!response) {
    console.log(url);
    break;
  }
  const location = response.headers.get('location');
  if (location) {
    [url, form] = [new URL(location, url).href, undefined];
    continue;
  }
  const page = await response.text();
  const next = filledIn(page, url);
  if (!next) {
    console.log(`${url}\n${page}`);
    process.exitCode = response.ok ? 0 : 1;
    break;
  }
  [url, form] = [next.action, next.fields];
}
