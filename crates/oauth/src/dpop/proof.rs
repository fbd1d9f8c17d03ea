use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use sha2::{Digest, Sha256};
use url::Url;

use super::key::{Key, PublicKey};
use crate::Secret;
use crate::jwt::{self, Algorithm, SignError};

/// What a proof is for; it is good for nothing else.
#[derive(Clone, Copy, Debug)]
pub struct Proof<'a> {
    /// The method of the request.
    pub method: &'a str,
    /// Where it goes; query and fragment do not count.
    pub url: &'a Url,
    /// The token that it shows, if it shows one.
    pub access_token: Option<&'a Secret>,
    /// What the server wants to see in it, if it said so.
    pub nonce: Option<&'a str>,
}

/// Signs a proof that no other is like.
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
