//! Opens the authorization page in the user's browser.
//!
//! The URL is untrusted and becomes an argument of a program. So only a [`PageUrl`] is opened, by
//! one fixed program, without a shell.

mod launch;
mod page_url;

pub use launch::{Browser, BrowserProcess, OpenError};
pub use page_url::{PageUrl, PageUrlError};
