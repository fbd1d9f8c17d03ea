use super::expected::{ASKED, logged_in};
use crate::fixture::{Home, Ran};
use crate::provider::{self, Provider, Settings};

#[test]
fn one_login_is_enough_for_every_later_command() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    assert_eq!(
        home.log_in(&provider.url, &[]),
        Ran {
            stdout: logged_in(&provider, "read"),
            stderr: ASKED.to_owned(),
            exit: Some(0),
        }
    );
    assert_eq!(
        home.run(&["list", &provider.url]),
        Ran::printed("whoami  Tell who asks\nfail    Goes wrong\npurge   Needs more scopes\n")
    );
    assert_eq!(
        home.run(&["call", &provider.url, "whoami"]),
        Ran::printed("granted: read\n")
    );
    assert_eq!(
        home.run(&["auth", &provider.url]),
        Ran::printed(&logged_in(&provider, "read"))
    );
    assert_eq!(
        provider.events(),
        [
            "register",
            "authorize registered for read",
            "authorization_code of registered"
        ]
    );
}

#[test]
fn the_address_of_the_last_page_can_be_pasted() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    assert_eq!(
        home.paste(&provider.url, &[]),
        Ran {
            stdout: logged_in(&provider, "read"),
            stderr: "to log in, open this page in a browser on any machine:\n\n  PAGE\n\n\
                at the end the browser reports that it cannot load a page; that is expected.\n\
                paste the whole address of that page here, within 5 minutes:\n\
                that is not the answer to this login; the address begins with http://127.0.0.1:19876/mcp/oauth/callback?\n\
                paste the whole address of that page here, within 5 minutes:\n"
                .to_owned(),
            exit: Some(0),
        }
    );
}

#[test]
fn a_refusal_is_told_in_the_browser_and_on_the_terminal() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    let url = &provider.url;
    let login = home.start_login(url, &["--scope", "forbidden"]);
    let (back, _) = provider::get(&login.page);
    let (_, page) = provider::get(&back.unwrap());
    assert!(
        page.contains("access was not granted: access_denied"),
        "{page}"
    );
    assert_eq!(
        login.end(),
        Ran::failed(
            3,
            &format!(
                "{ASKED}error: access was not granted: access_denied\nhint: to try again, run `callgate auth {url}`\n"
            )
        )
    );
    assert_eq!(home.run(&["auth", "list"]).stdout, "");
}

#[test]
fn a_missing_login_is_reported_with_the_command_that_gets_one() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    let url = &provider.url;
    let hints = format!(
        "hint: log in: run `callgate auth {url}`\n\
         hint: or send a token: pass --token-file FILE, or put it in the variable CALLGATE_TOKEN and the URL of the server in CALLGATE_TOKEN_FOR; `callgate token` prints that of `callgate serve`\n"
    );
    assert_eq!(
        home.run(&["list", url]),
        Ran::failed(
            3,
            &format!("error: login needed at {url}: no login is stored\n{hints}")
        )
    );
    home.log_in(url, &[]);
    provider.end_logins();
    assert_eq!(
        home.run(&["list", url]),
        Ran::failed(
            3,
            &format!(
                "error: login needed at {url}: \
                 the authorization server has revoked the stored login\n{hints}"
            )
        )
    );
}

#[test]
fn missing_scopes_are_named_and_a_second_login_adds_them() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    let url = &provider.url;
    home.log_in(url, &[]);
    assert_eq!(
        home.run(&["call", url, "purge"]),
        Ran::failed(
            3,
            &format!(
                "error: login needed at {url}: the token lacks the scopes read admin\n\
                 hint: log in: run `callgate auth {url} --scope read --scope admin`\n\
                 hint: or send a token: pass --token-file FILE, or put it in the variable CALLGATE_TOKEN and the URL of the server in CALLGATE_TOKEN_FOR; `callgate token` prints that of `callgate serve`\n"
            )
        )
    );
    let ran = home.log_in(url, &["--scope", "read", "--scope", "admin"]);
    assert_eq!(ran.stdout, logged_in(&provider, "read admin"));
    assert_eq!(
        home.run(&["call", url, "purge"]),
        Ran::printed("granted: read admin\n")
    );
}

#[test]
fn an_argument_that_is_no_server_is_named() {
    let home = Home::new();
    assert_eq!(
        home.run(&["auth", "example"]),
        Ran::failed(
            1,
            "error: `example` is neither a configured server, nor an http(s) URL, nor the name of a login\n\
             hint: run `callgate list` to see the configured servers, and `callgate auth list` to see the logins\n"
        )
    );
    assert_eq!(
        home.run(&["list", "ftp://127.0.0.1/mcp"]),
        Ran::failed(
            1,
            "error: `ftp://127.0.0.1/mcp` is neither a configured server nor an http(s) URL\n\
             hint: run `callgate list` to see the configured servers; begin a URL with http:// or https://, and for a server that is a command, use --stdio COMMAND\n"
        )
    );
    assert_eq!(
        home.run(&["auth", "http://127.0.0.1:1/mcp", "--scope", "a\"b"]),
        Ran::failed(
            1,
            "error: `a\"b` cannot be a scope\nhint: write each scope as the server names it, without quotes\n"
        )
    );
}

#[test]
fn a_code_can_be_entered_on_another_device() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    let login = home.start_login(&provider.url, &["--device"]);
    assert_eq!(login.page, format!("{}/activate", provider.issuer()));
    provider::get(&login.page);
    assert_eq!(
        login.end(),
        Ran {
            stdout: logged_in(&provider, "read"),
            stderr: "to log in, open this page in a browser on any device:\n\n  PAGE\n\n\
                and enter this code: ABCD-EFGH\n"
                .to_owned(),
            exit: Some(0),
        }
    );
    provider.end_access_tokens();
    let ran = home.run(&["call", &provider.url, "whoami"]);
    assert_eq!(ran, Ran::printed("granted: read\n"));
}

#[test]
fn a_server_without_logins_is_told_from_one_with() {
    let home = Home::new();
    let serving = home.serve(&[]);
    let url = &serving.url;
    assert_eq!(
        home.run(&["auth", url, "--callback-port", "0"]),
        Ran::failed(
            3,
            &format!(
                "error: the authorization server answered the registration with HTTP 404 and no client\n\
                 hint: with a client that was registered by hand, run `callgate auth {url} --client-id ID`\n\
                 hint: if the server accepts tokens but has no login, send a token: \
                 pass --token-file FILE, or put it in the variable CALLGATE_TOKEN and the URL of the server in CALLGATE_TOKEN_FOR; `callgate token` prints that of `callgate serve`\n"
            )
        )
    );
}

#[test]
fn an_authorization_server_without_codes_is_logged_in_to_in_another_way() {
    let home = Home::new();
    let provider = Provider::start(Settings {
        shows_codes: false,
        ..Settings::default()
    });
    let url = &provider.url;
    assert_eq!(
        home.run(&["auth", url, "--device"]),
        Ran::failed(
            3,
            &format!(
                "error: the metadata must name the device_authorization_endpoint, but it does not\n\
                 hint: log in without a code: run `callgate auth {url} --no-browser`\n"
            )
        )
    );
}

#[test]
fn a_server_that_wants_no_login_gets_none() {
    let home = Home::new();
    let serving = home.serve(&["--no-auth"]);
    let url = &serving.url;
    let said = Ran::printed(&format!("{url} needs no login: it answers without one\n"));
    assert_eq!(home.run(&["auth", url]), said);
    assert_eq!(home.run(&["auth", url, "--again"]), said);
    assert_eq!(home.run(&["auth", url, "--device"]), said);
    assert_eq!(home.run(&["auth", url, "--client-id", "me"]), said);
    let ran = home.run(&["--json", "auth", url]);
    let row: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        row,
        serde_json::json!({
            "name": url,
            "url": url,
            "state": "unwanted",
            "issuer": null,
            "clientId": null,
            "scopes": null,
            "expiresAt": null,
            "renews": false,
        })
    );
    assert_eq!(home.run(&["auth", "list"]).stdout, "");
}

#[test]
fn a_server_that_needs_no_login_may_have_logins() {
    let home = Home::new();
    let provider = Provider::start(Settings {
        is_open: true,
        ..Settings::default()
    });
    let url = &provider.url;
    let ran = home.run(&["call", url, "whoami"]);
    assert_eq!(ran, Ran::printed("granted: nothing\n"));
    let ran = home.log_in(url, &[]);
    assert_eq!(ran.stdout, logged_in(&provider, "read"));
    let ran = home.run(&["call", url, "whoami"]);
    assert_eq!(ran, Ran::printed("granted: read\n"));
}
