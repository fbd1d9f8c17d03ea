//! A machine with clients and a service manager, for `setup` and `service`.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fixture::{CALLGATE, Home, Ran};

/// A home with the files of three clients and a program `systemctl` that writes down its arguments, and for which
/// this test is the process of a service that runs.
pub(crate) struct Machine {
    home: Home,
}

/// File by which other processes see the `serve` of the service.
const SERVICE_RECORD: &str = ".local/share/callgate/run/service.json";

pub(crate) const CLAUDE: &str = r#"{
  "numStartups": 3,
  "mcpServers": {
    "files": { "type": "stdio", "command": "npx", "args": ["-y", "files", "--token", "abc"], "env": { "KEY": "secret" } }
  }
}
"#;

const CODEX: &str = "# Codex\nmodel = \"x\"\n\n[mcp_servers.time]\ncommand = \"uvx\"\nargs = [\"mcp-server-time\"]\n";

pub(crate) const CURSOR: &str = r#"{
  // Servers
  "mcpServers": {
    "web": { "url": "https://mcp.example.com/mcp?key=abc" },
    "files": { "command": "other" },
    "here": { "command": "run", "args": ["${workspaceFolder}"] }
  }
}
"#;

impl Machine {
    pub(crate) fn new() -> Self {
        let machine = Self { home: Home::new() };
        machine.write(".claude.json", CLAUDE);
        machine.write(".codex/config.toml", CODEX);
        machine.write(".cursor/mcp.json", CURSOR);
        machine.systemctl("");
        machine
    }

    /// Makes a `systemctl` whose services end as soon as they are started.
    pub(crate) fn services_end(&self) {
        self.systemctl("case $* in *show*) echo MainPID=0; exit ;; *enable*) exit ;; esac");
    }

    /// Stops the service, as after a start that failed.
    pub(crate) fn stop_service(&self) {
        fs::remove_file(self.path(SERVICE_RECORD)).unwrap();
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.home.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Makes a `systemctl` that runs `script` after it has written down its arguments. With a script that does not
    /// exit, a service that is enabled has the record of a `serve` that is this process.
    pub(crate) fn systemctl(&self, script: &str) {
        let log = self.path("workspace/systemctl.log");
        let record = self.path(SERVICE_RECORD);
        let pid = std::process::id();
        let serve = format!(
            r#"{{"process":{{"pid":{pid},"start_ticks":null}},"command":"serve","since":1,"url":"http://127.0.0.1:3000/mcp","auth":"token","servers":[]}}"#
        );
        let text = format!(
            "#!/bin/sh\necho \"$@\" >> {log}\n{script}\ncase $* in\n\
             *'enable --now'*) mkdir -p {directory}; echo '{serve}' > {record} ;;\n\
             *'disable --now'*) rm -f {record} ;;\n\
             *show\\ --property*) if [ -f {record} ]; then echo MainPID={pid}; else echo MainPID=0; fi ;;\n\
             esac\n",
            log = log.display(),
            record = record.display(),
            directory = record.parent().unwrap().display(),
        );
        self.write("bin/systemctl", &text);
        let mode = Permissions::from_mode(0o755);
        fs::set_permissions(self.path("bin/systemctl"), mode).unwrap();
    }

    /// The arguments of `systemctl` since the last look.
    pub(crate) fn told(&self) -> String {
        let log = self.path("workspace/systemctl.log");
        let told = fs::read_to_string(&log).unwrap_or_default();
        let _ = fs::remove_file(log);
        told
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.home.command(args);
        let bin = self.path("bin");
        command
            .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
            .current_dir(self.path("workspace"));
        command
    }

    /// All output of a command, with the paths of this machine replaced.
    pub(crate) fn said(&self, args: &[&str]) -> String {
        let ran = Ran::from(self.command(args).output().unwrap());
        let text = format!("{}{}exit {}", ran.stdout, ran.stderr, ran.exit.unwrap());
        self.shown(&text)
    }

    pub(crate) fn shown(&self, text: &str) -> String {
        let home = self.home.path().to_str().unwrap();
        text.replace(home, "HOME")
            .replace(CALLGATE, "CALLGATE")
            .replace(&format!("pid {}", std::process::id()), "pid PID")
    }

    /// All files and directories of the home.
    pub(crate) fn tree(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let mut tree = BTreeMap::new();
        collect(self.home.path(), &mut tree);
        tree
    }

    /// All files outside of our data directory.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let mut tree = self.tree();
        tree.retain(|path, _| !path.starts_with(self.path(".local")));
        tree
    }

    pub(crate) fn read(&self, path: &str) -> String {
        self.shown(&fs::read_to_string(self.path(path)).unwrap())
    }
}

fn collect(directory: &Path, tree: &mut BTreeMap<PathBuf, Option<Vec<u8>>>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, tree);
            tree.insert(path, None);
        } else {
            let bytes = fs::read(&path).unwrap();
            tree.insert(path, Some(bytes));
        }
    }
}
