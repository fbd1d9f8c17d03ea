//! Options for a provider that does not follow the specification.
//!
//! - [`ProviderOptions`]: all options of a login; stored with it, and written in the configuration of a server.
//! - [`ExtraParams`], [`RedirectUri`], [`EndpointUrl`], [`ScopeSeparator`]: values that are checked once, when they are parsed.

mod extra_params;
mod provider_options;
mod redirect_uri;
mod values;

pub use extra_params::{ExtraParamError, ExtraParams};
pub use provider_options::ProviderOptions;
pub use redirect_uri::{RedirectUri, RedirectUriError};
pub use values::{EndpointUrl, EndpointUrlError, ScopeSeparator, ScopeSeparatorError};
