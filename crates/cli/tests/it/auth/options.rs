//! Options for providers that do not follow the specification: each is stored with the login.

use std::fs;
use std::net::TcpListener;
use std::process::Stdio;

use serde_json::{Value, json};

use super::expected::logged_in;
use crate::fixture::{Home, LoggingIn, Ran, free_port};
use crate::provider::{Provider, Settings};

/// Options that are stored with the login.
fn stored(home: &Home, url: &str) -> Value {
    let mut options = Value::Null;
    home.edit_login(url, |login| options = login["options"].clone());
    options
}

#[test]
fn parameters_are_added_now_and_at_later_logins() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    let url = &provider.url;
    let options = [
        "--auth-param",
        "audience=x",
        "--token-param",
        "tenant=y",
        "--no-resource",
    ];
    let ran = home.log_in(url, &options);
    assert_eq!(ran.stdout, logged_in(&provider, "read"));
    let expected = json!({
        "authParams": {"audience": "x"}, "tokenParams": {"tenant": "y"}, "sendResource": false,
    });
    assert_eq!(stored(&home, url), expected);
    let check = || {
        assert_eq!(provider.last("audience"), [Some("x".to_owned()), None]);
        assert_eq!(provider.last("tenant"), [None, Some("y".to_owned())]);
        assert_eq!(provider.last("resource"), [None, None]);
    };
    check();
    provider.end_access_tokens();
    assert_eq!(home.run(&["call", url, "whoami"]).exit, Some(0));
    assert_eq!(
        provider.last("grant_type")[1].as_deref(),
        Some("refresh_token")
    );
    check();
    home.log_in(url, &["--again"]);
    check();

    // Another value replaces the old one, an empty one leaves the parameter out.
    home.log_in(url, &["--auth-param", "audience=", "--no-resource=false"]);
    assert_eq!(provider.last("audience"), [None, None]);
    let resource = Some(url.clone());
    assert_eq!(provider.last("resource"), [resource.clone(), resource]);
}

#[test]
fn a_login_that_works_is_made_again_for_other_options_only() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    let url = &provider.url;
    home.paste(url, &["--auth-param", "audience=x"]);
    provider.events();
    let works = Ran::printed(&logged_in(&provider, "read"));
    assert_eq!(home.run(&["auth", url]), works);
    assert_eq!(
        home.run(&["auth", url, "--auth-param", "audience=x"]),
        works
    );
    assert_eq!(provider.events(), Vec::<String>::new());
    home.paste(url, &["--auth-param", "audience=y"]);
    assert_eq!(
        provider.events(),
        [
            "authorize registered for read",
            "authorization_code of registered"
        ]
    );
}

#[test]
fn mistakes_in_options_are_named() {
    for (args, error) in [
        (
            ["--auth-param", "state=x"],
            "the parameter `state` is set by Callgate itself; it cannot be changed",
        ),
        (
            ["--token-param", "client_id=x"],
            "the parameter `client_id` is set by Callgate itself; use --client-id",
        ),
        (
            ["--auth-param", "audience"],
            "`audience` is not a parameter: write it as name=value",
        ),
        (
            ["--redirect-uri", "http://a.example/cb"],
            "`http://a.example/cb` cannot be the redirect URI: it must be http to a loopback host (localhost, \
             127.0.0.1 or [::1]), without credentials, query and fragment, for example http://localhost:8123/callback",
        ),
        (
            ["--token-endpoint", "http://a.example/t"],
            "`http://a.example/t` cannot be an endpoint: it is neither https nor on this machine",
        ),
        (
            ["--scope-separator", "ab"],
            "`ab` cannot separate scopes: pass one character such as `,`",
        ),
        (
            ["--client-auth-method", "mtls"],
            "`mtls` is not an authentication method: it is none, client_secret_basic, client_secret_post or private_key_jwt",
        ),
    ] {
        let ran = Home::new().run(&[&["auth", "http://127.0.0.1:1/mcp"][..], &args].concat());
        assert_eq!(
            ran,
            Ran::failed(1, &format!("error: {error}\n")),
            "{args:?}"
        );
    }
}

#[test]
fn the_browser_comes_back_to_the_redirect_uri_of_the_client() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    let url = &provider.url;
    let port = free_port();
    for (uri, expected) in [
        (
            format!("http://localhost:{port}/cb"),
            Some(format!("http://localhost:{port}/cb")),
        ),
        (
            format!("http://127.0.0.1:{port}"),
            Some(format!("http://127.0.0.1:{port}")),
        ),
        ("http://localhost".to_owned(), None),
    ] {
        let args = [
            "auth",
            url,
            "--again",
            "--redirect-uri",
            &uri,
            "--client-id",
            "by-hand",
        ];
        let ran = LoggingIn::start(&mut home.command(&args)).consent();
        assert_eq!(ran.stdout, logged_in(&provider, "read"), "{ran:?}");
        let [sent, repeated] = provider.last("redirect_uri");
        assert_eq!(sent, repeated);
        match expected {
            Some(expected) => assert_eq!(sent, Some(expected)),
            // Without a port in it, any port is fine, as with Entra and Google.
            None => assert!(sent.unwrap().starts_with("http://localhost:")),
        }
        assert_eq!(stored(&home, url), json!({ "redirectUri": uri }));
    }
}

#[test]
fn a_redirect_uri_with_a_port_needs_this_port() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap();
    let uri = format!("http://localhost:{}/cb", address.port());
    let ran = home.run(&["auth", &provider.url, "--redirect-uri", &uri]);
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
fn a_provider_without_metadata_has_endpoints_given_by_hand() {
    let (home, provider) = (
        Home::new(),
        Provider::start(Settings {
            has_metadata: false,
            ..Settings::default()
        }),
    );
    let (url, issuer) = (&provider.url, provider.issuer());
    let ran = home.run(&["auth", url, "--client-id", "me", "--no-browser"]);
    assert_eq!(
        ran,
        Ran::failed(
            3,
            &format!(
                "error: {issuer} has no OAuth metadata, so no login can begin\n\
                 hint: if the provider documents its endpoints, run `callgate auth {url} \
                 --authorization-endpoint URL --token-endpoint URL --client-id ID`\n\
                 hint: if the server accepts tokens but has no login, send a token: \
                 pass --token-file FILE, or put it in the variable CALLGATE_TOKEN and the URL of the server in CALLGATE_TOKEN_FOR; `callgate token` prints that of `callgate serve`\n"
            )
        )
    );
    let (page, token) = (format!("{issuer}/authorize"), format!("{issuer}/token"));
    let options = [
        "--client-id",
        "me",
        "--authorization-endpoint",
        &page,
        "--token-endpoint",
        &token,
    ];
    let ran = home.log_in(url, &options);
    assert_eq!(ran.stdout, logged_in(&provider, "read"), "{ran:?}");
    provider.end_access_tokens();
    let ran = home.run(&["call", url, "whoami"]);
    assert_eq!(ran, Ran::printed("granted: read\n"));
}

#[test]
fn a_provider_that_does_not_list_pkce_needs_the_option_that_the_error_names() {
    let (home, provider) = (
        Home::new(),
        Provider::start(Settings {
            lists_pkce: false,
            ..Settings::default()
        }),
    );
    let (url, issuer) = (&provider.url, provider.issuer());
    assert_eq!(
        home.run(&["auth", url, "--no-browser"]),
        Ran::failed(
            3,
            &format!(
                "error: a login needs PKCE with S256, but the metadata of {issuer} lists no PKCE methods\n\
                 hint: if the provider documents that it supports PKCE, run `callgate auth {url} --allow-missing-pkce-metadata`\n"
            )
        )
    );
    home.log_in(url, &["--allow-missing-pkce-metadata"]);
    assert_eq!(
        provider.last("code_challenge_method")[0].as_deref(),
        Some("S256")
    );
    let ran = home.log_in(url, &["--again"]);
    assert_eq!(ran.stdout, logged_in(&provider, "read"), "{ran:?}");
}

#[test]
fn a_registration_may_need_a_name_and_a_token() {
    let (home, provider) = (
        Home::new(),
        Provider::start(Settings {
            registration_token: Some("canary-registration"),
            known_name: Some("Known Client"),
            ..Settings::default()
        }),
    );
    let url = &provider.url;
    let refused = |ran: Ran| {
        assert_eq!(
            ran,
            Ran::failed(
                3,
                &format!(
                    "error: the authorization server answered the registration with HTTP 403 and no client\n\
                     hint: with a client that was registered by hand, run `callgate auth {url} --client-id ID`\n\
                     hint: if the provider registers only clients that it knows, add --client-name NAME with such a name\n\
                     hint: if the provider gave you a token to register with, add --initial-access-token-file FILE\n"
                )
            )
        );
    };
    refused(home.run(&["auth", url, "--no-browser"]));
    refused(home.run(&["auth", url, "--no-browser", "--client-name", "Known Client"]));
    let file = home.path().join("token");
    let path = file.to_str().unwrap();
    let by_token = [
        "auth",
        url,
        "--no-browser",
        "--initial-access-token-file",
        path,
    ];
    for reason in ["No such file or directory (os error 2)", "it is empty"] {
        let expected = format!(
            "error: cannot read the initial access token from `{path}`: {reason}\n\
             hint: write the token that the provider gave you into it, or name another file with --initial-access-token-file FILE\n"
        );
        assert_eq!(home.run(&by_token), Ran::failed(3, &expected));
        fs::write(&file, "\n").unwrap();
    }
    fs::write(&file, "canary-registration\n").unwrap();
    let name = ["--client-name", "Known Client"];
    let ran = home.log_in(
        url,
        &[&name[..], &["--initial-access-token-file", path]].concat(),
    );
    assert_eq!(ran.stdout, logged_in(&provider, "read"), "{ran:?}");
    let options = stored(&home, url);
    assert_eq!(options["clientName"], "Known Client");
    assert!(!options.to_string().contains("canary"), "{options}");

    let other = Home::new();
    let mut command =
        other.command(&["auth", url, "--no-browser", "--client-name", "Known Client"]);
    command.env("CALLGATE_INITIAL_ACCESS_TOKEN", "canary-registration");
    let ran = LoggingIn::start(command.stdin(Stdio::piped())).paste();
    assert_eq!(ran.stdout, logged_in(&provider, "read"), "{ran:?}");
}

#[test]
fn scopes_are_separated_as_the_provider_wants() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    let options = [
        "--scope",
        "read",
        "--scope",
        "admin",
        "--scope-separator",
        ",",
    ];
    let ran = home.log_in(&provider.url, &options);
    assert_eq!(provider.last("scope")[0].as_deref(), Some("read,admin"));
    assert_eq!(ran.stdout, logged_in(&provider, "read admin"), "{ran:?}");
}
