use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::expected::described;
use crate::fixture::{Home, Ran};
use crate::provider::{Provider, Settings};

#[test]
fn an_expired_token_is_renewed_by_the_command_that_needs_it() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    home.log_in(&provider.url, &[]);
    provider.events();
    for _ in 0..3 {
        provider.end_access_tokens();
        let ran = home.run(&["call", &provider.url, "whoami"]);
        assert_eq!(ran, Ran::printed("granted: read\n"));
        assert_eq!(provider.events(), ["refresh_token of registered"]);
    }
}

#[test]
fn many_processes_renew_a_token_once() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    home.log_in(&provider.url, &[]);
    provider.events();
    provider.end_access_tokens();
    let mut command = home.command(&["call", &provider.url, "whoami"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let children: Vec<_> = (0..16).map(|_| command.spawn().unwrap()).collect();
    for child in children {
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!(ran, Ran::printed("granted: read\n"));
    }
    assert_eq!(provider.events(), ["refresh_token of registered"]);
}

#[test]
fn no_command_ends_before_the_renewal_that_it_began() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    let url = &provider.url;
    home.log_in(url, &[]);
    provider.events();
    // Most of the life of the token is over.
    home.edit_login(url, |login| login["tokens"]["issuedAt"] = 0.into());
    provider.keep_waiting(true);
    let mut command = home.command(&["call", url, "whoami"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "granted: read\n");
    assert_eq!(child.try_wait().unwrap(), None);
    provider.keep_waiting(false);
    assert!(child.wait().unwrap().success());
    assert_eq!(provider.events(), ["refresh_token of registered"]);

    provider.end_access_tokens();
    let ran = home.run(&["call", url, "whoami"]);
    assert_eq!(ran, Ran::printed("granted: read\n"));
}

#[test]
fn a_terminated_command_keeps_the_token_of_its_refresh() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    let url = &provider.url;
    home.log_in(url, &[]);
    let call = ["call", url, "whoami"];
    // Whether the token has ended, so that the command waits for another one, or only most of its life is over.
    for (args, member) in [
        (&call[..], "expiresAt"),
        (&call, "issuedAt"),
        (&["auth", url], "expiresAt"),
    ] {
        provider.events();
        home.edit_login(url, |login| login["tokens"][member] = 1.into());
        provider.keep_waiting(true);
        let mut command = home.command(args);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = child.spawn().unwrap();
        provider.wait_for_held_request();
        let pid = child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &pid]).status().unwrap();
        assert!(sent.success());
        provider.keep_waiting(false);
        // The token may come before the signal does.
        let exit = child.wait().unwrap().code();
        assert!(matches!(exit, Some(0 | 130)), "{args:?} {exit:?}");
        assert_eq!(provider.events(), ["refresh_token of registered"]);

        provider.end_access_tokens();
        let ran = home.run(&call);
        assert_eq!(ran, Ran::printed("granted: read\n"), "{args:?}");
    }
}

#[test]
fn a_bad_moment_of_the_authorization_server_loses_nothing() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    home.log_in(&provider.url, &[]);
    provider.end_access_tokens();
    provider.be_unavailable(true);
    let url = &provider.url;
    assert_eq!(
        home.run(&["call", url, "whoami"]),
        Ran::failed(
            4,
            "error: the authorization server is unavailable (HTTP 503)\n\
             hint: no login is lost; try again later\n"
        )
    );
    provider.be_unavailable(false);
    let ran = home.run(&["call", &provider.url, "whoami"]);
    assert_eq!(ran, Ran::printed("granted: read\n"));
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
fn without_a_place_for_logins_there_are_none() {
    let (home, serving) = (Home::new(), Home::new());
    let serving = serving.serve(&["--no-auth"]);
    let mut command = home.command(&["list", &serving.url]);
    let ran = Ran::from(command.env_remove("HOME").output().unwrap());
    assert_eq!(ran.exit, Some(0), "{ran:?}");
    let mut command = home.command(&["auth", "list"]);
    let ran = Ran::from(command.env_remove("HOME").output().unwrap());
    assert_eq!(
        ran,
        Ran::failed(
            1,
            "error: cannot find a directory for state; pass --data-dir DIR: neither XDG_DATA_HOME nor HOME is an absolute path\n"
        )
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
        Ran::printed(&described(&provider, "read"))
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
            "renews": true,
        }])
    );
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
            "example  imported\nhalf  skipped, since it holds no usable login\n",
            Some(0)
        ),
        "{ran:?}"
    );
    let ran = home.run(&["call", url, "whoami"]);
    assert_eq!(ran, Ran::printed("granted: read\n"));
    provider.end_access_tokens();
    let ran = home.run(&["call", url, "whoami"]);
    assert_eq!(ran, Ran::printed("granted: read\n"));
    let ran = home.run(&["logout", "example"]);
    assert_eq!(
        ran.stdout,
        "logged out of example; its tokens are revoked\n"
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
            "logged out of {url}; its authorization server cannot revoke tokens, so they stay valid until they expire\n"
        ))
    );
    assert_eq!(home.run(&["auth", "list"]).stdout, "");
}
