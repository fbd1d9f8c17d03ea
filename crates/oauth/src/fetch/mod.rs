//! HTTP client for logins, which is safe for untrusted URLs.
//!
//! A name is resolved once, all of its addresses must pass the [`Guard`](crate::guard::Guard), and
//! the connection goes to one of them; each redirect is treated like a new URL. Behind a proxy, the
//! proxy resolves names, and the guard checks only addresses that stand in a URL.

mod error;
mod fetcher;
mod redirect;
mod send;
mod time_limit;

pub use error::FetchError;
pub use fetcher::{Config, Fetcher};

pub use callgate_mcp::transport::http::connect::{Resolve, SystemResolver};
pub(crate) use time_limit::within;
