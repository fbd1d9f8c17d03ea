use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::mpsc;
use std::thread;

use crate::fixture::{Home, Ran};

/// Servers on one port of this machine, which note the authorization header of each request.
struct Listening {
    port: u16,
    seen: mpsc::Receiver<Option<String>>,
}

impl Listening {
    /// Answers each request with this head.
    fn start(head: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, seen) = mpsc::channel();
        let head = head.to_owned();
        thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let lines = BufReader::new(&stream).lines().map_while(Result::ok);
                let lines: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
                let found = lines
                    .iter()
                    .find_map(|line| Some(line.strip_prefix("authorization: ")?.to_owned()));
                // Only the first request matters.
                let _ = sender.send(found);
                let _ = write!(
                    stream,
                    "HTTP/1.1 {head}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                );
            }
        });
        Self { port, seen }
    }
}

/// Lists the tools of the server at `host`, and returns the first authorization header that it got.
fn seen(home: &Home, host: &str, token: &str, token_for: &str) -> Result<Option<String>, Ran> {
    let server = Listening::start("404 Not Found");
    let port = server.port.to_string();
    let mut command = home.command(&["list", &format!("http://{host}:{port}/mcp")]);
    command.env("CALLGATE_TOKEN", token);
    command.env("CALLGATE_TOKEN_FOR", token_for.replace("PORT", &port));
    let ran = Ran::from(command.output().unwrap());
    server.seen.try_recv().map_err(|_| Ran {
        stderr: ran.stderr.replace(&port, "PORT"),
        ..ran
    })
}

/// As an address of some other machine it reaches this one.
const ELSEWHERE: &str = "0.0.0.0";

#[test]
fn a_token_in_the_variable_is_for_one_server() {
    let home = Home::new();
    let own = home.run(&["token"]).stdout;
    let own = own.trim();
    for (host, token, token_for, is_sent) in [
        ("127.0.0.1", own, "", true),
        ("127.0.0.1", "another", "", true),
        ("127.0.0.1", "another", "http://127.0.0.1:PORT", true),
        ("127.0.0.1", "another", "http://127.0.0.1:1", false),
        ("127.0.0.1", "another", "https://127.0.0.1:PORT", false),
        ("localhost", "another", "http://127.0.0.1:PORT", false),
        (ELSEWHERE, own, "", false),
        (ELSEWHERE, own, "http://0.0.0.0:PORT", true),
        (ELSEWHERE, "another", "http://0.0.0.0:PORT/some/path", true),
        (ELSEWHERE, "another", "https://mcp.example", false),
    ] {
        let expected = is_sent.then(|| format!("Bearer {token}"));
        let found = seen(&home, host, token, token_for);
        assert_eq!(found, Ok(expected), "{host} {token_for}");
    }
}

#[test]
fn a_token_that_may_be_for_another_server_stops_the_command() {
    let home = Home::new();
    let expected = Ran::failed(
        1,
        "error: the token in CALLGATE_TOKEN was not sent, because CALLGATE_TOKEN_FOR does not say which server it is for\n\
         hint: if it is for this server, set CALLGATE_TOKEN_FOR=http://0.0.0.0:PORT; otherwise unset CALLGATE_TOKEN\n",
    );
    assert_eq!(seen(&home, ELSEWHERE, "canary", ""), Err(expected));
    let expected = Ran::failed(
        1,
        "error: `mcp.example` in CALLGATE_TOKEN_FOR is not an http(s) URL\n\
         hint: name the server that the token is for, for example https://mcp.example.com\n",
    );
    assert_eq!(
        seen(&home, ELSEWHERE, "canary", "mcp.example"),
        Err(expected)
    );
}

#[test]
fn a_redirect_takes_no_token_along() {
    let home = Home::new();
    let other = Listening::start("404 Not Found");
    let location = format!("307 Go On\r\nlocation: http://127.0.0.1:{}/mcp", other.port);
    let server = Listening::start(&location);
    let url = format!("http://127.0.0.1:{}/mcp", server.port);
    let mut command = home.command(&["list", &url]);
    let ran = Ran::from(command.env("CALLGATE_TOKEN", "canary").output().unwrap());
    assert_ne!(ran.exit, Some(0));
    assert_eq!(server.seen.try_recv(), Ok(Some("Bearer canary".to_owned())));
    assert_eq!(other.seen.try_recv(), Err(mpsc::TryRecvError::Empty));
}

#[test]
fn an_invalid_token_or_header_is_reported_without_its_value() {
    let home = Home::new();
    let url = "http://127.0.0.1:1/mcp";
    assert_eq!(
        home.run(&["list", url, "--header", "Authorization Bearer canary"]),
        Ran::failed(
            1,
            "error: the value of --header is not a header\nhint: write it as NAME: VALUE\n"
        )
    );
    let file = home.path().join("empty");
    fs::write(&file, "\n").unwrap();
    let file = file.to_str().unwrap();
    assert_eq!(
        home.run(&["list", url, "--token-file", file]),
        Ran::failed(
            1,
            &format!("error: {file} holds no token\nhint: write the token into it\n")
        )
    );
}
