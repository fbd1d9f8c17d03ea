use crate::provider::Provider;

/// What a person without a terminal is told.
pub(super) const ASKED: &str = "to log in, open this page in a browser on this machine within 5 minutes:\n\n  PAGE\n\n\
    hint: without a browser on this machine, run the same command with --no-browser\n";

/// What is said about a login that is new.
pub(super) fn logged_in(provider: &Provider, scopes: &str) -> String {
    let (url, issuer) = (&provider.url, provider.issuer());
    format!(
        "{url}\n  state   logged in; the token ends in 60 minutes and renews itself\n  issuer  {issuer}\n  scopes  {scopes}\n"
    )
}
