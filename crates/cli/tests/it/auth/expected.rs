use crate::provider::Provider;

/// Text for a user without a terminal.
pub(super) const ASKED: &str = "to log in, open this page in a browser on this machine within 5 minutes:\n\n  PAGE\n\n\
    hint: without a browser on this machine, run the same command with --no-browser\n";

/// Output of `auth` about a login that the server accepts.
pub(super) fn logged_in(provider: &Provider, scopes: &str) -> String {
    let (described, url) = (described(provider, scopes), &provider.url);
    format!("{described}logged in to {url}; the server accepts the login\n")
}

/// Description of a login.
pub(super) fn described(provider: &Provider, scopes: &str) -> String {
    let (url, issuer) = (&provider.url, provider.issuer());
    format!(
        "{url}\n  state   logged in; the token expires in 2 days and is renewed automatically\n  issuer  {issuer}\n  scopes  {scopes}\n"
    )
}
