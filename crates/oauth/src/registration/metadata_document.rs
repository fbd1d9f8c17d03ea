//! Client id metadata documents: the client id is the URL of a document that describes the client.

use serde_json::json;
use url::Url;

/// Client id that is the URL of a metadata document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientIdUrl(String);

/// The URL cannot be a client id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the id of a client is an https URL with a path, and without credentials, dots or fragment"
)]
#[non_exhaustive]
pub struct ClientIdUrlError;

impl ClientIdUrl {
    /// Accepts a URL that every authorization server with support for such documents accepts.
    pub fn parse(text: &str) -> Result<Self, ClientIdUrlError> {
        let url = Url::parse(text).map_err(|_| ClientIdUrlError)?;
        // If the parser changes the text, such as dots in the path, another reader may not, and the
        // two would see two ids.
        let plain = url.as_str() == text;
        let anonymous = url.username().is_empty() && url.password().is_none();
        let fits = url.scheme() == "https" && url.path() != "/" && url.fragment().is_none();
        if plain && anonymous && fits {
            Ok(Self(text.to_owned()))
        } else {
            Err(ClientIdUrlError)
        }
    }

    /// Client id, byte for byte.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Document to publish at the URL.
    pub fn document(&self, client_name: &str, redirect_uris: &[&str]) -> String {
        let document = json!({
            "client_id": self.0,
            "client_name": client_name,
            "redirect_uris": redirect_uris,
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "application_type": "native",
        });
        format!("{document:#}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::ClientIdUrl;
    use crate::callback_listener;

    #[test]
    fn an_id_is_an_https_address_with_a_path() {
        let good = [
            "https://conformance-test.local/client-metadata.json",
            "https://a.example:1/c?x=1",
        ];
        for text in good {
            assert_eq!(ClientIdUrl::parse(text).unwrap().as_str(), text);
        }
        for text in [
            "",
            "callgate",
            "http://a.example/c",
            "https://a.example",
            "https://a.example/",
            "https://A.example/c",
            "https://a.example/x/../c",
            "https://a.example/./c",
            "https://u@a.example/c",
            "https://a.example/c#f",
            " https://a.example/c",
        ] {
            assert!(ClientIdUrl::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_document_names_its_own_address() {
        let id = ClientIdUrl::parse("https://a.example/c.json").unwrap();
        let document = id.document("Callgate", &["http://127.0.0.1:1/cb"]);
        let found: serde_json::Value = serde_json::from_str(&document).unwrap();
        let expected = serde_json::json!({
            "client_id": "https://a.example/c.json",
            "client_name": "Callgate",
            "redirect_uris": ["http://127.0.0.1:1/cb"],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "application_type": "native",
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn the_document_that_ships_is_this_one() {
        let id = "https://example.com/callgate/client-metadata.json";
        let redirect_uri = callback_listener::Config::default().redirect_uri();
        let document = ClientIdUrl::parse(id)
            .unwrap()
            .document("Callgate", &[&redirect_uri]);
        let shipped = include_str!("../../../../docs/client-metadata.json");
        assert_eq!(shipped, document);
    }
}
