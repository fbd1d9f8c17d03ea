//! Signed JSON Web Tokens (RFC 7515, RFC 7519): the ones that we make.

mod key;
mod sign;

pub use key::{Algorithm, KeyError, SigningKey};
pub use sign::SignError;
pub(crate) use sign::{sign, unique_id};
