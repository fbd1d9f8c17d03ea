use std::error::Error as _;
use std::sync::Arc;

use callgate_wire::{Method, RawJson, Version, code, method};
use tokio::time::timeout;

use super::config::Config;
use super::handshake::spoken;
use super::identity::Identity;
use crate::error::{Error, Kind};
use crate::transport::line::{Link, Unwanted};

/// Which family of revisions a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Era {
    /// Every request carries its own metadata.
    Modern,
    /// There is a handshake, best with this version.
    Old(Version),
}

impl Era {
    /// The era of a server of which nothing is known but that it is not modern.
    pub const OLD: Self = Self::Old(Version::V2025_11_25);

    /// Whether every request carries its own metadata.
    #[must_use]
    pub fn is_modern(self) -> bool {
        self == Self::Modern
    }

    /// The era of a server that names the versions it speaks; `None` where we speak none of them.
    pub(crate) fn of_versions(names: &[String]) -> Option<Self> {
        let versions = names.iter().filter_map(|name| Version::parse(name));
        versions.max().map(|version| match version.is_modern() {
            true => Self::Modern,
            false => Self::Old(version),
        })
    }
}

/// Asks the server on `link` which era it is of.
///
/// # Errors
/// The server is gone, or speaks no version that we do.
pub(super) async fn probe(link: &Link, identity: &Identity, config: &Config) -> Result<Era, Error> {
    let method = Method::new(method::SERVER_DISCOVER);
    let params = identity.discover_params();
    let answer = link.request(&method, &params, Unwanted::Ignore);
    match timeout(config.probe, answer).await {
        Ok(answer) => judge(&Arc::from(link.name()), answer),
        Err(_) => Ok(Era::OLD),
    }
}

/// Whether a server refused the handshake because it is modern, and was only slow to say so.
///
/// Servers of both eras settle for that of the first request, which is the probe, answered or not.
pub(super) fn is_modern_after_all(error: &Error) -> bool {
    let refusal = error
        .source()
        .and_then(|source| source.downcast_ref::<Error>());
    refusal.is_some_and(|refusal| {
        let supported = refusal.data().and_then(|data| data.get("supported"));
        refusal.code() == code::UNSUPPORTED_PROTOCOL_VERSION
            && names(supported).and_then(|names| Era::of_versions(&names)) == Some(Era::Modern)
    })
}

/// What the answer to `server/discover` says about the server.
///
/// Old servers answer what they do not know with any error, or as if they had been asked something
/// else; only an answer that nobody gives by chance makes a server modern.
fn judge(name: &Arc<str>, answer: Result<RawJson, Error>) -> Result<Era, Error> {
    let (versions, otherwise) = match answer {
        Ok(result) => (names(result.get("supportedVersions")), Era::OLD),
        Err(error) => match (error.kind(), error.code()) {
            (Kind::Closed | Kind::Protocol, _) => return Err(error),
            (Kind::Rpc, code::UNSUPPORTED_PROTOCOL_VERSION) => {
                let supported = error.data().and_then(|data| data.get("supported"));
                let versions = names(supported).unwrap_or_default();
                (Some(versions), Era::Modern)
            }
            (Kind::Rpc, code::HEADER_MISMATCH | code::MISSING_REQUIRED_CLIENT_CAPABILITY) => {
                (None, Era::Modern)
            }
            _ => (None, Era::OLD),
        },
    };
    let Some(versions) = versions else {
        return Ok(otherwise);
    };
    Era::of_versions(&versions).ok_or_else(|| {
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

fn names(list: Option<RawJson>) -> Option<Vec<String>> {
    list?.decode().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(answer: Result<&str, &str>, expect: Result<Era, &str>) {
        let name: Arc<str> = Arc::from("old");
        let json = |text: &str| serde_json::from_str::<RawJson>(text).unwrap();
        let judged = judge(
            &name,
            answer
                .map(json)
                .map_err(|error| Error::rpc(&name, json(error))),
        );
        let judged = judged.map_err(|error| error.to_string());
        assert_eq!(judged, expect.map_err(str::to_owned), "{answer:?}");
    }

    #[test]
    fn only_what_nobody_answers_by_chance_makes_a_server_modern() {
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
            Err(
                "no common protocol version: server `old` speaks 2027-01-01, 2028-01-01, \
                 this client speaks 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05",
            ),
        );
        check(
            Err(r#"{"code":-32022,"message":"m"}"#),
            Err(
                "no common protocol version: server `old` speaks none that it names, \
                 this client speaks 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05",
            ),
        );
    }
}
