use std::error::Error as _;

use callgate_mcp::transport::http::client::HttpFailure;
use callgate_mcp::transport::http::connect::is_unknown_issuer;
use callgate_mcp::{Error, Kind};
use callgate_oauth::token_source::{LoginState, LoginStatus};

use super::{Code, Finding};
use crate::error::TRUST_THE_ISSUER;
use crate::logins;
use crate::server::{is_client_missing, is_login_missing};

/// Way in which a server is reached, as far as its failures differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reached {
    /// As a program that is started.
    Program,
    /// At a URL.
    Url,
}

/// Decides what kept a server from connecting.
pub(crate) fn judge_failure(server: &str, reached: Reached, error: &Error) -> Finding {
    let finding = |code, repair: String| Finding::new(code, server, error.to_string(), repair);
    if is_client_missing(error) {
        return finding(
            Code::ClientRegistrationRequired,
            format!(
                "register a client at the provider of the server, then run `callgate auth {server} --client-id ID`"
            ),
        );
    }
    if is_login_missing(error) {
        return finding(Code::LoginRequired, format!("callgate auth {server}"));
    }
    if is_unknown_issuer(error) {
        return finding(Code::UnknownCertificate, TRUST_THE_ISSUER.to_owned());
    }
    let debug = format!("see its messages with `callgate debug {server}`");
    let code = match (reached, status_of(error), error.kind()) {
        (Reached::Program, ..) => Code::ServerFailed,
        // A proxy or load balancer in front of the server.
        (Reached::Url, Some(502..=504), _) => Code::Unreachable,
        (Reached::Url, Some(429 | 500..), _) => Code::ServerFailed,
        // The server runs and has nothing there, or a page for people.
        (Reached::Url, Some(_), _) => Code::WrongUrl,
        (Reached::Url, None, Kind::Connect | Kind::Closed | Kind::Timeout) => Code::Unreachable,
        (Reached::Url, None, Kind::Protocol | Kind::MethodNotFound | Kind::Parse) => Code::WrongUrl,
        (Reached::Url, None, _) => Code::ServerFailed,
    };
    finding(
        code,
        match code {
            Code::Unreachable => format!(
                "check that the server runs and that its URL is right: callgate get {server}"
            ),
            Code::WrongUrl => format!(
                "compare the URL with the documentation of the server, which often ends in /mcp or /sse; {debug}"
            ),
            _ => debug,
        },
    )
}

/// Status of the HTTP response without a message of the protocol that is among the causes of an error.
fn status_of(error: &Error) -> Option<u16> {
    let mut causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.find_map(|cause| {
        let failure = cause.downcast_ref::<HttpFailure>()?;
        Some(failure.status)
    })
}

/// Checks a stored login.
pub(crate) fn check_login(name: &str, status: &LoginStatus) -> Option<Finding> {
    if status.state != LoginState::Expired {
        return None;
    }
    let (server, _) = logins::split_name(name);
    let server = status.server_url.as_deref().unwrap_or(server);
    let arguments = logins::arguments(server, status.account.as_deref());
    Some(Finding::new(
        Code::LoginExpired,
        name,
        "the login has ended and cannot be renewed without you",
        format!("callgate auth {arguments}"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_told_apart() {
        let check = |reached, kind, expected| {
            let finding = judge_failure("s", reached, &Error::new(kind, "it failed"));
            assert_eq!(
                (finding.code, finding.problem.as_str()),
                (expected, "it failed")
            );
        };
        check(Reached::Url, Kind::Connect, Code::Unreachable);
        check(Reached::Url, Kind::Timeout, Code::Unreachable);
        check(Reached::Url, Kind::Protocol, Code::WrongUrl);
        check(Reached::Url, Kind::Rpc, Code::ServerFailed);
        check(Reached::Url, Kind::Unauthorized, Code::LoginRequired);
        check(Reached::Program, Kind::Closed, Code::ServerFailed);
        check(Reached::Program, Kind::Timeout, Code::ServerFailed);
    }
}
