/// Flaw of a token, with a text for its sender.
///
/// The texts are fixed: they contain no part of the token, and only characters that a header can
/// carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Flaw {
    /// The token is too long.
    #[error("the token is too long")]
    TooLong,
    /// The token is not three parts with two JSON objects in front.
    #[error("the token is not a signed JWT")]
    Malformed,
    /// The algorithm is not accepted.
    #[error("the signing algorithm of the token is not accepted")]
    Algorithm,
    /// The token is a JWT of another kind, such as a proof.
    #[error("the token is not an access token")]
    Type,
    /// The header has `crit`. Such a token must be refused by implementations that do not know the
    /// extension, and none is known here.
    #[error("the token needs an extension that is not known here")]
    Critical,
    /// A claim is missing or of the wrong type.
    #[error("a claim of the token is missing or malformed")]
    Claims,
    /// Another issuer issued the token.
    #[error("the token was issued by another issuer")]
    Issuer,
    /// The token is for another server.
    #[error("the token is for another resource")]
    Audience,
    /// The token has expired.
    #[error("the token has expired")]
    Expired,
    /// The token is not valid yet.
    #[error("the token is not valid yet")]
    NotYetValid,
    /// The token is bound to a key, and proofs are not checked here.
    #[error("the token is bound to a key and cannot be used as a bearer token")]
    Bound,
    /// No key of the issuer, or more than one, fits the token.
    #[error("the key that signed the token is not known")]
    Key,
    /// The signature is wrong.
    #[error("the signature of the token is wrong")]
    Signature,
}
