//! OAuth clients: configured, described by a metadata document, or dynamically registered.

mod client;
mod dynamic;
mod metadata_document;
mod order;

pub use client::{AuthMethod, AuthMethodError, ClientInfo};
pub use dynamic::RegistrationError;
pub(crate) use dynamic::{ClientRegistration, Remedy, registration_request, registration_response};
pub use metadata_document::{ClientIdUrl, ClientIdUrlError};
pub(crate) use order::{ClientIdentity, ClientOptions, choose};
pub use order::{ClientIdentityError, ConfiguredClient, NeedsClientRegistration};
