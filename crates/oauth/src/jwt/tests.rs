//! Keys of every kind, and whether others can read what they sign.

mod keys;
pub(crate) mod tokens;
