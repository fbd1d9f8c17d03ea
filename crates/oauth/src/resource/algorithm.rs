use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, VerificationAlgorithm,
};

/// Signature algorithm that is accepted (RFC 7518, section 3.1; RFC 8037).
///
/// `none` proves nothing, and a server that can check an `HS256` could have made it, so both are
/// missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Ps384,
    Ps512,
    Es256,
    Es384,
    EdDsa,
}

/// Kind of key that an algorithm needs. No key has two kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Rsa,
    P256,
    P384,
    Ed25519,
}

/// Verification function of an algorithm.
pub(super) enum Check {
    Rsa(&'static RsaParameters),
    Curve(&'static dyn VerificationAlgorithm),
}

/// Names of all algorithms, for clients that sign proofs.
pub(super) const NAMES: [&str; 9] = [
    "ES256", "ES384", "EdDSA", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512",
];

impl Algorithm {
    /// Algorithm of an `alg`, which is case-sensitive.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "RS256" => Self::Rs256,
            "RS384" => Self::Rs384,
            "RS512" => Self::Rs512,
            "PS256" => Self::Ps256,
            "PS384" => Self::Ps384,
            "PS512" => Self::Ps512,
            "ES256" => Self::Es256,
            "ES384" => Self::Es384,
            // RFC 9864 names the one remaining curve explicitly.
            "EdDSA" | "Ed25519" => Self::EdDsa,
            _ => return None,
        })
    }

    pub(super) fn family(self) -> Family {
        match self {
            Self::Rs256 | Self::Rs384 | Self::Rs512 => Family::Rsa,
            Self::Ps256 | Self::Ps384 | Self::Ps512 => Family::Rsa,
            Self::Es256 => Family::P256,
            Self::Es384 => Family::P384,
            Self::EdDsa => Family::Ed25519,
        }
    }

    pub(super) fn check(self) -> Check {
        match self {
            Self::Rs256 => Check::Rsa(&RSA_PKCS1_2048_8192_SHA256),
            Self::Rs384 => Check::Rsa(&RSA_PKCS1_2048_8192_SHA384),
            Self::Rs512 => Check::Rsa(&RSA_PKCS1_2048_8192_SHA512),
            Self::Ps256 => Check::Rsa(&RSA_PSS_2048_8192_SHA256),
            Self::Ps384 => Check::Rsa(&RSA_PSS_2048_8192_SHA384),
            Self::Ps512 => Check::Rsa(&RSA_PSS_2048_8192_SHA512),
            Self::Es256 => Check::Curve(&ECDSA_P256_SHA256_FIXED),
            Self::Es384 => Check::Curve(&ECDSA_P384_SHA384_FIXED),
            Self::EdDsa => Check::Curve(&ED25519),
        }
    }
}
