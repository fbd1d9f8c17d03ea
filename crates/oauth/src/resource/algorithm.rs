use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, VerificationAlgorithm,
};

/// A way of signing that is trusted (RFC 7518, section 3.1; RFC 8037).
///
/// Those that are missing are refused: `none` proves nothing, and whoever can check an `HS256` could have made it.
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

/// The kind of key that an algorithm needs; no key is of two kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Rsa,
    P256,
    P384,
    Ed25519,
}

/// What checks a signature.
pub(super) enum Check {
    Rsa(&'static RsaParameters),
    Curve(&'static dyn VerificationAlgorithm),
}

impl Algorithm {
    /// The algorithm of an `alg`, whose case matters.
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
            // RFC 9864 gives the one curve that is left a name of its own.
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
