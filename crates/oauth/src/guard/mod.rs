//! Guard against server-side request forgery: limits the addresses of URLs that a server names.
//!
//! Discovery follows untrusted URLs. Each one, redirects included, passes `Guard::check_url`
//! before its host is resolved, and `Guard::check_address` for the address that is then connected
//! to.

mod network;
mod policy;

pub use network::Network;
pub use policy::{Guard, GuardRefusal};
