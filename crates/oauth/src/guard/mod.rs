//! Which addresses a URL that a server names may lead to.
//!
//! Discovery follows URLs that a stranger wrote.
//! Each of them, each redirect included, passes [`Guard::check_url`] before its host is resolved and
//! [`Guard::check_address`] for the address that is then connected to.

mod network;
mod policy;

pub use network::Network;
pub use policy::{Guard, Refusal};
