//! Protected resource metadata (RFC 9728).

use serde::Deserialize;
use url::Url;

use super::document::{MetadataError, endpoint, read, well_known};
use crate::Scopes;

const WELL_KNOWN: &str = "oauth-protected-resource";

/// Metadata of an MCP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProtectedResource {
    /// Resource name for token requests, byte for byte as the server wrote it.
    pub resource: String,
    /// Issuers of its tokens; at least one.
    pub authorization_servers: Vec<String>,
    /// Scopes to request if a challenge names none.
    pub scopes_supported: Scopes,
    /// Set if the server accepts DPoP-bound tokens only.
    pub dpop_bound_access_tokens_required: bool,
}

impl ProtectedResource {
    /// URLs of the document: that of the challenge, else below the path, else at the root.
    pub(crate) fn candidates(server: &Url, named: Option<&str>) -> Result<Vec<Url>, MetadataError> {
        let mut candidates = Vec::new();
        if let Some(named) = named {
            candidates.push(own_or_endpoint(server, named)?);
        }
        let below = well_known(server, WELL_KNOWN, server.path());
        let mut root = well_known(server, WELL_KNOWN, "");
        root.set_query(None);
        for candidate in [below, root] {
            if !candidates.contains(&candidate) {
                candidates.push(candidate);
            }
        }
        Ok(candidates)
    }

    /// Reads the document, and refuses it unless it is for `server`.
    ///
    /// The resource may be the server's URL or a parent of it: a document at the root describes
    /// everything below, and no other origin can have put it there.
    pub(crate) fn parse(body: &[u8], server: &Url) -> Result<Self, MetadataError> {
        let document: Document = read(body)?;
        if !covers(&document.resource, server) {
            return Err(MetadataError::Resource {
                resource: document.resource,
                server: server.clone(),
            });
        }
        let authorization_servers = document.authorization_servers.unwrap_or_default();
        if authorization_servers.is_empty() {
            return Err(MetadataError::NoAuthorizationServer);
        }
        Ok(Self {
            resource: document.resource,
            authorization_servers,
            scopes_supported: document.scopes_supported.iter().flatten().collect(),
            dpop_bound_access_tokens_required: document
                .dpop_bound_access_tokens_required
                .unwrap_or(false),
        })
    }

    /// Resource name of a server without metadata.
    pub(crate) fn canonical(server: &Url) -> String {
        let mut url = server.clone();
        url.set_fragment(None);
        let is_root = url.path() == "/" && url.query().is_none();
        let text = String::from(url);
        match text.strip_suffix('/') {
            Some(origin) if is_root => origin.to_owned(),
            _ => text,
        }
    }
}

#[derive(Deserialize)]
struct Document {
    resource: String,
    authorization_servers: Option<Vec<String>>,
    scopes_supported: Option<Vec<String>>,
    dpop_bound_access_tokens_required: Option<bool>,
}

/// Accepts the own origin even over plain http: a server in a private network may at least name
/// itself.
fn own_or_endpoint(server: &Url, named: &str) -> Result<Url, MetadataError> {
    match Url::parse(named) {
        Ok(url) if url.origin() == server.origin() && url.username().is_empty() => Ok(url),
        _ => endpoint("resource_metadata", named),
    }
}

fn covers(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else {
        return false;
    };
    let parent = resource.path().trim_end_matches('/');
    let below = server.path().strip_prefix(parent);
    let is_below = below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let same_query = resource.query().is_none() || resource.query() == server.query();
    resource.origin() == server.origin()
        && resource.username().is_empty()
        && resource.password().is_none()
        && resource.fragment().is_none()
        && same_query
        && is_below
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::ProtectedResource;
    use crate::Scopes;

    fn url(text: &str) -> Url {
        text.parse().unwrap()
    }

    #[test]
    fn the_document_is_looked_for_in_order() {
        let cases: [(&str, Option<&str>, &[&str]); 8] = [
            (
                "https://a.example/mcp",
                None,
                &[
                    "https://a.example/.well-known/oauth-protected-resource/mcp",
                    "https://a.example/.well-known/oauth-protected-resource",
                ],
            ),
            (
                "https://a.example",
                None,
                &["https://a.example/.well-known/oauth-protected-resource"],
            ),
            (
                "https://a.example/x/mcp/?t=1#f",
                None,
                &[
                    "https://a.example/.well-known/oauth-protected-resource/x/mcp?t=1",
                    "https://a.example/.well-known/oauth-protected-resource",
                ],
            ),
            (
                "http://localhost:1/mcp",
                Some("http://localhost:1/custom/metadata/location.json"),
                &[
                    "http://localhost:1/custom/metadata/location.json",
                    "http://localhost:1/.well-known/oauth-protected-resource/mcp",
                    "http://localhost:1/.well-known/oauth-protected-resource",
                ],
            ),
            (
                "https://a.example/mcp",
                Some("https://a.example/.well-known/oauth-protected-resource/mcp"),
                &[
                    "https://a.example/.well-known/oauth-protected-resource/mcp",
                    "https://a.example/.well-known/oauth-protected-resource",
                ],
            ),
            (
                "https://a.example/mcp",
                Some("https://b.example/meta"),
                &[
                    "https://b.example/meta",
                    "https://a.example/.well-known/oauth-protected-resource/mcp",
                    "https://a.example/.well-known/oauth-protected-resource",
                ],
            ),
            (
                "http://10.0.0.1/",
                Some("http://10.0.0.1/meta"),
                &[
                    "http://10.0.0.1/meta",
                    "http://10.0.0.1/.well-known/oauth-protected-resource",
                ],
            ),
            (
                "https://a.example/a%2fb",
                None,
                &[
                    "https://a.example/.well-known/oauth-protected-resource/a%2fb",
                    "https://a.example/.well-known/oauth-protected-resource",
                ],
            ),
        ];
        for (server, named, expected) in cases {
            let found = ProtectedResource::candidates(&url(server), named).unwrap();
            let found: Vec<&str> = found.iter().map(Url::as_str).collect();
            assert_eq!(found, expected, "{server}");
        }
    }

    #[test]
    fn a_challenge_cannot_point_anywhere() {
        let server = url("https://a.example/mcp");
        for named in [
            "",
            "/meta",
            "http://a.example/meta",
            "http://10.0.0.1/",
            "file:///etc/passwd",
        ] {
            assert!(ProtectedResource::candidates(&server, Some(named)).is_err());
        }
    }

    #[test]
    fn the_document_is_for_the_server_or_refused() {
        let cases = [
            ("https://a.example/mcp", "https://a.example/mcp", true),
            ("https://a.example/mcp/", "https://a.example/mcp", true),
            ("https://a.example/mcp", "https://a.example/mcp/", true),
            ("https://A.example:443/mcp", "https://a.example/mcp", true),
            ("https://a.example", "https://a.example/mcp", true),
            ("https://a.example/x", "https://a.example/x/mcp", true),
            ("https://a.example/mcp", "https://a.example/mcp?t=1", true),
            (
                "https://a.example/mcp?t=1",
                "https://a.example/mcp?t=1",
                true,
            ),
            (
                "https://a.example/mcp?t=2",
                "https://a.example/mcp?t=1",
                false,
            ),
            ("https://a.example/mc", "https://a.example/mcp", false),
            ("https://a.example/mcp/x", "https://a.example/mcp", false),
            ("https://a.example/MCP", "https://a.example/mcp", false),
            ("http://a.example/mcp", "https://a.example/mcp", false),
            ("https://a.example:8443/mcp", "https://a.example/mcp", false),
            (
                "https://evil.example.com/mcp",
                "https://a.example/mcp",
                false,
            ),
            (
                "https://a.example.evil.com/mcp",
                "https://a.example/mcp",
                false,
            ),
            ("https://u@a.example/mcp", "https://a.example/mcp", false),
            ("https://a.example/mcp#f", "https://a.example/mcp", false),
            ("mcp", "https://a.example/mcp", false),
        ];
        for (resource, server, accepted) in cases {
            let body = format!(r#"{{"resource":"{resource}","authorization_servers":["x"]}}"#);
            let found = ProtectedResource::parse(body.as_bytes(), &url(server));
            assert_eq!(found.is_ok(), accepted, "{resource} for {server}");
        }
    }

    #[test]
    fn documents_are_read() {
        let body = br#"{"resource":"https://a.example","authorization_servers":["b","c"],
            "scopes_supported":["x","y"],"dpop_bound_access_tokens_required":true,"other":1}"#;
        let expected = ProtectedResource {
            resource: "https://a.example".into(),
            authorization_servers: vec!["b".into(), "c".into()],
            scopes_supported: Scopes::parse("x y"),
            dpop_bound_access_tokens_required: true,
        };
        let found = ProtectedResource::parse(body, &url("https://a.example/mcp"));
        assert_eq!(found.unwrap(), expected);

        // Some servers send empty members.
        let body = br#"{"resource":"https://a.example","authorization_servers":["b"],
            "scopes_supported":null,"dpop_bound_access_tokens_required":null}"#;
        let found = ProtectedResource::parse(body, &url("https://a.example/mcp"));
        assert_eq!(found.unwrap().scopes_supported, Scopes::default());
    }

    #[test]
    fn invalid_documents_are_refused() {
        let cases = [
            ("<html>", "the metadata is malformed"),
            ("[]", "the metadata is malformed"),
            ("{}", "the metadata is malformed"),
            (
                r#"{"resource":"https://a.example","authorization_servers":"x"}"#,
                "the metadata is malformed",
            ),
            (
                r#"{"resource":"https://a.example"}"#,
                "the metadata must name an authorization server, but it names none",
            ),
            (
                r#"{"resource":"https://a.example","authorization_servers":[]}"#,
                "the metadata must name an authorization server, but it names none",
            ),
            (
                r#"{"resource":"https://a.example","authorization_servers":null}"#,
                "the metadata must name an authorization server, but it names none",
            ),
        ];
        for (body, expected) in cases {
            let error = ProtectedResource::parse(body.as_bytes(), &url("https://a.example/"));
            assert_eq!(error.unwrap_err().to_string(), expected, "{body}");
        }
    }

    #[test]
    fn a_server_without_metadata_has_a_name_too() {
        let cases = [
            ("https://A.example/", "https://a.example"),
            ("https://a.example:443/mcp#f", "https://a.example/mcp"),
            ("https://a.example/mcp/", "https://a.example/mcp/"),
            ("https://a.example/?t=1/", "https://a.example/?t=1/"),
        ];
        for (server, expected) in cases {
            assert_eq!(ProtectedResource::canonical(&url(server)), expected);
        }
    }
}
