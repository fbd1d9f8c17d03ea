//! DPoP proofs of requests to our own endpoint (RFC 9449, section 4.3).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use url::Url;

use super::flaw::Flaw;
use super::key_set::Key;
use super::token::Token;

/// Request that a proof must be for.
#[derive(Debug)]
pub(super) struct ProvenRequest<'a> {
    pub(super) method: &'a str,
    /// Public URL of the endpoint.
    pub(super) url: &'a Url,
    pub(super) token: &'a [u8],
    /// Thumbprint of the key that the token is bound to.
    pub(super) key: &'a str,
}

/// Identity of a proof that was checked, until it is too old to be used again.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ProofId {
    pub(super) digest: [u8; 32],
    /// First second at which the proof is refused for its age, in Unix seconds.
    pub(super) end: u64,
}

/// Maximum difference between the time of a proof and that of this machine, in seconds.
pub(super) const WINDOW: u64 = 60;

/// Maximum bytes of a `jti`; those of clients have 20 to 40.
const MAX_ID: usize = 256;

#[derive(Deserialize)]
struct Claims {
    jti: String,
    htm: String,
    htu: String,
    iat: f64,
    ath: String,
}

/// Checks a proof at `now`, in Unix seconds. The caller checks that it was not used before.
///
/// The key comes first: only the client that the token belongs to can make us calculate a signature.
pub(super) fn check(proof: &[u8], request: &ProvenRequest<'_>, now: u64) -> Result<ProofId, Flaw> {
    let (proof, jwk) = Token::parse_proof(proof)?;
    if thumbprint(&jwk).ok_or(Flaw::Proof)? != request.key {
        return Err(Flaw::ProofKey);
    }
    let key = Key::read(jwk).ok_or(Flaw::Proof)?;
    if !key.proves(&proof) {
        return Err(Flaw::ProofSignature);
    }
    let claims: Claims = proof.claims().map_err(|_| Flaw::Proof)?;
    if claims.jti.is_empty() || claims.jti.len() > MAX_ID {
        return Err(Flaw::Proof);
    }
    let url = Url::parse(&claims.htu).map_err(|_| Flaw::Proof)?;
    if claims.htm != request.method || bare(url) != bare(request.url.clone()) {
        return Err(Flaw::ProofRequest);
    }
    if claims.ath != encode(Sha256::digest(request.token)) {
        return Err(Flaw::ProofToken);
    }
    // Written like this, a time that is not a number is refused.
    let is_now = (claims.iat - now as f64).abs() <= WINDOW as f64;
    if !is_now {
        return Err(Flaw::ProofTime);
    }
    // Two keys may use one id, so the key is part of the identity.
    let mut digest = Sha256::new();
    digest.update(request.key.as_bytes());
    digest.update([0]);
    digest.update(claims.jti.as_bytes());
    Ok(ProofId {
        digest: digest.finalize().into(),
        // The time lies within the window, so the proof is too old after twice its length.
        end: now + 2 * WINDOW + 1,
    })
}

/// URL without query and fragment, which proofs leave out.
fn bare(mut url: Url) -> Url {
    url.set_query(None);
    url.set_fragment(None);
    url
}

/// Thumbprint of a public key (RFC 7638, section 3.2; RFC 8037, appendix A.3).
fn thumbprint(jwk: &Value) -> Option<String> {
    let member = |name: &str| jwk.get(name)?.as_str();
    let kty = member("kty")?;
    // The members are written in the order in which they are hashed.
    let hashed = match kty {
        "RSA" => json!({"e": member("e")?, "kty": kty, "n": member("n")?}),
        "EC" => json!({"crv": member("crv")?, "kty": kty, "x": member("x")?, "y": member("y")?}),
        "OKP" => json!({"crv": member("crv")?, "kty": kty, "x": member("x")?}),
        _ => return None,
    };
    Some(encode(Sha256::digest(hashed.to_string())))
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::thumbprint;

    #[test]
    fn keys_have_the_names_of_the_specifications() {
        // RFC 7638, section 3.1; RFC 8037, appendix A.3; RFC 9449, section 6.1.
        let rsa = json!({
            "kty": "RSA", "alg": "RS256", "kid": "2011-04-29", "e": "AQAB",
            "n": "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw",
        });
        let okp = json!({
            "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
        });
        let ec = json!({
            "kty": "EC", "crv": "P-256",
            "x": "l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs",
            "y": "9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA",
        });
        for (jwk, expected) in [
            (rsa, Some("NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs")),
            (okp, Some("kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")),
            (ec, Some("0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I")),
            (json!({"kty": "oct", "k": "AA"}), None),
            (json!({"kty": "EC", "crv": "P-256", "x": "AA"}), None),
            (json!("x"), None),
        ] {
            assert_eq!(thumbprint(&jwk).as_deref(), expected, "{jwk}");
        }
    }
}
