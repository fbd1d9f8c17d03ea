//! The built-in tools from outside.

#![expect(clippy::unwrap_used, reason = "a test fails where it is surprised")]

#[cfg(unix)]
mod excluded;
#[cfg(unix)]
mod workspace;
