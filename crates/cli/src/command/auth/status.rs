use std::time::{SystemTime, UNIX_EPOCH};

use callgate_mcp::wire::RawJson;
use callgate_oauth::keeper::{State, Status};
use serde::Serialize;
use url::Url;

use crate::error::CommandError;
use crate::output;

/// Prints what is known about one login.
pub(super) fn print_one(name: &str, status: &Status, json: bool) -> Result<(), CommandError> {
    if json {
        let row = RawJson::encode(&Row::new(name, status)).map_err(anyhow::Error::from)?;
        return Ok(output::json(&row)?);
    }
    Ok(output::text(&describe(name, status, unix_time()))?)
}

/// Prints that a server needs no login.
pub(super) fn print_unwanted(name: &str, server: &Url, json: bool) -> Result<(), CommandError> {
    if json {
        let row = Row {
            name,
            url: Some(server.as_str()),
            state: "unwanted",
            issuer: None,
            client_id: None,
            scopes: None,
            expires_at: None,
            renews: false,
        };
        let row = RawJson::encode(&row).map_err(anyhow::Error::from)?;
        return Ok(output::json(&row)?);
    }
    let line = format!("{name} wants no login: it answers without one");
    Ok(output::text(&line)?)
}

/// Prints what is known about all logins.
pub(super) fn print_all(statuses: &[(String, Status)], json: bool) -> Result<(), CommandError> {
    if json {
        let rows: Vec<_> = statuses
            .iter()
            .map(|(name, status)| Row::new(name, status))
            .collect();
        let rows = RawJson::encode(&rows).map_err(anyhow::Error::from)?;
        return Ok(output::json(&rows)?);
    }
    if statuses.is_empty() {
        eprintln!("there are no logins; run `callgate auth URL` to make one");
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
    state: &'static str,
    issuer: Option<&'a str>,
    client_id: Option<&'a str>,
    scopes: Option<Vec<String>>,
    /// In Unix seconds.
    expires_at: Option<u64>,
    renews: bool,
}

impl<'a> Row<'a> {
    fn new(name: &'a str, status: &'a Status) -> Self {
        let scopes = status.scopes.as_ref().map(ToString::to_string);
        Self {
            name,
            url: status.server_url.as_deref(),
            state: match status.state {
                State::LoggedIn => "logged_in",
                State::Renewable => "renewable",
                State::Ended => "ended",
                State::LoggedOut => "logged_out",
            },
            issuer: status.issuer.as_deref(),
            client_id: status.client_id.as_deref(),
            scopes: scopes.map(|it| it.split_whitespace().map(str::to_owned).collect()),
            expires_at: status.expires_at.map(whole_seconds),
            renews: status.renews,
        }
    }
}

fn describe(name: &str, status: &Status, now: u64) -> String {
    let mut lines = vec![name.to_owned()];
    let mut line = |label: &str, value: &str| lines.push(format!("  {label:6}  {value}"));
    if let Some(url) = status.server_url.as_deref().filter(|url| *url != name) {
        line("url", url);
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

fn state(status: &Status, now: u64) -> String {
    let end = status.expires_at.map(whole_seconds);
    let left = end.map(|end| span(end.saturating_sub(now)));
    let log_in = || format!("run `callgate auth {}`", target(status));
    match (status.state, left) {
        (State::LoggedIn, None) => "logged in".to_owned(),
        (State::LoggedIn, Some(left)) if status.renews => {
            format!("logged in; the token ends in {left} and renews itself")
        }
        (State::LoggedIn, Some(left)) => {
            format!("logged in; ends in {left}, as nothing renews the token")
        }
        (State::Renewable, _) => "logged in; the next request renews the token".to_owned(),
        (State::Ended, _) => format!("ended; {}", log_in()),
        (State::LoggedOut, _) => format!("logged out; {}", log_in()),
    }
}

/// The server as an argument of the next command.
fn target(status: &Status) -> String {
    output::argument(status.server_url.as_deref().unwrap_or("URL"))
}

/// About how long it is, in the largest unit that fits.
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
    use super::{State, Status, describe, span, state};
    use callgate_oauth::Scopes;

    fn status(state: State) -> Status {
        Status {
            state,
            server_url: Some("https://mcp.example/mcp?a=1&b=2".to_owned()),
            issuer: Some("https://as.example".to_owned()),
            client_id: None,
            scopes: Some(Scopes::parse("read write")),
            expires_at: Some(1600.9),
            renews: true,
        }
    }

    #[test]
    fn a_login_is_described_in_a_few_lines() {
        assert_eq!(
            describe("example", &status(State::LoggedIn), 1000),
            "example\n  url     https://mcp.example/mcp?a=1&b=2\n  \
             state   logged in; the token ends in 10 minutes and renews itself\n  \
             issuer  https://as.example\n  scopes  read write\n"
        );
        let unrenewed = Status {
            renews: false,
            ..status(State::LoggedIn)
        };
        assert_eq!(
            state(&unrenewed, 1000),
            "logged in; ends in 10 minutes, as nothing renews the token"
        );
        let ended = Status {
            issuer: None,
            scopes: None,
            ..status(State::Ended)
        };
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
