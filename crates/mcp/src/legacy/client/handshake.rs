use std::sync::Arc;

use callgate_wire::legacy::initialize::InitializedParams;
use callgate_wire::legacy::method as old;
use callgate_wire::{Method, Notification, RawJson, RpcError, Version, code};
use serde::Serialize;

use super::config::Config;
use super::identity::Identity;
use super::patience;
use super::server::Server;
use super::transport::{Heard, Hearing, Incoming, Outgoing, Transport};
use crate::error::{Error, Kind};

/// Opens a session: asks for `version` and takes whatever old revision the server answers with.
pub(super) async fn shake_hands(
    name: &Arc<str>,
    transport: &Arc<dyn Transport>,
    hearing: &mut Hearing,
    identity: &Identity,
    version: Version,
    config: &Config,
) -> Result<Server, Error> {
    let params = Params {
        protocol_version: version.as_str(),
        capabilities: identity.old_capabilities(),
        client_info: &identity.client_info,
    };
    let opening = Outgoing {
        method: Method::new(old::INITIALIZE),
        params: RawJson::encode(&params).expect("params are always JSON"),
    };
    let answer = ask(transport, hearing, opening, config);
    let held_up = || transport.held_up_until();
    let result = patience::wait(config.handshake, held_up, answer)
        .await
        .map_err(|_| too_late(name, config))?
        .map_err(|error| refused(name, error))?;
    let server = Server::read(&result).map_err(|version| unsupported(name, &version))?;
    transport.negotiated(server.version);
    let ready = Notification {
        method: Method::new(old::NOTIFICATIONS_INITIALIZED),
        params: RawJson::encode(&InitializedParams::default()).expect("params are always JSON"),
    };
    transport.notify(ready).await?;
    Ok(server)
}

/// The parameters of `initialize`, of which nothing is looked at.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Params<'a> {
    protocol_version: &'a str,
    capabilities: RawJson,
    client_info: &'a RawJson,
}

/// Waits for the answer; until then a server may ask whether we are there.
async fn ask(
    transport: &Arc<dyn Transport>,
    hearing: &mut Hearing,
    opening: Outgoing,
    config: &Config,
) -> Result<RawJson, Error> {
    let (heard, mut own) = Heard::channel(config.heard);
    let mut answer = transport.request(opening, heard);
    loop {
        let message = tokio::select! {
            biased;
            Some(message) = hearing.recv() => message,
            Some(message) = own.recv() => message,
            answer = &mut answer => return answer,
        };
        let Incoming::Request(request) = message else {
            continue;
        };
        let outcome = match request.method.as_str() {
            old::PING => Ok(RawJson::empty_object()),
            _ => Err(RpcError::new(
                code::INVALID_REQUEST,
                "the session is not open yet",
            )),
        };
        transport.respond(request.id, outcome).await?;
    }
}

fn too_late(name: &Arc<str>, config: &Config) -> Error {
    let text = format!(
        "server `{name}` did not answer the handshake within {:?}",
        config.handshake
    );
    Error::new(Kind::Timeout, text).from_upstream(name)
}

fn unsupported(name: &Arc<str>, version: &str) -> Error {
    let text = format!(
        "server `{name}` wants to speak protocol version `{version}`; this client speaks {}",
        spoken()
    );
    Error::new(Kind::UnsupportedVersion, text).from_upstream(name)
}

/// What went wrong, with the versions that the server names if it does.
fn refused(name: &Arc<str>, error: Error) -> Error {
    if error.kind() != Kind::Rpc {
        return error;
    }
    let named = error.data().and_then(|data| data.get("supported"));
    let named: Vec<String> = named
        .iter()
        .flat_map(RawJson::elements)
        .filter_map(|version| Some(version.text()?.into_owned()))
        .collect();
    let (kind, versions) = match named.is_empty() {
        true => (Kind::Connect, String::new()),
        false => {
            let named = named.join(", ");
            let text = format!("; it speaks {named}, this client speaks {}", spoken());
            (Kind::UnsupportedVersion, text)
        }
    };
    let text = format!("server `{name}` refused the handshake: {error}{versions}");
    Error::new(kind, text)
        .from_upstream(name)
        .with_source(error)
}

/// The revisions that we speak, newest first.
pub(super) fn spoken() -> String {
    let names: Vec<_> = Version::ALL
        .iter()
        .rev()
        .map(|version| version.as_str())
        .collect();
    names.join(", ")
}
