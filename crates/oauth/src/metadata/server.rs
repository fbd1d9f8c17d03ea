//! Authorization server metadata (RFC 8414 and OpenID Connect Discovery).

use serde::Deserialize;
use url::Url;

use super::document::{MetadataError, endpoint as required, read, well_known};
use crate::{Scopes, endpoint};

/// Issuer that a server names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Issuer {
    /// Issuer of the server's metadata, byte for byte.
    Named(String),
    /// Origin of a server without metadata: in the oldest revision with logins, a server was its
    /// own issuer.
    Origin(Url),
}

/// Validated metadata of an authorization server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AuthorizationServer {
    /// Issuer as the MCP server names it, the key under which credentials are stored.
    pub issuer: String,
    /// Issuer as the authorization server names itself, for redirects and assertions.
    /// `{tenantid}` stands for the tenant of the user. Absent if the user named the endpoints.
    pub own_name: Option<String>,
    pub authorization_endpoint: Option<Url>,
    pub token_endpoint: Url,
    pub registration_endpoint: Option<Url>,
    pub device_authorization_endpoint: Option<Url>,
    pub revocation_endpoint: Option<Url>,
    pub scopes_supported: Scopes,
    /// Supported grants, if they are listed.
    pub grant_types_supported: Option<Vec<String>>,
    /// Supported client authentication methods, if they are listed.
    pub token_endpoint_auth_methods_supported: Option<Vec<String>>,
    /// Supported PKCE methods, if they are listed.
    pub code_challenge_methods_supported: Option<Vec<String>>,
    /// Algorithms of DPoP proofs, if DPoP is supported.
    pub dpop_signing_alg_values_supported: Option<Vec<String>>,
    pub client_id_metadata_document_supported: bool,
    /// Set if every redirect contains `iss`.
    pub authorization_response_iss_parameter_supported: bool,
}

impl Issuer {
    /// Issuer of a server without metadata: its origin.
    pub(crate) fn origin(server: &Url) -> Self {
        let mut origin = server.clone();
        origin.set_path("/");
        origin.set_query(None);
        origin.set_fragment(None);
        Self::Origin(origin)
    }

    /// URLs of the metadata, in the order of the specification.
    pub(crate) fn candidates(&self) -> Result<Vec<Url>, MetadataError> {
        let base = match self {
            Self::Named(issuer) => required("authorization_servers", issuer)?,
            Self::Origin(origin) => origin.clone(),
        };
        let path = base.path().trim_end_matches('/');
        let mut candidates = vec![
            well_known(&base, "oauth-authorization-server", path),
            well_known(&base, "openid-configuration", path),
        ];
        if !path.is_empty() {
            let mut appended = base.clone();
            appended.set_path(&format!("{path}/.well-known/openid-configuration"));
            candidates.push(appended);
        }
        Ok(candidates)
    }

    /// Issuer as text.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Named(issuer) => issuer,
            Self::Origin(origin) => origin.as_str().trim_end_matches('/'),
        }
    }

    /// Returns true if metadata of the issuer `found` may be used.
    ///
    /// One final slash of difference is accepted: both names are the same host and path, and real
    /// providers spell them differently in the two documents. So is the placeholder in the metadata of a
    /// provider for many tenants.
    pub(crate) fn accepts(&self, found: &str) -> bool {
        let bare = |text: &str| text.strip_suffix('/').unwrap_or(text).to_owned();
        self.is(found)
            || bare(self.name()) == bare(found)
            || found.contains(TENANT) && fits(found, self.name())
    }

    /// Compares byte for byte. Only an origin, which no server wrote itself, may differ by a final
    /// slash.
    pub(crate) fn is(&self, found: &str) -> bool {
        match self {
            Self::Named(issuer) => issuer == found,
            Self::Origin(_) => found.strip_suffix('/').unwrap_or(found) == self.name(),
        }
    }
}

impl AuthorizationServer {
    /// Reads the document, and refuses it unless it belongs to `issuer`.
    pub(crate) fn parse(body: &[u8], issuer: &Issuer) -> Result<Self, MetadataError> {
        Self::parse_known(body, issuer, None)
    }

    /// The same for a provider that is known to call itself `own_issuer`.
    pub(crate) fn parse_known(
        body: &[u8],
        issuer: &Issuer,
        own_issuer: Option<&str>,
    ) -> Result<Self, MetadataError> {
        let document: Document = read(body)?;
        let is_known = own_issuer == Some(document.issuer.as_str());
        if !is_known && !issuer.accepts(&document.issuer) {
            return Err(MetadataError::Issuer {
                found: document.issuer,
                expected: issuer.name().to_owned(),
            });
        }
        let token_endpoint = document.token_endpoint.as_deref();
        let token_endpoint = token_endpoint.ok_or(MetadataError::NoEndpoint("token_endpoint"))?;
        let optional = |name, url: Option<&str>| url.map(|url| required(name, url)).transpose();
        Ok(Self {
            authorization_endpoint: optional(
                "authorization_endpoint",
                document.authorization_endpoint.as_deref(),
            )?,
            token_endpoint: required("token_endpoint", token_endpoint)?,
            registration_endpoint: optional(
                "registration_endpoint",
                document
                    .registration_endpoint
                    .as_deref()
                    .filter(|url| !url.is_empty()),
            )?,
            device_authorization_endpoint: dispensable(document.device_authorization_endpoint),
            revocation_endpoint: dispensable(document.revocation_endpoint),
            scopes_supported: document.scopes_supported.iter().flatten().collect(),
            grant_types_supported: document.grant_types_supported,
            token_endpoint_auth_methods_supported: document.token_endpoint_auth_methods_supported,
            code_challenge_methods_supported: document
                .code_challenge_methods_supported
                .or_else(|| issuer.promised_methods()),
            dpop_signing_alg_values_supported: document.dpop_signing_alg_values_supported,
            client_id_metadata_document_supported: document
                .client_id_metadata_document_supported
                .unwrap_or(false),
            authorization_response_iss_parameter_supported: document
                .authorization_response_iss_parameter_supported
                .unwrap_or(false),
            issuer: match issuer {
                Issuer::Named(name) => name.clone(),
                // A refresh compares this name with the origin again.
                Issuer::Origin(_) if is_known => issuer.name().to_owned(),
                Issuer::Origin(_) => document.issuer.clone(),
            },
            own_name: Some(document.issuer),
        })
    }

    /// Authorization server whose endpoints the user or the table of quirks names.
    ///
    /// No metadata can promise PKCE then; it is used all the same, as for the oldest revision with logins.
    pub(crate) fn with_endpoints(issuer: &Issuer, authorization: Url, token: &Url) -> Self {
        Self {
            issuer: issuer.name().to_owned(),
            own_name: match issuer {
                Issuer::Named(name) => Some(name.clone()),
                Issuer::Origin(_) => None,
            },
            authorization_endpoint: Some(authorization),
            token_endpoint: token.clone(),
            registration_endpoint: None,
            ..Self::assumed(token)
        }
    }

    /// Returns true if `found` is the issuer of a redirect from this server.
    pub(crate) fn is_named(&self, found: &str) -> bool {
        match &self.own_name {
            Some(name) => name == found || name.contains(TENANT) && fits(name, found),
            None => true,
        }
    }

    /// Audience of an assertion for this server.
    pub(crate) fn audience(&self) -> &str {
        let own = self
            .own_name
            .as_deref()
            .filter(|name| !name.contains(TENANT));
        own.unwrap_or(&self.issuer)
    }

    /// Endpoints that the oldest revision with logins assumes for a server without metadata.
    pub(crate) fn assumed(server: &Url) -> Self {
        let issuer = Issuer::origin(server);
        let at = |path| {
            let mut url = server.clone();
            url.set_query(None);
            url.set_fragment(None);
            url.set_path(path);
            url
        };
        Self {
            issuer: issuer.name().to_owned(),
            own_name: Some(issuer.name().to_owned()),
            authorization_endpoint: Some(at("/authorize")),
            token_endpoint: at("/token"),
            registration_endpoint: Some(at("/register")),
            device_authorization_endpoint: None,
            revocation_endpoint: None,
            scopes_supported: Scopes::default(),
            grant_types_supported: None,
            token_endpoint_auth_methods_supported: None,
            code_challenge_methods_supported: issuer.promised_methods(),
            dpop_signing_alg_values_supported: None,
            client_id_metadata_document_supported: false,
            authorization_response_iss_parameter_supported: false,
        }
    }

    /// Authorization page. Refuses a server without PKCE, because its codes could be stolen.
    pub(crate) fn authorization_endpoint(&self) -> Result<&Url, MetadataError> {
        let issuer = || self.issuer.clone();
        match &self.code_challenge_methods_supported {
            None => return Err(MetadataError::PkceNotListed { issuer: issuer() }),
            Some(methods) if !methods.iter().any(|method| method == "S256") => {
                return Err(MetadataError::NoPkce { issuer: issuer() });
            }
            Some(_) => {}
        }
        let endpoint = self.authorization_endpoint.as_ref();
        endpoint.ok_or(MetadataError::NoEndpoint("authorization_endpoint"))
    }

    pub(crate) fn device_authorization_endpoint(&self) -> Result<&Url, MetadataError> {
        let endpoint = self.device_authorization_endpoint.as_ref();
        endpoint.ok_or(MetadataError::NoEndpoint("device_authorization_endpoint"))
    }
}

/// Placeholder for the tenant of the user, as in the metadata of Entra for many tenants.
const TENANT: &str = "{tenantid}";

/// Compares part by part; the placeholder in `pattern` stands for one part of the path.
fn fits(pattern: &str, issuer: &str) -> bool {
    let (parts, found) = (pattern.split('/'), issuer.split('/'));
    let fits = |(part, found): (&str, &str)| part == found || part == TENANT && !found.is_empty();
    // The host is not a tenant.
    let is_in_path = pattern.split('/').take(3).all(|part| part != TENANT);
    is_in_path && parts.clone().count() == found.clone().count() && parts.zip(found).all(fits)
}

/// Ignores an invalid URL of an endpoint that most logins do not need.
fn dispensable(url: Option<String>) -> Option<Url> {
    endpoint::parse(&url?).ok()
}

impl Issuer {
    /// PKCE methods. The oldest revision with logins required PKCE of every server, but not to list
    /// it.
    fn promised_methods(&self) -> Option<Vec<String>> {
        matches!(self, Self::Origin(_)).then(|| vec!["S256".to_owned()])
    }
}

#[derive(Deserialize)]
struct Document {
    issuer: String,
    authorization_endpoint: Option<String>,
    token_endpoint: Option<String>,
    registration_endpoint: Option<String>,
    device_authorization_endpoint: Option<String>,
    revocation_endpoint: Option<String>,
    scopes_supported: Option<Vec<String>>,
    grant_types_supported: Option<Vec<String>>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    code_challenge_methods_supported: Option<Vec<String>>,
    dpop_signing_alg_values_supported: Option<Vec<String>>,
    client_id_metadata_document_supported: Option<bool>,
    authorization_response_iss_parameter_supported: Option<bool>,
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::{AuthorizationServer, Issuer};
    use crate::Scopes;

    const ISSUER: &str = "https://as.example";

    fn named(issuer: &str) -> Issuer {
        Issuer::Named(issuer.to_owned())
    }

    fn document(issuer: &str, rest: &str) -> String {
        let endpoints = r#""authorization_endpoint":"https://as.example/a","token_endpoint":"https://as.example/t""#;
        format!(r#"{{"issuer":"{issuer}",{endpoints}{rest}}}"#)
    }

    #[test]
    fn metadata_is_looked_for_in_order() {
        let cases: [(Issuer, &[&str]); 5] = [
            (
                named("https://as.example"),
                &[
                    "https://as.example/.well-known/oauth-authorization-server",
                    "https://as.example/.well-known/openid-configuration",
                ],
            ),
            (
                named("https://as.example/"),
                &[
                    "https://as.example/.well-known/oauth-authorization-server",
                    "https://as.example/.well-known/openid-configuration",
                ],
            ),
            (
                named("https://as.example/tenant1"),
                &[
                    "https://as.example/.well-known/oauth-authorization-server/tenant1",
                    "https://as.example/.well-known/openid-configuration/tenant1",
                    "https://as.example/tenant1/.well-known/openid-configuration",
                ],
            ),
            (
                named("https://as.example/a/b/"),
                &[
                    "https://as.example/.well-known/oauth-authorization-server/a/b",
                    "https://as.example/.well-known/openid-configuration/a/b",
                    "https://as.example/a/b/.well-known/openid-configuration",
                ],
            ),
            (
                Issuer::origin(&"http://localhost:1/mcp?x".parse().unwrap()),
                &[
                    "http://localhost:1/.well-known/oauth-authorization-server",
                    "http://localhost:1/.well-known/openid-configuration",
                ],
            ),
        ];
        for (issuer, expected) in cases {
            let found = issuer.candidates().unwrap();
            let found: Vec<&str> = found.iter().map(Url::as_str).collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn an_issuer_is_an_endpoint() {
        for issuer in [
            "",
            "as.example",
            "http://as.example",
            "https://u:p@as.example",
        ] {
            assert!(named(issuer).candidates().is_err(), "{issuer}");
        }
    }

    #[test]
    fn issuers_are_compared_but_for_a_final_slash_and_the_tenant() {
        let origin = || Issuer::origin(&"https://as.example/mcp".parse().unwrap());
        let cases = [
            (named(ISSUER), ISSUER, true),
            (named(ISSUER), "https://as.example/", true),
            (named("https://as.example/"), ISSUER, true),
            (named(ISSUER), "https://as.example//", false),
            (
                named("https://as.example/common/v2.0"),
                "https://as.example/{tenantid}/v2.0",
                true,
            ),
            (
                named("https://as.example/a/b/v2.0"),
                "https://as.example/{tenantid}/v2.0",
                false,
            ),
            (
                named("https://as.example//v2.0"),
                "https://as.example/{tenantid}/v2.0",
                false,
            ),
            (
                named("https://as.example/common/v2.0"),
                "https://evil.example/{tenantid}/v2.0",
                false,
            ),
            (
                named("https://as.example/common"),
                "https://{tenantid}/common",
                false,
            ),
            (
                named("https://as.example/{tenantid}"),
                "https://as.example/common",
                false,
            ),
            (named(ISSUER), "https://AS.example", false),
            (named(ISSUER), "https://as.example:443", false),
            (named(ISSUER), "https://as.example/tenant1", false),
            (named(ISSUER), "https://evil.example", false),
            (origin(), ISSUER, true),
            (origin(), "https://as.example/", true),
            (origin(), "https://as.example//", false),
            (origin(), "https://as.example/mcp", false),
            (origin(), "https://evil.example", false),
        ];
        for (issuer, found, accepted) in cases {
            let parsed = AuthorizationServer::parse(document(found, "").as_bytes(), &issuer);
            assert_eq!(parsed.is_ok(), accepted, "{issuer:?} {found}");
        }
    }

    #[test]
    fn metadata_is_read() {
        let rest = r#","registration_endpoint":"https://as.example/r","scopes_supported":["a","b"],
            "grant_types_supported":["authorization_code"],"token_endpoint_auth_methods_supported":["none"],
            "code_challenge_methods_supported":["S256"],"client_id_metadata_document_supported":true,
            "authorization_response_iss_parameter_supported":true,"jwks_uri":"x",
            "device_authorization_endpoint":"https://as.example/d","revocation_endpoint":"http://as.example/not-used",
            "dpop_signing_alg_values_supported":["ES256"]"#;
        let url = |path: &str| format!("{ISSUER}{path}").parse::<Url>().unwrap();
        let expected = AuthorizationServer {
            issuer: ISSUER.into(),
            own_name: Some(ISSUER.into()),
            authorization_endpoint: Some(url("/a")),
            token_endpoint: url("/t"),
            registration_endpoint: Some(url("/r")),
            device_authorization_endpoint: Some(url("/d")),
            revocation_endpoint: None,
            scopes_supported: Scopes::parse("a b"),
            grant_types_supported: Some(vec!["authorization_code".into()]),
            token_endpoint_auth_methods_supported: Some(vec!["none".into()]),
            code_challenge_methods_supported: Some(vec!["S256".into()]),
            dpop_signing_alg_values_supported: Some(vec!["ES256".into()]),
            client_id_metadata_document_supported: true,
            authorization_response_iss_parameter_supported: true,
        };
        let body = document(ISSUER, rest);
        let found = AuthorizationServer::parse(body.as_bytes(), &named(ISSUER));
        assert_eq!(found.unwrap(), expected);
    }

    #[test]
    fn credentials_are_stored_for_the_named_issuer_and_redirects_come_from_its_own_name() {
        let cases = [
            (
                "https://as.example",
                "https://as.example/",
                "https://as.example/",
                true,
            ),
            (
                "https://as.example",
                "https://as.example/",
                "https://as.example",
                false,
            ),
            (
                "https://as.example/common/v2.0",
                "https://as.example/{tenantid}/v2.0",
                "https://as.example/1-2/v2.0",
                true,
            ),
            (
                "https://as.example/common/v2.0",
                "https://as.example/{tenantid}/v2.0",
                "https://as.example/1/2/v2.0",
                false,
            ),
            (
                "https://as.example/common/v2.0",
                "https://as.example/{tenantid}/v2.0",
                "https://evil.example/1/v2.0",
                false,
            ),
        ];
        for (issuer, own, redirect, accepted) in cases {
            let body = document(own, "");
            let server = AuthorizationServer::parse(body.as_bytes(), &named(issuer)).unwrap();
            assert_eq!(server.issuer, issuer);
            assert_eq!(server.is_named(redirect), accepted, "{own} {redirect}");
        }
    }

    #[test]
    fn a_known_provider_may_have_another_name_of_its_own() {
        let own = Some("https://own.example");
        let origin = Issuer::origin(&"https://as.example/mcp".parse().unwrap());
        for issuer in [named(ISSUER), origin] {
            let parse = |found: &str| {
                let body = document(found, "");
                AuthorizationServer::parse_known(body.as_bytes(), &issuer, own)
            };
            let server = parse("https://own.example").unwrap();
            assert_eq!(
                (server.issuer.as_str(), server.own_name.as_deref()),
                (ISSUER, own)
            );
            assert!(server.is_named("https://own.example") && !server.is_named(ISSUER));
            assert!(parse(ISSUER).is_ok());
            assert!(parse("https://own.example.evil").is_err());
        }
    }

    #[test]
    fn an_empty_registration_endpoint_is_none() {
        let body = document(ISSUER, r#","registration_endpoint":"""#);
        let server = AuthorizationServer::parse(body.as_bytes(), &named(ISSUER)).unwrap();
        assert_eq!(server.registration_endpoint, None);
    }

    #[test]
    fn codes_must_be_bound_by_s256() {
        let origin = Issuer::origin(&"https://as.example/mcp".parse().unwrap());
        let cases = [
            ("", named(ISSUER), false),
            (
                r#","code_challenge_methods_supported":null"#,
                named(ISSUER),
                false,
            ),
            (
                r#","code_challenge_methods_supported":[]"#,
                named(ISSUER),
                false,
            ),
            (
                r#","code_challenge_methods_supported":["plain"]"#,
                named(ISSUER),
                false,
            ),
            (
                r#","code_challenge_methods_supported":["plain","S256"]"#,
                named(ISSUER),
                true,
            ),
            ("", origin.clone(), true),
            (
                r#","code_challenge_methods_supported":["plain"]"#,
                origin,
                false,
            ),
        ];
        for (rest, issuer, accepted) in cases {
            let body = document(ISSUER, rest);
            let server = AuthorizationServer::parse(body.as_bytes(), &issuer).unwrap();
            assert_eq!(server.authorization_endpoint().is_ok(), accepted, "{rest}");
        }
    }

    #[test]
    fn unusable_metadata_is_refused() {
        let cases = [
            ("<html>", "the metadata is malformed"),
            (
                r#"{"issuer":"https://as.example"}"#,
                "the metadata must name the token_endpoint, but it does not",
            ),
            (
                r#"{"issuer":"https://as.example","token_endpoint":"http://as.example/t"}"#,
                r#"token_endpoint "http://as.example/t" is not used: it is neither https nor on this machine"#,
            ),
            (
                r#"{"issuer":"https://as.example","token_endpoint":"https://as.example/t","authorization_endpoint":"file:///bin/sh"}"#,
                r#"authorization_endpoint "file:///bin/sh" is not used: it is neither https nor on this machine"#,
            ),
        ];
        for (body, expected) in cases {
            let error = AuthorizationServer::parse(body.as_bytes(), &named(ISSUER));
            assert_eq!(error.unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn a_server_without_metadata_has_three_endpoints() {
        let server: Url = "http://localhost:1/mcp?x=1".parse().unwrap();
        let assumed = AuthorizationServer::assumed(&server);
        assert_eq!(assumed.issuer, "http://localhost:1");
        let expected =
            ["/authorize", "/token", "/register"].map(|path| format!("http://localhost:1{path}"));
        let endpoints = [
            assumed.authorization_endpoint().unwrap(),
            &assumed.token_endpoint,
            assumed.registration_endpoint.as_ref().unwrap(),
        ];
        assert_eq!(
            endpoints.map(Url::as_str),
            expected.each_ref().map(String::as_str)
        );
    }
}
