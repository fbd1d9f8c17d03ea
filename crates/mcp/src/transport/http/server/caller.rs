use super::answer::Refusal;
use super::config::Auth;
use super::fields::Fields;
use crate::service::Caller;

/// Who asks, by the token that the request carries.
pub(super) async fn identify(fields: &Fields<'_>, auth: &Auth) -> Result<Caller, Refusal> {
    match auth {
        Auth::Open => Ok(Caller::Anonymous),
        Auth::Bearer(token) => {
            let principal = presented(fields).and_then(|presented| token.principal_of(presented));
            principal
                .map(Caller::Principal)
                .ok_or(Refusal::Unauthorized)
        }
        Auth::Verifier(verifier) => {
            let verified = verifier.verify(presented(fields)).await;
            verified.map_err(|unproven| Refusal::Unproven(Box::new(unproven)))
        }
    }
}

/// The token of a request that has exactly one.
fn presented<'a>(fields: &Fields<'a>) -> Option<&'a [u8]> {
    let credentials = fields.authorization.once()?;
    let (scheme, presented) = credentials.split_at_checked(b"Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then_some(presented)
}
