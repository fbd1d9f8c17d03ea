//! Real clients: their own files are imported, and their own `mcp list` shows us after `connect`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::peer::Peers;
use crate::person::Ran;

/// The binary under test.
const CALLGATE: &str = env!("CARGO_BIN_EXE_callgate");

/// A user's home with a project in it, and the clients.
struct Desk {
    home: TempDir,
    peers: Peers,
}

impl Desk {
    fn new() -> Self {
        let desk = Self {
            home: tempfile::tempdir().unwrap(),
            peers: Peers::find(),
        };
        fs::create_dir(desk.project()).unwrap();
        desk
    }

    fn project(&self) -> PathBuf {
        self.home.path().join("project")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.home.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.home.path().join(path)).unwrap()
    }

    /// All output of a command that succeeds. Some clients list their servers on standard error.
    fn run(&self, mut command: Command) -> String {
        command
            .env("HOME", self.home.path())
            .current_dir(self.project());
        let ran = Ran::of(&mut command);
        assert_eq!(ran.exit, Some(0), "{ran:?}");
        ran.stdout + &ran.stderr
    }

    /// A client without a way to other machines.
    fn client(&self, name: &str, args: &[&str]) -> String {
        let mut command = Command::new(self.peers.client(name));
        let path = [
            self.peers.node_dir(),
            Path::new("/usr/bin"),
            Path::new("/bin"),
        ];
        command
            .args(args)
            .env_clear()
            .env("PATH", std::env::join_paths(path).unwrap());
        for proxy in ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"] {
            command.env(proxy, "http://127.0.0.1:9");
        }
        for switch in [
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
            "DISABLE_AUTOUPDATER",
            "OPENCODE_DISABLE_AUTOUPDATE",
            "OPENCODE_DISABLE_MODELS_FETCH",
            "NO_COLOR",
        ] {
            command.env(switch, "1");
        }
        self.run(command)
    }

    fn callgate(&self, args: &[&str]) -> String {
        let mut command = Command::new(CALLGATE);
        command.args(args).env_clear();
        self.run(command)
    }

    /// Names and targets of the servers that would be imported.
    fn imported(&self, client: &str) -> Vec<(String, String)> {
        let report = self.callgate(&["--json", "import", client, "--dry-run"]);
        let report: Value = serde_json::from_str(&report).unwrap();
        let servers = report["servers"].as_array().unwrap().iter();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        servers
            .map(|server| (text(&server["name"]), text(&server["target"])))
            .collect()
    }

    /// Connects a client, looks at its list, and disconnects it; its file is then as it was.
    fn comes_and_goes(&self, client: &str, program: &str, file: &str, listed: &[&str]) {
        let before = self.read(file);
        self.callgate(&["connect", client, "--yes"]);
        let list = self.client(program, &["mcp", "list"]);
        let line = list
            .lines()
            .find(|line| line.contains("callgate"))
            .unwrap_or(&list);
        for expected in listed {
            assert!(line.contains(expected), "{list}");
        }
        self.callgate(&["disconnect", client]);
        assert_eq!(self.read(file), before);
        let list = self.client(program, &["mcp", "list"]);
        assert!(!list.contains("callgate"), "{list}");
    }
}

fn pairs<const N: usize>(pairs: [(&str, &str); N]) -> Vec<(String, String)> {
    pairs
        .map(|(name, target)| (name.to_owned(), target.to_owned()))
        .into()
}

const URL: &str = "https://mcp.example.com/mcp";

#[test]
#[ignore = "needs peers: cargo xtask interop"]
fn claude_code() {
    let desk = Desk::new();
    desk.client(
        "claude",
        &[
            "mcp", "add", "-s", "user", "files", "-e", "A=b", "--", "npx", "-y", "x",
        ],
    );
    desk.client(
        "claude",
        &[
            "mcp",
            "add",
            "-s",
            "user",
            "--transport",
            "http",
            "web",
            URL,
        ],
    );
    assert_eq!(
        desk.imported("claude-code"),
        pairs([("files", "npx -y x"), ("web", URL)])
    );
    desk.client("claude", &["mcp", "remove", "-s", "user", "files"]);
    desk.client("claude", &["mcp", "remove", "-s", "user", "web"]);
    // It writes to its file when it is started for the first time.
    desk.client("claude", &["mcp", "list"]);
    desk.comes_and_goes("claude-code", "claude", ".claude.json", &["Connected"]);
}

#[test]
#[ignore = "needs peers: cargo xtask interop"]
fn codex() {
    let desk = Desk::new();
    fs::create_dir(desk.home.path().join(".codex")).unwrap();
    desk.client(
        "codex",
        &[
            "mcp", "add", "files", "--env", "A=b", "--", "npx", "-y", "x",
        ],
    );
    assert_eq!(desk.imported("codex"), pairs([("files", "npx -y x")]));
    // It starts its servers when it is asked something, and not to list them.
    desk.comes_and_goes(
        "codex",
        "codex",
        ".codex/config.toml",
        &["serve --stdio", "enabled"],
    );
}

#[test]
#[ignore = "needs peers: cargo xtask interop"]
fn gemini() {
    let desk = Desk::new();
    let trusted = serde_json::json!({ desk.project().to_str().unwrap(): "TRUST_FOLDER" });
    desk.write(".gemini/trustedFolders.json", &trusted.to_string());
    desk.client(
        "gemini",
        &["mcp", "add", "-s", "user", "files", "npx", "-y", "x"],
    );
    desk.client(
        "gemini",
        &["mcp", "add", "-s", "user", "-t", "http", "web", URL],
    );
    assert_eq!(
        desk.imported("gemini"),
        pairs([("files", "npx -y x"), ("web", URL)])
    );
    desk.write(".gemini/settings.json", "{\n  // mine\n  \"ui\": {}\n}\n");
    desk.comes_and_goes("gemini", "gemini", ".gemini/settings.json", &["Connected"]);
}

#[test]
#[ignore = "needs peers: cargo xtask interop"]
fn opencode() {
    let desk = Desk::new();
    let file = ".config/opencode/opencode.jsonc";
    desk.client(
        "opencode",
        &[
            "mcp", "add", "files", "--env", "A=b", "--", "npx", "-y", "x",
        ],
    );
    desk.client("opencode", &["mcp", "add", "web", "--url", URL]);
    assert_eq!(
        desk.imported("opencode"),
        pairs([("files", "npx -y x"), ("web", URL)])
    );
    desk.write(
        file,
        "{\n\t\"$schema\": \"https://opencode.ai/config.json\", // mine\n}\n",
    );
    desk.comes_and_goes("opencode", "opencode", file, &["connected"]);
}
