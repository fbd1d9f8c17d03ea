use callgate_wire::discover::DiscoverResult;
use callgate_wire::implementation::Implementation;
use callgate_wire::legacy::initialize::{InitializeParams, InitializeResult};
use callgate_wire::legacy::method as old;
use callgate_wire::subscription::SubscriptionFilter;
use callgate_wire::task::EXTENSION;
use callgate_wire::{Id, RawJson, Request, Version, method};

use super::convert;
use super::forward::{ClientIdentity, SessionService};
use crate::error::{Error, Kind};

/// Request of a client to open a session.
pub(super) struct HandshakeRequest {
    pub(super) version: Version,
    pub(super) identity: ClientIdentity,
}

/// Features of a server that a session depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ServerFeatures {
    /// Changes of lists that it announces.
    pub(super) changes: SubscriptionFilter,
    /// True if it announces changes of single resources.
    pub(super) subscribe: bool,
    /// True if it has the tasks of the extension.
    pub(super) tasks: bool,
}

/// True if the request opens a session.
pub(super) fn is_handshake(request: &Request) -> bool {
    request.method.as_str() == old::INITIALIZE
}

/// Reads the params of `initialize` and chooses the revision.
pub(super) fn read(params: &RawJson) -> Result<HandshakeRequest, Error> {
    let hello: InitializeParams = params.decode().map_err(|error| {
        let message = format!("malformed params of the handshake: {error}");
        Error::invalid_params(message).with_source(error)
    })?;
    let version = negotiate(&hello.protocol_version);
    let capabilities = convert::client_capabilities(version, hello.capabilities);
    Ok(HandshakeRequest {
        version,
        identity: ClientIdentity::new(capabilities, params.get("clientInfo")),
    })
}

/// Asks the service for its capabilities; returns its features and the `InitializeResult`.
pub(super) async fn discover(
    upstream: &SessionService,
) -> Result<(ServerFeatures, RawJson), Error> {
    let version = upstream.version;
    let cx = upstream.origin.context(Id::text("handshake"));
    let params = RawJson::empty_object();
    let result = upstream
        .result(cx, method::SERVER_DISCOVER, &params)
        .await?;
    let found: DiscoverResult = result.decode().map_err(|error| {
        Error::new(Kind::Protocol, "malformed result of `server/discover`").with_source(error)
    })?;
    let features = features(&found);
    let server_info = found
        .meta
        .as_ref()
        .and_then(|meta| meta.server_info().ok().flatten());
    let result = InitializeResult {
        protocol_version: version.as_str().to_owned(),
        capabilities: convert::server_capabilities(version, found.capabilities),
        server_info: server_info
            .unwrap_or_else(|| Implementation::new("callgate", env!("CARGO_PKG_VERSION"))),
        instructions: found.instructions,
        meta: None,
    };
    let result = RawJson::encode(&result).expect("a result is always JSON");
    Ok((features, result))
}

/// The revision for a client that asks for `name`.
///
/// The newest revision has no handshake, so a client that performs one cannot get it.
fn negotiate(name: &str) -> Version {
    Version::parse(name)
        .filter(|version| !version.is_modern())
        .unwrap_or(Version::V2025_11_25)
}

fn features(found: &DiscoverResult) -> ServerFeatures {
    let capabilities = &found.capabilities;
    let told = |changes: Option<bool>| changes.filter(|changes| *changes);
    let tools = capabilities.tools.as_ref();
    let prompts = capabilities.prompts.as_ref();
    let resources = capabilities.resources.as_ref();
    let mut changes = SubscriptionFilter::default();
    changes.tools_list_changed = told(tools.and_then(|tools| tools.list_changed));
    changes.prompts_list_changed = told(prompts.and_then(|prompts| prompts.list_changed));
    changes.resources_list_changed = told(resources.and_then(|resources| resources.list_changed));
    ServerFeatures {
        changes,
        subscribe: resources.is_some_and(|resources| resources.subscribe == Some(true)),
        tasks: capabilities.has_extension(EXTENSION),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hc_19_a_handshake_gets_an_old_revision() {
        for (asked, spoken) in [
            ("2024-11-05", Version::V2024_11_05),
            ("2025-03-26", Version::V2025_03_26),
            ("2025-06-18", Version::V2025_06_18),
            ("2025-11-25", Version::V2025_11_25),
            ("2026-07-28", Version::V2025_11_25),
            ("2099-01-01", Version::V2025_11_25),
            ("", Version::V2025_11_25),
        ] {
            assert_eq!(negotiate(asked), spoken, "{asked}");
        }
    }
}
