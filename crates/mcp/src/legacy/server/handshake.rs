use callgate_wire::discover::DiscoverResult;
use callgate_wire::implementation::Implementation;
use callgate_wire::legacy::initialize::{InitializeParams, InitializeResult};
use callgate_wire::subscription::SubscriptionFilter;
use callgate_wire::task::EXTENSION;
use callgate_wire::{Id, Method, RawJson, Version, method};

use super::convert;
use super::upstream::{Asking, Identity, Upstream};
use crate::error::{Error, Kind};

/// What a client said to open a session.
pub(super) struct Hello {
    pub(super) version: Version,
    pub(super) identity: Identity,
}

/// What a server offers that a session has to know of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Offers {
    /// The changes that it tells, without single resources.
    pub(super) changes: SubscriptionFilter,
    /// Whether it tells of changes of single resources.
    pub(super) subscribe: bool,
    /// Whether it has the tasks of the extension.
    pub(super) tasks: bool,
}

/// Reads the params of `initialize` and chooses the revision.
pub(super) fn read(params: &RawJson) -> Result<Hello, Error> {
    let hello: InitializeParams = params.decode().map_err(|error| {
        let message = format!("malformed params of the handshake: {error}");
        Error::invalid_params(message).with_source(error)
    })?;
    let version = negotiate(&hello.protocol_version);
    let capabilities = convert::client_capabilities(version, hello.capabilities);
    Ok(Hello {
        version,
        identity: Identity::new(capabilities, params.get("clientInfo")),
    })
}

/// Asks the service what it is and can do; also the `InitializeResult`.
pub(super) async fn discover(
    upstream: &Upstream,
    version: Version,
) -> Result<(Offers, RawJson), Error> {
    let result = upstream
        .result(&Asking {
            id: &Id::text("handshake"),
            method: &Method::new(method::SERVER_DISCOVER),
            params: &RawJson::empty_object(),
            level: None,
        })
        .await?;
    let found: DiscoverResult = result.decode().map_err(|error| {
        Error::new(Kind::Protocol, "malformed result of `server/discover`").with_source(error)
    })?;
    let offers = offers(&found);
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
    Ok((offers, result))
}

/// The revision to speak with a client that asks for `name`.
///
/// The newest revision has no handshake, so a client that performs one cannot get it.
fn negotiate(name: &str) -> Version {
    Version::parse(name)
        .filter(|version| !version.is_modern())
        .unwrap_or(Version::V2025_11_25)
}

fn offers(found: &DiscoverResult) -> Offers {
    let capabilities = &found.capabilities;
    let told = |changes: Option<bool>| changes.filter(|changes| *changes);
    let tools = capabilities.tools.as_ref();
    let prompts = capabilities.prompts.as_ref();
    let resources = capabilities.resources.as_ref();
    Offers {
        changes: SubscriptionFilter {
            tools_list_changed: told(tools.and_then(|tools| tools.list_changed)),
            prompts_list_changed: told(prompts.and_then(|prompts| prompts.list_changed)),
            resources_list_changed: told(resources.and_then(|resources| resources.list_changed)),
            ..SubscriptionFilter::default()
        },
        subscribe: resources.is_some_and(|resources| resources.subscribe == Some(true)),
        tasks: capabilities.has_extension(EXTENSION),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hc_19_whoever_performs_a_handshake_gets_an_old_revision() {
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
