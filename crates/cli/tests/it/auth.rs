use std::fs;
use std::process::Stdio;

use crate::fixture::{Home, LoggingIn, Ran};
use crate::provider::{self, Provider, Settings};

const ASKED: &str = "to log in, open this page in a browser on this machine within 5 minutes:\n\n  PAGE\n\n\
    hint: without a browser on this machine, run the same command with --no-browser\n";

fn logged_in(provider: &Provider, scopes: &str) -> String {
    let (url, issuer) = (&provider.url, provider.issuer());
    format!(
        "{url}\n  state   logged in; the token ends in 60 minutes\n  issuer  {issuer}\n  scopes  {scopes}\n"
    )
}

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
        Ran::printed("whoami  Tell who asks\npurge   Needs more scopes\n")
    );
    assert_eq!(
        home.run(&["call", &provider.url, "whoami"]),
        Ran::printed("somebody who may read\n")
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
fn a_token_that_has_ended_is_renewed_by_whoever_needs_it() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    home.log_in(&provider.url, &[]);
    provider.events();
    for _ in 0..3 {
        provider.end_access_tokens();
        let ran = home.run(&["call", &provider.url, "whoami"]);
        assert_eq!(ran, Ran::printed("somebody who may read\n"));
        assert_eq!(provider.events(), ["refresh_token of registered"]);
    }
}

#[test]
fn a_bad_moment_of_the_authorization_server_loses_nothing() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    home.log_in(&provider.url, &[]);
    provider.end_access_tokens();
    provider.be_unavailable(true);
    let ran = home.run(&["call", &provider.url, "whoami"]);
    assert_eq!(ran.exit, Some(4), "{ran:?}");
    provider.be_unavailable(false);
    let ran = home.run(&["call", &provider.url, "whoami"]);
    assert_eq!(ran, Ran::printed("somebody who may read\n"));
}

#[test]
fn whoever_needs_a_login_is_told_how_to_get_one() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    let url = &provider.url;
    let hints = format!(
        "hint: log in: run `callgate auth {url}`\n\
         hint: or send a token: put it in the variable CALLGATE_TOKEN or pass --token-file FILE\n"
    );
    assert_eq!(
        home.run(&["list", url]),
        Ran::failed(
            3,
            &format!(
                "error: no token for server `{url}`: a login at {url} is needed: there is none\n{hints}"
            )
        )
    );
    home.log_in(url, &[]);
    provider.end_logins();
    assert_eq!(
        home.run(&["list", url]),
        Ran::failed(
            3,
            &format!(
                "error: no token for server `{url}`: a login at {url} is needed: \
                 the authorization server does not renew the last one any more\n{hints}"
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
                "error: no token for server `{url}`: a login at {url} is needed: the scopes read admin are missing\n\
                 hint: log in: run `callgate auth {url} --scope read --scope admin`\n\
                 hint: or send a token: put it in the variable CALLGATE_TOKEN or pass --token-file FILE\n"
            )
        )
    );
    let ran = home.log_in(url, &["--scope", "read", "--scope", "admin"]);
    assert_eq!(ran.stdout, logged_in(&provider, "read admin"));
    assert_eq!(
        home.run(&["call", url, "purge"]),
        Ran::printed("somebody who may read admin\n")
    );
}

#[test]
fn the_address_of_the_last_page_can_be_pasted() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    let mut command = home.command(&["auth", &provider.url, "--no-browser"]);
    let mut login = LoggingIn::start(command.stdin(Stdio::piped()));
    let (back, _) = provider::get(&login.page);
    let back = back.unwrap();
    assert!(
        back.starts_with("http://127.0.0.1:19876/mcp/oauth/callback?"),
        "{back}"
    );
    login.tell(&back);
    assert_eq!(
        login.end(),
        Ran {
            stdout: logged_in(&provider, "read"),
            stderr: "to log in, open this page in a browser on any machine:\n\n  PAGE\n\n\
                in the end the browser cannot load a page: that is how it should be.\n\
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
fn a_client_that_was_registered_by_hand_is_remembered() {
    let (home, provider) = (
        Home::new(),
        Provider::start(Settings {
            registers: false,
            ..Settings::default()
        }),
    );
    let url = &provider.url;
    let ran = home.run(&["auth", url, "--callback-port", "0"]);
    assert_eq!(ran.exit, Some(3), "{ran:?}");
    assert!(
        ran.stderr.contains(&format!(
            "hint: then run `callgate auth {url} --client-id ID`"
        )),
        "{ran:?}"
    );

    let file = home.path().join("secret");
    fs::write(&file, Settings::default().secret).unwrap();
    let file = file.to_str().unwrap();
    let ran = home.log_in(
        url,
        &["--client-id", "configured", "--client-secret-file", file],
    );
    assert_eq!(ran.stdout, logged_in(&provider, "read"));
    provider.end_access_tokens();
    let ran = home.run(&["call", url, "whoami"]);
    assert_eq!(ran, Ran::printed("somebody who may read\n"));
    let ran = home.log_in(url, &["--again"]);
    assert_eq!(ran.stdout, logged_in(&provider, "read"));
    assert_eq!(
        provider.events(),
        [
            "authorize configured for read",
            "authorization_code of configured",
            "refresh_token of configured",
            "authorize configured for read",
            "authorization_code of configured",
        ]
    );
}

#[test]
fn a_program_logs_in_as_itself_and_again_when_its_token_ends() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    let url = &provider.url;
    let credentials = [
        "auth",
        url,
        "--client-credentials",
        "--client-id",
        "configured",
    ];
    assert_eq!(
        home.run(&credentials),
        Ran::failed(
            1,
            "error: the client has nothing to prove itself with\n\
             hint: put its secret in the variable CALLGATE_CLIENT_SECRET, \
             or pass --client-secret-file FILE or --private-key FILE\n"
        )
    );
    let mut command = home.command(&credentials);
    command.env("CALLGATE_CLIENT_SECRET", Settings::default().secret);
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran, Ran::printed(&logged_in(&provider, "read")));
    provider.end_access_tokens();
    let ran = home.run(&["call", url, "whoami"]);
    assert_eq!(ran, Ran::printed("somebody who may read\n"));
    assert_eq!(
        provider.events(),
        [
            "client_credentials of configured",
            "client_credentials of configured"
        ]
    );
}

#[test]
fn logins_are_listed_without_their_secrets() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    assert_eq!(
        home.run(&["auth", "list"]),
        Ran {
            stderr: "there are no logins; run `callgate auth URL` to make one\n".to_owned(),
            ..Ran::printed("")
        }
    );
    assert_eq!(home.run(&["--json", "auth", "list"]), Ran::printed("[]\n"));
    home.log_in(&provider.url, &[]);
    assert_eq!(
        home.run(&["auth", "list"]),
        Ran::printed(&logged_in(&provider, "read"))
    );
    let ran = home.run(&["--json", "auth", "list"]);
    let logins: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let end = logins[0]["expiresAt"].clone();
    assert!(end.is_u64(), "{ran:?}");
    assert_eq!(
        logins,
        serde_json::json!([{
            "name": provider.url,
            "url": provider.url,
            "state": "logged_in",
            "issuer": provider.issuer(),
            "clientId": "registered",
            "scopes": ["read"],
            "expiresAt": end,
        }])
    );
}

#[test]
fn a_logout_revokes_and_forgets() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    let url = &provider.url;
    home.log_in(url, &[]);
    provider.events();
    assert_eq!(
        home.run(&["logout", url]),
        Ran::printed(&format!("logged out of {url}; its tokens are revoked\n"))
    );
    assert!(
        provider
            .events()
            .contains(&"revoke refresh token".to_owned())
    );
    assert_eq!(home.run(&["list", url]).exit, Some(3));
    assert_eq!(
        home.run(&["logout", url]),
        Ran::printed(&format!("there was no login at {url}\n"))
    );
    assert_eq!(
        home.run(&["--json", "logout", url]),
        Ran::printed(&format!(
            "{{\"name\":\"{url}\",\"revocation\":\"no_login\"}}\n"
        ))
    );
}

#[test]
fn a_logout_is_one_even_where_nothing_can_be_revoked() {
    let (home, provider) = (
        Home::new(),
        Provider::start(Settings {
            revokes: false,
            ..Settings::default()
        }),
    );
    let url = &provider.url;
    home.log_in(url, &[]);
    assert_eq!(
        home.run(&["logout", url]),
        Ran::printed(&format!(
            "logged out of {url}; its authorization server revokes no tokens, so they end by themselves\n"
        ))
    );
    assert_eq!(home.run(&["auth", "list"]).stdout, "");
}

#[test]
fn logins_of_opencode_are_taken_over_by_name() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    let url = &provider.url;
    home.log_in(url, &[]);
    let ours = home.path().join(".local/share/callgate/mcp-auth.json");
    let theirs = home.path().join(".local/share/opencode/mcp-auth.json");
    let text = fs::read_to_string(&ours).unwrap();
    let mut logins: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut login = logins[url].take();
    let members = login.as_object_mut().unwrap();
    members.retain(|name, _| ["tokens", "clientInfo", "serverUrl"].contains(&name.as_str()));
    fs::remove_file(&ours).unwrap();
    fs::create_dir_all(theirs.parent().unwrap()).unwrap();
    let document = serde_json::json!({ "example": login, "half": { "oauthState": "x" } });
    fs::write(&theirs, document.to_string()).unwrap();

    let ran = home.run(&["auth", "import"]);
    assert_eq!(
        (ran.stdout.as_str(), ran.exit),
        (
            "example  imported\nhalf  skipped, as there is no login that could be used\n",
            Some(0)
        ),
        "{ran:?}"
    );
    let ran = home.run(&["call", url, "whoami"]);
    assert_eq!(ran, Ran::printed("somebody who may read\n"));
    provider.end_access_tokens();
    let ran = home.run(&["call", url, "whoami"]);
    assert_eq!(ran, Ran::printed("somebody who may read\n"));
    let ran = home.run(&["logout", "example"]);
    assert_eq!(
        ran.stdout,
        "logged out of example; its tokens are revoked\n"
    );
}

#[test]
fn a_token_on_the_command_line_comes_before_the_login() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    let url = &provider.url;
    home.log_in(url, &[]);
    let ran = home.run(&["list", url, "--header", "Authorization: Bearer wrong"]);
    assert_eq!(ran.exit, Some(3), "{ran:?}");
    let mut command = home.command(&["list", url]);
    let ran = command.env("CALLGATE_TOKEN", "wrong").output().unwrap();
    assert_eq!(Ran::from(ran).exit, Some(0));
}

#[test]
fn what_is_no_server_is_named() {
    let home = Home::new();
    assert_eq!(
        home.run(&["auth", "example"]),
        Ran::failed(
            1,
            "error: `example` is neither an http(s) URL nor the name of a login\n\
             hint: run `callgate auth list` to see the names of the logins there are\n"
        )
    );
    assert_eq!(
        home.run(&["list", "ftp://127.0.0.1/mcp"]),
        Ran::failed(
            1,
            "error: `ftp://127.0.0.1/mcp` is not an http(s) URL\n\
             hint: for a server that is a command, use --stdio COMMAND\n"
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
