use proptest::proptest;

use super::vectors::{ED25519, P256, P384, P521, RSA, WEAK_RSA};
use crate::resource::key_set::{KeySet, MAX_KEYS};

fn count(keys: &str) -> Option<usize> {
    let document = format!(r#"{{"keys":[{keys}]}}"#);
    KeySet::parse(document.as_bytes()).ok().map(|set| set.len())
}

fn with(key: &str, members: &str) -> String {
    format!("{{{members},{}", key.strip_prefix('{').unwrap())
}

#[test]
fn keys_that_cannot_verify_are_left_out() {
    let kept = [
        RSA.to_owned(),
        P256.to_owned(),
        P384.to_owned(),
        ED25519.to_owned(),
        with(RSA, r#""use":"sig","key_ops":["verify"],"alg":"PS512""#),
        with(ED25519, r#""alg":"Ed25519","x5c":["AA"],"other":{}"#),
        // Zeros in front.
        RSA.replace(r#""n":""#, r#""n":"AAAA"#),
    ];
    for key in kept {
        assert_eq!(count(&key), Some(1), "{key}");
    }
    let left_out = [
        WEAK_RSA.to_owned(),
        P521.to_owned(),
        with(RSA, r#""use":"enc""#),
        with(RSA, r#""key_ops":["encrypt"]"#),
        with(RSA, r#""key_ops":[]"#),
        with(RSA, r#""alg":"RSA-OAEP""#),
        with(RSA, r#""alg":"HS256""#),
        with(RSA, r#""alg":"none""#),
        with(RSA, r#""alg":"ES256""#),
        with(P256, r#""alg":"ES384""#),
        with(P256, r#""alg":"RS256""#),
        with(P256, r#""d":"AAAA""#),
        with(RSA, r#""kid":1"#),
        P256.replace("P-256", "P-384"),
        P256.replace("P-256", "secp256k1"),
        P256.replace(r#""x":""#, r#""x":"AA"#),
        P256.replace(r#""y":""#, r#""z":""#),
        ED25519.replace("Ed25519", "X25519"),
        ED25519.replace(r#""x":""#, r#""x":"=="#),
        RSA.replace(r#""e":"AQAB""#, r#""e":"AA""#),
        RSA.replace(r#""e":"AQAB""#, r#""e":"""#),
        RSA.replace(r#""n":""#, r#""n":"!"#),
        RSA.replace("\"RSA\"", "\"rsa\""),
        r#"{"kty":"oct","k":"c2VjcmV0"}"#.to_owned(),
        r#"{"kty":"RSA"}"#.to_owned(),
        "{}".to_owned(),
        "1".to_owned(),
        "null".to_owned(),
    ];
    for key in left_out {
        assert_eq!(count(&key), Some(0), "{key}");
        assert_eq!(count(&format!("{key},{P256}")), Some(1), "{key}");
    }
}

#[test]
fn invalid_key_sets_are_refused() {
    for document in ["", "<html>", "[]", "{}", r#"{"keys":{}}"#, r#"{"keys":1}"#] {
        assert!(KeySet::parse(document.as_bytes()).is_err(), "{document}");
    }
}

#[test]
fn so_many_keys_are_kept() {
    let keys = |count| vec![P256; count].join(",");
    assert_eq!(count(&keys(MAX_KEYS)), Some(MAX_KEYS));
    assert_eq!(count(&keys(MAX_KEYS + 1)), Some(MAX_KEYS));
}

proptest! {
    #[test]
    fn any_document_is_read_without_panic(bytes: Vec<u8>) {
        let _ = KeySet::parse(&bytes);
    }

    #[test]
    fn any_key_is_read_without_panic(kty in "RSA|EC|OKP", crv in "P-256|P-384|Ed25519", x: String, y in "[A-Za-z0-9_-]{0,90}") {
        let key = serde_json::json!({"kty": kty, "crv": crv, "n": y, "e": x, "x": x, "y": y});
        assert!(count(&key.to_string()).is_some());
    }
}
