/// Says what is wrong with a token, in words that may be told to whoever sent it.
///
/// The words are fixed: nothing of the token is in them, and nothing that a header cannot carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Flaw {
    /// It is longer than any token that is read.
    #[error("the token is too long")]
    TooLong,
    /// It is not three parts of which the first two are JSON objects.
    #[error("the token is not a signed JWT")]
    Malformed,
    /// It is signed in a way that is not trusted.
    #[error("the signing algorithm of the token is not accepted")]
    Algorithm,
    /// It is a JWT of another kind, such as a proof.
    #[error("the token is not an access token")]
    Type,
    /// It must not be accepted by those who do not know some extension, and none is known here.
    #[error("the token needs an extension that is not known here")]
    Critical,
    /// A claim is missing or is not of the type that it should be.
    #[error("a claim of the token is missing or malformed")]
    Claims,
    /// Somebody else issued it.
    #[error("the token is of another issuer")]
    Issuer,
    /// It is for another server.
    #[error("the token is for another resource")]
    Audience,
    /// Its time is over.
    #[error("the token has expired")]
    Expired,
    /// Its time has not come.
    #[error("the token is not valid yet")]
    NotYetValid,
    /// It is bound to a key whose proof is not checked here.
    #[error("the token is bound to a key and cannot be used as a bearer token")]
    Bound,
    /// No key of the issuer, or more than one, could have signed it.
    #[error("the key that signed the token is not known")]
    Key,
    /// The signature is wrong.
    #[error("the signature of the token is wrong")]
    Signature,
}
