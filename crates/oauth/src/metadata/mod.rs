//! What servers say about themselves: where a document may be, what is in it, and whether to believe it.

mod document;
mod keys;
mod resource;
mod server;

pub(crate) use keys::jwks_uri;

pub use document::MetadataError;
pub use resource::ProtectedResource;
pub use server::{AuthorizationServer, Issuer};
