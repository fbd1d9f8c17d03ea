//! Key set of an issuer (RFC 7517).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{RsaPublicKeyComponents, UnparsedPublicKey};
use serde::Deserialize;
use serde_json::Value;

use super::algorithm::{Algorithm, Check, Family};
use super::flaw::Flaw;
use super::token::Token;

/// Keys that an issuer signs with.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct KeySet(Vec<Key>);

/// Maximum number of keys; the rest is ignored.
pub(super) const MAX_KEYS: usize = 64;

/// Minimum bytes of an RSA key: 2048 bits.
const MIN_RSA: usize = 2048 / 8;
/// Maximum bytes of an RSA key, because larger ones cost too much to calculate with.
const MAX_RSA: usize = 8192 / 8;

/// Public key.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Key {
    id: Option<String>,
    algorithm: Option<Algorithm>,
    material: Material,
}

#[derive(Debug, PartialEq, Eq)]
enum Material {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    Curve(Family, Vec<u8>),
}

impl KeySet {
    /// Reads the document. Keys for other purposes or of unknown kinds are ignored.
    pub(super) fn parse(body: &[u8]) -> Result<Self, serde_json::Error> {
        let document: Document = serde_json::from_slice(body)?;
        let keys = document.keys.into_iter().filter_map(Key::read);
        Ok(Self(keys.take(MAX_KEYS).collect()))
    }

    /// Number of usable keys.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Verifies the signature of `token` with the one key that fits it.
    ///
    /// Trying several keys would let a sender choose how much this server has to calculate.
    pub(super) fn prove(&self, token: &Token<'_>) -> Result<(), Flaw> {
        let fits = |key: &&Key| key.fits(token);
        let mut fitting = self.0.iter().filter(fits);
        let (Some(key), None) = (fitting.next(), fitting.next()) else {
            return Err(Flaw::Key);
        };
        if key.signed(token) {
            Ok(())
        } else {
            Err(Flaw::Signature)
        }
    }
}

#[derive(Deserialize)]
struct Document {
    keys: Vec<Value>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    r#use: Option<String>,
    key_ops: Option<Vec<String>>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
    d: Option<Value>,
}

impl Key {
    /// Reads a key; `None` if it is for another purpose or of an unknown kind.
    pub(super) fn read(value: Value) -> Option<Self> {
        let jwk: Jwk = serde_json::from_value(value).ok()?;
        let checks_signatures = jwk.r#use.as_deref().is_none_or(|it| it == "sig")
            && jwk
                .key_ops
                .as_ref()
                .is_none_or(|all| all.iter().any(|it| it == "verify"));
        // A key whose private half is published proves nothing.
        if !checks_signatures || jwk.d.is_some() {
            return None;
        }
        let material = Material::read(&jwk)?;
        let algorithm = match jwk.alg.as_deref() {
            None => None,
            Some(name) => Some(Algorithm::named(name)?),
        };
        if algorithm.is_some_and(|algorithm| algorithm.family() != material.family()) {
            return None;
        }
        Some(Self {
            id: jwk.kid,
            algorithm,
            material,
        })
    }

    fn fits(&self, token: &Token<'_>) -> bool {
        let algorithm = token.algorithm();
        self.material.family() == algorithm.family()
            && self.algorithm.is_none_or(|own| own == algorithm)
            && token
                .key_id()
                .is_none_or(|id| self.id.as_deref() == Some(id))
    }

    /// Verifies a proof, which has the key in its header.
    pub(super) fn proves(&self, proof: &Token<'_>) -> bool {
        self.fits(proof) && self.signed(proof)
    }

    fn signed(&self, token: &Token<'_>) -> bool {
        let (message, signature) = (token.message(), token.signature());
        let proof = match (token.algorithm().check(), &self.material) {
            (Check::Rsa(check), Material::Rsa { n, e }) => {
                RsaPublicKeyComponents { n, e }.verify(check, message, signature)
            }
            (Check::Curve(check), Material::Curve(_, point)) => {
                UnparsedPublicKey::new(check, point).verify(message, signature)
            }
            _ => return false,
        };
        proof.is_ok()
    }
}

impl Material {
    fn read(jwk: &Jwk) -> Option<Self> {
        match (jwk.kty.as_str(), jwk.crv.as_deref()) {
            ("RSA", _) => {
                let n = number(jwk.n.as_deref()?)?;
                let e = number(jwk.e.as_deref()?)?;
                let trusted = (MIN_RSA..=MAX_RSA).contains(&n.len()) && !e.is_empty();
                trusted.then_some(Self::Rsa { n, e })
            }
            ("EC", Some("P-256")) => Self::point(Family::P256, jwk, 32),
            ("EC", Some("P-384")) => Self::point(Family::P384, jwk, 48),
            ("OKP", Some("Ed25519")) => {
                let x = coordinate(jwk.x.as_deref()?, 32)?;
                Some(Self::Curve(Family::Ed25519, x))
            }
            _ => None,
        }
    }

    /// Uncompressed point (SEC 1, section 2.3.3).
    fn point(family: Family, jwk: &Jwk, size: usize) -> Option<Self> {
        let x = coordinate(jwk.x.as_deref()?, size)?;
        let y = coordinate(jwk.y.as_deref()?, size)?;
        Some(Self::Curve(family, [&[4], &*x, &*y].concat()))
    }

    fn family(&self) -> Family {
        match self {
            Self::Rsa { .. } => Family::Rsa,
            Self::Curve(family, _) => *family,
        }
    }
}

fn coordinate(text: &str, size: usize) -> Option<Vec<u8>> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    (bytes.len() == size).then_some(bytes)
}

/// Number without leading zeros, which some issuers write.
fn number(text: &str) -> Option<Vec<u8>> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let start = bytes.iter().position(|byte| *byte != 0)?;
    bytes.get(start..).map(<[u8]>::to_vec)
}
