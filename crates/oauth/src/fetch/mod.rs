//! Carrying out the requests of a login, wherever a stranger's URL leads.
//!
//! A name is resolved once, every address it has must pass the [`Guard`](crate::guard::Guard), and the
//! connection goes to one of these addresses; each redirect is treated like a URL of its own.
//! Proxies are not used: whoever connects for us would decide where to.

mod error;
mod fetcher;
mod resolve;

pub use error::FetchError;
pub use fetcher::{Config, Fetcher};
pub use resolve::{Resolve, SystemResolver};
