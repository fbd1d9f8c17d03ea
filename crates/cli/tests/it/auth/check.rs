//! The end of `auth`: the server decides whether the login works.

use super::expected::{ASKED, described};
use crate::fixture::{Home, Ran};
use crate::provider::{Provider, Refusal, Settings};

fn refusing(status: u16, challenge: &'static str, body: &'static str) -> Provider {
    Provider::start(Settings {
        refusal: Some(Refusal {
            status,
            challenge,
            body,
        }),
        ..Settings::default()
    })
}

/// Logs in at a server that refuses the token, and compares the error and its hints.
#[track_caller]
fn check(provider: &Provider, error: &str, hints: &[String]) {
    let home = Home::new();
    let hints: String = hints.iter().map(|hint| format!("hint: {hint}\n")).collect();
    assert_eq!(
        home.log_in(&provider.url, &[]),
        Ran {
            stdout: described(provider, "read"),
            stderr: format!(
                "{ASKED}error: the login was made, but the server refuses its token: {error}\n{hints}"
            ),
            exit: Some(3),
        }
    );
    // The login is kept: it may be good for other requests, and a later check may succeed.
    let listed = home.run(&["auth", "list"]);
    assert_eq!(listed, Ran::printed(&described(provider, "read")));
}

fn usual_hints(url: &str) -> [String; 2] {
    [
        format!(
            "if the provider wants to know the API that a token is for, as Auth0 does, \
             run `callgate auth {url} --again --auth-param audience=API`"
        ),
        format!(
            "if the account has no access there, log in with another one: run `callgate auth {url} --again`"
        ),
    ]
}

#[test]
fn a_server_that_accepts_the_login_is_named() {
    let home = Home::new();
    let provider = Provider::start(Settings {
        server_name: Some("Example \u{1b}[2J\u{202e}\nServer"),
        ..Settings::default()
    });
    let (url, issuer) = (&provider.url, provider.issuer());
    let ran = home.log_in(url, &[]);
    let described = described(&provider, "read");
    assert_eq!(
        ran.stdout,
        format!(
            "{described}logged in to {url}; the server `Example  [2J  Server` accepts the login\n"
        )
    );
    let ran = home.run(&["--json", "auth", url]);
    let mut row: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    row["expiresAt"].take();
    assert_eq!(
        row,
        serde_json::json!({
            "name": url,
            "url": url,
            "state": "logged_in",
            "issuer": issuer,
            "clientId": "registered",
            "scopes": ["read"],
            "expiresAt": null,
            "renews": true,
            "check": "accepted",
            "serverName": "Example  [2J  Server",
        })
    );
}

#[test]
fn a_refused_token_is_explained_in_the_words_of_the_server() {
    let provider = refusing(
        401,
        r#", error="invalid_token", error_description="The audience is wrong""#,
        "",
    );
    check(
        &provider,
        "HTTP status 401, invalid_token (The audience is wrong)",
        &usual_hints(&provider.url),
    );
    let provider = refusing(
        401,
        r#", error="invalid_token", error_description="bad audience""#,
        r#"{"error":"Unauthorized","error_description":"Expected audience https://api.example"}"#,
    );
    check(
        &provider,
        "HTTP status 401, invalid_token (bad audience): \
         {\"error\":\"Unauthorized\",\"error_description\":\"Expected audience https://api.example\"}",
        &usual_hints(&provider.url),
    );
    // Some servers have a policy and no challenge.
    let provider = refusing(403, "", "your organization does not allow this client");
    check(
        &provider,
        "HTTP status 403: your organization does not allow this client",
        &usual_hints(&provider.url),
    );
}

#[test]
fn a_server_cannot_write_to_the_terminal() {
    let provider = refusing(
        401,
        "",
        "{\"error\":\"invalid_token\",\"error_description\":\"a\\u001b[2Jb\\nhint: run\\u202ec\\u200bd\\u009be\"}",
    );
    check(
        &provider,
        "HTTP status 401, invalid_token (a [2Jb hint: run c d e)",
        &usual_hints(&provider.url),
    );
    // A header cannot hold line breaks, but text in any direction.
    let provider = refusing(
        401,
        ", error=\"invalid_token\", error_description=\"a\u{202e}b\u{9b}c\u{200b}d\u{feff}\"",
        "",
    );
    check(
        &provider,
        "HTTP status 401, invalid_token (a b c d )",
        &usual_hints(&provider.url),
    );
    let long: &'static str = "x".repeat(5000).leak();
    let provider = refusing(401, "", long);
    let error = format!("HTTP status 401: {}…", "x".repeat(256));
    check(&provider, &error, &usual_hints(&provider.url));
}

#[test]
fn missing_scopes_are_the_next_login() {
    let provider = refusing(
        403,
        r#", error="insufficient_scope", scope="read write""#,
        "",
    );
    let url = provider.url.clone();
    check(
        &provider,
        "HTTP status 403, insufficient_scope",
        &[format!(
            "log in with the scopes that the server names: run `callgate auth {url} --again --scope read --scope write`"
        )],
    );
}

#[test]
fn a_refusal_is_an_error_for_programs_too() {
    let home = Home::new();
    let provider = refusing(401, r#", error="invalid_token""#, "");
    let ran = home.log_in(&provider.url, &["--json"]);
    let row: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (&row["check"], &row["state"]),
        (&"refused".into(), &"logged_in".into())
    );
    let report = ran.stderr.lines().last().unwrap();
    let report: serde_json::Value = serde_json::from_str(report).unwrap();
    assert_eq!(
        report,
        serde_json::json!({ "error": {
            "kind": "login_required",
            "message": "the login was made, but the server refuses its token: HTTP status 401, invalid_token",
            "hints": usual_hints(&provider.url),
        } })
    );
    assert_eq!(ran.exit, Some(3));
}

#[test]
fn a_login_that_cannot_be_tried_is_kept() {
    let home = Home::new();
    let provider = Provider::start(Settings {
        breaks_off: true,
        ..Settings::default()
    });
    let url = &provider.url;
    let ran = home.log_in(url, &[]);
    // The error ends with the cause, which depends on the system.
    let error = format!(
        "{ASKED}error: the login was made and is kept, but it could not be tried: \
         server `{url}` closed the connection before the response"
    );
    let hints = format!(
        "\nhint: check that the server is running and the address is right, http or https included\n\
         hint: to try the login, run `callgate list {url}`\n"
    );
    assert!(ran.stderr.starts_with(&error), "{ran:?}");
    assert!(ran.stderr.ends_with(&hints), "{ran:?}");
    let expected = (described(&provider, "read"), Some(4));
    assert_eq!((ran.stdout, ran.exit), expected);
    let ran = home.log_in(url, &["--json", "--again"]);
    let row: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&row["check"], ran.exit), (&"unknown".into(), Some(4)));
    let listed = home.run(&["auth", "list"]);
    assert_eq!(listed, Ran::printed(&described(&provider, "read")));
}

#[test]
fn the_next_command_is_for_the_same_account() {
    let home = Home::new();
    let provider = refusing(401, "", "");
    let ran = home.log_in(&provider.url, &["--account", "work"]);
    let again = format!(
        "run `callgate auth {} --account work --again`\n",
        provider.url
    );
    assert!(ran.stderr.ends_with(&again), "{ran:?}");
    let provider = Provider::start(Settings {
        breaks_off: true,
        ..Settings::default()
    });
    let ran = home.log_in(&provider.url, &["--account", "work"]);
    let list = format!("run `callgate list {} --account work`\n", provider.url);
    assert!(ran.stderr.ends_with(&list), "{ran:?}");
}
