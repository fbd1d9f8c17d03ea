use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::vectors::{
    CLAIMS, DER_SIGNATURE, ED25519, P256, P384, P521, P521_SIGNATURE, RSA, SIGNATURES, WEAK_RSA,
    WEAK_SIGNATURE,
};
use crate::resource::flaw::Flaw;
use crate::resource::key_set::KeySet;
use crate::resource::token::Token;

fn token(header: &str, signature: &str) -> String {
    let header = URL_SAFE_NO_PAD.encode(header);
    format!("{header}.{CLAIMS}.{signature}")
}

fn prove(keys: &str, token: &str) -> Result<(), Flaw> {
    let keys = KeySet::parse(format!(r#"{{"keys":[{keys}]}}"#).as_bytes()).unwrap();
    keys.prove(&Token::parse(token.as_bytes())?)
}

/// Key with more members.
fn with(key: &str, members: &str) -> String {
    format!("{{{members},{}", key.strip_prefix('{').unwrap())
}

fn unnamed(algorithm: &str, signature: &str) -> String {
    token(&format!(r#"{{"alg":"{algorithm}"}}"#), signature)
}

#[test]
fn signatures_of_another_implementation_are_right() {
    for (algorithm, key, signature) in SIGNATURES {
        let token = unnamed(algorithm, signature);
        assert_eq!(prove(key, &token), Ok(()), "{algorithm}");
        let key = with(
            key,
            &format!(r#""alg":"{algorithm}","use":"sig","kid":"a""#),
        );
        assert_eq!(prove(&key, &token), Ok(()), "{algorithm}");
    }
}

#[test]
fn every_algorithm_has_its_own_signatures_and_keys() {
    for (algorithm, _, _) in SIGNATURES {
        for (other, _, signature) in SIGNATURES {
            for key in [RSA, P256, P384, ED25519] {
                let right = algorithm == other && prove(key, &unnamed(other, signature)).is_ok();
                let found = prove(key, &unnamed(algorithm, signature));
                assert_eq!(found.is_ok(), right, "{algorithm} {other}");
            }
        }
    }
}

#[test]
fn one_changed_bit_is_one_too_many() {
    for (algorithm, key, signature) in SIGNATURES {
        let token = unnamed(algorithm, signature);
        let bytes = URL_SAFE_NO_PAD.decode(signature).unwrap();
        for at in [0, bytes.len() / 2, bytes.len() - 1] {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            let changed = unnamed(algorithm, &URL_SAFE_NO_PAD.encode(changed));
            assert_eq!(prove(key, &changed), Err(Flaw::Signature), "{algorithm}");
        }
        let other = token.replace(".eyJ", ".eyK");
        assert_ne!(prove(key, &other), Ok(()), "{algorithm}");
    }
}

#[test]
fn weak_keys_and_odd_encodings_are_refused() {
    let weak = unnamed("RS256", WEAK_SIGNATURE);
    assert_eq!(prove(WEAK_RSA, &weak), Err(Flaw::Key));
    let der = unnamed("ES256", DER_SIGNATURE);
    assert_eq!(prove(P256, &der), Err(Flaw::Signature));
    let unsupported = unnamed("ES512", P521_SIGNATURE);
    assert_eq!(prove(P521, &unsupported), Err(Flaw::Algorithm));
}

#[test]
fn the_key_is_the_only_one_that_fits() {
    let (algorithm, key, signature) = SIGNATURES[6];
    let named = |id: &str| with(key, &format!(r#""kid":"{id}""#));
    let (a, b) = (named("a"), named("b"));
    let of = |id: &str| token(&format!(r#"{{"alg":"ES256","kid":"{id}"}}"#), signature);
    let anybody = unnamed(algorithm, signature);
    // The key id is signed too, so a token with another one only finds another key.
    let cases = [
        (format!("{a},{b}"), of("a"), Err(Flaw::Signature)),
        (format!("{a},{b}"), of("b"), Err(Flaw::Signature)),
        (format!("{a},{b}"), of("c"), Err(Flaw::Key)),
        (format!("{a},{b}"), of(""), Err(Flaw::Key)),
        (format!("{a},{b}"), anybody.clone(), Err(Flaw::Key)),
        (format!("{a},{a}"), of("a"), Err(Flaw::Key)),
        (format!("{a},{RSA},{P384}"), anybody.clone(), Ok(())),
        (key.to_owned(), of("a"), Err(Flaw::Key)),
        (key.to_owned(), anybody, Ok(())),
        (RSA.to_owned(), of("a"), Err(Flaw::Key)),
        (String::new(), of("a"), Err(Flaw::Key)),
    ];
    for (keys, token, expected) in cases {
        assert_eq!(prove(&keys, &token), expected, "{keys}");
    }
}
