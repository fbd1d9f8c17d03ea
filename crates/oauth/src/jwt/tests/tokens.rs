use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, UnparsedPublicKey, VerificationAlgorithm,
};
use serde_json::Value;

use crate::Secret;

/// A key of P-256 in PEM.
pub(crate) fn p256() -> Secret {
    let random = SystemRandom::new();
    let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random);
    pem("PRIVATE KEY", document.unwrap().as_ref())
}

pub(crate) fn pem(label: &str, der: &[u8]) -> Secret {
    let body = STANDARD.encode(der);
    Secret::new(format!(
        "-----BEGIN {label}-----\n{body}\n-----END {label}-----\n"
    ))
}

/// The header and the claims of a token.
pub(crate) fn read(token: &str) -> (Value, Value) {
    let parts: Vec<&str> = token.split('.').collect();
    let [header, claims, _] = parts.as_slice() else {
        panic!("{token} has three parts");
    };
    (json(header), json(claims))
}

/// Returns true if `public` signed the token.
pub(crate) fn is_signed(
    token: &str,
    algorithm: &'static dyn VerificationAlgorithm,
    public: &[u8],
) -> bool {
    let (message, signature) = token.rsplit_once('.').unwrap();
    let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
    let public = UnparsedPublicKey::new(algorithm, public);
    public.verify(message.as_bytes(), &signature).is_ok()
}

fn json(part: &str) -> Value {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}
