use std::io::{Read, Write};
use std::net::TcpStream;

use crate::fixture::{Home, Ran, Serving};
use crate::issuer::Issuer;

/// Public URL of a server behind a proxy.
const OWN: &str = "https://gate.example/mcp";

fn serve(home: &Home, issuer: &Issuer) -> Serving {
    home.serve(&["--issuer", &issuer.url, "--resource", OWN, "--scope", "use"])
}

fn list(home: &Home, serving: &Serving, token: &str) -> Option<i32> {
    let mut command = home.command(&["list", &serving.url]);
    let output = command.env("CALLGATE_TOKEN", token).output().unwrap();
    Ran::from(output).exit
}

/// Sends a request to `host`, and returns the whole response.
fn ask(serving: &Serving, request: &str, host: &str) -> String {
    let address = serving.url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address.trim_end_matches("/mcp")).unwrap();
    let rest = "content-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
    write!(stream, "{request} HTTP/1.1\r\nhost: {host}\r\n{rest}").unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

#[test]
fn tokens_of_the_issuer_open_the_server() {
    let (home, issuer) = (Home::new(), Issuer::start());
    let serving = serve(&home, &issuer);
    let cases = [
        (issuer.token(OWN, "use more"), 0),
        (issuer.token(OWN, "more"), 3),
        (issuer.token(&serving.url, "use"), 3),
        (Issuer::start().token(OWN, "use"), 3),
        (home.run(&["token"]).stdout.trim().to_owned(), 3),
    ];
    for (token, exit) in cases {
        assert_eq!(list(&home, &serving, &token), Some(exit), "{token}");
    }
}

#[test]
fn opaque_tokens_and_other_audiences_are_accepted_if_that_is_configured() {
    let (home, issuer) = (Home::new(), Issuer::start());
    let file = home.path().join("secret");
    std::fs::write(&file, "canary\n").unwrap();
    let common = [
        "--issuer",
        &issuer.url,
        "--resource",
        OWN,
        "--audience",
        "api://gate",
    ];
    let client = [
        "--introspection-client-id",
        "gate",
        "--introspection-client-secret-file",
    ];
    let serving = home.serve(&[&common[..], &client, &[file.to_str().unwrap()]].concat());
    for (token, exit) in [
        (issuer.token("api://gate", "use"), 0),
        (issuer.token(OWN, "use"), 3),
        ("opaque".to_owned(), 0),
    ] {
        assert_eq!(list(&home, &serving, &token), Some(exit), "{token}");
    }
    let without = home.serve(&common);
    assert_eq!(list(&home, &without, "opaque"), Some(3));

    std::fs::write(&file, "").unwrap();
    let path = file.to_str().unwrap();
    let serve = ["serve", "--listen", "127.0.0.1:0"];
    let ran = home.run(&[&serve[..], &common, &client, &[path]].concat());
    let expected =
        format!("error: {path} holds no secret\nhint: write the secret of the client into it\n");
    assert_eq!(ran, Ran::failed(1, &expected));
}

#[test]
fn the_servers_of_the_user_are_told_to_no_client_of_the_issuer() {
    let (home, issuer) = (Home::new(), Issuer::start());
    let serving = serve(&home, &issuer);
    let token = issuer.token(OWN, "use");
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"callgate/servers","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let address = serving.url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address.trim_end_matches("/mcp")).unwrap();
    let length = body.len();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nhost: gate.example\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         mcp-protocol-version: 2026-07-28\r\nmcp-method: callgate/servers\r\n\
         connection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    assert!(response.contains("\"code\":-32601"), "{response}");
}

#[test]
fn a_client_learns_where_to_get_a_token() {
    let (home, issuer) = (Home::new(), Issuer::start());
    let serving = serve(&home, &issuer);
    let well_known = "/.well-known/oauth-protected-resource";
    let response = ask(&serving, "POST /mcp", "gate.example");
    assert!(response.starts_with("HTTP/1.1 401 "), "{response}");
    let challenge = format!(
        "\r\nwww-authenticate: Bearer resource_metadata=\"https://gate.example{well_known}/mcp\", scope=\"use\"\r\n"
    );
    assert!(response.contains(&challenge), "{response}");

    let document = format!(
        r#"{{"resource":"{OWN}","authorization_servers":["{}"],"scopes_supported":["use"],"bearer_methods_supported":["header"],"dpop_signing_alg_values_supported":["ES256","ES384","EdDSA","PS256","PS384","PS512","RS256","RS384","RS512"]}}"#,
        issuer.url
    );
    for path in [well_known.to_owned(), format!("{well_known}/mcp")] {
        let response = ask(&serving, &format!("GET {path}"), "gate.example");
        assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
        assert!(response.ends_with(&document), "{response}");
    }
    let response = ask(&serving, &format!("GET {well_known}"), "evil.example");
    assert!(response.starts_with("HTTP/1.1 403 "), "{response}");
}

#[test]
fn no_client_is_sent_to_log_in_again_while_the_issuer_is_away() {
    let (home, issuer) = (Home::new(), Issuer::start_overloaded());
    let serving = serve(&home, &issuer);
    let token = issuer.token(OWN, "use");
    assert_eq!(list(&home, &serving, &token), Some(4));
}

#[test]
fn mistakes_show_before_a_client_is_accepted() {
    let home = Home::new();
    let issuer = Issuer::start();
    let wrong = format!("{}/", issuer.url);
    let unknown = "error: the name of this server in tokens is unknown, because --listen has port 0\n\
         hint: name the server with --resource URL, or pick a port with --listen\n";
    let cases: [(&[&str], String); 5] = [
        (&["--issuer", &issuer.url], unknown.to_owned()),
        (
            &["--issuer", &wrong, "--resource", OWN],
            format!(
                "error: cannot fetch the keys of {wrong}: the metadata must be of the issuer {wrong}, but it is of {}\n\
                 hint: pass --issuer exactly as the issuer writes itself in its metadata\n",
                issuer.url
            ),
        ),
        (
            &["--issuer", "http://as.example", "--resource", OWN],
            "error: cannot trust the issuer http://as.example: it is neither https nor on this machine\n".to_owned(),
        ),
        (
            &["--issuer", &issuer.url, "--resource", "http://gate.example"],
            "error: `http://gate.example` cannot be the name of a server: it is neither https nor on this machine\n\
             hint: pass --resource with the URL that clients use, for example https://gate.example/mcp\n"
                .to_owned(),
        ),
        (
            &["--issuer", &issuer.url, "--resource", OWN, "--scope", "a b"],
            "error: `a b` is not a scope\nhint: pass --scope once for each scope\n".to_owned(),
        ),
    ];
    for (args, expected) in cases {
        let serve = ["serve", "--listen", "127.0.0.1:0"];
        let ran = home.run(&[&serve[..], args].concat());
        assert_eq!(ran, Ran::failed(1, &expected));
    }
}
