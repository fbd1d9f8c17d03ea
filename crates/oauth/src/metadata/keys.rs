//! Endpoints of an issuer that a resource server uses.

use serde::Deserialize;
use url::Url;

use super::document::{MetadataError, endpoint, read};
use super::server::Issuer;

/// Reads `jwks_uri` from the metadata of `issuer`.
pub(crate) fn jwks_uri(body: &[u8], issuer: &Issuer) -> Result<Url, MetadataError> {
    let document = document(body, issuer)?;
    named("jwks_uri", document.jwks_uri.as_deref())
}

/// Reads `introspection_endpoint` from the metadata of `issuer`.
pub(crate) fn introspection_endpoint(body: &[u8], issuer: &Issuer) -> Result<Url, MetadataError> {
    let document = document(body, issuer)?;
    named(
        "introspection_endpoint",
        document.introspection_endpoint.as_deref(),
    )
}

fn document(body: &[u8], issuer: &Issuer) -> Result<Document, MetadataError> {
    let document: Document = read(body)?;
    if !issuer.is(&document.issuer) {
        return Err(MetadataError::Issuer {
            found: document.issuer,
            expected: issuer.name().to_owned(),
        });
    }
    Ok(document)
}

fn named(name: &'static str, url: Option<&str>) -> Result<Url, MetadataError> {
    endpoint(name, url.ok_or(MetadataError::NoEndpoint(name))?)
}

#[derive(Deserialize)]
struct Document {
    issuer: String,
    jwks_uri: Option<String>,
    introspection_endpoint: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::jwks_uri;
    use crate::metadata::Issuer;

    #[test]
    fn keys_are_where_the_issuer_itself_says() {
        let cases = [
            (
                r#"{"issuer":"https://as.example","jwks_uri":"https://keys.example/k"}"#,
                Ok("https://keys.example/k"),
            ),
            (
                r#"{"issuer":"https://as.example"}"#,
                Err("the metadata must name the jwks_uri, but it does not"),
            ),
            (
                r#"{"issuer":"https://as.example/","jwks_uri":"https://keys.example/k"}"#,
                Err(
                    "the metadata must be of the issuer https://as.example, but it is of https://as.example/",
                ),
            ),
            (
                r#"{"issuer":"https://as.example","jwks_uri":"http://keys.example/k"}"#,
                Err(
                    r#"jwks_uri "http://keys.example/k" is not used: it is neither https nor on this machine"#,
                ),
            ),
            ("<html>", Err("the metadata is malformed")),
        ];
        let issuer = Issuer::Named("https://as.example".to_owned());
        for (body, expected) in cases {
            let found = jwks_uri(body.as_bytes(), &issuer);
            let found = found.map(String::from).map_err(|error| error.to_string());
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(found, expected, "{body}");
        }
    }
}
