use std::time::{SystemTime, UNIX_EPOCH};

use callgate_mcp::wire::RawJson;
use callgate_oauth::token_source::{LoginCheck, LoginState, LoginStatus};
use serde::Serialize;
use url::Url;

use crate::error::CommandError;
use crate::logins;
use crate::output;
use crate::visible::visible_line;

/// Prints the status of one login, and the answer of the server to its token if it accepts it.
pub(super) fn print_checked(
    name: &str,
    status: &LoginStatus,
    check: &LoginCheck,
    json: bool,
) -> Result<(), CommandError> {
    if json {
        let row = Row {
            check: Some(match check {
                LoginCheck::Accepted { .. } => "accepted",
                LoginCheck::Refused(_) => "refused",
                _ => "unknown",
            }),
            server_name: server_name(check),
            ..Row::new(name, status)
        };
        let row = RawJson::encode(&row).map_err(anyhow::Error::from)?;
        return Ok(output::json(&row)?);
    }
    output::text(&describe(name, status, unix_time()))?;
    if let LoginCheck::Accepted { .. } = check {
        let url = status.server_url.as_deref().unwrap_or(name);
        let server = server_name(check).map(|it| format!(" `{}`", visible_line(it)));
        let server = server.unwrap_or_default();
        output::text(&format!(
            "logged in to {url}; the server{server} accepts the login"
        ))?;
    }
    Ok(())
}

fn server_name(check: &LoginCheck) -> Option<&str> {
    match check {
        LoginCheck::Accepted { server_name } => server_name.as_deref(),
        _ => None,
    }
}

/// Prints that a server needs no login.
pub(super) fn print_unwanted(name: &str, server: &Url, json: bool) -> Result<(), CommandError> {
    if json {
        let row = Row {
            name,
            url: Some(server.as_str()),
            account: None,
            state: "unwanted",
            issuer: None,
            client_id: None,
            scopes: None,
            expires_at: None,
            renews: false,
            check: None,
            server_name: None,
        };
        let row = RawJson::encode(&row).map_err(anyhow::Error::from)?;
        return Ok(output::json(&row)?);
    }
    let line = format!("{name} needs no login: it answers without one");
    Ok(output::text(&line)?)
}

/// Prints the status of all logins.
pub(super) fn print_all(
    statuses: &[(String, LoginStatus)],
    json: bool,
) -> Result<(), CommandError> {
    if json {
        let rows: Vec<_> = statuses
            .iter()
            .map(|(name, status)| Row::new(name, status))
            .collect();
        let rows = RawJson::encode(&rows).map_err(anyhow::Error::from)?;
        return Ok(output::json(&rows)?);
    }
    if statuses.is_empty() {
        output::note("there are no logins; run `callgate auth URL` to make one");
        return Ok(());
    }
    let now = unix_time();
    let blocks: Vec<_> = statuses
        .iter()
        .map(|(name, status)| describe(name, status, now))
        .collect();
    Ok(output::text(&blocks.join("\n"))?)
}

/// A login without its secrets.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row<'a> {
    name: &'a str,
    url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<&'a str>,
    state: &'static str,
    issuer: Option<&'a str>,
    client_id: Option<&'a str>,
    scopes: Option<Vec<String>>,
    /// In Unix seconds.
    expires_at: Option<u64>,
    renews: bool,
    /// Answer of the server to the token, if it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_name: Option<&'a str>,
}

impl<'a> Row<'a> {
    fn new(name: &'a str, status: &'a LoginStatus) -> Self {
        let scopes = status.scopes.as_ref().map(ToString::to_string);
        Self {
            name,
            url: status.server_url.as_deref(),
            account: status.account.as_deref(),
            state: match status.state {
                LoginState::LoggedIn => "logged_in",
                LoginState::Refreshable => "renewable",
                LoginState::Expired => "ended",
                LoginState::LoggedOut => "logged_out",
                _ => "unknown",
            },
            issuer: status.issuer.as_deref(),
            client_id: status.client_id.as_deref(),
            scopes: scopes.map(|it| it.split_whitespace().map(str::to_owned).collect()),
            expires_at: status.expires_at.map(whole_seconds),
            renews: status.is_refreshable,
            check: None,
            server_name: None,
        }
    }
}

fn describe(name: &str, status: &LoginStatus, now: u64) -> String {
    let mut lines = vec![visible_line(name)];
    let mut line =
        |label: &str, value: &str| lines.push(format!("  {label:6}  {}", visible_line(value)));
    let named = status.account.as_deref();
    if let Some(url) = status.server_url.as_deref().filter(|url| *url != name) {
        line("url", url);
    }
    if let Some(account) = named {
        line("account", account);
    }
    line("state", &state(status, now));
    if let Some(issuer) = &status.issuer {
        line("issuer", issuer);
    }
    if let Some(scopes) = status.scopes.as_ref().filter(|scopes| !scopes.is_empty()) {
        line("scopes", &scopes.to_string());
    }
    lines.push(String::new());
    lines.join("\n")
}

fn state(status: &LoginStatus, now: u64) -> String {
    let end = status.expires_at.map(whole_seconds);
    let left = end.map(|end| span(end.saturating_sub(now)));
    let log_in = || format!("run `callgate auth {}`", target(status));
    match (status.state, left) {
        (LoginState::LoggedIn, None) => "logged in".to_owned(),
        (LoginState::LoggedIn, Some(left)) if status.is_refreshable => {
            format!("logged in; the token expires in {left} and is renewed automatically")
        }
        (LoginState::LoggedIn, Some(left)) => {
            format!("logged in; the token expires in {left} and cannot be renewed")
        }
        (LoginState::Refreshable, _) => "logged in; the next request renews the token".to_owned(),
        (LoginState::Expired, _) => format!("ended; {}", log_in()),
        (LoginState::LoggedOut, _) => format!("logged out; {}", log_in()),
        _ => "unknown".to_owned(),
    }
}

/// Next step if the login ends although the provider may have a way to go on.
pub(super) fn refresh_hint(status: &LoginStatus) -> Option<String> {
    const OFFLINE: &str = "offline_access";
    let scopes = status.scopes.clone().unwrap_or_default();
    if status.is_refreshable || status.expires_at.is_none() || scopes.contains(OFFLINE) {
        return None;
    }
    let scopes: Vec<_> = scopes
        .iter()
        .chain([OFFLINE])
        .map(output::argument)
        .collect();
    Some(format!(
        "the provider gave no refresh token, so this login ends with its token; if the provider has the scope {OFFLINE}, \
         run `callgate auth {} --again --scope {}`",
        target(status),
        scopes.join(" --scope ")
    ))
}

/// The server as an argument of the next command.
fn target(status: &LoginStatus) -> String {
    let server = status.server_url.as_deref().unwrap_or("URL");
    logins::arguments(server, status.account.as_deref())
}

/// A duration, rounded down to the largest unit that fits.
fn span(seconds: u64) -> String {
    let (count, unit) = match seconds {
        0..120 => (seconds, "second"),
        120..7200 => (seconds / 60, "minute"),
        7200..172_800 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural}")
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float is cut to the nearest second that there is"
)]
fn whole_seconds(time: f64) -> u64 {
    time as u64
}

fn unix_time() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::{LoginState, LoginStatus, describe, span, state};
    use callgate_oauth::Scopes;
    use callgate_oauth::store::Login;

    fn status(state: LoginState) -> LoginStatus {
        let mut status = LoginStatus::of(&Login::default());
        status.state = state;
        status.server_url = Some("https://mcp.example/mcp?a=1&b=2".to_owned());
        status.issuer = Some("https://as.example".to_owned());
        status.scopes = Some(Scopes::parse("read write"));
        status.expires_at = Some(1600.9);
        status.is_refreshable = true;
        status
    }

    #[test]
    fn a_login_is_described_in_a_few_lines() {
        assert_eq!(
            describe("example", &status(LoginState::LoggedIn), 1000),
            "example\n  url     https://mcp.example/mcp?a=1&b=2\n  \
             state   logged in; the token expires in 10 minutes and is renewed automatically\n  \
             issuer  https://as.example\n  scopes  read write\n"
        );
        let mut unrenewed = status(LoginState::LoggedIn);
        unrenewed.is_refreshable = false;
        assert_eq!(
            state(&unrenewed, 1000),
            "logged in; the token expires in 10 minutes and cannot be renewed"
        );
        let mut named = status(LoginState::LoggedOut);
        named.account = Some("work".to_owned());
        assert_eq!(
            state(&named, 1000),
            "logged out; run `callgate auth 'https://mcp.example/mcp?a=1&b=2' --account work`"
        );
        let mut ended = status(LoginState::Expired);
        (ended.issuer, ended.scopes) = (None, None);
        assert_eq!(
            describe("https://mcp.example/mcp?a=1&b=2", &ended, 1000),
            "https://mcp.example/mcp?a=1&b=2\n  \
             state   ended; run `callgate auth 'https://mcp.example/mcp?a=1&b=2'`\n"
        );
    }

    #[test]
    fn spans_are_told_in_the_largest_unit() {
        for (seconds, expect) in [
            (0, "0 seconds"),
            (1, "1 second"),
            (119, "119 seconds"),
            (120, "2 minutes"),
            (7199, "119 minutes"),
            (7200, "2 hours"),
            (172_800, "2 days"),
        ] {
            assert_eq!(span(seconds), expect);
        }
    }
}
