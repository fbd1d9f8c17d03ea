use std::fs;
use std::net::TcpListener;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use serde_json::json;

use super::expected::logged_in;
use crate::fixture::{Home, LoggingIn, Ran};
use crate::provider::{Provider, Settings};

#[test]
fn the_secret_that_add_stored_is_used_by_logins_of_the_configured_server() {
    let settings = Settings {
        registers: false,
        ..Settings::default()
    };
    let (home, provider) = (Home::new(), Provider::start(settings));
    let url = &provider.url;
    let mut command = home.command(&[
        "add",
        "p",
        url,
        "--client-id",
        "configured",
        "--client-secret",
    ]);
    command.env("MCP_CLIENT_SECRET", Settings::default().secret);
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.exit, Some(0), "{ran:?}");
    let ran = home.log_in("p", &[]);
    assert_eq!(ran.stdout, logged_in(&provider, "read"), "{ran:?}");
    // A refresh and a second login need the secret too.
    provider.end_access_tokens();
    assert_eq!(
        home.run(&["call", "p/whoami"]),
        Ran::printed("granted: read\n")
    );
    let ran = home.log_in("p", &["--again"]);
    assert_eq!(ran.stdout, logged_in(&provider, "read"), "{ran:?}");
}

#[test]
fn the_secret_in_a_file_that_the_configuration_names_is_used_and_not_shown() {
    let settings = Settings {
        registers: false,
        ..Settings::default()
    };
    let (home, provider) = (Home::new(), Provider::start(settings));
    let file = home.path().join("secret");
    fs::write(&file, "an old secret\n").unwrap();
    let secret = format!("{{file:{}}}", file.display());
    home.configure(&json!({ "p": {
        "url": provider.url,
        "oauth": { "clientId": "configured", "clientSecret": secret },
    } }));
    let ran = home.log_in("p", &[]);
    assert_eq!((ran.stdout.as_str(), ran.exit), ("", Some(3)), "{ran:?}");
    assert!(ran.stderr.contains("invalid_client"), "{ran:?}");
    // A secret that was replaced is the one of the next login and refresh.
    let secret = Settings::default().secret;
    fs::write(&file, format!("{secret}\n")).unwrap();
    let ran = home.log_in("p", &[]);
    assert_eq!(ran.stdout, logged_in(&provider, "read"), "{ran:?}");
    provider.end_access_tokens();
    assert_eq!(
        home.run(&["call", "p/whoami"]),
        Ran::printed("granted: read\n")
    );
    for args in [&["get", "p"][..], &["config", "show"], &["list", "--json"]] {
        let ran = home.run(args);
        assert_eq!(ran.exit, Some(0), "{ran:?}");
        assert!(!format!("{ran:?}").contains(secret), "{ran:?}");
    }
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
    assert_eq!(
        home.run(&["auth", url, "--no-browser"]),
        Ran::failed(
            3,
            &format!(
                "error: {} does not register clients by itself\n\
                 hint: register a client there, with the redirect URI http://127.0.0.1:19876/mcp/oauth/callback\n\
                 hint: then run `callgate auth {url} --client-id ID`, with the secret of the client, \
                 if it has one, in the variable CALLGATE_CLIENT_SECRET\n",
                provider.issuer()
            )
        )
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
    assert_eq!(ran, Ran::printed("granted: read\n"));
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
            "error: the client has neither a secret nor a key\n\
             hint: put its secret in the variable CALLGATE_CLIENT_SECRET, \
             or pass --client-secret-file FILE or --private-key FILE\n"
        )
    );
    let mut command = home.command(&credentials);
    command.env("CALLGATE_CLIENT_SECRET", Settings::default().secret);
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran, Ran::printed(&logged_in(&provider, "read")));
    renews_by_itself(&home, &provider);
}

/// A login of the client itself is made again when its token has ended.
#[track_caller]
fn renews_by_itself(home: &Home, provider: &Provider) {
    provider.end_access_tokens();
    let ran = home.run(&["call", &provider.url, "whoami"]);
    assert_eq!(ran, Ran::printed("granted: read\n"));
    assert_eq!(
        provider.events(),
        [
            "client_credentials of configured",
            "client_credentials of configured"
        ]
    );
}

#[test]
fn scopes_that_were_requested_once_are_requested_again() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    let url = &provider.url;
    let mut command = home.command(&["auth", url, "--client-id", "configured"]);
    command
        .args(["--client-credentials", "--scope", "read admin"])
        .env("CALLGATE_CLIENT_SECRET", Settings::default().secret);
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran, Ran::printed(&logged_in(&provider, "read admin")));
    provider.end_access_tokens();
    let ran = home.run(&["call", url, "purge"]);
    assert_eq!(ran, Ran::printed("granted: read admin\n"));
}

#[test]
fn a_client_may_prove_itself_by_a_key() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    let url = &provider.url;
    let file = home.path().join("key.pem");
    fs::write(&file, "no key").unwrap();
    let path = file.canonicalize().unwrap();
    let credentials = [
        "auth",
        url,
        "--client-credentials",
        "--client-id",
        "configured",
        "--private-key",
        path.to_str().unwrap(),
    ];
    let ran = home.run(&credentials);
    assert_eq!(ran.exit, Some(1), "{ran:?}");
    assert!(
        ran.stderr.ends_with(
            "\nhint: it must be a private key in PKCS#8 PEM, for ES256, ES384, RS256 or EdDSA\n"
        ),
        "{ran:?}"
    );

    fs::write(&file, private_key()).unwrap();
    assert_eq!(
        home.run(&credentials),
        Ran::printed(&logged_in(&provider, "read"))
    );
    renews_by_itself(&home, &provider);
}

#[test]
fn another_port_is_only_for_clients_that_register_themselves() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap();
    let port = address.port().to_string();
    let login = ["auth", &provider.url, "--callback-port", &port];
    assert_eq!(
        home.run(&[&login[..], &["--client-id", "configured"]].concat()),
        Ran::failed(
            1,
            &format!(
                "error: cannot listen on {address} for the login: another program has this port\n\
                 hint: end the other program, or log in without the port: add --no-browser\n\
                 hint: if the client is registered with another port, add --callback-port PORT\n"
            )
        )
    );
    let ran = LoggingIn::start(&mut home.command(&login)).consent();
    assert_eq!(ran.stdout, logged_in(&provider, "read"));
}

#[test]
fn a_wrong_secret_is_reported() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    let url = &provider.url;
    let mut command = home.command(&[
        "auth",
        url,
        "--client-credentials",
        "--client-id",
        "configured",
    ]);
    let ran = command.env("CALLGATE_CLIENT_SECRET", "wrong").output();
    assert_eq!(
        Ran::from(ran.unwrap()),
        Ran::failed(
            3,
            &format!(
                "error: the authorization server refused the token request: invalid_client\n\
                 hint: check the id of the client and its secret or key, and run `callgate auth {url}` with them\n"
            )
        )
    );
    assert_eq!(provider.events(), ["client_credentials by a stranger"]);
}

#[test]
fn a_described_client_is_remembered() {
    let home = Home::new();
    let provider = Provider::start(Settings {
        reads_descriptions: true,
        ..Settings::default()
    });
    let (url, id) = (&provider.url, "https://a.example/client.json");
    let ran = home.paste(url, &["--client-metadata-url", id]);
    assert_eq!(ran.stdout, logged_in(&provider, "read"));
    provider.end_access_tokens();
    let ran = home.run(&["call", url, "whoami"]);
    assert_eq!(ran, Ran::printed("granted: read\n"));
    let ran = home.paste(url, &["--again"]);
    assert_eq!(ran.stdout, logged_in(&provider, "read"));
    assert_eq!(
        provider.events(),
        [
            format!("authorize {id} for read"),
            format!("authorization_code of {id}"),
            format!("refresh_token of {id}"),
            format!("authorize {id} for read"),
            format!("authorization_code of {id}"),
        ]
    );
}

#[test]
fn a_described_client_has_an_https_address() {
    let home = Home::new();
    assert_eq!(
        home.run(&[
            "auth",
            "http://127.0.0.1:1/mcp",
            "--client-metadata-url",
            "http://a.example/c"
        ]),
        Ran::failed(
            1,
            "error: `http://a.example/c` does not describe a client: the id of a client is an https URL \
             with a path, and without credentials, dots or fragment\n\
             hint: docs/login.md describes the document that belongs there\n"
        )
    );
}

/// A new private key in PEM.
fn private_key() -> String {
    let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
    let key = EcdsaKeyPair::generate_pkcs8(algorithm, &SystemRandom::new()).unwrap();
    let text = BASE64_STANDARD.encode(key.as_ref());
    format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n")
}
