//! Consent of the user, in a browser.

mod ask;
mod browser;
mod paste;

pub use ask::{Consent, ConsentError};
pub use browser::{BrowserConsent, Notice};
pub use paste::PasteConsent;
