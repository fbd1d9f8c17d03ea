//! Steps of a login: registrations that are made anew, hints at its end, and its log.

use std::process::Stdio;

use super::expected::{ASKED, logged_in};
use crate::fixture::{Home, LoggingIn, Ran};
use crate::provider::{self, Provider, Settings};

#[test]
fn a_client_that_the_authorization_page_has_forgotten_is_registered_again() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    let url = &provider.url;
    home.paste(url, &[]);
    provider.end_logins();
    provider.forget_client();
    provider.events();
    let mut command = home.command(&["auth", url, "--no-browser"]);
    let mut login = LoggingIn::start(command.stdin(Stdio::piped()));
    let (back, _) = provider::get(&login.page);
    let back = back.unwrap();
    assert!(back.contains("error=unauthorized_client"), "{back}");
    login.answer(&back);
    login.next_page();
    let ran = login.paste();
    assert_eq!(ran.stdout, logged_in(&provider, "read"), "{ran:?}");
    assert_eq!(
        provider.events(),
        [
            "refresh_token of registered refused",
            "authorize registered for read",
            "register",
            "authorize registered for read",
            "authorization_code of registered",
        ]
    );
}

#[test]
fn a_login_again_forgets_the_registration_but_not_the_options() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    let url = &provider.url;
    home.paste(url, &["--auth-param", "audience=x"]);
    home.edit_login(url, |login| {
        login["clientInfo"]["clientId"] = "forgotten".into();
        login["resourceMetadata"] = "http://127.0.0.1:1/nowhere".into();
    });
    provider.events();
    home.paste(url, &["--again"]);
    assert_eq!(
        provider.events(),
        [
            "register",
            "authorize registered for read",
            "authorization_code of registered"
        ]
    );
    home.edit_login(url, |login| {
        assert_eq!(login["clientInfo"]["clientId"], "registered");
        assert_ne!(login["resourceMetadata"], "http://127.0.0.1:1/nowhere");
        assert_eq!(login["options"]["authParams"]["audience"], "x");
    });
}

#[test]
fn a_metadata_document_is_offered_where_it_is_the_only_way() {
    let home = Home::new();
    let provider = Provider::start(Settings {
        registers: false,
        reads_descriptions: true,
        ..Settings::default()
    });
    let url = &provider.url;
    let ran = home.run(&["auth", url, "--no-browser"]);
    let hint = format!(
        "hint: or publish a client id metadata document, which docs/login.md describes, \
         and run `callgate auth {url} --client-metadata-url URL`\n"
    );
    assert!(ran.stderr.ends_with(&hint), "{ran:?}");
}

#[test]
fn a_login_without_a_refresh_token_says_what_may_help() {
    let home = Home::new();
    let provider = Provider::start(Settings {
        renews: false,
        ..Settings::default()
    });
    let url = &provider.url;
    let ran = home.log_in(url, &[]);
    assert_eq!(
        ran.stderr,
        format!(
            "{ASKED}hint: the provider gave no refresh token, so this login ends with its token; if the provider has \
             the scope offline_access, run `callgate auth {url} --again --scope read --scope offline_access`\n"
        )
    );
    let ran = home.log_in(
        url,
        &["--again", "--scope", "read", "--scope", "offline_access"],
    );
    assert_eq!(ran.stderr, ASKED);
}

#[test]
fn a_pasted_address_may_be_quoted() {
    for quote in ['\'', '"'] {
        let (home, provider) = (Home::new(), Provider::start(Settings::default()));
        let mut command = home.command(&["auth", &provider.url, "--no-browser"]);
        let mut login = LoggingIn::start(command.stdin(Stdio::piped()));
        let (back, _) = provider::get(&login.page);
        login.answer(&format!("{quote}{}{quote}", back.unwrap()));
        let ran = login.end();
        assert_eq!(ran.stdout, logged_in(&provider, "read"), "{ran:?}");
    }
}

#[test]
fn the_log_of_a_login_names_each_step_and_no_secret() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    let url = format!("{}?key=canary-query", provider.url);
    let mut command = home.command(&["auth", &url, "--callback-port", "0"]);
    command.env("CALLGATE_LOG", "callgate_oauth=debug");
    let ran = LoggingIn::start(&mut command).consent();
    let issuer = provider.issuer();
    let mut log = ran.stderr.as_str();
    for step in [
        "server: asked without a token is_refused=true".to_owned(),
        format!("GET\" url={issuer}/.well-known/oauth-protected-resource/mcp status=200"),
        format!("issuer: chosen issuer=\"{issuer}\""),
        format!("GET\" url={issuer}/.well-known/oauth-authorization-server status=200"),
        "request: prepared scopes=read scopes_from=\"the metadata of the server\"".to_owned(),
        "client: none is known, so one is registered client_name=\"Callgate\"".to_owned(),
        format!("POST\" url={issuer}/register status=201"),
        format!("POST\" url={issuer}/token status=200"),
    ] {
        let at = log.find(&step);
        let at = at.unwrap_or_else(|| panic!("no {step} in {}", ran.stderr));
        log = log.get(at..).unwrap();
    }
    for secret in provider
        .secrets()
        .iter()
        .chain(["canary-query".to_owned()].iter())
    {
        let told = ran.stderr.lines().filter(|line| line.contains("DEBUG"));
        assert_eq!(
            told.filter(|line| line.contains(secret)).count(),
            0,
            "{secret}"
        );
    }
}

#[test]
fn a_refusal_names_the_option_that_helps() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    let url = &provider.url;
    for (error, hint) in [
        (
            "invalid_target",
            format!(
                "the provider does not accept the address of the server as a resource: run `callgate auth {url} --no-resource`"
            ),
        ),
        (
            "invalid_scope",
            format!(
                "the provider does not have these scopes: run `callgate auth {url} --scope SCOPE`, with the scopes that it documents"
            ),
        ),
        (
            "invalid_request",
            format!(
                "if the provider needs another parameter, run `callgate auth {url} --auth-param NAME=VALUE`\n\
                 hint: if it refuses the parameter `resource`, run `callgate auth {url} --no-resource`"
            ),
        ),
    ] {
        provider.refuse_logins(error);
        let ran = home.log_in(url, &[]);
        let expected = format!("{ASKED}error: access was not granted: {error}\nhint: {hint}\n");
        assert_eq!(ran, Ran::failed(3, &expected));
    }
}
