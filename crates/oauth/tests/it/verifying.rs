use std::time::{SystemTime, UNIX_EPOCH};

use callgate_mcp::Caller;
use callgate_mcp::transport::http::server::{CredentialError, Presented, TokenVerifier};
use callgate_oauth::Scopes;
use callgate_oauth::fetch;
use callgate_oauth::resource::{Config, ResourceName, Verifier};
use serde_json::{Value, json};

use crate::issuer::Issuer;

/// Public URL of the verifying server.
pub(crate) const OWN: &str = "https://gate.example/mcp";

/// Server that accepts tokens of `issuer` with the scope `read`.
pub(crate) fn verifier(issuer: &Issuer) -> Verifier {
    verifier_of(&issuer.url, fetch::Config::default())
}

pub(crate) fn verifier_of(issuer: &str, fetch: fetch::Config) -> Verifier {
    let mut config = config(issuer);
    config.fetch = fetch;
    Verifier::new(config).unwrap()
}

/// Configuration of a server that accepts tokens of `issuer` with the scope `read`.
pub(crate) fn config(issuer: &str) -> Config {
    let mut config = Config::new(issuer, ResourceName::parse(OWN).unwrap(), "/mcp");
    config.scopes = Scopes::parse("read");
    config
}

/// Claims of a valid token of alice, with some changed; `null` removes one.
pub(crate) fn claims(issuer: &Issuer, changes: Value) -> Value {
    let mut claims = json!({
        "iss": issuer.url, "aud": OWN, "exp": now() + 600, "iat": now(), "sub": "alice",
        "client_id": "robot", "scope": "read write", "jti": "1",
    });
    let members = claims.as_object_mut().unwrap();
    let Value::Object(changes) = changes else {
        panic!("changes are an object");
    };
    members.extend(changes);
    members.retain(|_, value| !value.is_null());
    claims
}

/// Principal of an accepted token, or the description of the challenge.
pub(crate) async fn verify(verifier: &Verifier, token: impl AsRef<[u8]>) -> Result<String, String> {
    verify_presented(verifier, Presented::Bearer(token.as_ref())).await
}

/// The same for a token that may have a proof.
pub(crate) async fn verify_presented(
    verifier: &Verifier,
    presented: Presented<'_>,
) -> Result<String, String> {
    match verifier.verify(Some(presented)).await {
        Ok(Caller::Principal(name)) => Ok(name.name().split_once('#').unwrap().1.to_owned()),
        Ok(other) => panic!("a token stands for somebody, not for {other:?}"),
        Err(unproven) => Err(told(&unproven)),
    }
}

pub(crate) fn now() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH);
    elapsed.unwrap().as_secs()
}

/// Description of a challenge, if there is one.
fn told(unproven: &CredentialError) -> String {
    let (CredentialError::Unauthorized(challenge) | CredentialError::Forbidden(challenge)) =
        unproven
    else {
        return "unavailable".to_owned();
    };
    let challenge = challenge.to_str().unwrap();
    let (_, description) = challenge.split_once("error_description=\"").unwrap();
    description.split('"').next().unwrap().to_owned()
}
