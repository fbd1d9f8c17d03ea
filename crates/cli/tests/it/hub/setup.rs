use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fixture::{CALLGATE, Home};

impl Home {
    /// Writes the configuration of the user.
    pub(crate) fn configure(&self, servers: &Value) {
        let directory = self.path().join(".config/callgate");
        fs::create_dir_all(&directory).unwrap();
        let text = json!({ "mcpServers": servers }).to_string();
        // Replaced in one step: a running process may read it at any time.
        let new = directory.join("new");
        fs::write(&new, text).unwrap();
        fs::rename(new, directory.join("config.json")).unwrap();
    }

    /// Definition of a server that has the workspace tools, on standard input and output.
    pub(crate) fn workspace_server(&self) -> Value {
        let nothing = self.path().join("nothing.json");
        fs::write(&nothing, "{}").unwrap();
        json!({
            "command": CALLGATE,
            "args": [
                "serve", "--stdio", "--no-attach", "--config", nothing,
                "--workspace", self.workspace(), "--data-dir", self.path().join("inner"),
            ],
        })
    }

    /// Definition of the shell server with these cases.
    pub(crate) fn shell_definition(&self, cases: &str) -> Value {
        let command = self.shell_server(cases);
        let (program, script) = command.split_once(' ').unwrap();
        json!({ "command": program, "args": [script] })
    }

    /// The JSON that a command prints.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let ran = self.run(&[args, &["--json"]].concat());
        serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{args:?}: {ran:?}"))
    }

    /// The processes of servers, as `ps` lists them.
    pub(crate) fn processes(&self) -> Vec<Value> {
        self.json(&["ps"]).as_array().unwrap().clone()
    }

    /// The processes of servers that are connected.
    pub(crate) fn connected(&self) -> Vec<Value> {
        let mut processes = self.processes();
        processes.retain(|process| process["status"] == "connected");
        processes
    }
}

/// Waits for the event; only one that never comes reaches the limit.
pub(crate) fn wait_for(what: &str, is_there: impl Fn() -> bool) {
    let limit = Instant::now() + Duration::from_secs(300);
    while !is_there() {
        assert!(Instant::now() < limit, "{what} never happened");
        thread::sleep(Duration::from_millis(10));
    }
}

/// True if a process runs.
pub(crate) fn is_running(pid: u64) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest.to_owned());
    state.is_some_and(|state| !state.starts_with('Z'))
}

/// Processes below another one, without itself.
pub(crate) fn children(pid: u64) -> Vec<u64> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace()
        .map(|pid| pid.parse().unwrap())
        .collect()
}

/// Sends a signal to a process.
pub(crate) fn signal(name: &str, pid: u64) {
    let sent = std::process::Command::new("kill")
        .args([name, &pid.to_string()])
        .status()
        .unwrap();
    assert!(sent.success(), "{name} {pid}");
}
