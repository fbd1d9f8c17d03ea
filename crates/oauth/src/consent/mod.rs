//! Asking a person for consent, in a browser of theirs.

mod ask;
mod browser;
mod paste;

pub use ask::{Consent, ConsentError};
pub use browser::BrowserConsent;
pub use paste::PasteConsent;
