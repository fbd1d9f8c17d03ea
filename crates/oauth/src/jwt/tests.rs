//! Keys of every kind, and signatures that other implementations verify.

mod keys;
pub(crate) mod tokens;
