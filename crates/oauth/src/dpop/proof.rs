use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use sha2::{Digest, Sha256};
use url::Url;

use super::key::{Key, PublicKey};
use crate::Secret;
use crate::jwt::{self, Algorithm, SignError};

/// Request that a proof is for. It is valid for no other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Proof<'a> {
    pub method: &'a str,
    /// URL, without its query and fragment.
    pub url: &'a Url,
    /// Access token of the request, if it has one.
    pub access_token: Option<&'a Secret>,
    /// Nonce of the server, if it named one.
    pub nonce: Option<&'a str>,
}

/// Signs a proof with a unique id.
pub(super) fn sign(key: &Key, proof: &Proof<'_>, now: u64) -> Result<Secret, SignError> {
    let header = Header {
        typ: "dpop+jwt",
        alg: Algorithm::Es256.name(),
        jwk: &key.public,
    };
    let hash = |token: &Secret| URL_SAFE_NO_PAD.encode(Sha256::digest(token.expose()));
    let claims = Claims {
        jti: jwt::unique_id()?,
        htm: proof.method,
        htu: target(proof.url),
        iat: now,
        ath: proof.access_token.map(hash),
        nonce: proof.nonce,
    };
    jwt::sign(&header, &claims, &key.signing)
}

fn target(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}

#[derive(Serialize)]
struct Header<'a> {
    typ: &'static str,
    alg: &'static str,
    jwk: &'a PublicKey,
}

#[derive(Serialize)]
struct Claims<'a> {
    jti: String,
    htm: &'a str,
    htu: String,
    iat: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ath: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nonce: Option<&'a str>,
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use ring::signature::ECDSA_P256_SHA256_FIXED;
    use serde_json::{Value, json};

    use super::Proof;
    use crate::Secret;
    use crate::dpop::Key;
    use crate::jwt::test_tokens::{is_signed, read};

    /// Claims of a proof whose signature was verified.
    fn claims(proof: &Secret) -> Value {
        let (header, claims) = read(proof.expose());
        let half = |name: &str| URL_SAFE_NO_PAD.decode(header["jwk"][name].as_str().unwrap());
        let (x, y) = (half("x").unwrap(), half("y").unwrap());
        let public = [&[4], &x[..], &y[..]].concat();
        assert!(is_signed(proof.expose(), &ECDSA_P256_SHA256_FIXED, &public));
        let jwk =
            json!({"crv": "P-256", "kty": "EC", "x": header["jwk"]["x"], "y": header["jwk"]["y"]});
        let expected = json!({"typ": "dpop+jwt", "alg": "ES256", "jwk": jwk});
        assert_eq!(header, expected);
        claims
    }

    #[test]
    fn a_proof_is_for_one_request() {
        let key = Key::generate().unwrap();
        // RFC 9449, section 7.1.
        let token = Secret::new("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU");
        let url = "https://a.example:8443/mcp/?x=1#f".parse().unwrap();
        let bare = Proof {
            method: "GET",
            url: &url,
            access_token: None,
            nonce: None,
        };
        let full = Proof {
            access_token: Some(&token),
            nonce: Some("n"),
            ..bare
        };
        let mut found = claims(&key.prove(&bare, 7).unwrap());
        let first = found["jti"].take();
        let htu = "https://a.example:8443/mcp/";
        let expected = json!({"jti": null, "htm": "GET", "htu": htu, "iat": 7});
        assert_eq!(found, expected);

        let mut found = claims(&key.prove(&full, 8).unwrap());
        assert_ne!(found["jti"].take(), first);
        let ath = "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo";
        let expected = json!({
            "jti": null, "htm": "GET", "htu": htu, "iat": 8, "ath": ath, "nonce": "n",
        });
        assert_eq!(found, expected);
    }
}
