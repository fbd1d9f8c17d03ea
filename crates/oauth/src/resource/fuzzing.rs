//! Token parser without keys, for the fuzz targets only.

use super::claims::Claims;
use super::token::Token;

/// Returns true if everything but the signature of the token is acceptable for `audience`, at
/// `now`.
#[must_use]
pub fn is_well_formed(presented: &[u8], issuer: &str, audience: &str, now: u64) -> bool {
    let Ok(token) = Token::parse(presented) else {
        return false;
    };
    let claims = token.claims::<Claims>();
    let audiences = [audience.to_owned()];
    claims.is_ok_and(|claims| claims.check(issuer, &audiences, now).is_ok())
}
