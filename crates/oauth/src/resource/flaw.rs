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
    /// The token is bound to a key and came without a proof, or is bound in a way that is not checked
    /// here.
    #[error("the token is bound to a key and cannot be used as a bearer token")]
    Bound,
    /// No key of the issuer, or more than one, fits the token.
    #[error("the key that signed the token is not known")]
    Key,
    /// The signature is wrong.
    #[error("the signature of the token is wrong")]
    Signature,
    /// The issuer does not know the token, or has revoked it.
    #[error("the token is not active")]
    Inactive,
    /// The token is not bound to a key, so its proof proves nothing.
    #[error("the token is not bound to a key; send it as a bearer token")]
    NotBound,
    /// The request has no proof, or several.
    #[error("the request needs one DPoP proof")]
    NoProof,
    /// The proof is not a signed JWT with a public key and all claims.
    #[error("the DPoP proof is malformed")]
    Proof,
    /// The signature of the proof is wrong.
    #[error("the signature of the DPoP proof is wrong")]
    ProofSignature,
    /// The proof is by another key than the one that the token is bound to.
    #[error("the DPoP proof is by another key")]
    ProofKey,
    /// The proof is for another method or URL.
    #[error("the DPoP proof is for another request")]
    ProofRequest,
    /// The proof is for another token.
    #[error("the DPoP proof is for another token")]
    ProofToken,
    /// The proof is too old, or from the future.
    #[error("the DPoP proof is too old or from the future")]
    ProofTime,
    /// The proof was used before.
    #[error("the DPoP proof was used before")]
    ProofReplayed,
}

impl Flaw {
    /// Error code for the sender (RFC 6750, section 3.1; RFC 9449, section 7.1).
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::NoProof
            | Self::Proof
            | Self::ProofSignature
            | Self::ProofKey
            | Self::ProofRequest
            | Self::ProofToken
            | Self::ProofTime
            | Self::ProofReplayed => "invalid_dpop_proof",
            _ => "invalid_token",
        }
    }
}
