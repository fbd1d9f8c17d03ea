//! Who we are to an authorization server: configured, described at an address, or registered on the spot.

mod client;
mod dynamic;
mod metadata_document;
mod order;

pub use client::{AuthMethod, Client, Registrations};
pub use dynamic::{Introduction, RegistrationError, registration_request, registration_response};
pub use metadata_document::{ClientIdUrl, ClientIdUrlError};
pub use order::{
    ConfiguredClient, Identity, IdentityError, NeedsClientRegistration, Options, choose,
};
