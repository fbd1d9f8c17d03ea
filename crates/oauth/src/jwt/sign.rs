use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;

use super::key::SigningKey;
use crate::Secret;

/// Signing failed. With a valid key this happens only without random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the operating system returned no random bytes for a signature")]
#[non_exhaustive]
pub struct SignError;

/// Signs `claims`, in the compact form.
pub(crate) fn sign(
    header: &impl Serialize,
    claims: &impl Serialize,
    key: &SigningKey,
) -> Result<Secret, SignError> {
    let message = format!("{}.{}", part(header), part(claims));
    let signature = URL_SAFE_NO_PAD.encode(key.sign(message.as_bytes())?);
    Ok(Secret::new(format!("{message}.{signature}")))
}

/// Unique token id.
pub(crate) fn unique_id() -> Result<String, SignError> {
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(|_| SignError)?;
    Ok(URL_SAFE_NO_PAD.encode(id))
}

fn part(value: &impl Serialize) -> String {
    let json = serde_json::to_vec(value).expect("structures of strings and numbers are JSON");
    URL_SAFE_NO_PAD.encode(json)
}
