use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::json;

/// An issuer of tokens on this machine, which answers as long as the tests run.
pub(crate) struct Issuer {
    pub(crate) url: String,
    key: EcdsaKeyPair,
}

impl Issuer {
    pub(crate) fn start() -> Self {
        Self::listen(200)
    }

    /// One that has a bad moment.
    pub(crate) fn start_overloaded() -> Self {
        Self::listen(503)
    }

    fn listen(status: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (random, algorithm) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &random).unwrap();
        let (x, y) = key.public_key().as_ref()[1..].split_at(32);
        let jwk = json!({"kty": "EC", "crv": "P-256", "x": encode(x), "y": encode(y)});
        let pages = Pages {
            status,
            metadata: json!({
                "issuer": url, "jwks_uri": format!("{url}/keys"),
                "introspection_endpoint": format!("{url}/introspect"),
            })
            .to_string(),
            introspected: json!({
                "active": true, "aud": "api://gate", "sub": "bob", "scope": "use",
            })
            .to_string(),
            keys: json!({ "keys": [jwk] }).to_string(),
        };
        thread::spawn(move || {
            for stream in listener.incoming() {
                pages.answer(stream.unwrap());
            }
        });
        Self { url, key }
    }

    /// A token for `resource` with `scope`.
    pub(crate) fn token(&self, resource: &str, scope: &str) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let header = json!({"alg": "ES256", "typ": "at+jwt"}).to_string();
        let claims = json!({
            "iss": self.url, "aud": resource, "sub": "alice", "scope": scope,
            "exp": now.as_secs() + 600,
        });
        let message = format!("{}.{}", encode(header), encode(claims.to_string()));
        let signature = self.key.sign(&SystemRandom::new(), message.as_bytes());
        format!("{message}.{}", encode(signature.unwrap()))
    }
}

/// Documents that an issuer publishes.
struct Pages {
    status: u16,
    metadata: String,
    keys: String,
    /// Answer about every opaque token.
    introspected: String,
}

impl Pages {
    /// Answers one request.
    fn answer(&self, mut stream: TcpStream) {
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        let request = lines.next().unwrap().unwrap();
        lines.find(|line| line.as_ref().is_ok_and(String::is_empty));
        let (status, body) = match request.split(' ').nth(1) {
            Some("/.well-known/oauth-authorization-server") => (self.status, &*self.metadata),
            Some("/keys") => (self.status, &*self.keys),
            Some("/introspect") => (self.status, &*self.introspected),
            _ => (404, ""),
        };
        let length = body.len();
        let head = format!("HTTP/1.1 {status} x\r\ncontent-length: {length}\r\nconnection: close");
        // The client may have disconnected.
        let _ = write!(stream, "{head}\r\n\r\n{body}");
    }
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
