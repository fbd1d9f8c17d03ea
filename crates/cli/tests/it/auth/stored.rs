use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::thread;

use super::expected::described;
use crate::fixture::{Home, Ran};
use crate::provider::{self, Provider, Settings};

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
        // On a slow machine a process may say that it waits.
        assert_eq!(
            (ran.stdout.as_str(), ran.exit),
            ("granted: read\n", Some(0))
        );
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
    for (args, member, signals) in [
        (&call[..], "expiresAt", &["-TERM"][..]),
        (&call, "issuedAt", &["-TERM"]),
        (&["auth", url], "expiresAt", &["-TERM"]),
        (&call, "expiresAt", &["-HUP"]),
        (&call, "issuedAt", &["-HUP"]),
        (&["auth", url], "expiresAt", &["-HUP"]),
        (&["auth", url], "expiresAt", &["-INT"]),
        (&call, "expiresAt", &["-STOP", "-CONT"]),
        (&call, "expiresAt", &["-STOP", "-HUP", "-CONT"]),
        (&["auth", url], "expiresAt", &["-STOP", "-TERM", "-CONT"]),
    ] {
        provider.events();
        home.edit_login(url, |login| login["tokens"][member] = 1.into());
        provider.keep_waiting(true);
        let mut command = home.command(args);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = child.spawn().unwrap();
        provider.wait_for_held_request();
        let pid = child.id().to_string();
        for signal in signals {
            let sent = Command::new("kill").args([*signal, &pid]).status();
            assert!(sent.unwrap().success());
        }
        provider.keep_waiting(false);
        // The token may come before the signal does.
        let exit = child.wait().unwrap().code();
        assert!(
            matches!(exit, Some(0 | 130)),
            "{args:?} {signals:?} {exit:?}"
        );
        assert_eq!(provider.events(), ["refresh_token of registered"]);

        provider.end_access_tokens();
        let ran = home.run(&call);
        assert_eq!(ran, Ran::printed("granted: read\n"), "{args:?} {signals:?}");
    }
}

#[test]
fn a_login_that_the_user_has_consented_to_survives_a_signal() {
    for signal in ["-TERM", "-HUP"] {
        let (home, provider) = (Home::new(), Provider::start(Settings::default()));
        let url = &provider.url;
        let login = home.start_login(url, &[]);
        provider.keep_waiting(true);
        let (back, _) = provider::get(&login.page);
        // The page that the browser ends at comes after the token.
        let browser = thread::spawn(move || provider::get(&back.unwrap()));
        provider.wait_for_held_request();
        let pid = login.pid().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status().unwrap();
        assert!(sent.success());
        provider.keep_waiting(false);
        let ran = login.end();
        assert!(matches!(ran.exit, Some(0 | 130)), "{signal} {ran:?}");
        drop(browser.join());
        let ran = home.run(&["call", url, "whoami"]);
        assert_eq!(ran, Ran::printed("granted: read\n"), "{signal}");
    }
}

#[test]
fn a_process_that_waits_for_another_one_says_so_once() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    let url = &provider.url;
    home.log_in(url, &[]);
    provider.end_access_tokens();
    provider.keep_waiting(true);
    let mut command = home.command(&["call", url, "whoami", "--timeout", "600"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let first = command.spawn().unwrap();
    provider.wait_for_held_request();
    let mut second = command.spawn().unwrap();
    let mut stderr = BufReader::new(second.stderr.take().unwrap());
    let mut said = String::new();
    stderr.read_line(&mut said).unwrap();
    assert!(
        said.contains("waiting for another process, which is refreshing the login"),
        "{said}"
    );
    assert!(said.contains(url.as_str()), "{said}");
    provider.keep_waiting(false);
    for child in [first, second] {
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!(ran, Ran::printed("granted: read\n"));
    }
    said.clear();
    stderr.read_to_string(&mut said).unwrap();
    assert_eq!(said, "");
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
fn a_server_has_as_many_accounts_as_the_user_names() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    let url = provider.url.as_str();
    let work = ["--account", "work"];
    let call = |account: &[&str]| home.run(&[&["call", url, "whoami"], account].concat());

    // No account is used in place of another one.
    let ran = home.paste(url, &["--scope", "read", "--scope", "write"]);
    assert_eq!(ran.exit, Some(0), "{ran:?}");
    let ran = call(&work);
    assert_eq!(ran.exit, Some(3), "{ran:?}");
    let hint = format!("hint: log in: run `callgate auth {url} --account work`\n");
    assert!(ran.stderr.contains(&hint), "{ran:?}");
    provider.events();
    let ran = home.paste(url, &work);
    assert_eq!(ran.exit, Some(0), "{ran:?}");
    // The accounts share the registration.
    let events = [
        "authorize registered for read",
        "authorization_code of registered",
    ];
    assert_eq!(provider.events(), events);
    let granted = |account: &[&str]| call(account).stdout;
    assert_eq!(granted(&[]), "granted: read write\n");
    assert_eq!(granted(&work), "granted: read\n");

    // Each account is refreshed by itself.
    provider.end_access_tokens();
    for account in [&work[..], &[]] {
        assert!(granted(account).starts_with("granted: read"));
        assert_eq!(provider.events(), ["refresh_token of registered"]);
    }

    let ran = home.run(&["--json", "auth", "list"]);
    let logins: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let shown = |index: usize| ["name", "url", "account"].map(|it| logins[index][it].as_str());
    let name = format!("{url}#work");
    assert_eq!(shown(0), [Some(url), Some(url), None]);
    assert_eq!(shown(1), [Some(name.as_str()), Some(url), Some("work")]);
    let ran = home.run(&["auth", "list"]);
    assert!(ran.stdout.contains("\n  account  work\n"), "{ran:?}");

    assert_eq!(
        home.run(&["logout", url, "--account", "work"]),
        Ran::printed(&format!("logged out of {name}; its tokens are revoked\n"))
    );
    assert_eq!(call(&work).exit, Some(3));
    assert_eq!(granted(&[]), "granted: read write\n");
    let ran = home.run(&["call", url, "whoami", "--account", "a b"]);
    assert_eq!(ran.exit, Some(1), "{ran:?}");
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
