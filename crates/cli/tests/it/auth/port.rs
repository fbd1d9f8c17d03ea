use std::net::TcpListener;
use std::process::Stdio;

use super::expected::logged_in;
use crate::fixture::{Home, LoggingIn, Ran};
use crate::provider::{Provider, Settings};

/// The port that the browser is to come back to, and how the login ends.
fn paste(home: &Home, provider: &Provider, args: &[&str]) -> (String, Ran) {
    let mut command = home.command(&["auth", &provider.url, "--no-browser"]);
    let login = LoggingIn::start(command.args(args).stdin(Stdio::piped()));
    let page = url::Url::parse(&login.page).unwrap();
    let mut query = page.query_pairs();
    let (_, back) = query.find(|(name, _)| name == "redirect_uri").unwrap();
    let back = url::Url::parse(&back).unwrap();
    (back.port().unwrap().to_string(), login.paste())
}

#[test]
fn a_login_that_works_needs_no_port() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    let url = &provider.url;
    let file = home.path().join("secret");
    std::fs::write(&file, Settings::default().secret).unwrap();
    let file = file.to_str().unwrap();
    let client = ["--client-id", "configured", "--client-secret-file", file];
    home.log_in(url, &client);
    provider.events();

    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap();
    let port = address.port().to_string();
    let works = Ran::printed(&logged_in(&provider, "read"));
    assert_eq!(home.run(&["auth", url, "--callback-port", &port]), works);
    provider.end_access_tokens();
    assert_eq!(home.run(&["auth", url]), works);
    assert_eq!(provider.events(), ["refresh_token of configured"]);

    let ran = home.run(&["auth", url, "--again"]);
    assert_eq!(
        ran,
        Ran::failed(
            1,
            &format!(
                "error: cannot listen on {address} for the login: another program has this port\n\
                 hint: end the other program, or log in without the port: add --no-browser\n\
                 hint: if the client is registered with another port, add --callback-port PORT\n"
            )
        )
    );
}

#[test]
fn a_port_is_remembered_until_another_is_chosen() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    for (args, expected) in [
        (&[] as &[&str], "19876"),
        (&["--again", "--callback-port", "4567"], "4567"),
        (&["--again"], "4567"),
        (&["--again", "--callback-port", "19876"], "19876"),
        (&["--again"], "19876"),
    ] {
        let (port, ran) = paste(&home, &provider, args);
        assert_eq!(port, expected, "{args:?}");
        assert_eq!(ran.stdout, logged_in(&provider, "read"), "{args:?}");
    }

    home.run(&["auth", &provider.url, "--callback-port", "4567"]);
    assert_eq!(paste(&home, &provider, &["--again"]).0, "4567");
    home.run(&["logout", &provider.url]);
    assert_eq!(paste(&home, &provider, &[]).0, "19876");
}
