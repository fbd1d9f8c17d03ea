//! Registration of the protocols that share an endpoint with the newest revision.
//!
//! The transports know the newest revision and the traits [`LineSessions`] and `HttpSessions`. Only
//! here is it decided what implements them: the adapter for older revisions, if the crate is built
//! with the feature `legacy` and the operator gives it limits, else nothing.

use std::sync::Arc;

use callgate_wire::{RawJson, Request, meta};

use super::accept::SUPPORTED;
#[cfg(feature = "http-server")]
use super::unsent_budget::UnsentBudget;
use crate::error::Error;
use crate::service::Service;
#[cfg(feature = "http-server")]
use crate::transport::http::server::{Draining, HttpServerConfig, HttpSessions};
use crate::transport::line::{LineConfig, LineSessions};

/// Handler of old clients on one line connection.
pub(crate) fn line_sessions(
    service: &Arc<dyn Service>,
    config: &LineConfig,
) -> Option<Arc<dyn LineSessions>> {
    #[cfg(feature = "legacy")]
    return {
        use crate::legacy::server::LineSession;
        let session = LineSession::new(guarded(service), config.sessions?, config.limits);
        Some(Arc::new(session))
    };
    #[cfg(not(feature = "legacy"))]
    {
        let _ = (service, config);
        None
    }
}

/// Handler of old clients at one HTTP endpoint.
#[cfg(feature = "http-server")]
pub(crate) fn http_sessions(
    service: &Arc<dyn Service>,
    config: &HttpServerConfig,
    draining: &Draining,
    unsent: &Arc<UnsentBudget>,
) -> Option<Arc<dyn HttpSessions>> {
    #[cfg(feature = "legacy")]
    return {
        use crate::legacy::server::http::SessionEndpoint;
        let endpoint = SessionEndpoint::new(guarded(service), config, draining.clone(), unsent)?;
        Some(Arc::new(endpoint))
    };
    #[cfg(not(feature = "legacy"))]
    {
        let _ = (service, config, draining, unsent);
        None
    }
}

/// The service with the guards that the transports have for requests of the newest revision.
#[cfg(feature = "legacy")]
fn guarded(service: &Arc<dyn Service>) -> Arc<dyn Service> {
    use crate::layer::{PanicGuard, ProgressFilter};
    Arc::new(ProgressFilter::new(PanicGuard::new(service.clone())))
}

/// The error for a request that nothing here serves. Without the feature `legacy` it says to a
/// client of an older revision which revision it has to speak, and why.
pub(crate) fn explain(request: &Request, error: Error) -> Error {
    const HINT: &str =
        "this server speaks only 2026-07-28, because it was built without the feature `legacy`";
    let params = &request.params;
    if cfg!(feature = "legacy") || params.at(&["_meta", meta::PROTOCOL_VERSION]).is_some() {
        return error;
    }
    // Only the handshake of an older revision names the revision outside of `_meta`.
    let requested = params.get("protocolVersion");
    let error = match requested.as_ref().and_then(RawJson::text) {
        Some(requested) => Error::unsupported_version(&requested, &SUPPORTED),
        None => error,
    };
    let (code, data) = (error.code(), error.data().cloned());
    let message = format!("{error}: {HINT}");
    error.recoded(code, message, data)
}
