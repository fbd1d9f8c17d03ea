//! Metadata documents of servers and authorization servers: their URLs, their content and their
//! validation.

mod document;
mod keys;
mod resource;
mod server;

pub(crate) use keys::{introspection_endpoint, jwks_uri};

pub use document::MetadataError;
pub(crate) use resource::ProtectedResource;
pub(crate) use server::{AuthorizationServer, Issuer};
