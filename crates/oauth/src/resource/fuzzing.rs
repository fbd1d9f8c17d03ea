//! What a token says, without a key to prove it: for the fuzz targets, and for nobody else.

use super::claims::Claims;
use super::token::Token;

/// Whether only the signature keeps a token of `issuer` from being accepted by `audience`, at `now`.
#[must_use]
pub fn is_well_formed(presented: &[u8], issuer: &str, audience: &str, now: u64) -> bool {
    let Ok(token) = Token::parse(presented) else {
        return false;
    };
    let claims = token.claims::<Claims>();
    let audiences = [audience.to_owned()];
    claims.is_ok_and(|claims| claims.check(issuer, &audiences, now).is_ok())
}
