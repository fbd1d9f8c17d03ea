//! Protected resource metadata of our own endpoint (RFC 9728).

use bytes::Bytes;
use serde::Serialize;
use url::Url;

use super::algorithm;
use super::name::ResourceName;
use crate::Scopes;
use crate::metadata::ProtectedResource;

/// Public metadata document, and its URLs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Description {
    /// URL that challenges name.
    pub(super) url: Url,
    /// Paths where clients look for the document.
    pub(super) paths: Vec<String>,
    /// Document.
    pub(super) json: Bytes,
}

impl Description {
    /// Describes the server with the public URL `name` that answers at `path`, which differ behind
    /// some proxies.
    pub(super) fn new(name: &ResourceName, path: &str, issuer: &str, scopes: &Scopes) -> Self {
        let document = Document {
            resource: name.canonical(),
            authorization_servers: [issuer],
            scopes_supported: scopes.iter().collect(),
            bearer_methods_supported: ["header"],
            dpop_signing_alg_values_supported: algorithm::NAMES,
        };
        let mut local = name.url().clone();
        local.set_path(path);
        let mut paths = Vec::new();
        for candidate in well_known(name.url()).into_iter().chain(well_known(&local)) {
            let path = candidate.path().to_owned();
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        let mut urls = well_known(name.url()).into_iter();
        Self {
            url: urls.next().expect("every server has a place for it"),
            paths,
            json: serde_json::to_vec(&document)
                .expect("text is always JSON")
                .into(),
        }
    }
}

/// Well-known URLs of `server`.
fn well_known(server: &Url) -> Vec<Url> {
    let places = ProtectedResource::candidates(server, None);
    places.expect("no challenge names an address that could be refused")
}

#[derive(Serialize)]
struct Document<'a> {
    resource: String,
    authorization_servers: [&'a str; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    scopes_supported: Vec<&'a str>,
    bearer_methods_supported: [&'a str; 1],
    dpop_signing_alg_values_supported: [&'a str; 9],
}

#[cfg(test)]
mod tests {
    use super::Description;
    use crate::Scopes;
    use crate::metadata::ProtectedResource;
    use crate::resource::ResourceName;

    const ISSUER: &str = "https://as.example/tenant";

    fn describe(name: &str, scopes: &str) -> Description {
        let name = ResourceName::parse(name).unwrap();
        Description::new(&name, "/mcp", ISSUER, &Scopes::parse(scopes))
    }

    #[test]
    fn the_document_has_the_members_that_clients_need() {
        let cases = [
            (
                describe("http://127.0.0.1:3000/mcp", ""),
                r#"{"resource":"http://127.0.0.1:3000/mcp","authorization_servers":["https://as.example/tenant"],"bearer_methods_supported":["header"],"dpop_signing_alg_values_supported":["ES256","ES384","EdDSA","PS256","PS384","PS512","RS256","RS384","RS512"]}"#,
            ),
            (
                describe("https://gate.example/", "read write"),
                r#"{"resource":"https://gate.example","authorization_servers":["https://as.example/tenant"],"scopes_supported":["read","write"],"bearer_methods_supported":["header"],"dpop_signing_alg_values_supported":["ES256","ES384","EdDSA","PS256","PS384","PS512","RS256","RS384","RS512"]}"#,
            ),
        ];
        for (description, expected) in cases {
            assert_eq!(str::from_utf8(&description.json), Ok(expected));
        }
    }

    #[test]
    fn our_own_client_believes_it() {
        let description = describe("https://gate.example/mcp", "read");
        let server = "https://gate.example/mcp".parse().unwrap();
        let expected = ProtectedResource {
            resource: "https://gate.example/mcp".to_owned(),
            authorization_servers: vec![ISSUER.to_owned()],
            scopes_supported: Scopes::parse("read"),
            dpop_bound_access_tokens_required: false,
        };
        let found = ProtectedResource::parse(&description.json, &server);
        assert_eq!(found.unwrap(), expected);
    }

    #[test]
    fn it_is_wherever_a_client_or_a_proxy_looks() {
        const ROOT: &str = "/.well-known/oauth-protected-resource";
        let mcp = format!("{ROOT}/mcp");
        let cases = [
            (
                "http://127.0.0.1:3000/mcp",
                vec![mcp.clone(), ROOT.to_owned()],
            ),
            ("https://gate.example", vec![ROOT.to_owned(), mcp.clone()]),
            (
                "https://gate.example/a/mcp",
                vec![format!("{ROOT}/a/mcp"), ROOT.to_owned(), mcp],
            ),
        ];
        for (name, expected) in cases {
            let description = describe(name, "");
            assert_eq!(description.paths, expected, "{name}");
            assert_eq!(description.url.path(), description.paths[0]);
        }
    }
}
