//! Tokens that are bound to a key of the client, and the proofs that they need (RFC 9449).

use callgate_mcp::transport::http::server::{DpopToken, Presented};
use callgate_oauth::resource::Verifier;
use http::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::issuer::{Issuer, Key, encode};
use crate::verifying::{OWN, claims, now, verifier, verify, verify_presented};

/// An issuer, a server that trusts it, and a client with a key and a token that is bound to it.
struct Scene {
    verifier: Verifier,
    client: Key,
    token: String,
    unbound: String,
    issuer_key: Key,
    issuer: Issuer,
}

impl Scene {
    async fn new() -> Self {
        let (issuer_key, client) = (Key::new("k"), Key::new("client"));
        let issuer = Issuer::start(&[&issuer_key]).await;
        let cnf = json!({"jkt": thumbprint(&client)});
        Self {
            verifier: verifier(&issuer),
            token: issuer_key.token(&claims(&issuer, json!({ "cnf": cnf }))),
            unbound: issuer_key.token(&claims(&issuer, json!({}))),
            client,
            issuer_key,
            issuer,
        }
    }

    /// Claims of a good proof, with some changed; `null` removes one.
    fn claims(&self, id: &str, changes: Value) -> Value {
        let mut claims = json!({
            "jti": id, "htm": "POST", "htu": OWN, "iat": now(),
            "ath": encode(Sha256::digest(&self.token)),
        });
        let members = claims.as_object_mut().unwrap();
        let Value::Object(changes) = changes else {
            panic!("changes are an object");
        };
        members.extend(changes);
        members.retain(|_, value| !value.is_null());
        claims
    }

    fn proof(&self, id: &str, changes: Value) -> String {
        prove(&self.client, &self.claims(id, changes))
    }

    /// Presents the bound token with a proof.
    async fn present(&self, proof: &str) -> Result<String, String> {
        present(&self.verifier, &self.token, Some(proof)).await
    }
}

async fn present(verifier: &Verifier, token: &str, proof: Option<&str>) -> Result<String, String> {
    present_with(verifier, token, proof, &Method::POST).await
}

async fn present_with(
    verifier: &Verifier,
    token: &str,
    proof: Option<&str>,
    method: &Method,
) -> Result<String, String> {
    let token = DpopToken::new(token.as_bytes(), proof.map(str::as_bytes), method);
    verify_presented(verifier, Presented::Dpop(token)).await
}

/// The public key as proofs have it, with its members in the order in which they are hashed.
fn public(key: &Key) -> Value {
    let jwk = key.jwk();
    json!({"crv": jwk["crv"], "kty": jwk["kty"], "x": jwk["x"], "y": jwk["y"]})
}

fn thumbprint(key: &Key) -> String {
    encode(Sha256::digest(public(key).to_string()))
}

fn prove(key: &Key, claims: &Value) -> String {
    let header = json!({"typ": "dpop+jwt", "alg": "ES256", "jwk": public(key)});
    key.sign(&header.to_string(), &claims.to_string())
}

fn refused(reason: &str) -> Result<String, String> {
    Err(reason.to_owned())
}

#[tokio::test]
async fn a_bound_token_with_its_proof_is_accepted() {
    let scene = Scene::new().await;
    for (number, changes) in [
        json!({}),
        json!({"htu": "https://GATE.example:443/mcp?x=1#y"}),
        json!({"iat": now() - 50}),
        json!({"iat": now() + 50}),
        json!({"nonce": "unasked"}),
    ]
    .into_iter()
    .enumerate()
    {
        let proof = scene.proof(&number.to_string(), changes);
        assert_eq!(scene.present(&proof).await, Ok("alice".to_owned()));
    }
    let proof = scene.proof("delete", json!({"htm": "DELETE"}));
    let method = &Method::DELETE;
    let found = present_with(&scene.verifier, &scene.token, Some(&proof), method).await;
    assert_eq!(found, Ok("alice".to_owned()));
}

#[tokio::test]
async fn hostile_proofs_are_refused() {
    let scene = Scene::new().await;
    const OTHER_REQUEST: &str = "the DPoP proof is for another request";
    const OTHER_TOKEN: &str = "the DPoP proof is for another token";
    const TIME: &str = "the DPoP proof is too old or from the future";
    const MALFORMED: &str = "the DPoP proof is malformed";
    let id_of = |length: usize| json!({"jti": "x".repeat(length)});
    for (changes, expected) in [
        (json!({"htm": "GET"}), OTHER_REQUEST),
        (json!({"htm": "post"}), OTHER_REQUEST),
        (json!({"htu": "https://gate.example/other"}), OTHER_REQUEST),
        (json!({"htu": "https://gate.example/mcp/"}), OTHER_REQUEST),
        (json!({"htu": "http://gate.example/mcp"}), OTHER_REQUEST),
        (json!({"htu": "https://evil.example/mcp"}), OTHER_REQUEST),
        (json!({"htu": "/mcp"}), MALFORMED),
        (
            json!({"ath": encode(Sha256::digest("another"))}),
            OTHER_TOKEN,
        ),
        (json!({"ath": ""}), OTHER_TOKEN),
        (json!({"ath": null}), MALFORMED),
        (json!({"iat": now() - 120}), TIME),
        (json!({"iat": now() + 120}), TIME),
        (json!({"iat": 0}), TIME),
        (json!({"iat": null}), MALFORMED),
        (json!({"iat": "now"}), MALFORMED),
        (json!({"jti": null}), MALFORMED),
        (json!({"jti": ""}), MALFORMED),
        (id_of(257), MALFORMED),
    ] {
        let proof = scene.proof("1", changes.clone());
        assert_eq!(scene.present(&proof).await, refused(expected), "{changes}");
    }
    let longest = scene.proof("", id_of(256));
    assert_eq!(scene.present(&longest).await, Ok("alice".to_owned()));
}

#[tokio::test]
async fn a_proof_is_by_the_key_of_the_token() {
    let scene = Scene::new().await;
    let good = scene.claims("1", json!({})).to_string();
    let thief = Key::new("thief");
    let header = |changes: Value| {
        let mut header = json!({"typ": "dpop+jwt", "alg": "ES256", "jwk": public(&scene.client)});
        let Value::Object(changes) = changes else {
            panic!("changes are an object");
        };
        header.as_object_mut().unwrap().extend(changes);
        header.to_string()
    };
    let mut private = public(&scene.client);
    private["d"] = json!("AA");
    let signed = scene.proof("1", json!({}));
    let (unsigned, _) = signed.rsplit_once('.').unwrap();
    const KEY: &str = "the DPoP proof is by another key";
    const SIGNATURE: &str = "the signature of the DPoP proof is wrong";
    const MALFORMED: &str = "the DPoP proof is malformed";
    for (proof, expected) in [
        (prove(&thief, &scene.claims("1", json!({}))), KEY),
        (prove(&scene.issuer_key, &scene.claims("1", json!({}))), KEY),
        // The key of the client, and the signature of the thief.
        (thief.sign(&header(json!({})), &good), SIGNATURE),
        (format!("{unsigned}."), SIGNATURE),
        (
            scene.client.sign(&header(json!({"typ": "JWT"})), &good),
            MALFORMED,
        ),
        (
            scene.client.sign(&header(json!({"alg": "none"})), &good),
            MALFORMED,
        ),
        (
            scene.client.sign(&header(json!({"alg": "HS256"})), &good),
            MALFORMED,
        ),
        (
            scene.client.sign(&header(json!({"alg": "ES384"})), &good),
            SIGNATURE,
        ),
        (
            scene.client.sign(&header(json!({"jwk": null})), &good),
            MALFORMED,
        ),
        (
            scene.client.sign(&header(json!({"jwk": {}})), &good),
            MALFORMED,
        ),
        (
            scene.client.sign(&header(json!({"jwk": private})), &good),
            MALFORMED,
        ),
        (
            scene.client.sign(&header(json!({"crit": ["x"]})), &good),
            MALFORMED,
        ),
        (scene.token.clone(), MALFORMED),
        (String::new(), MALFORMED),
    ] {
        assert_eq!(scene.present(&proof).await, refused(expected), "{proof}");
    }
}

#[tokio::test]
async fn a_proof_is_used_once() {
    let scene = Scene::new().await;
    let proof = scene.proof("1", json!({}));
    assert_eq!(scene.present(&proof).await, Ok("alice".to_owned()));
    let replayed = refused("the DPoP proof was used before");
    assert_eq!(scene.present(&proof).await, replayed);
    // Signed anew with the same id, it is still the same proof.
    assert_eq!(scene.present(&scene.proof("1", json!({}))).await, replayed);
    assert_eq!(
        scene.present(&scene.proof("2", json!({}))).await,
        Ok("alice".to_owned())
    );
}

#[tokio::test]
async fn a_stolen_token_is_useless() {
    let scene = Scene::new().await;
    let bound = "the token is bound to a key and cannot be used as a bearer token";
    assert_eq!(verify(&scene.verifier, &scene.token).await, refused(bound));
    let proof = scene.proof("1", json!({}));
    let found = present(&scene.verifier, &scene.token, None).await;
    assert_eq!(found, refused("the request needs one DPoP proof"));
    let found = present(&scene.verifier, &scene.unbound, Some(&proof)).await;
    let unbound = "the token is not bound to a key; send it as a bearer token";
    assert_eq!(found, refused(unbound));
    // The token itself is checked first.
    let cnf = json!({"jkt": thumbprint(&scene.client)});
    let expired = claims(&scene.issuer, json!({"cnf": cnf, "exp": 1}));
    let expired = scene.issuer_key.token(&expired);
    let found = present(&scene.verifier, &expired, Some(&proof)).await;
    assert_eq!(found, refused("the token has expired"));
}
