//! Quirks of known providers, as data: the options that a login there needs, so that no user has to
//! type them.
//!
//! Every explicit option is preferred to a quirk. An entry has a reason that the provider documents or
//! that was seen there; a provider that follows the specification has none.

use url::Url;

use crate::options::{EndpointUrl, ProviderOptions, ScopeSeparator};
use crate::registration::AuthMethod;

/// Table of the quirks of known providers.
#[derive(Debug, Clone, Default)]
pub struct Quirks {
    /// Hosts, with a port if they have one, that are treated as another host.
    aliases: Vec<(String, String)>,
}

/// Quirks of one provider.
#[derive(Debug)]
pub(crate) struct Quirk {
    pub(crate) provider: &'static str,
    /// Hosts of the issuer. `*.` at the start stands for any subdomain, `*` between dots for one label.
    hosts: &'static [&'static str],
    pub(crate) reason: &'static str,
    auth_params: &'static [(&'static str, &'static str)],
    /// Set if `resource` is refused.
    refuses_resource: bool,
    /// Set if PKCE works, but is missing from the metadata.
    omits_pkce: bool,
    /// Authorization page and token endpoint of a provider without metadata.
    endpoints: Option<[&'static str; 2]>,
    /// Device authorization endpoint, if the metadata does not name it.
    pub(crate) device_endpoint: Option<&'static str>,
    /// Redirect URI to register a client with, if the usual one is not accepted.
    pub(crate) redirect_uri: Option<&'static str>,
    scope_separator: Option<&'static str>,
    client_auth_method: Option<AuthMethod>,
    /// Set if the registration endpoint accepts administrators only.
    pub(crate) has_closed_registration: bool,
    /// Scope that is refused although OpenID Connect defines it.
    pub(crate) refused_scope: Option<&'static str>,
    /// Issuer in the metadata, if it is not the one that MCP servers name. No other is accepted instead.
    pub(crate) own_issuer: Option<&'static str>,
}

const NONE: Quirk = Quirk {
    provider: "",
    hosts: &[],
    reason: "",
    auth_params: &[],
    refuses_resource: false,
    omits_pkce: false,
    endpoints: None,
    device_endpoint: None,
    redirect_uri: None,
    scope_separator: None,
    client_auth_method: None,
    has_closed_registration: false,
    refused_scope: None,
    own_issuer: None,
};

static TABLE: [Quirk; 9] = [
    Quirk {
        provider: "Microsoft Entra ID",
        hosts: &[
            "login.microsoftonline.com",
            "login.microsoftonline.us",
            "login.partner.microsoftonline.cn",
            "*.ciamlogin.com",
        ],
        reason: "the v2.0 endpoints name the resource in each scope and refuse a `resource` beside them \
                 (AADSTS9010010); PKCE is documented, but missing from the metadata; the portal registers \
                 plain http for localhost only, on any port",
        refuses_resource: true,
        omits_pkce: true,
        redirect_uri: Some("http://localhost"),
        ..NONE
    },
    Quirk {
        provider: "Google",
        hosts: &["accounts.google.com"],
        reason: "a refresh token is given for `access_type=offline` only, after the first login for \
                 `prompt=consent` only, and the scope offline_access is refused",
        auth_params: &[("access_type", "offline"), ("prompt", "consent")],
        refused_scope: Some("offline_access"),
        ..NONE
    },
    Quirk {
        provider: "GitHub",
        hosts: &["github.com"],
        reason: "OAuth apps have documented endpoints and PKCE, but no metadata, and the metadata that there is \
                 does not name the endpoint for device codes",
        endpoints: Some([
            "https://github.com/login/oauth/authorize",
            "https://github.com/login/oauth/access_token",
        ]),
        device_endpoint: Some("https://github.com/login/device/code"),
        ..NONE
    },
    Quirk {
        provider: "Okta",
        hosts: &["*.okta.com", "*.oktapreview.com", "*.okta-emea.com"],
        reason: "the registration endpoint in the metadata needs the token of an administrator",
        has_closed_registration: true,
        ..NONE
    },
    Quirk {
        provider: "Slack",
        hosts: &["slack.com", "mcp.slack.com"],
        reason: "scopes are separated by commas, the metadata of https://mcp.slack.com names the issuer \
                 https://slack.com, and an app with PKCE may redirect to localhost, as it is registered",
        scope_separator: Some(","),
        redirect_uri: Some("http://localhost:19876/mcp/oauth/callback"),
        own_issuer: Some("https://slack.com"),
        ..NONE
    },
    Quirk {
        provider: "Figma",
        hosts: &["api.figma.com", "www.figma.com"],
        reason: "a client that registers without a secret gets one, and the token endpoint demands it",
        client_auth_method: Some(AuthMethod::ClientSecretPost),
        ..NONE
    },
    Quirk {
        provider: "Atlassian",
        hosts: &["auth.atlassian.com"],
        reason: "the authorization page demands its audience and an explicit consent, and the issuer in \
                 the metadata lacks the path of the authorization server",
        auth_params: &[("audience", "api.atlassian.com"), ("prompt", "consent")],
        own_issuer: Some("https://auth.atlassian.com"),
        ..NONE
    },
    Quirk {
        provider: "Atlassian, first version",
        hosts: &["mcp.atlassian.com"],
        reason: "the metadata names the issuer https://cf.mcp.atlassian.com",
        own_issuer: Some("https://cf.mcp.atlassian.com"),
        ..NONE
    },
    Quirk {
        provider: "Amazon Cognito",
        hosts: &["cognito-idp.*.amazonaws.com"],
        reason: "PKCE is documented, but missing from the metadata",
        omits_pkce: true,
        ..NONE
    },
];

impl Quirks {
    /// Treats `host`, with its port if it has one, as the host `known_as`. For tests on loopback.
    #[must_use]
    pub fn with_host_alias(mut self, host: &str, known_as: &str) -> Self {
        self.aliases.push((host.to_owned(), known_as.to_owned()));
        self
    }

    /// Quirks of the provider with this issuer.
    pub(crate) fn of(&self, issuer: &str) -> Option<&'static Quirk> {
        let url = Url::parse(issuer).ok()?;
        let authority = &url[url::Position::BeforeHost..url::Position::AfterPort];
        let alias = self.aliases.iter().find(|(host, _)| host == authority);
        let host = match alias {
            Some((_, known_as)) => known_as,
            // A provider that is known has no port of its own.
            None if url.port().is_some() => return None,
            None => url.host_str()?,
        };
        TABLE
            .iter()
            .find(|it| it.hosts.iter().any(|pattern| is_at(host, pattern)))
    }
}

impl Quirk {
    /// Options that stand for the quirks.
    pub(crate) fn options(&self) -> ProviderOptions {
        let mut options = ProviderOptions::default();
        for (name, value) in self.auth_params {
            let inserted = options.auth_params.insert(*name, *value);
            inserted.expect("the table has no reserved parameters");
        }
        options.send_resource = self.refuses_resource.then_some(false);
        options.allow_missing_pkce_metadata = self.omits_pkce.then_some(true);
        if let Some([authorization, token]) = self.endpoints {
            options.authorization_endpoint = EndpointUrl::parse(authorization).ok();
            options.token_endpoint = EndpointUrl::parse(token).ok();
        }
        options.scope_separator = self
            .scope_separator
            .and_then(|it| ScopeSeparator::parse(it).ok());
        options.client_auth_method = self.client_auth_method;
        options
    }
}

/// Compares label by label, so that a host that merely contains a known name does not fit.
fn is_at(host: &str, pattern: &str) -> bool {
    if let Some(domain) = pattern.strip_prefix("*.") {
        let name = host
            .strip_suffix(domain)
            .and_then(|it| it.strip_suffix('.'));
        return name.is_some_and(|name| !name.is_empty());
    }
    let (host, pattern) = (host.split('.'), pattern.split('.'));
    host.clone().count() == pattern.clone().count()
        && host
            .zip(pattern)
            .all(|(label, known)| known == "*" || label == known)
}

#[cfg(test)]
mod tests {
    use super::{EndpointUrl, Quirks, TABLE};
    use crate::options::RedirectUri;

    #[test]
    fn providers_are_known_by_their_whole_host() {
        for (issuer, expected) in [
            ("https://accounts.google.com", Some("Google")),
            ("https://accounts.google.com/", Some("Google")),
            ("https://github.com/login/oauth", Some("GitHub")),
            (
                "https://login.microsoftonline.com/common/v2.0",
                Some("Microsoft Entra ID"),
            ),
            (
                "https://contoso.ciamlogin.com/x/v2.0",
                Some("Microsoft Entra ID"),
            ),
            ("https://dev-1.okta.com/oauth2/default", Some("Okta")),
            (
                "https://cognito-idp.eu-west-1.amazonaws.com/pool",
                Some("Amazon Cognito"),
            ),
            ("https://okta.com", None),
            ("https://.okta.com", None),
            ("https://evilokta.com", None),
            ("https://accounts.google.com.evil.example", None),
            ("https://evil.example/accounts.google.com", None),
            ("https://accounts.google.com@evil.example", None),
            ("https://notgithub.com/login/oauth", None),
            ("https://github.com:8443/login/oauth", None),
            ("https://cognito-idp.a.b.amazonaws.com", None),
            ("https://xcognito-idp.eu.amazonaws.com", None),
            ("https://as.example", None),
            ("no url", None),
        ] {
            let found = Quirks::default().of(issuer).map(|it| it.provider);
            assert_eq!(found, expected, "{issuer}");
        }
    }

    #[test]
    fn an_alias_is_for_one_host_and_port() {
        let quirks = Quirks::default().with_host_alias("127.0.0.1:8080", "github.com");
        let found = |issuer| quirks.of(issuer).map(|it| it.provider);
        assert_eq!(found("http://127.0.0.1:8080/x"), Some("GitHub"));
        assert_eq!(found("http://127.0.0.1:8081/x"), None);
        assert_eq!(found("http://127.0.0.1/x"), None);
    }

    #[test]
    fn every_quirk_has_a_reason_and_an_option() {
        for quirk in &TABLE {
            let redirect_uri = quirk.redirect_uri.map(RedirectUri::parse);
            assert!(!matches!(redirect_uri, Some(Err(_))), "{}", quirk.provider);
            let device_endpoint = quirk.device_endpoint.map(EndpointUrl::parse);
            assert!(
                !matches!(device_endpoint, Some(Err(_))),
                "{}",
                quirk.provider
            );
            let is_used = !quirk.options().is_empty()
                || quirk.has_closed_registration
                || quirk.refused_scope.is_some()
                || quirk.own_issuer.is_some();
            assert!(is_used && !quirk.reason.is_empty(), "{}", quirk.provider);
            let has_endpoints = quirk.options().token_endpoint.is_some();
            assert_eq!(
                has_endpoints,
                quirk.endpoints.is_some(),
                "{}",
                quirk.provider
            );
        }
    }
}
