use std::sync::Arc;

use callgate_wire::legacy::initialize::InitializedParams;
use callgate_wire::legacy::method as old;
use callgate_wire::{Method, Notification, RawJson, RpcError, Splice, Version, code, task};
use serde::Serialize;

use super::server_info::ServerInfo;
use super::transport::{
    MessageReceiver, MessageSender, OldRequest, ServerMessage, SessionTransport,
};
use crate::error::{Error, Kind};
use crate::upstream::identity::ClientIdentity;
use crate::upstream::server_timeout::server_timeout;
use crate::upstream::{UpstreamConfig, spoken};

/// Handshake: proposes `version`, and takes any old revision that the server answers with.
pub(super) async fn initialize(
    name: &Arc<str>,
    transport: &Arc<dyn SessionTransport>,
    incoming: &mut MessageReceiver,
    identity: &ClientIdentity,
    version: Version,
    config: &UpstreamConfig,
) -> Result<ServerInfo, Error> {
    let params = Params {
        protocol_version: version.as_str(),
        capabilities: old_capabilities(identity),
        client_info: &identity.client_info,
    };
    let opening = OldRequest::new(old::INITIALIZE, &params);
    let answer = ask(transport, incoming, opening, config);
    let auth_wait = || transport.auth_wait_until();
    let result = server_timeout(config.handshake_timeout, auth_wait, answer)
        .await
        .map_err(|_| timed_out(name, config))?
        .map_err(|error| refused(name, error))?;
    let server = ServerInfo::read(&result).map_err(|version| unsupported(name, &version))?;
    // Before the notification, which is the first message that names the revision in its header.
    transport.negotiated(server.version);
    let ready = Notification {
        method: Method::new(old::NOTIFICATIONS_INITIALIZED),
        params: RawJson::encode(&InitializedParams::default()).expect("params are always JSON"),
    };
    // Over HTTP this waits for a response too.
    server_timeout(config.handshake_timeout, auth_wait, transport.notify(ready))
        .await
        .map_err(|_| timed_out(name, config))??;
    Ok(server)
}

/// Params of `initialize`, with members that are not decoded.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Params<'a> {
    protocol_version: &'a str,
    capabilities: RawJson,
    client_info: &'a RawJson,
}

/// Waits for the answer to `initialize`. Until then a server may send pings only.
async fn ask(
    transport: &Arc<dyn SessionTransport>,
    incoming: &mut MessageReceiver,
    opening: OldRequest,
    config: &UpstreamConfig,
) -> Result<RawJson, Error> {
    let (messages, mut own) = MessageSender::channel(config.queued_messages);
    let mut answer = transport.request(opening, messages);
    loop {
        let message = tokio::select! {
            // Queued messages came before the answer. A server may wait for its ping to be answered.
            biased;
            Some(message) = incoming.recv() => message,
            Some(message) = own.recv() => message,
            answer = &mut answer => return answer,
        };
        let ServerMessage::Request(request) = message else {
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

fn timed_out(name: &Arc<str>, config: &UpstreamConfig) -> Error {
    let text = format!(
        "server `{name}` did not answer the handshake within {:?}",
        config.handshake_timeout
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

/// The error of a refused handshake, with the revisions that the server names.
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
    let retry_after = error.retry_after();
    let later = retry_after.map_or_else(String::new, |time| {
        format!("; it says to try again in {} s", time.as_secs())
    });
    let text = format!(
        "cannot connect to server `{name}`: it answered `initialize` with an error: {error}{versions}{later}"
    );
    let refused = Error::new(kind, text)
        .from_upstream(name)
        .with_source(error);
    match retry_after {
        Some(time) => refused.with_retry_after(time),
        None => refused,
    }
}

/// Capabilities as a handshake has them: without the tasks extension.
///
/// Old servers know tasks without an extension, and this client does not offer to run any.
fn old_capabilities(identity: &ClientIdentity) -> RawJson {
    Splice::new(&identity.capabilities)
        .remove(&["extensions", task::EXTENSION])
        .finish()
        .unwrap_or_else(|_| RawJson::empty_object())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handshake_does_not_offer_the_tasks_extension() {
        let check = |capabilities: &str, expect: &str| {
            let identity = ClientIdentity {
                capabilities: serde_json::from_str(capabilities).unwrap(),
                client_info: RawJson::empty_object(),
            };
            assert_eq!(old_capabilities(&identity).as_str(), expect);
        };
        check(r#"{"sampling":{}}"#, r#"{"sampling":{}}"#);
        check(
            r#"{"extensions":{"io.modelcontextprotocol/tasks":{},"a/b":{}}}"#,
            r#"{"extensions":{"a/b":{}}}"#,
        );
    }
}
