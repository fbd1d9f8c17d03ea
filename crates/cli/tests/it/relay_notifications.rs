//! Notifications that Callgate does not know, through `relay`, between each era of client and server.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fixture::{Home, Serving};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Era {
    Old,
    Modern,
}

/// Outer limit of each wait, however busy the machine is.
const LIMIT: Duration = Duration::from_secs(120);

const ERAS: [Era; 2] = [Era::Old, Era::Modern];

/// Remembers the last notification of its client, and sends one of its own after the answer to `later`.
const SERVER: &str = r#"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
refuse() { printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}\n' "$id"; }
hello=none
while read -r line; do
    id=${line#*\"id\":}
    id=${id%%,*}
    case $line in
        HANDSHAKE
        *'"notifications/vendor/hello"'*) hello=${line#*\"n\":}; hello=${hello%%[,\}]*} ;;
        *'"method":"subscriptions/listen"'*)
            printf '{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{}}}\n' "$id" ;;
        *'"name":"seen"'*) answer '{"resultType":"complete","content":[{"type":"text","text":"'"$hello"'"}]}' ;;
        *'"name":"later"'*)
            answer '{"resultType":"complete","content":[]}'
            printf '{"jsonrpc":"2.0","method":"notifications/vendor/news","params":{"n":10000000000000000001}}\n' ;;
        *'"method":"tools/list"'*) answer '{"resultType":"complete","tools":[]}' ;;
        *'"id":'*) refuse ;;
    esac
done"#;

const MODERN: &str = r#"*'"method":"server/discover"'*)
    answer '{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}' ;;"#;

const OLD: &str = r#"*'"method":"server/discover"'* | *'"method":"subscriptions/listen"'*) refuse ;;
*'"method":"initialize"'*)
    answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;"#;

impl Era {
    /// The command line of a server of this era.
    fn server(self, home: &Home) -> String {
        let handshake = match self {
            Self::Old => OLD,
            Self::Modern => MODERN,
        };
        let file = home.path().join("server.sh");
        fs::write(&file, SERVER.replace("HANDSHAKE", handshake)).unwrap();
        format!("/bin/sh {}", file.display())
    }

    /// Params with the metadata that a request of this era has.
    fn params(self, mut params: Value) -> Value {
        if self == Self::Modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        params
    }

    /// Opens the way of notifications that belong to no call, and says what they carry here.
    fn listen(self, client: &mut Client) -> Value {
        match self {
            Self::Old => {
                let hello = json!({
                    "protocolVersion": "2025-11-25", "capabilities": {},
                    "clientInfo": {"name": "c", "version": "1"},
                });
                client.request("init", "initialize", &hello);
                client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
                // A list comes after the subscription of the session stands.
                client.request("list", "tools/list", &json!({}));
                json!({})
            }
            Self::Modern => {
                let listen = self.params(json!({"notifications": {}}));
                client.send(&json!({
                    "jsonrpc": "2.0", "id": "listen", "method": "subscriptions/listen", "params": listen,
                }));
                client.until(|message| {
                    message["method"] == "notifications/subscriptions/acknowledged"
                });
                json!({"io.modelcontextprotocol/subscriptionId": "listen"})
            }
        }
    }
}

/// A client that speaks by lines to `relay --serve-stdio`.
struct Client {
    relay: Child,
    input: ChildStdin,
    output: Receiver<Value>,
    /// The last notification of the server that Callgate does not know.
    news: Option<Value>,
}

impl Client {
    fn start(home: &Home, upstream: &[&str]) -> Self {
        let mut command = home.command(&[&["relay", "--serve-stdio"], upstream].concat());
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let command = command.stderr(Stdio::null());
        let mut relay = command.spawn().unwrap();
        let lines = BufReader::new(relay.stdout.take().unwrap()).lines();
        let (sender, output) = channel();
        thread::spawn(move || {
            for line in lines {
                let line = line.unwrap();
                let message = serde_json::from_str(&line);
                if sender.send(message.unwrap()).is_err() {
                    return;
                }
            }
        });
        Self {
            input: relay.stdin.take().unwrap(),
            relay,
            output,
            news: None,
        }
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.output.recv_timeout(LIMIT);
            let message = message.expect("the message does not come");
            if wanted(&message) {
                return message;
            }
            if message["method"] == "notifications/vendor/news" {
                self.news = Some(message);
            }
        }
    }

    fn request(&mut self, id: &str, method: &str, params: &Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        self.until(|message| message["id"] == id)["result"].take()
    }

    fn call(&mut self, era: Era, tool: &str) -> Value {
        let params = era.params(json!({"name": tool, "arguments": {}}));
        self.request(tool, "tools/call", &params)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.relay.kill().unwrap();
        self.relay.wait().unwrap();
    }
}

/// A client of a server of this era, with one relay between them, or with two that speak HTTP to each other.
fn relayed(home: &Home, server: Era, over_http: bool) -> (Client, Option<Serving>) {
    let server = server.server(home);
    if !over_http {
        return (Client::start(home, &["--stdio", &server]), None);
    }
    let serving = home.relay(&["--stdio", &server]);
    let token = home.path().join(".local/share/callgate/token");
    let upstream = [&serving.url, "--token-file", token.to_str().unwrap()];
    (Client::start(home, &upstream), Some(serving))
}

fn for_each_pair(check: impl Fn(Era, Era, bool)) {
    for client in ERAS {
        for server in ERAS {
            for over_http in [false, true] {
                check(client, server, over_http);
            }
        }
    }
}

#[test]
fn an_unknown_notification_of_a_client_reaches_the_server() {
    for_each_pair(|era, server, over_http| {
        let home = Home::new();
        let (mut client, _serving) = relayed(&home, server, over_http);
        era.listen(&mut client);
        client.call(era, "seen");
        let hello = era.params(json!({"n": 41}));
        client.send(&json!({
            "jsonrpc": "2.0", "method": "notifications/vendor/hello", "params": hello,
        }));
        // Over HTTP a notification and a request that follows it may change places.
        let seen = loop {
            let seen = client.call(era, "seen")["content"][0]["text"].take();
            if !over_http || seen != "none" {
                break seen;
            }
        };
        assert_eq!(seen, "41", "{era:?} {server:?} {over_http}");
    });
}

#[test]
fn an_unknown_notification_of_a_server_reaches_the_client_after_its_call() {
    for_each_pair(|era, server, over_http| {
        let home = Home::new();
        let (mut client, _serving) = relayed(&home, server, over_http);
        let meta = era.listen(&mut client);
        // Over HTTP the stream of an old client may open after its first calls.
        let deadline = Instant::now() + LIMIT;
        while client.news.is_none() && Instant::now() < deadline {
            client.call(era, "later");
        }
        let told = client.news.take().expect("the notification does not come");
        let mut params = json!({"n": 10_000_000_000_000_000_001_u64});
        if meta != json!({}) {
            params["_meta"] = meta;
        }
        assert_eq!(
            told,
            json!({"jsonrpc": "2.0", "method": "notifications/vendor/news", "params": params}),
            "{era:?} {server:?} {over_http}"
        );
    });
}
