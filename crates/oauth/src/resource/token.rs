//! Parser of signed tokens (RFC 7515, RFC 7519).

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use callgate_wire::{Limits, RawJson};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::algorithm::Algorithm;
use super::flaw::Flaw;

/// Parsed token, whose signature is not verified yet.
pub(super) struct Token<'a> {
    algorithm: Algorithm,
    key_id: Option<String>,
    message: &'a [u8],
    signature: Vec<u8>,
    claims: RawJson,
}

/// Maximum bytes of a token.
pub(super) const MAX_TOKEN: usize = 16 << 10;

/// Maximum depth of its JSON.
const MAX_DEPTH: usize = 16;

impl<'a> Token<'a> {
    /// Parses a token, and refuses it if its header is not acceptable.
    pub(super) fn parse(presented: &'a [u8]) -> Result<Self, Flaw> {
        let (token, header) = Self::parse_any(presented)?;
        if !header.typ.as_deref().is_none_or(is_access_token) {
            return Err(Flaw::Type);
        }
        Ok(token)
    }

    /// Parses a DPoP proof, and returns the public key in its header too.
    pub(super) fn parse_proof(presented: &'a [u8]) -> Result<(Self, Value), Flaw> {
        let (mut proof, header) = Self::parse_any(presented).map_err(|_| Flaw::Proof)?;
        if header.typ.as_deref() != Some("dpop+jwt") {
            return Err(Flaw::Proof);
        }
        // The key is in the header, whatever its name.
        proof.key_id = None;
        Ok((proof, header.jwk.ok_or(Flaw::Proof)?))
    }

    fn parse_any(presented: &'a [u8]) -> Result<(Self, Header), Flaw> {
        if presented.len() > MAX_TOKEN {
            return Err(Flaw::TooLong);
        }
        let mut parts = presented.split(|byte| *byte == b'.');
        let (Some(header), Some(claims), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(Flaw::Malformed);
        };
        let (message, _) = presented.split_at(header.len() + 1 + claims.len());
        let header: Header = read(&object(header)?).ok_or(Flaw::Malformed)?;
        let claims = object(claims)?;
        let signature = decode(signature)?;
        if header.crit {
            return Err(Flaw::Critical);
        }
        let token = Self {
            algorithm: Algorithm::named(&header.alg).ok_or(Flaw::Algorithm)?,
            key_id: header.kid.clone(),
            message,
            signature,
            claims,
        };
        Ok((token, header))
    }

    pub(super) fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    pub(super) fn key_id(&self) -> Option<&str> {
        self.key_id.as_deref()
    }

    /// Signed text: the header and the claims as they were sent.
    pub(super) fn message(&self) -> &[u8] {
        self.message
    }

    pub(super) fn signature(&self) -> &[u8] {
        &self.signature
    }

    /// Digest that stands for a token without an id. The signature is not part of it, because an
    /// ECDSA signature can be turned into another valid one.
    pub(super) fn digest(&self) -> String {
        let digest = Sha256::digest(self.message);
        format!("sha256-{}", URL_SAFE_NO_PAD.encode(digest))
    }

    /// Claims, which prove nothing until the signature is verified.
    pub(super) fn claims<T: DeserializeOwned>(&self) -> Result<T, Flaw> {
        read(&self.claims).ok_or(Flaw::Claims)
    }
}

impl fmt::Debug for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token")
            .field("algorithm", &self.algorithm)
            .finish_non_exhaustive()
    }
}

/// Header members that are used. Keys and key URLs in the header of an access token are ignored,
/// because the sender chose them; only a proof has a key there.
#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    #[serde(default, deserialize_with = "is_present")]
    crit: bool,
    jwk: Option<Value>,
}

/// Detects a member that must be absent, whatever its value.
pub(super) fn is_present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(deserializer).map(|_| true)
}

/// Accepts the type of RFC 9068, and that of any JWT: the audience then tells an access token from
/// an ID token.
fn is_access_token(typ: &str) -> bool {
    let (group, name) = typ.split_once('/').unwrap_or(("application", typ));
    let known = ["at+jwt", "JWT"];
    group.eq_ignore_ascii_case("application")
        && known.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Parses an object without duplicate keys, so that all readers see the same one.
fn object(part: &[u8]) -> Result<RawJson, Flaw> {
    let limits = Limits::default()
        .with_bytes(MAX_TOKEN)
        .with_depth(MAX_DEPTH);
    let text = decode(part)?;
    RawJson::parse_strict(text.into(), &limits).map_err(|_| Flaw::Malformed)
}

fn read<T: DeserializeOwned>(json: &RawJson) -> Option<T> {
    // Serde would accept an array for a struct.
    json.as_bytes().starts_with(b"{").then_some(())?;
    json.decode().ok()
}

fn decode(part: &[u8]) -> Result<Vec<u8>, Flaw> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| Flaw::Malformed)
}

#[cfg(test)]
mod tests {
    use proptest::proptest;
    use serde_json::Value;

    use super::{Flaw, MAX_DEPTH, MAX_TOKEN, Token};
    use crate::resource::algorithm::Algorithm;

    const HEADER: &str = r#"{"alg":"ES256"}"#;

    fn encode(text: impl AsRef<[u8]>) -> String {
        use base64::Engine;
        super::URL_SAFE_NO_PAD.encode(text)
    }

    fn token(header: &str, claims: &str) -> String {
        format!("{}.{}.AAAA", encode(header), encode(claims))
    }

    fn flaw(token: &str) -> Option<Flaw> {
        Token::parse(token.as_bytes()).err()
    }

    #[test]
    fn tokens_are_taken_apart() {
        let header = r#"{"kid":"k","typ":"at+jwt","alg":"ES256","jku":"https://evil.example"}"#;
        let text = token(header, r#"{"a":1}"#);
        let token = Token::parse(text.as_bytes()).unwrap();
        assert_eq!(token.algorithm(), Algorithm::Es256);
        assert_eq!(token.key_id(), Some("k"));
        assert_eq!(
            token.message(),
            text.strip_suffix(".AAAA").unwrap().as_bytes()
        );
        assert_eq!(token.signature(), [0, 0, 0]);
        assert_eq!(token.claims::<Value>(), Ok(serde_json::json!({"a":1})));
        assert_eq!(format!("{token:?}"), "Token { algorithm: Es256, .. }");
    }

    #[test]
    fn the_digest_is_of_the_claims_and_not_of_the_signature() {
        let digest = |text: &str| Token::parse(text.as_bytes()).unwrap().digest();
        let (one, two) = (token(HEADER, r#"{"a":1}"#), token(HEADER, r#"{"a":2}"#));
        assert_eq!(digest(&one), digest(&one.replace(".AAAA", ".BBBB")));
        assert_ne!(digest(&one), digest(&two));
        assert_eq!(digest(&one).len(), "sha256-".len() + 43);
    }

    #[test]
    fn headers_decide_first() {
        let cases = [
            (r#"{"alg":"none"}"#, Some(Flaw::Algorithm)),
            (r#"{"alg":"None"}"#, Some(Flaw::Algorithm)),
            (r#"{"alg":""}"#, Some(Flaw::Algorithm)),
            (r#"{"alg":"HS256"}"#, Some(Flaw::Algorithm)),
            (r#"{"alg":"es256"}"#, Some(Flaw::Algorithm)),
            (r#"{"alg":"ES512"}"#, Some(Flaw::Algorithm)),
            (r#"{"alg":"ES256K"}"#, Some(Flaw::Algorithm)),
            (r#"{"alg":"RSA-OAEP"}"#, Some(Flaw::Algorithm)),
            (r#"{"alg":["ES256"]}"#, Some(Flaw::Malformed)),
            (r#"{"alg":null}"#, Some(Flaw::Malformed)),
            ("{}", Some(Flaw::Malformed)),
            (r#"{"alg":"none","alg":"ES256"}"#, Some(Flaw::Malformed)),
            (r#"{"alg":"ES256","kid":1}"#, Some(Flaw::Malformed)),
            (r#"{"alg":"ES256","crit":["b64"]}"#, Some(Flaw::Critical)),
            (r#"{"alg":"ES256","crit":null}"#, Some(Flaw::Critical)),
            (r#"{"alg":"ES256","typ":"JWT"}"#, None),
            (r#"{"alg":"ES256","typ":"jwt"}"#, None),
            (r#"{"alg":"ES256","typ":"at+JWT"}"#, None),
            (r#"{"alg":"ES256","typ":"application/at+jwt"}"#, None),
            (r#"{"alg":"ES256","typ":"dpop+jwt"}"#, Some(Flaw::Type)),
            (r#"{"alg":"ES256","typ":"logout+jwt"}"#, Some(Flaw::Type)),
            (r#"{"alg":"ES256","typ":"text/jwt"}"#, Some(Flaw::Type)),
            (r#"{"alg":"ES256","typ":""}"#, Some(Flaw::Type)),
        ];
        for (header, expected) in cases {
            assert_eq!(flaw(&token(header, "{}")), expected, "{header}");
        }
    }

    #[test]
    fn a_token_has_three_parts() {
        let (header, claims) = (encode(HEADER), encode("{}"));
        let cases = [
            String::new(),
            ".".to_owned(),
            "..".to_owned(),
            header.clone(),
            format!("{header}.{claims}"),
            format!("{header}.{claims}.AAAA."),
            format!("{header}.{claims}.AAAA.AAAA.AAAA"),
            format!("{header}.{claims}.AA=="),
            format!("{header}.{claims}.AAB"),
            format!("{header}.{claims}. AAAA"),
            format!("{header}.{claims}.A+/A"),
            format!("{header}=.{claims}.AAAA"),
            format!(" {header}.{claims}.AAAA"),
            format!("{header}..AAAA"),
            format!(".{claims}.AAAA"),
            token(HEADER, "[]x"),
            token(HEADER, "{\"a\":1,\"a\":2}"),
            token("\u{feff}{\"alg\":\"ES256\"}", "{}"),
            token("[\"ES256\",null,null,false]", "{}"),
            format!("{header}.{}.AAAA", encode(b"{\"a\":\"\xff\"}")),
        ];
        for token in cases {
            assert_eq!(flaw(&token), Some(Flaw::Malformed), "{token}");
        }
    }

    #[test]
    fn long_and_deep_tokens_are_refused() {
        let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(flaw(&token(HEADER, &deep(MAX_DEPTH))), None);
        assert_eq!(
            flaw(&token(HEADER, &deep(MAX_DEPTH + 1))),
            Some(Flaw::Malformed)
        );
        let shortest = token(HEADER, "{}");
        let long = |len: usize| format!("{shortest}{}", "A".repeat(len - shortest.len()));
        let whole = MAX_TOKEN - (MAX_TOKEN - shortest.len()) % 4;
        assert_eq!(flaw(&long(whole)), None);
        assert_eq!(flaw(&long(MAX_TOKEN + 1)), Some(Flaw::TooLong));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>) {
            let _ = Token::parse(&bytes);
        }

        #[test]
        fn any_header_and_claims_are_read_without_panic(header: String, claims: String) {
            let _ = Token::parse(token(&header, &claims).as_bytes()).map(|token| token.claims::<Value>());
        }
    }
}
