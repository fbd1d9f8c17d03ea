use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use url::{Url, form_urlencoded};

use crate::Secret;
use crate::http_message::Request;
use crate::jwt::{self, SignError, SigningKey};
use crate::metadata::AuthorizationServer;
use crate::registration::{AuthMethod, ClientInfo};

/// Type of a client assertion (RFC 7523, section 2.2).
const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// Lifetime of a client assertion in seconds: one request, and clocks that differ a little.
const ASSERTION_LIFETIME: u64 = 120;

/// Client authentication at one authorization server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Authentication<'a> {
    pub(crate) client: &'a ClientInfo,
    pub(crate) method: AuthMethod,
    /// Issuer, the audience of a client assertion.
    pub(crate) issuer: &'a str,
}

impl<'a> Authentication<'a> {
    /// Chooses the method that client and server support.
    pub(crate) fn at(server: &'a AuthorizationServer, client: &'a ClientInfo) -> Self {
        Self {
            client,
            method: client.auth_method(server),
            issuer: server.audience(),
        }
    }

    /// Form request with the client authentication.
    pub(crate) fn form(
        &self,
        endpoint: Url,
        fields: &[(&str, &str)],
        now: u64,
    ) -> Result<Request, SignError> {
        let id = self.client.id.as_str();
        // `client_id` is allowed beside any authentication, and servers on the Python SDK require
        // it in the form.
        let mut fields = [fields, &[("client_id", id)]].concat();
        let secret = self.client.secret.as_ref().map_or("", Secret::expose);
        let assertion = self.assertion(now)?;
        match self.method {
            AuthMethod::ClientSecretBasic => {
                let mut request = Request::form(endpoint, &fields);
                request.headers.push(("authorization", basic(id, secret)));
                return Ok(request);
            }
            AuthMethod::None | AuthMethod::PrivateKeyJwt => {}
            AuthMethod::ClientSecretPost => fields.push(("client_secret", secret)),
        }
        if let Some(assertion) = &assertion {
            fields.extend([
                ("client_assertion_type", JWT_BEARER),
                ("client_assertion", assertion.expose()),
            ]);
        }
        Ok(Request::form(endpoint, &fields))
    }

    /// Client assertion. Its only audience is the issuer, so that no other server can use it.
    fn assertion(&self, now: u64) -> Result<Option<Secret>, SignError> {
        let key = self.client.key.as_ref();
        let Some(key) = key.filter(|_| self.method == AuthMethod::PrivateKeyJwt) else {
            return Ok(None);
        };
        let claims = Claims {
            iss: &self.client.id,
            sub: &self.client.id,
            aud: self.issuer,
            jti: jwt::unique_id()?,
            iat: now,
            exp: now.saturating_add(ASSERTION_LIFETIME),
        };
        jwt::sign(&Header::of(key), &claims, key).map(Some)
    }
}

/// Basic credentials, both halves form-encoded (RFC 6749, section 2.3.1).
///
/// A space is written `%20`, which servers that do not decode forms read as well.
fn basic(id: &str, secret: &str) -> Secret {
    let encode = |text: &str| {
        let encoded: String = form_urlencoded::byte_serialize(text.as_bytes()).collect();
        encoded.replace('+', "%20")
    };
    let pair = format!("{}:{}", encode(id), encode(secret));
    Secret::new(format!("Basic {}", STANDARD.encode(pair)))
}

#[derive(Serialize)]
struct Header<'a> {
    typ: &'static str,
    alg: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    kid: Option<&'a str>,
}

impl<'a> Header<'a> {
    fn of(key: &'a SigningKey) -> Self {
        Self {
            typ: "JWT",
            alg: key.algorithm().name(),
            kid: key.id(),
        }
    }
}

#[derive(Serialize)]
struct Claims<'a> {
    iss: &'a str,
    sub: &'a str,
    aud: &'a str,
    jti: String,
    iat: u64,
    exp: u64,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ring::signature::ECDSA_P256_SHA256_FIXED;
    use serde_json::json;
    use url::form_urlencoded;

    use super::Authentication;
    use crate::http_message::Request;
    use crate::jwt::SigningKey;
    use crate::jwt::test_tokens::{is_signed, p256, read};
    use crate::registration::{AuthMethod, ClientInfo};

    fn request(client: &ClientInfo) -> Request {
        let authentication = Authentication {
            client,
            method: AuthMethod::PrivateKeyJwt,
            issuer: "https://as.example",
        };
        let endpoint = "https://as.example/token".parse().unwrap();
        authentication.form(endpoint, &[("a", "b")], 1000).unwrap()
    }

    fn fields(request: &Request) -> BTreeMap<String, String> {
        let body = request.body.as_ref().unwrap().expose();
        form_urlencoded::parse(body.as_bytes())
            .into_owned()
            .collect()
    }

    #[test]
    fn a_key_proves_the_client_to_one_issuer_for_a_moment() {
        let key = SigningKey::from_pem(&p256(), None).unwrap();
        let client = ClientInfo {
            key: Some(key.clone()),
            ..ClientInfo::public("me")
        };
        let sent = request(&client);
        let mut found = fields(&sent);
        let assertion = found.remove("client_assertion").unwrap();
        let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
        let expected = [
            ("a", "b"),
            ("client_assertion_type", kind),
            ("client_id", "me"),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(found, BTreeMap::from(expected));

        assert!(is_signed(
            &assertion,
            &ECDSA_P256_SHA256_FIXED,
            key.public()
        ));
        let (header, mut claims) = read(&assertion);
        assert_eq!(header, json!({"typ": "JWT", "alg": "ES256"}));
        let id = claims["jti"].take();
        let expected = json!({
            "iss": "me", "sub": "me", "aud": "https://as.example", "jti": null, "iat": 1000, "exp": 1120,
        });
        assert_eq!(claims, expected);

        let named = ClientInfo {
            key: Some(key.with_id("k")),
            ..client
        };
        let assertion = fields(&request(&named)).remove("client_assertion").unwrap();
        let (header, claims) = read(&assertion);
        assert_eq!(header["kid"], "k");
        assert_ne!(claims["jti"], id);
    }
}
