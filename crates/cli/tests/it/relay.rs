//! `relay` between each kind of client and each kind of server.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

use crate::fixture::{CALLGATE, Home, Ran};
use crate::provider::{Provider, Settings};

/// A tool whose argument is mirrored in a header, and one that ends the server.
const TOOLS: &str = r#"
*'"method":"tools/list"'*)
    result='{"resultType":"complete","tools":[
        {"name":"where","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}},
        {"name":"crash","inputSchema":{"type":"object"}}]}'
    result=$(printf '%s' "$result" | tr -d '\n') ;;
*'"name":"where"'*) result='{"resultType":"complete","content":[{"type":"text","text":"here"}]}' ;;
*'"name":"crash"'*) echo "password in $0" >&2; exit 3 ;;"#;

#[test]
fn a_server_that_is_a_command_is_served_over_http() {
    let home = Home::new();
    let relay = home.relay(&["--stdio", &home.stdio_server()]);
    assert_eq!(home.run(&["list", &relay.url]).exit, Some(3));

    let token = home.path().join(".local/share/callgate/token");
    let token = ["--token-file", token.to_str().unwrap()];
    let call = |args: &[&str]| home.run(&[&["call", &relay.url], args, &token].concat());
    assert_eq!(
        call(&["workspace_write", "path=a.txt", "content=12"]),
        Ran::printed("{\"path\":\"a.txt\",\"bytes\":2}\n")
    );
    assert_eq!(
        call(&["workspace_read", "path=../x"]),
        Ran::failed(5, "error: the tool failed: path escapes workspace: ../x\n")
    );
    assert_eq!(
        fs::read_to_string(home.relay_log()).unwrap(),
        "clients must send the token that `callgate token` prints\n"
    );
}

#[test]
fn a_server_at_a_url_is_served_over_stdio() {
    let home = Home::new();
    let serving = home.serve(&["--no-auth"]);
    let relay = format!("{CALLGATE} relay {} --serve-stdio", serving.url);
    assert_eq!(
        home.run(&["call", "--stdio", &relay, "workspace_list"]),
        Ran::printed("{\"path\":\".\",\"entries\":[]}\n")
    );
}

#[test]
fn a_command_that_died_is_started_again_and_tells_remote_callers_nothing() {
    let home = Home::new();
    let relay = home.relay(&["--no-auth", "--stdio", &home.shell_server(TOOLS)]);
    let call = |tool| home.run(&["call", &relay.url, tool]);
    assert_eq!(call("where"), Ran::printed("here\n"));
    assert_eq!(
        call("crash"),
        Ran::failed(
            5,
            "error: the server behind this endpoint closed the connection\n"
        )
    );
    assert_eq!(call("where"), Ran::printed("here\n"));
    drop(relay);
    let server = home.path().join("server.sh");
    let log = fs::read_to_string(home.relay_log()).unwrap();
    let said = format!("password in {}", server.display());
    let expected = format!(" INFO callgate_mcp::server_stderr: {said} server=\"/bin/sh\"\n");
    assert!(log.contains(&expected), "{log}");
    assert!(log.contains("starting the server again"), "{log}");
}

#[test]
fn the_headers_of_a_call_must_equal_its_body_before_any_client_has_listed_the_tools() {
    let home = Home::new();
    let relay = home.relay(&["--no-auth", "--stdio", &home.shell_server(TOOLS)]);
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"where","arguments":{"region":"eu"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let address = relay.url.strip_prefix("http://").unwrap();
    let address = address.strip_suffix("/mcp").unwrap();
    let post = |header: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
             content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
             mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: where\r\n\
             {header}content-length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response.rsplit("\r\n\r\n").next().unwrap().to_owned()
    };
    let refused = |text: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-32020,"message":"{text}"}}}}"#)
    };
    assert_eq!(post(""), refused("header `mcp-param-region` is missing"));
    assert_eq!(
        post("mcp-param-region: us\r\n"),
        refused("header `mcp-param-region` differs from the body")
    );
    assert_eq!(
        post("mcp-param-region: eu\r\n"),
        r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"here"}]}}"#
    );
    // Our own client reads the list, and sends the header.
    assert_eq!(
        home.run(&["call", &relay.url, "where", "region=eu"]),
        Ran::printed("here\n")
    );
}

#[test]
fn the_stored_login_is_used_and_renewed() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    home.log_in(&provider.url, &[]);
    provider.events();
    let relay = home.relay(&["--no-auth", &provider.url]);
    for _ in 0..2 {
        provider.end_access_tokens();
        assert_eq!(
            home.run(&["call", &relay.url, "whoami"]),
            Ran::printed("granted: read\n")
        );
        assert_eq!(provider.events(), ["refresh_token of registered"]);
    }
}

#[test]
fn a_login_that_is_missing_is_named_and_used_as_soon_as_it_is_there() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    let url = &provider.url;
    let hint = format!("log in: run `callgate auth {url}`");
    let stdio = format!("{CALLGATE} relay {url} --serve-stdio");
    let ran = home.run(&["call", "--stdio", &stdio, "whoami"]);
    assert!(ran.stderr.contains(&hint), "{ran:?}");

    let relay = home.relay(&["--no-auth", url]);
    let log = fs::read_to_string(home.relay_log()).unwrap();
    assert!(log.contains(&format!("hint: {hint}\n")), "{log}");
    let call = || home.run(&["call", &relay.url, "whoami"]);
    assert_eq!(
        call(),
        Ran::failed(
            4,
            &format!(
                "error: cannot connect to server `{}`: it answered `initialize` with an error: the server behind this endpoint does not accept its credentials; its operator has to log in\n\
                 hint: check that the server is running and the address is right, http or https included\n",
                relay.url
            )
        )
    );
    home.log_in(url, &[]);
    assert_eq!(call(), Ran::printed("granted: read\n"));
    assert_eq!(
        home.run(&["call", "--stdio", &stdio, "whoami"]),
        Ran::printed("granted: read\n")
    );
}

#[test]
fn a_variable_reaches_the_command_only_if_it_is_named() {
    let home = Home::new();
    let cases = r#"*'"method":"tools/list"'*)
        result='{"resultType":"complete","tools":[{"name":"env","inputSchema":{"type":"object"}}]}' ;;
    *'"name":"env"'*)
        result="{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\",\"text\":\"$KEY $OTHER\"}]}" ;;"#;
    let server = home.shell_server(cases);
    for (args, expect) in [
        (&[][..], " \n"),
        (&["--env", "KEY", "--env", "OTHER=b"], "a b\n"),
    ] {
        let mut command = home.command(&["call", "--stdio", &server, "env"]);
        command.args(args).env("KEY", "a").env("OTHER", "hidden");
        assert_eq!(Ran::from(command.output().unwrap()), Ran::printed(expect));
    }
}

#[test]
fn stdio_clients_need_no_address() {
    let home = Home::new();
    let args = [
        "relay",
        "http://127.0.0.1:1/mcp",
        "--serve-stdio",
        "--no-auth",
    ];
    assert_eq!(
        home.run(&args),
        Ran::failed(
            1,
            "error: the argument '--serve-stdio' cannot be used with '--no-auth'\n\n\
             Usage: callgate relay [OPTIONS] <URL>\n       callgate relay [OPTIONS] --stdio <COMMAND>\n\n\
             For more information, try '--help'.\n"
        )
    );
}
