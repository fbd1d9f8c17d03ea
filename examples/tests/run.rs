//! Runs the examples and compares what they print.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

const CLIENT: &str = env!("CARGO_BIN_EXE_client");

fn check(command: &mut Command, expect: &[&str]) {
    let output = command.output().expect("the example is built");
    let printed = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines, expect, "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success());
}

#[test]
fn a_client_starts_a_server_and_calls_its_tool() {
    let server = env!("CARGO_BIN_EXE_stdio_server");
    check(
        Command::new(CLIENT).args([server, "add", r#"{"a":2,"b":3}"#]),
        &["add: Adds two numbers", r#"{"sum":5}"#],
    );
    check(
        Command::new(CLIENT).args([server, "add", r#"{"a":2}"#]),
        &[
            "add: Adds two numbers",
            r#"Invalid arguments for tool `add`: "b" is a required property"#,
        ],
    );
}

#[test]
fn a_client_calls_a_tool_over_http_and_hears_of_its_progress() {
    let server = HttpServer::start(env!("CARGO_BIN_EXE_http_server"));
    check(
        Command::new(CLIENT).args([&server.url, "count", r#"{"to":2}"#]),
        &["count: Counts", "... 1", "... 2", "counted to 2"],
    );
}

#[test]
fn an_endpoint_is_mounted_beside_other_routes() {
    let server = HttpServer::start(env!("CARGO_BIN_EXE_axum_server"));
    check(
        Command::new(CLIENT).args([&server.url, "greet", r#"{"name":"Ann"}"#]),
        &["greet: Greets", "Hello, Ann!"],
    );
    let health = server.get("/health");
    assert!(health.starts_with("HTTP/1.1 200 OK"), "{health}");
    assert!(health.ends_with("healthy"), "{health}");
}

#[test]
fn a_hub_presents_several_servers_as_one() {
    let server = env!("CARGO_BIN_EXE_stdio_server");
    let http = HttpServer::start(env!("CARGO_BIN_EXE_http_server"));
    check(
        Command::new(env!("CARGO_BIN_EXE_hub")).args([
            &format!("one={server}"),
            &format!("two={}", http.url),
            "gone=/no/such/program",
            "one_add",
            r#"{"a":2,"b":3}"#,
        ]),
        &[
            "one is connected",
            "two is connected",
            "gone is failed",
            "one_add: Adds two numbers",
            "two_count: Counts",
            r#"{"sum":5}"#,
        ],
    );
}

#[test]
fn a_tool_asks_the_user() {
    check(
        &mut Command::new(env!("CARGO_BIN_EXE_elicitation")),
        &[
            "the server asks: What would you like?",
            "- dish",
            "- portions",
            "the tool says: 2 x soup, coming up",
        ],
    );
}

#[test]
fn a_layer_sees_every_call() {
    check(
        &mut Command::new(env!("CARGO_BIN_EXE_layer")),
        &[
            "call 1 asks for tools/call",
            "call 1 is answered",
            "call 2 asks for tools/call",
            "call 2 is refused",
            "unknown tool `goodbye`",
        ],
    );
}

/// An HTTP server on a free port; it ends with this value.
struct HttpServer {
    process: Child,
    url: String,
}

impl HttpServer {
    fn start(program: &str) -> Self {
        let mut process = Command::new(program)
            .arg("127.0.0.1:0")
            .stdout(Stdio::piped())
            .spawn()
            .expect("the example is built");
        let stdout = process.stdout.take().expect("the output is piped");
        let mut line = String::new();
        BufReader::new(stdout)
            .read_line(&mut line)
            .expect("it says where it listens");
        let url = line.trim().trim_start_matches("listening on ").to_owned();
        Self { process, url }
    }

    /// The whole response to a GET request.
    fn get(&self, path: &str) -> String {
        let url = self.url.trim_start_matches("http://");
        let (host, _) = url.split_once('/').expect("a URL with a path");
        let mut stream = TcpStream::connect(host).expect("it listens");
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        )
        .expect("it reads");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("it answers");
        response
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        // Fails only if the server has ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
