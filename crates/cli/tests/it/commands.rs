//! Help, a success and a failure of every command, as its user sees them: one file in `snapshots` for each command.
//!
//! `INSTA_UPDATE=always cargo test -p callgate --test it commands::` writes the files anew; read the difference.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::json;

use crate::fixture::{CALLGATE, Home, Ran};

/// Maximum lines of an output in a snapshot: completions and manual pages are long.
const MAX_LINES: usize = 40;

/// A server with a tool, a prompt and a resource, as cases of a shell script.
const SERVER: &str = r#"
    *'"method":"tools/list"'*) result='{"resultType":"complete","tools":[{"name":"greet","description":"Greets a person","inputSchema":{"type":"object","required":["name"],"properties":{"name":{"type":"string","description":"Person to greet"},"times":{"type":"integer","minimum":1,"default":1}}}}]}' ;;
    *'"method":"prompts/list"'*) result='{"resultType":"complete","prompts":[{"name":"review","description":"Review a file","arguments":[{"name":"file","required":true}]}]}' ;;
    *'"method":"resources/list"'*) result='{"resultType":"complete","resources":[{"uri":"notes://today","name":"today","description":"Notes of today"}]}' ;;
    *'"method":"resources/templates/list"'*) result='{"resultType":"complete","resourceTemplates":[]}' ;;
    *'"method":"prompts/get"'*) result='{"resultType":"complete","messages":[{"role":"user","content":{"type":"text","text":"Review a.rs"}}]}' ;;
    *'"uri":"notes://today"'*) result='{"resultType":"complete","contents":[{"uri":"notes://today","text":"buy milk\n"}]}' ;;
    *'"method":"resources/read"'*)
        printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no such resource"}}\n' "$id"
        continue ;;
    *'"method":"tools/call"'*) result='{"resultType":"complete","content":[{"type":"text","text":"Hello, Ada"}]}' ;;"#;

/// Lines that succeed, and lines that fail.
type Lines = &'static [&'static [&'static str]];

/// Runs of each command, in a home of its own with the server `demo`.
const COMMANDS: &[(&str, Lines, Lines)] = &[
    (
        "list",
        &[&["list"], &["list"], &["list", "demo"]],
        &[&["list", "dmo"], &["list", "nothing"]],
    ),
    (
        "inspect",
        &[&["inspect", "demo"], &["inspect", "demo/greet"]],
        &[&["inspect", "demo/gret"]],
    ),
    (
        "call",
        &[&["call", "demo/greet", "name=Ada"]],
        &[
            &["call", "demo/greet"],
            &["call", "demo/gret"],
            &["call", "demo/greet", "--json"],
        ],
    ),
    (
        "prompts",
        &[&["prompts", "demo"]],
        &[&["prompts", "nothing"]],
    ),
    (
        "prompt",
        &[&["prompt", "demo:review", "file=a.rs"]],
        &[&["prompt", "demo:review"], &["prompt", "demo:revue"]],
    ),
    (
        "resources",
        &[&["resources", "demo"]],
        &[&["resources", "nothing"]],
    ),
    (
        "read",
        &[&["read", "mcp://demo/notes://today"]],
        &[&["read", "mcp://demo/notes://toda"]],
    ),
    (
        "search",
        &[&["list"], &["search", "greet"], &["search", "nothing"]],
        &[&["search"]],
    ),
    (
        "setup",
        &[&["setup", "--dry-run"], &["setup", "--undo"]],
        &[&["setup"]],
    ),
    (
        "add",
        &[
            &["add", "web", "https://mcp.example.com/mcp"],
            &["add", "notes", "-e", "A=b", "--", "notes-server", "--all"],
        ],
        &[&["add", "demo", "https://mcp.example.com/mcp"]],
    ),
    (
        "add-json",
        &[&["add-json", "notes", r#"{"command":"notes-server"}"#]],
        &[&["add-json", "notes", r#"{"comand":"notes-server"}"#]],
    ),
    ("get", &[&["get", "demo"]], &[&["get", "dmo"]]),
    ("remove", &[&["remove", "demo"]], &[&["remove", "dmo"]]),
    (
        "enable",
        &[&["disable", "demo"], &["enable", "demo"]],
        &[&["enable", "dmo"]],
    ),
    (
        "disable",
        &[&["disable", "demo"], &["list"]],
        &[&["disable", "dmo"]],
    ),
    (
        "import",
        &[
            &["import"],
            &["import", "cursor", "--dry-run"],
            &["import", "cursor"],
        ],
        &[&["import", "nothing"]],
    ),
    (
        "config",
        &[
            &["config", "path"],
            &["config", "validate"],
            &["config", "show"],
        ],
        &[
            &["config", "trust"],
            &["config", "validate", "--config", "missing.json"],
        ],
    ),
    (
        "auth",
        &[&["auth", "list"], &["auth", "store"]],
        &[
            &["auth", "nothing"],
            &["auth", "demo"],
            &["auth", "http://127.0.0.1:1/mcp"],
            &["auth", "import"],
        ],
    ),
    (
        "logout",
        &[&["logout", "https://mcp.example.com/mcp"]],
        &[&["logout", "nothing"]],
    ),
    (
        "serve",
        &[&["serve", "--stdio"]],
        &[&["serve", "--listen", "0.0.0.0:3000"]],
    ),
    (
        "relay",
        &[&["relay", "--stdio", "true", "--serve-stdio"]],
        &[&["relay", "nothing"]],
    ),
    (
        "connect",
        &[&["connect", "cursor", "--yes"]],
        &[&["connect", "nothing"], &["connect", "codex"]],
    ),
    (
        "disconnect",
        &[
            &["connect", "cursor", "--yes"],
            &["disconnect", "cursor"],
            &["disconnect", "cursor"],
        ],
        &[&["disconnect", "nothing"]],
    ),
    (
        "service",
        &[&["service", "status"]],
        &[&["service", "install"]],
    ),
    ("ps", &[&["ps"]], &[&["ps", "nothing"]]),
    (
        "token",
        &[&["token"]],
        &[&["token", "--data-dir", "/proc/nothing"]],
    ),
    (
        "doctor",
        &[],
        &[&["add", "notes", "--", "notes-server"], &["doctor"]],
    ),
    (
        "debug",
        &[&["debug", "demo", "greet", "name=Ada"]],
        &[&["debug", "dmo"]],
    ),
    (
        "completions",
        &[&["completions", "bash"]],
        &[&["completions", "csh"]],
    ),
    (
        "man",
        &[&["man"], &["man", "ps"]],
        &[&["man", "--dir", "/proc/nothing"]],
    ),
    ("help", &[&["help", "ps"]], &[&["help", "nothing"]]),
];

#[test]
fn every_command_is_in_the_table() {
    let known: BTreeSet<&str> = COMMANDS.iter().map(|(name, ..)| *name).collect();
    let there = subcommands(&[]);
    assert_eq!(known, there.iter().map(String::as_str).collect());
}

#[test]
fn help() {
    assert_snapshot!("help-callgate", Home::new().run(&["--help"]).stdout);
    for command in subcommands(&[]).iter().filter(|name| *name != "help") {
        let mut pages = page(&[command]);
        for below in subcommands(&[command])
            .iter()
            .filter(|name| *name != "help")
        {
            pages += &page(&[command, below]);
        }
        assert_snapshot!(format!("help-{command}"), pages);
    }
}

#[test]
fn success_and_failure() {
    for (command, succeed, fail) in COMMANDS {
        let home = demo_home();
        let mut transcript = String::new();
        for (lines, fails) in [(succeed, false), (fail, true)] {
            for (index, words) in lines.iter().enumerate() {
                let ran = run(&home, words);
                // The last line is the one that the row is about; others may prepare it.
                if index + 1 == lines.len() {
                    assert_eq!(ran.exit != Some(0), fails, "{words:?}: {ran:?}");
                }
                transcript += &shown(&home, words, &ran);
            }
        }
        assert_snapshot!(*command, transcript);
    }
}

fn page(command: &[&str]) -> String {
    let words = [command, &["--help"]].concat();
    let ran = Home::new().run(&words);
    assert_eq!((ran.exit, ran.stderr.as_str()), (Some(0), ""), "{words:?}");
    let lines = ran
        .stdout
        .lines()
        .map(|line| format!("{}\n", line.trim_end()));
    format!(
        "$ callgate {}\n{}\n",
        words.join(" "),
        lines.collect::<String>()
    )
}

/// Names of the commands below another one, from its help: lines that are indented by two and begin with a word.
fn subcommands(command: &[&str]) -> BTreeSet<String> {
    let words = [command, &["--help"]].concat();
    let help = Home::new().run(&words).stdout;
    let before_options = match command {
        [] => help.split("\nOptions:").next().unwrap(),
        _ => match help.split_once("\nCommands:\n") {
            Some((_, rest)) => rest.split("\n\n").next().unwrap(),
            None => "",
        },
    };
    let names = before_options.lines().filter_map(|line| {
        let line = line.strip_prefix("  ")?;
        let name = line.split_whitespace().next()?;
        (!line.starts_with(' ')).then(|| name.to_owned())
    });
    names.collect()
}

/// A home with the server `demo`, a client that has another one, and a system without services.
fn demo_home() -> Home {
    let home = Home::new();
    home.configure(&json!({ "demo": home.shell_definition(SERVER) }));
    let script = home.path().join("server.sh");
    let text = fs::read_to_string(&script).unwrap();
    let all = r#""capabilities":{"tools":{},"prompts":{},"resources":{}}"#;
    fs::write(&script, text.replace(r#""capabilities":{"tools":{}}"#, all)).unwrap();
    let cursor =
        json!({ "mcpServers": { "notes": { "command": "notes-server", "args": ["--all"] } } });
    fs::create_dir(home.path().join(".cursor")).unwrap();
    let cursor = serde_json::to_string_pretty(&cursor).unwrap();
    fs::write(home.path().join(".cursor/mcp.json"), cursor).unwrap();
    let bin = home.path().join("bin");
    fs::create_dir(&bin).unwrap();
    for (name, script) in [
        (
            "systemctl",
            "#!/bin/sh\necho 'Failed to connect to bus' >&2\nexit 1\n",
        ),
        ("true", "#!/bin/sh\n"),
    ] {
        fs::write(bin.join(name), script).unwrap();
        fs::set_permissions(bin.join(name), Permissions::from_mode(0o755)).unwrap();
    }
    home
}

fn run(home: &Home, words: &[&str]) -> Ran {
    let mut command: Command = home.command(words);
    command
        .current_dir(home.workspace())
        .env("PATH", home.path().join("bin"));
    Ran::from(command.output().unwrap())
}

/// The line with its output as a console shows it, without what differs from run to run.
fn shown(home: &Home, words: &[&str], ran: &Ran) -> String {
    let typed: Vec<String> = words
        .iter()
        .map(|word| match word.contains(['{', ' ']) {
            true => format!("'{word}'"),
            false => (*word).to_owned(),
        })
        .collect();
    let mut text = format!("$ callgate {}\n", typed.join(" "));
    for (stream, said) in [("", &ran.stdout), ("! ", &ran.stderr)] {
        let said = steady(home, words, said);
        for line in said.lines().take(MAX_LINES) {
            text += format!("{stream}{line}").trim_end();
            text.push('\n');
        }
        if said.lines().count() > MAX_LINES {
            text += "(and so on)\n";
        }
    }
    if ran.exit != Some(0) {
        text += &format!("exit code {}\n", ran.exit.unwrap());
    }
    text + "\n"
}

fn steady(home: &Home, words: &[&str], said: &str) -> String {
    if words == ["token"] {
        assert_eq!(said.trim().is_empty(), said.is_empty());
        return said.lines().map(|_| "TOKEN\n").collect();
    }
    let said = said
        .replace(CALLGATE, "/bin/callgate")
        .replace(home.path().to_str().unwrap(), "HOME")
        .replace(env!("CARGO_PKG_VERSION"), "VERSION");
    let mut lines = Vec::new();
    for line in said.lines() {
        let parts: Vec<&str> = line.split(' ').collect();
        let mut steady: Vec<&str> = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let is_time = parts.get(index + 1).is_some_and(|next| *next == "ms");
            let is_number = !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
            if is_time && is_number {
                // A number at the start of a line is aligned to the right: the spaces before it differ as well.
                if steady.iter().all(|before| before.is_empty()) {
                    steady.clear();
                }
                steady.push("N");
            } else {
                steady.push(part);
            }
        }
        lines.push(steady.join(" "));
    }
    lines.join("\n")
}
