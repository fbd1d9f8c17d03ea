//! Fifty servers with a thousand calls in flight at once: one process for each, and none left after any end.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Map, Value, json};

use super::setup::{children, is_running, signal, wait_for};
use crate::fixture::{CALLGATE, Home, Serving};
use crate::terminal::Terminal;

const SERVERS: usize = 50;
const CALLS: usize = 1_000;

/// A server whose calls wait: when it has got twenty, it makes the file `$1.full`, and answers them when a line comes
/// out of the pipe `$1`.
const WAITING_SERVER: &str = r#"
    while read -r line; do
        id=${line#*\"id\":}
        id=${id%%,*}
        case $line in
            *'"method":"server/discover"'*)
                result='{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}' ;;
            *'"method":"tools/list"'*)
                result='{"resultType":"complete","tools":[{"name":"wait","inputSchema":{"type":"object"}}]}' ;;
            *'"method":"tools/call"'*)
                ids="$ids $id"
                count=$((count + 1))
                if [ $count = 20 ]; then
                    : > "$1.full"
                    read -r go < "$1"
                    for id in $ids; do
                        result='{"resultType":"complete","content":[{"type":"text","text":"waited"}]}'
                        printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
                    done
                fi
                continue ;;
            *) continue ;;
        esac
        printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
    done
"#;

/// A home with fifty waiting servers, and the pipes that let them answer.
struct Busy {
    home: Home,
    pipes: Vec<File>,
}

impl Busy {
    fn new() -> Self {
        let home = Home::new();
        let script = home.path().join("waiting.sh");
        fs::write(&script, WAITING_SERVER).unwrap();
        let mut servers = Map::new();
        let mut pipes = Vec::new();
        for number in 0..SERVERS {
            let pipe = home.path().join(format!("pipe{number}"));
            let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
            assert!(made.success());
            // Open at both ends, so that neither side waits for the other to open it.
            pipes.push(File::options().read(true).write(true).open(&pipe).unwrap());
            servers.insert(
                format!("s{number}"),
                // The calls wait as long as the test wants.
                json!({ "command": "/bin/sh", "args": [script, pipe], "timeout": 86_400_000 }),
            );
        }
        home.configure(&Value::Object(servers));
        Self { home, pipes }
    }

    /// Waits until all servers run, and returns their processes: a supervisor for each, and the server below it.
    fn processes(&self) -> Vec<u64> {
        wait_for("the start", || self.home.connected().len() == SERVERS);
        let mut pids = Vec::new();
        for process in self.home.connected() {
            let supervisor = process["pid"].as_u64().unwrap();
            wait_for("the server", || children(supervisor).len() == 1);
            pids.push(supervisor);
            pids.extend(children(supervisor));
        }
        pids
    }

    /// Waits until all calls are at their servers.
    fn wait_until_full(&self) {
        wait_for("the last call", || {
            (0..SERVERS).all(|number| self.home.path().join(format!("pipe{number}.full")).exists())
        });
    }

    /// Lets the servers answer.
    fn release(&mut self) {
        for pipe in &mut self.pipes {
            pipe.write_all(b"go\n").unwrap();
        }
    }
}

fn call(number: usize) -> String {
    let params = json!({
        "name": format!("s{}_wait", number % SERVERS),
        "arguments": {},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    });
    json!({ "jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params }).to_string()
}

/// Sends each call over a connection of its own.
fn send_over_http(url: &str) -> Vec<TcpStream> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    setrlimit(Resource::Nofile, raised).unwrap();
    let address = url.strip_prefix("http://").unwrap();
    let host = address.strip_suffix("/mcp").unwrap();
    let address: SocketAddr = host.parse().unwrap();
    let send = |number| {
        let mut connection = TcpStream::connect(address).unwrap();
        let body = call(number);
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
             Mcp-Method: tools/call\r\nMcp-Name: s{}_wait\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            number % SERVERS,
            body.len()
        );
        connection.write_all((head + &body).as_bytes()).unwrap();
        connection
    };
    (0..CALLS).map(send).collect()
}

const HTTP: [&str; 6] = [
    "serve",
    "--listen",
    "127.0.0.1:0",
    "--no-auth",
    "--no-workspace",
    // All clients of the test have one address.
    "--max-connections-per-address=1100",
];

#[test]
fn a_thousand_calls_in_flight_are_answered_by_one_process_for_each_server() {
    let mut busy = Busy::new();
    let serving = Serving::start(busy.home.command(&HTTP).stderr(Stdio::null()));
    let pids = busy.processes();
    assert_eq!(pids.len(), 2 * SERVERS);
    let connections = send_over_http(&serving.url);
    busy.wait_until_full();
    assert_eq!(busy.processes(), pids);
    // Requests that were accepted before the signal are answered after it.
    signal("-TERM", u64::from(serving.pid()));
    busy.release();
    for (number, mut connection) in connections.into_iter().enumerate() {
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        assert!(answer.contains("\"text\":\"waited\""), "{number}: {answer}");
    }
    assert_eq!(serving.wait(), Some(0));
    assert_none_runs(&pids);
}

#[test]
fn no_process_is_left_after_any_end_of_a_process_that_serves_over_stdio() {
    for end in ["end of input", "-TERM", "-INT", "-HUP", "-KILL"] {
        let busy = Busy::new();
        let mut serving = heeds_hangups(&busy.home)
            .args([CALLGATE, "serve", "--stdio", "--no-workspace"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let pids = busy.processes();
        assert_eq!(pids.len(), 2 * SERVERS, "{end}");
        let mut input = serving.stdin.take().unwrap();
        for number in 0..CALLS {
            writeln!(input, "{}", call(number)).unwrap();
        }
        busy.wait_until_full();
        match end {
            "end of input" => drop(input),
            _ => signal(end, u64::from(serving.id())),
        }
        let exit = serving.wait().unwrap().code();
        assert_eq!(exit, (end != "-KILL").then_some(0), "{end}");
        assert_none_runs(&pids);
    }
}

#[test]
fn no_process_is_left_when_the_terminal_of_a_server_is_closed() {
    let busy = Busy::new();
    // The terminal that is its standard input becomes its controlling one.
    let mut command = heeds_hangups(&busy.home);
    command.args(["setsid", "--ctty", CALLGATE]).args(HTTP);
    let mut terminal = Terminal::start(&mut command);
    terminal.expect("listening on ");
    let url = terminal.line();
    let pids = busy.processes();
    assert_eq!(pids.len(), 2 * SERVERS);
    let connections = send_over_http(&url);
    busy.wait_until_full();
    // A call in flight would be waited for.
    drop(connections);
    assert_eq!(terminal.close(), Some(0));
    assert_none_runs(&pids);
}

/// A command whose arguments are a program that a hangup ends, even if the tests run with hangups ignored, as below
/// `nohup`: a process inherits that, and `serve` goes on then.
fn heeds_hangups(home: &Home) -> Command {
    let mut command = Command::new("env");
    command
        .arg("--default-signal=HUP")
        .env_clear()
        .env("HOME", home.path())
        .env("PATH", std::env::var_os("PATH").unwrap());
    command
}

fn assert_none_runs(pids: &[u64]) {
    wait_for("the end of all processes", || {
        !pids.iter().any(|pid| is_running(*pid))
    });
}
