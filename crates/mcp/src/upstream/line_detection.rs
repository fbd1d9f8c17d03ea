//! Detection of the revision of a server on lines.

use std::sync::Arc;

use callgate_wire::{Method, RawJson, Version, method};
use tokio::time::timeout;

use super::config::UpstreamConfig;
use super::detection::Detected;
use super::era::{Era, spoken};
use super::identity::ClientIdentity;
use crate::error::{Error, Kind};
use crate::service::BoxFuture;
use crate::transport::line::{Link, OnDrop};

/// Outcome of the probe of a server.
pub(crate) enum Probe<'a> {
    /// The answer, or an assumption, says which era the server speaks.
    Known(Era),
    /// No answer came within the timeout. A server may need longer to start, so the answer still
    /// counts while the handshake waits for its own.
    Late(BoxFuture<'a, Result<RawJson, Error>>),
    /// The server was not asked, since the first caller is an old client: the handshake comes
    /// first. A server of both eras settles for that of the first request, and a call that is not
    /// translated loses nothing.
    #[cfg(feature = "legacy")]
    Skipped,
}

/// Asks the server on `link` for `server/discover`, which no old server has, unless its era is
/// `assumed` or the first call was `translated_from` an older revision.
///
/// # Errors
/// The connection is closed, or the server speaks no revision that this client speaks.
pub(crate) async fn probe<'a>(
    link: &'a Link,
    assumed: Option<Era>,
    translated_from: Option<Version>,
    config: &UpstreamConfig,
) -> Result<Probe<'a>, Error> {
    if let Some(era) = assumed {
        return Ok(Probe::Known(era));
    }
    #[cfg(feature = "legacy")]
    if translated_from.is_some() {
        return Ok(Probe::Skipped);
    }
    #[cfg(not(feature = "legacy"))]
    let _ = translated_from;
    let params = ClientIdentity::shared(config.capabilities.as_ref()).discover_params();
    let mut answer: BoxFuture<'a, _> = Box::pin(async move {
        let method = Method::new(method::SERVER_DISCOVER);
        // Not cancelled: an old server would not know which request that is about.
        link.request(&method, params, OnDrop::Ignore).await
    });
    // Some old servers ignore what they do not know, and others take long to start.
    match timeout(config.discover_timeout, &mut answer).await {
        Ok(answer) => era_of(&link.name, answer).map(Probe::Known),
        Err(_) => Ok(Probe::Late(answer)),
    }
}

/// Connects to the server on `link` in the era that the probe found. An old server gets a handshake.
///
/// # Errors
/// The handshake failed, or this program speaks no old revision.
#[cfg(feature = "legacy")]
pub(crate) async fn connect(
    link: &Arc<Link>,
    probe: Probe<'_>,
    config: UpstreamConfig,
) -> Result<Detected, Error> {
    use crate::legacy::client::line_transport::LineTransport;
    use crate::legacy::client::session::Session;

    let was_skipped = matches!(probe, Probe::Skipped);
    let (version, late_answer) = match probe {
        Probe::Known(Era::Modern) => return Ok(Detected::Modern(link.clone())),
        Probe::Known(Era::Old(version)) => (version, None),
        Probe::Late(answer) => (Era::NEWEST_OLD, Some(answer)),
        Probe::Skipped => (Era::NEWEST_OLD, None),
    };
    let turns_out_modern = async {
        match late_answer {
            Some(answer) => turns_out_modern(link, answer).await,
            None => std::future::pending().await,
        }
    };
    let (transport, incoming) = LineTransport::new(link.clone(), config.queued_messages);
    let (name, transport) = (link.name.clone(), Arc::new(transport));
    let identity = ClientIdentity::shared(config.capabilities.as_ref());
    let opened = tokio::select! {
        // A server that has both answers ready got the probe first, and has settled for its era.
        biased;
        () = turns_out_modern => None,
        opened = Session::open(name, transport, incoming, &identity, version, config.clone()) => Some(opened),
    };
    let refusal = match opened {
        Some(Ok(session)) => return Ok(Detected::Old(session, link.clone())),
        Some(Err(error)) if is_refused_by_modern(&error) => None,
        // Nothing was asked before, so any refusal may be that of a modern server.
        Some(Err(error)) if was_skipped && answer_of(&error).is_some() => Some(error),
        Some(Err(error)) => return Err(error),
        None => None,
    };
    // From here on notifications belong to calls, and no session is left to take them.
    link.clear_message_sink();
    if let Some(refusal) = refusal {
        let probed = self::probe(link, None, None, &config).await;
        // The refusal of the handshake says more than the failed probe.
        if !matches!(probed, Ok(Probe::Known(Era::Modern))) {
            return Err(refusal);
        }
    }
    Ok(Detected::Modern(link.clone()))
}

/// Connects to the server on `link` if the probe found that it speaks the newest revision.
///
/// # Errors
/// This program was built without the feature `legacy`, and the server is an old one or silent.
#[cfg(not(feature = "legacy"))]
pub(crate) async fn connect(
    link: &Arc<Link>,
    probe: Probe<'_>,
    config: UpstreamConfig,
) -> Result<Detected, Error> {
    let era = match probe {
        Probe::Known(era) => era,
        Probe::Late(answer) => match timeout(config.handshake_timeout, answer).await {
            Ok(answer) => era_of(&link.name, answer)?,
            // An old server may ignore what it does not know.
            Err(_) => Era::OLD,
        },
    };
    match era {
        Era::Modern => Ok(Detected::Modern(link.clone())),
        Era::Old(_) => Err(super::era::built_without_legacy(&link.name)),
    }
}

/// Returns once a late answer to the probe says that the server is modern. Any other answer leaves
/// the decision to the handshake, and this never returns.
#[cfg(feature = "legacy")]
async fn turns_out_modern(link: &Link, answer: BoxFuture<'_, Result<RawJson, Error>>) {
    let era = era_of(&link.name, answer.await);
    if !matches!(era, Ok(Era::Modern)) {
        std::future::pending::<()>().await;
    }
}

/// True if a server refused the handshake because it is modern, and was only slow to answer.
///
/// Servers of both eras settle for that of the first request, which is the probe, answered or not.
#[cfg(feature = "legacy")]
fn is_refused_by_modern(error: &Error) -> bool {
    use callgate_wire::code;

    answer_of(error).is_some_and(|error| {
        super::era::code_of(error) == Some(code::UNSUPPORTED_PROTOCOL_VERSION)
            && Era::of_error(error) == Ok(Era::Modern)
    })
}

/// The error that the server answered the handshake with, if it did.
#[cfg(feature = "legacy")]
fn answer_of(error: &Error) -> Option<&RawJson> {
    use std::error::Error as _;

    let refusal: &Error = error.source()?.downcast_ref()?;
    refusal.raw()
}

/// Era that the answer to the probe shows.
fn era_of(name: &Arc<str>, answer: Result<RawJson, Error>) -> Result<Era, Error> {
    let era = match &answer {
        Ok(result) => Era::of_result(result),
        Err(error) => match error.raw() {
            Some(error) => Era::of_error(error),
            // Not an answer of the server: the connection ended, or the line was malformed.
            None if matches!(error.kind(), Kind::Closed | Kind::Protocol) => {
                return answer.map(|_| Era::OLD);
            }
            None => Ok(Era::OLD),
        },
    };
    era.map_err(|versions| {
        let named = match versions.is_empty() {
            true => "none that it names".to_owned(),
            false => versions.join(", "),
        };
        let text = format!(
            "no common protocol version: server `{name}` speaks {named}, this client speaks {}",
            spoken()
        );
        Error::new(Kind::UnsupportedVersion, text).from_upstream(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(answer: Result<&str, &str>, expect: Result<Era, &str>) {
        let name: Arc<str> = Arc::from("old");
        let json = |text: &str| serde_json::from_str::<RawJson>(text).unwrap();
        let answered = answer
            .map(json)
            .map_err(|error| Error::rpc(&name, json(error)));
        let era = era_of(&name, answered).map_err(|error| error.to_string());
        let expect = expect.map_err(|text| format!("{text}, this client speaks {}", spoken()));
        assert_eq!(era, expect, "{answer:?}");
    }

    #[test]
    fn only_an_answer_that_no_old_server_gives_makes_a_server_modern() {
        let old = Ok(Era::OLD);
        check(
            Ok(r#"{"supportedVersions":["2026-07-28"]}"#),
            Ok(Era::Modern),
        );
        check(
            Ok(r#"{"supportedVersions":["2025-03-26","2026-07-28","x"]}"#),
            Ok(Era::Modern),
        );
        check(
            Ok(r#"{"supportedVersions":["2024-11-05","2025-06-18"]}"#),
            Ok(Era::Old(Version::V2025_06_18)),
        );
        check(Ok("{}"), old);
        check(Ok("[]"), old);
        for code in [-32000, -32600, -32601, -32602, -32603, -32002, 0, -32099] {
            check(Err(&format!(r#"{{"code":{code},"message":"m"}}"#)), old);
        }
        for code in [-32020, -32021] {
            let error = format!(r#"{{"code":{code},"message":"m"}}"#);
            check(Err(&error), Ok(Era::Modern));
        }
    }

    #[test]
    fn a_refused_version_is_a_choice_among_those_that_are_named() {
        let refused = |supported: &str| {
            format!(r#"{{"code":-32022,"message":"m","data":{{"supported":{supported}}}}}"#)
        };
        check(Err(&refused(r#"["2026-07-28"]"#)), Ok(Era::Modern));
        check(
            Err(&refused(r#"["2025-06-18"]"#)),
            Ok(Era::Old(Version::V2025_06_18)),
        );
        check(
            Err(&refused(r#"["2027-01-01","2028-01-01"]"#)),
            Err("no common protocol version: server `old` speaks 2027-01-01, 2028-01-01"),
        );
        check(
            Err(r#"{"code":-32022,"message":"m"}"#),
            Err("no common protocol version: server `old` speaks none that it names"),
        );
    }
}
