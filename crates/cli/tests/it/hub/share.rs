//! Servers that several `serve --stdio` share: one of them runs each server, the others use it there.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use super::setup::{is_running, signal, wait_for};
use crate::fixture::{Home, Ran};

/// A client with its `serve --stdio`, which is killed when this is dropped.
struct Agent {
    serving: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    requests: u64,
    has_listed: bool,
}

impl Agent {
    fn start(home: &Home, args: &[&str]) -> Self {
        let mut log = fs::File::options();
        let log = log.create(true).append(true);
        let log = log.open(home.path().join("agents.log")).unwrap();
        let mut serving = home
            .command(&["serve", "--stdio", "--workspace"])
            .arg(home.workspace())
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        Self {
            input: serving.stdin.take(),
            output: BufReader::new(serving.stdout.take().unwrap()),
            serving,
            requests: 0,
            has_listed: false,
        }
    }

    fn pid(&self) -> u64 {
        u64::from(self.serving.id())
    }

    fn send(&mut self, method: &str, mut params: Value) {
        self.requests += 1;
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "agent", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let request = json!({
            "jsonrpc": "2.0", "id": self.requests, "method": method, "params": params,
        });
        writeln!(self.input.as_mut().unwrap(), "{request}").unwrap();
    }

    /// The answer to the last request.
    fn answer(&mut self) -> Value {
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "no answer");
            let message: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(message["jsonrpc"], "2.0", "{line}");
            if message["id"] == self.requests {
                return message;
            }
        }
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        self.send(method, params);
        self.answer()
    }

    fn tools(&mut self) -> Vec<String> {
        let answer = self.request("tools/list", json!({}));
        let tools = answer["result"]["tools"].as_array().unwrap().iter();
        let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
        let mut names: Vec<_> = tools.map(name).collect();
        names.retain(|name| !name.starts_with("workspace_"));
        names
    }

    /// Calls a tool of a server, and returns the number of the process that answers.
    fn pid_behind(&mut self, tool: &str) -> u64 {
        // A client knows the tools that it calls.
        while !self.has_listed && !self.tools().iter().any(|known| known == tool) {}
        self.has_listed = true;
        let answer = self.request("tools/call", json!({ "name": tool, "arguments": {} }));
        let text = answer["result"]["content"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("{answer}"));
        text.parse().unwrap()
    }

    /// Ends the input, as a client does that leaves.
    fn leave(mut self) {
        drop(self.input.take());
        assert_eq!(self.serving.wait().unwrap().code(), Some(0));
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.serving.kill();
        let _ = self.serving.wait();
    }
}

/// A home with servers whose tool `pid` tells their process, and which write it down when they start.
struct Shared(Home);

impl Shared {
    fn new(servers: &[&str]) -> Self {
        let shared = Self(Home::new());
        shared.0.configure(&shared.servers(servers, &json!({})));
        shared
    }

    fn servers(&self, names: &[&str], env: &Value) -> Value {
        let home = &self.0;
        let cases = r#"*'"method":"tools/list"'*)
            result='{"resultType":"complete","tools":[{"name":"pid","inputSchema":{"type":"object"}},{"name":"wait","inputSchema":{"type":"object"}}]}' ;;
        *'"name":"pid"'*) result='{"resultType":"complete","content":[{"type":"text","text":"'$$'"}]}' ;;
        *'"name":"wait"'*) : > "$0.waits"; continue ;;"#;
        let mut definition = home.shell_definition(cases);
        definition["env"] = env.clone();
        let script = home.path().join("server.sh");
        let text = fs::read_to_string(&script).unwrap();
        let starts = home.path().join("starts").display().to_string();
        fs::write(&script, format!("echo $$ >> {starts}\n{text}")).unwrap();
        let servers = names.iter();
        let servers = servers.map(|name| ((*name).to_owned(), definition.clone()));
        Value::Object(servers.collect())
    }

    /// A configuration beside that of the user. Paths in it mean the same.
    fn other(&self, names: &[&str], env: &Value) -> String {
        let file = self.0.path().join(".config/callgate/other.json");
        let text = json!({ "mcpServers": self.servers(names, env) }).to_string();
        fs::write(&file, text).unwrap();
        file.display().to_string()
    }

    fn agent(&self) -> Agent {
        Agent::start(&self.0, &[])
    }

    /// Number of all processes of servers that were ever started.
    fn starts(&self) -> usize {
        self.pids().len()
    }

    /// Number of the processes of servers that run.
    fn running(&self) -> usize {
        let pids = self.pids().into_iter();
        pids.filter(|pid| is_running(*pid)).count()
    }

    fn pids(&self) -> Vec<u64> {
        let starts = fs::read_to_string(self.0.path().join("starts")).unwrap_or_default();
        starts.lines().map(|line| line.parse().unwrap()).collect()
    }

    /// The process that runs the only server.
    fn owner(&self) -> Value {
        let processes = self.0.connected();
        assert_eq!(processes.len(), 1, "{processes:?}");
        processes[0]["owner"].clone()
    }

    /// Records of the running processes.
    fn records(&self) -> Vec<Value> {
        let run = self.0.path().join(".local/share/callgate/run");
        let files = fs::read_dir(run).into_iter().flatten().flatten();
        let paths = files.map(|file| file.path());
        let records = paths.filter(|path| path.extension().is_some_and(|end| end == "json"));
        records
            .filter_map(|path| serde_json::from_slice(&fs::read(path).ok()?).ok())
            .collect()
    }
}

/// Sends a request without a body to the endpoint, and returns the status.
fn status(url: &str, host: Option<&str>, token: Option<&str>) -> String {
    let address = url.strip_prefix("http://").unwrap();
    let address = address.strip_suffix("/mcp").unwrap();
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let token = token.map(|token| format!("Authorization: Bearer {token}\r\n"));
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: tools/list\r\nConnection: close\r\n{}Content-Length: {}\r\n\r\n{body}",
        host.unwrap_or(address),
        token.unwrap_or_default(),
        body.len()
    );
    let mut connection = TcpStream::connect(address).unwrap();
    connection.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap().to_owned()
}

#[test]
fn three_clients_share_one_process() {
    let shared = Shared::new(&["s"]);
    let mut agents = [shared.agent(), shared.agent(), shared.agent()];
    let pids = agents.each_mut().map(|agent| agent.pid_behind("s_pid"));
    assert_eq!(pids, [pids[0]; 3]);
    for agent in &mut agents {
        assert_eq!(agent.tools(), ["s_pid", "s_wait"]);
    }
    wait_for("the record", || shared.0.connected().len() == 1);
    let owner = shared.owner();
    assert_eq!(owner["command"], "serve --stdio");
    let serving = agents.iter().filter(|agent| owner["pid"] == agent.pid());
    assert_eq!(serving.count(), 1);
    // Commands use it too.
    let expect = Ran::printed(&format!("{}\n", pids[0]));
    assert_eq!(shared.0.run(&["call", "s/pid"]), expect);
    assert_eq!(shared.0.json(&["list"])[0]["status"], json!("connected"));
    assert_eq!(shared.starts(), 1);
}

#[test]
fn clients_that_start_at_the_same_moment_share_one_process() {
    for _ in 0..5 {
        let shared = Shared::new(&["s"]);
        let mut agents = [shared.agent(), shared.agent(), shared.agent()];
        for agent in &mut agents {
            agent.send("tools/list", json!({}));
        }
        for agent in &mut agents {
            agent.answer();
        }
        let pids = agents.each_mut().map(|agent| agent.pid_behind("s_pid"));
        assert_eq!(pids, [pids[0]; 3]);
        assert_eq!(shared.starts(), 1);
    }
}

#[test]
fn another_process_takes_over_when_the_owner_ends() {
    for end in ["end of input", "-TERM", "-KILL"] {
        let shared = Shared::new(&["s"]);
        let mut agents = vec![shared.agent(), shared.agent(), shared.agent()];
        let first = agents.iter_mut().map(|agent| agent.pid_behind("s_pid"));
        let first: Vec<u64> = first.collect();
        assert_eq!(shared.starts(), 1, "{end}");
        wait_for("the record", || shared.0.connected().len() == 1);
        let owner = shared.owner();
        let is_owner = |agent: &Agent| owner["pid"] == agent.pid();
        let owner = agents.remove(agents.iter().position(is_owner).unwrap());
        match end {
            "end of input" => owner.leave(),
            _ => {
                signal(end, owner.pid());
                drop(owner);
            }
        }
        // The calls wait for the process that takes over.
        let second: Vec<u64> = agents
            .iter_mut()
            .map(|agent| agent.pid_behind("s_pid"))
            .collect();
        assert_ne!(second[0], first[0], "{end}");
        assert_eq!(second, [second[0]; 2], "{end}");
        assert_eq!(shared.starts(), 2, "{end}");
        wait_for("the end of the first", || shared.running() == 1);
        // The last one is left with it.
        agents.remove(0).leave();
        agents[0].pid_behind("s_pid");
        agents.remove(0).leave();
        wait_for("the end of all", || shared.running() == 0);
    }
}

#[test]
fn a_call_in_flight_fails_when_the_owner_is_killed_and_is_not_sent_again() {
    let shared = Shared::new(&["s"]);
    let mut owner = shared.agent();
    owner.pid_behind("s_pid");
    let mut other = shared.agent();
    other.pid_behind("s_pid");
    other.send("tools/call", json!({ "name": "s_wait", "arguments": {} }));
    let waits = shared.0.path().join("server.sh.waits");
    wait_for("the call", || waits.exists());
    fs::remove_file(&waits).unwrap();
    drop(owner);
    let answer = other.answer();
    assert!(answer["error"]["message"].is_string(), "{answer}");
    other.pid_behind("s_pid");
    assert!(!waits.exists());
}

#[test]
fn another_definition_is_not_shared() {
    let shared = Shared::new(&["s"]);
    let other = shared.other(&["s"], &json!({ "X": "1" }));
    let mut first = shared.agent();
    let mut second = Agent::start(&shared.0, &["--config", &other]);
    let mut third = Agent::start(&shared.0, &["--config", &other]);
    let (first, second) = (first.pid_behind("s_pid"), second.pid_behind("s_pid"));
    assert_ne!(first, second);
    // Each definition has one process.
    assert_eq!(third.pid_behind("s_pid"), second);
    assert_eq!(shared.starts(), 2);
}

#[test]
fn a_process_shares_the_servers_that_it_runs_and_uses_the_others() {
    let shared = Shared::new(&["s"]);
    let more = shared.other(&["s", "t"], &json!({}));
    let mut first = shared.agent();
    let s = first.pid_behind("s_pid");
    let mut second = Agent::start(&shared.0, &["--config", &more]);
    let t = second.pid_behind("t_pid");
    assert_eq!(second.pid_behind("s_pid"), s);
    let mut third = Agent::start(&shared.0, &["--config", &more]);
    assert_eq!(
        [third.pid_behind("s_pid"), third.pid_behind("t_pid")],
        [s, t]
    );
    assert_eq!(first.tools(), ["s_pid", "s_wait"]);
    assert_eq!(shared.starts(), 2);
}

#[test]
fn a_process_that_does_not_attach_shares_nothing() {
    let shared = Shared::new(&["s"]);
    let mut alone = Agent::start(&shared.0, &["--no-attach"]);
    let own = alone.pid_behind("s_pid");
    assert!(
        shared
            .records()
            .iter()
            .all(|record| record["url"].is_null())
    );
    let mut second = shared.agent();
    let mut third = Agent::start(&shared.0, &["--direct"]);
    let (second, third) = (second.pid_behind("s_pid"), third.pid_behind("s_pid"));
    assert!(own != second && own != third && second != third);
}

#[test]
fn a_process_without_servers_has_no_endpoint() {
    let shared = Shared::new(&[]);
    let mut agent = shared.agent();
    assert_eq!(agent.tools(), Vec::<String>::new());
    let records = shared.records();
    assert_eq!(records.len(), 1);
    assert_eq!(records[0]["url"], json!(null));
    assert!(!shared.0.path().join(".local/share/callgate/token").exists());
}

#[test]
fn the_endpoint_needs_the_token_and_ends_with_its_process() {
    let shared = Shared::new(&["s"]);
    let mut agent = shared.agent();
    agent.pid_behind("s_pid");
    let url = shared.records()[0]["url"].as_str().unwrap().to_owned();
    assert!(url.starts_with("http://127.0.0.1:"), "{url}");
    let token = shared.0.run(&["token"]).stdout;
    let token = token.trim();
    assert_eq!(status(&url, None, Some(token)), "200");
    assert_eq!(status(&url, None, None), "401");
    assert_eq!(status(&url, None, Some("another")), "401");
    assert_eq!(status(&url, Some("example.com"), Some(token)), "403");
    // The workspace tools are for the directory of its own client.
    let mut list = shared.0.command(&["list", &url]);
    let listed = list.env("CALLGATE_TOKEN", token).output();
    assert_eq!(Ran::from(listed.unwrap()), Ran::printed("s_pid\ns_wait\n"));
    agent.leave();
    assert_eq!(shared.records(), Vec::<Value>::new());
    let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn a_serve_over_http_takes_the_servers_over() {
    let shared = Shared::new(&["s"]);
    let mut agents = [shared.agent(), shared.agent()];
    let before = agents.each_mut().map(|agent| agent.pid_behind("s_pid"));
    let serving = shared.0.serve(&[]);
    wait_for("the end of the first", || {
        shared.running() == 1 && !is_running(before[0])
    });
    let after = agents.each_mut().map(|agent| agent.pid_behind("s_pid"));
    assert_eq!(after, [after[0]; 2]);
    assert_eq!(shared.starts(), 2);
    wait_for("the record", || shared.0.connected().len() == 1);
    assert_eq!(shared.owner()["pid"], serving.pid());
    // Back to one of the clients.
    drop(serving);
    let back = agents.each_mut().map(|agent| agent.pid_behind("s_pid"));
    assert_eq!(back, [back[0]; 2]);
    wait_for("the end of the second", || shared.running() == 1);
}

#[test]
fn a_changed_configuration_leaves_one_process_for_each_server() {
    let shared = Shared::new(&["s"]);
    let mut agents = [shared.agent(), shared.agent()];
    let before = agents.each_mut().map(|agent| agent.pid_behind("s_pid"));
    let both = shared.servers(&["s", "t"], &json!({}));
    shared.0.configure(&both);
    for agent in &mut agents {
        let mut listed = Vec::new();
        while listed.len() != 4 {
            listed = agent.tools();
        }
    }
    let after = agents.each_mut().map(|agent| agent.pid_behind("s_pid"));
    assert_eq!(after, before);
    let added = agents.each_mut().map(|agent| agent.pid_behind("t_pid"));
    assert_eq!(added, [added[0]; 2]);
    assert_eq!(shared.starts(), 2);
}

#[test]
fn a_mistake_in_the_configuration_does_not_keep_a_process_from_taking_over() {
    let shared = Shared::new(&["s"]);
    let mut owner = shared.agent();
    owner.pid_behind("s_pid");
    let mut other = shared.agent();
    let before = other.pid_behind("s_pid");
    let mut faulty = shared.servers(&["s"], &json!({}));
    faulty["t"] = json!({ "command": 1 });
    shared.0.configure(&faulty);
    let log = shared.0.path().join("agents.log");
    let reported = || {
        let text = fs::read_to_string(&log).unwrap();
        text.matches("the configuration is not reloaded").count()
    };
    wait_for("the reports", || reported() == 2);
    owner.leave();
    assert_ne!(other.pid_behind("s_pid"), before);
}

/// A terminal suspends an agent with the processes that it started.
#[test]
fn a_suspended_owner_is_replaced() {
    let shared = Shared::new(&["s"]);
    let mut owner = shared.agent();
    let before = owner.pid_behind("s_pid");
    let mut other = shared.agent();
    assert_eq!(other.pid_behind("s_pid"), before);
    signal("-STOP", owner.pid());
    wait_for("the replacement", || shared.starts() == 2);
    let after = other.pid_behind("s_pid");
    assert_ne!(after, before);
    // Both keep what they run.
    signal("-CONT", owner.pid());
    assert_eq!(owner.pid_behind("s_pid"), before);
    assert_eq!(other.pid_behind("s_pid"), after);
}

#[test]
fn long_texts_of_a_shared_server_are_read_in_pages() {
    let home = Home::new();
    let text = "x".repeat(3000);
    let cases = format!(
        r#"*'"method":"tools/list"'*)
        result='{{"resultType":"complete","tools":[{{"name":"a","inputSchema":{{"type":"object"}}}}]}}' ;;
    *'"name":"a"'*) result='{{"resultType":"complete","content":[{{"type":"text","text":"{text}"}}]}}' ;;"#
    );
    let server = home.shell_definition(&cases);
    let directory = home.path().join(".config/callgate");
    fs::create_dir_all(&directory).unwrap();
    let config = json!({ "mcpServers": { "s": server }, "gateway": { "maxText": 1000 } });
    fs::write(directory.join("config.json"), config.to_string()).unwrap();
    let mut agents = [Agent::start(&home, &[]), Agent::start(&home, &[])];
    for agent in &mut agents {
        agent.tools();
        let result = agent.request("tools/call", json!({ "name": "s_a", "arguments": {} }));
        let uri = &result["result"]["content"][1]["uri"];
        assert!(uri.is_string(), "{result}");
        let page = agent.request("resources/read", json!({ "uri": uri }));
        let read = page["result"]["contents"][0]["text"].as_str();
        assert!(read.is_some_and(|read| text.starts_with(read)), "{page}");
    }
}
