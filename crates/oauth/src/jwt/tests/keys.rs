use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ECDSA_P384_SHA384_FIXED_SIGNING, ED25519,
    EcdsaKeyPair, RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256, VerificationAlgorithm,
};
use rustls_pki_types::PrivatePkcs8KeyDer;
use rustls_pki_types::pem::PemObject;
use serde_json::json;

use super::tokens::{is_signed, p256, pem, read};
use crate::Secret;
use crate::jwt::{Algorithm, KeyError, SigningKey, sign, unique_id};

const RSA: &str = include_str!("rsa.pem");

fn p384() -> Secret {
    let random = SystemRandom::new();
    let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P384_SHA384_FIXED_SIGNING, &random);
    pem("PRIVATE KEY", document.unwrap().as_ref())
}

/// The key of RFC 8037, appendix A.1, as most tools write it: without the public half.
fn ed25519() -> Secret {
    let mut document = vec![
        0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20,
    ];
    let private = URL_SAFE_NO_PAD.decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A");
    document.extend(private.unwrap());
    pem("PRIVATE KEY", &document)
}

fn rsa() -> Secret {
    Secret::new(RSA)
}

/// The same key without what PKCS #8 wraps around it.
fn rsa_pkcs1() -> Secret {
    let document = PrivatePkcs8KeyDer::from_pem_slice(RSA.as_bytes()).unwrap();
    let (_, inner) = document.secret_pkcs8_der().split_at(26);
    pem("RSA PRIVATE KEY", inner)
}

#[test]
fn other_implementations_verify_our_signatures() {
    let cases: [(
        Secret,
        Option<Algorithm>,
        &str,
        &'static dyn VerificationAlgorithm,
    ); 7] = [
        (p256(), None, "ES256", &ECDSA_P256_SHA256_FIXED),
        (
            p256(),
            Some(Algorithm::Es256),
            "ES256",
            &ECDSA_P256_SHA256_FIXED,
        ),
        (p384(), None, "ES384", &ECDSA_P384_SHA384_FIXED),
        (ed25519(), None, "EdDSA", &ED25519),
        (rsa(), None, "RS256", &RSA_PKCS1_2048_8192_SHA256),
        (
            rsa(),
            Some(Algorithm::Ps256),
            "PS256",
            &RSA_PSS_2048_8192_SHA256,
        ),
        (rsa_pkcs1(), None, "RS256", &RSA_PKCS1_2048_8192_SHA256),
    ];
    for (pem, wanted, name, verification) in cases {
        let key = SigningKey::from_pem(&pem, wanted).unwrap();
        assert_eq!(key.algorithm().name(), name);
        let token = sign(&json!({"alg": name}), &json!({"sub": "me"}), &key).unwrap();
        let token = token.expose();
        assert_eq!(read(token), (json!({"alg": name}), json!({"sub": "me"})));
        assert!(is_signed(token, verification, key.public()), "{name}");
        let forged = token.replacen('.', ".e30", 1);
        assert!(!is_signed(&forged, verification, key.public()), "{name}");
    }
}

#[test]
fn the_signature_of_the_specification_is_made() {
    // RFC 8037, appendix A.4.
    let key = SigningKey::from_pem(&ed25519(), None).unwrap();
    let message = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
    let signature = key.sign(message.as_bytes()).unwrap();
    assert_eq!(
        URL_SAFE_NO_PAD.encode(signature),
        "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
    );
}

#[test]
fn keys_that_cannot_sign_are_refused() {
    let unusable = KeyError::Unusable;
    let other = KeyError::Algorithm;
    let cases = [
        (Secret::new(""), None, KeyError::Pem),
        (Secret::new("hunter2"), None, KeyError::Pem),
        (pem("CERTIFICATE", b"x"), None, KeyError::Pem),
        (pem("ENCRYPTED PRIVATE KEY", b"x"), None, KeyError::Pem),
        (pem("PRIVATE KEY", b"x"), None, unusable),
        (pem("EC PRIVATE KEY", b"x"), None, unusable),
        (pem("RSA PRIVATE KEY", b"x"), None, unusable),
        (p256(), Some(Algorithm::Rs256), other(Algorithm::Rs256)),
        (p256(), Some(Algorithm::Es384), other(Algorithm::Es384)),
        (p256(), Some(Algorithm::Ps256), other(Algorithm::Ps256)),
        (rsa(), Some(Algorithm::Es256), other(Algorithm::Es256)),
        (ed25519(), Some(Algorithm::Es256), other(Algorithm::Es256)),
    ];
    for (pem, wanted, expected) in cases {
        let found = SigningKey::from_pem(&pem, wanted);
        assert_eq!(found, Err(expected), "{} {wanted:?}", pem.expose());
    }
}

#[test]
fn keys_are_the_same_if_they_sign_the_same_and_show_nothing() {
    let (one, two) = (p256(), p256());
    let key = |pem| SigningKey::from_pem(pem, None).unwrap();
    assert_eq!(key(&one), key(&one));
    assert_ne!(key(&one), key(&two));
    assert_ne!(key(&one), key(&one).with_id("k"));
    assert_ne!(
        SigningKey::from_pem(&rsa(), None),
        SigningKey::from_pem(&rsa(), Some(Algorithm::Ps256))
    );
    assert_eq!(
        format!("{:?}", key(&one).with_id("k")),
        "SigningKey { algorithm: Es256, id: Some(\"k\"), .. }"
    );
}

#[test]
fn names_of_algorithms_are_known() {
    for name in ["ES256", "ES384", "RS256", "PS256", "EdDSA"] {
        assert_eq!(Algorithm::parse(name).map(Algorithm::name), Some(name));
    }
    for name in ["", "none", "HS256", "es256"] {
        assert_eq!(Algorithm::parse(name), None);
    }
}

#[test]
fn no_two_ids_are_alike() {
    let ids = std::iter::repeat_with(|| unique_id().unwrap());
    let ids: std::collections::HashSet<String> = ids.take(100).collect();
    assert_eq!(ids.len(), 100);
    assert!(ids.iter().all(|id| id.len() == 22));
}
