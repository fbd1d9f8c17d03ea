//! Files of clients, as their documentation shows them and as the clients write them where they could be installed.

use std::path::Path;

use super::places::Places;
use super::servers::in_text;
use super::table::{ClientFile, Scope, all, find};

/// All servers of a sample: their line, their definition in our form, or the reason why there is none, and the notes.
fn servers(id: &str, scope: Scope, text: &str) -> String {
    let client = find(id).unwrap();
    let places = Places::below(Path::new("/srv/me"), "macos");
    let files = client.files(scope, &places);
    let file = ClientFile {
        path: "FILE".into(),
        servers: files.last().unwrap().servers.clone(),
    };
    let mut lines = Vec::new();
    for server in in_text(client, &file, text).unwrap() {
        let (name, line) = (server.name, server.line);
        match server.entry {
            Ok(entry) => {
                lines.push(format!(
                    "{line} {name}: {}",
                    entry.definition.to_json().as_str()
                ));
                lines.extend(entry.notes.iter().map(|note| format!("  {note}")));
            }
            Err(reason) => lines.push(format!("{line} {name}: skipped: {reason}")),
        }
    }
    lines.join("\n")
}

#[test]
fn claude_code() {
    let sample = include_str!("samples/claude-code.json");
    insta::assert_snapshot!(servers("claude-code", Scope::User, sample), @r#"
    5 files: {"command":"npx","args":["-y","server-filesystem","."],"env":{"TOKEN":"abc"}}
    17 web: {"type":"http","url":"https://mcp.example.com/mcp","headers":{"X-Key":"v"}}
    24 old: {"type":"sse","url":"https://mcp.example.com/sse"}
    28 documented: {"type":"http","url":"${API_BASE_URL:-https://api.example.com}/mcp","headers":{"Authorization":"Bearer ${API_KEY}"},"headersHelper":"/opt/bin/headers.sh","oauth":{"clientId":"abc","callbackPort":8080},"timeout":600000}
    "#);
    insta::assert_snapshot!(servers("claude-code", Scope::Project, sample), @r#"50 loc: {"command":"foo","args":["bar"]}"#);
}

#[test]
fn claude_desktop() {
    let sample = include_str!("samples/claude-desktop.json");
    insta::assert_snapshot!(servers("claude-desktop", Scope::User, sample), @r#"3 filesystem: {"command":"npx","args":["-y","@modelcontextprotocol/server-filesystem","/Users/username/Desktop"],"env":{"LITERAL":"$${NOT_A_VARIABLE}"}}"#);
}

#[test]
fn cursor() {
    let sample = include_str!("samples/cursor.json");
    insta::assert_snapshot!(servers("cursor", Scope::User, sample), @r#"
    3 server-name: {"command":"npx","args":["-y","mcp-server"],"env":{"API_KEY":"${API_KEY}"},"envFile":"${HOME}/.env"}
    11 remote: {"type":"http","url":"http://localhost:3000/mcp","headers":{"API_KEY":"value"},"oauth":{"clientId":"id","clientSecret":"${SECRET}","scope":"read write"}}
    22 here: skipped: `args` uses `${workspaceFolder}`, which only the client can fill in
    "#);
}

#[test]
fn vs_code() {
    let sample = include_str!("samples/vscode.jsonc");
    insta::assert_snapshot!(servers("vscode", Scope::Project, sample), @r#"
    7 Perplexity: skipped: `env` uses `${input:perplexity-key}`, which only the client can fill in
    13 fetch: {"command":"uvx","args":["mcp-server-fetch"],"cwd":"/srv"}
      left out: `dev`
    21 github: {"type":"http","url":"https://api.githubcopilot.com/mcp/"}
    22 events: {"type":"sse","url":"https://api.example.com/sse","headers":{"VERSION":"1.2"}}
    "#);
}

#[test]
fn codex() {
    let sample = include_str!("samples/codex.toml");
    insta::assert_snapshot!(servers("codex", Scope::User, sample), @r#"
    3 files: {"command":"npx","args":["-y","x"],"env":{"A":"b"}}
    10 web: {"type":"http","url":"https://mcp.example.com/mcp","headers":{"Authorization":"Bearer ${TOK}"}}
    14 web2: {"type":"http","url":"https://mcp.example.com/mcp","oauth":{"clientId":"abc","clientSecret":"s","redirectUri":"http://127.0.0.1/callback/epMNJ6P1xGQ9"}}
    22 documented: {"command":"docs-server","env":{"API_TOKEN":"${API_TOKEN:-}","OTHER":"${OTHER:-}"},"cwd":"/srv/docs","timeout":{"connect":20000,"call":45500},"enabled":false,"allowedTools":["search","summarize"],"disabledTools":["slow"]}
    32 figma: {"type":"http","url":"https://mcp.figma.com/mcp","headers":{"X-Figma-Region":"us-east-1","X-Token":"${FIGMA_TOKEN}"}}
      left out: `required`
    "#);
}

#[test]
fn gemini() {
    let sample = include_str!("samples/gemini.json");
    insta::assert_snapshot!(servers("gemini", Scope::User, sample), @r#"
    4 files: {"command":"npx","args":["-y","x"],"env":{"A":"b"},"timeout":5000}
      left out: the approval `trust`
    16 web: {"type":"http","url":"https://mcp.example.com/mcp","headers":{"X":"y"}}
    23 old: {"type":"sse","url":"https://mcp.example.com/sse","allowedTools":["a","b"],"disabledTools":["c"]}
    34 documented: {"type":"http","url":"http://localhost:3000/mcp","headers":{"Authorization":"Bearer ${API_TOKEN}"},"oauth":{"clientId":"id","scope":"read","tokenEndpoint":"https://auth.example.com/token"}}
    "#);
}

#[test]
fn opencode() {
    let sample = include_str!("samples/opencode.jsonc");
    insta::assert_snapshot!(servers("opencode", Scope::User, sample), @r#"
    4 files: {"command":"npx","args":["-y","x"],"env":{"A":"b"}}
    15 web: {"type":"http","url":"https://mcp.example.com/mcp","headers":{"Authorization":"Bearer ${MY_API_KEY:-}"},"oauth":false,"timeout":15000,"enabled":false}
    27 sentry: {"type":"http","url":"https://mcp.sentry.dev/mcp","oauth":{"clientId":"${SENTRY_ID:-}","scope":"tools:read tools:execute"}}
    "#);
}

#[test]
fn opencode_v2() {
    let sample = include_str!("samples/opencode-v2.jsonc");
    insta::assert_snapshot!(servers("opencode-v2", Scope::User, sample), @r#"
    5 files: {"command":"npx","args":["-y","x"],"timeout":{"connect":5000,"call":7000},"enabled":false}
      `timeout`: left out: `catalog`
    12 web: {"type":"http","url":"https://mcp.example.com/mcp","oauth":{"clientId":"id","callbackPort":8080}}
    "#);
    assert_eq!(servers("opencode", Scope::User, sample), "");
}

#[test]
fn windsurf() {
    let sample = include_str!("samples/windsurf.json");
    insta::assert_snapshot!(servers("windsurf", Scope::User, sample), @r#"
    3 github: {"command":"npx","args":["-y","@modelcontextprotocol/server-github"],"env":{"GITHUB_PERSONAL_ACCESS_TOKEN":"${GITHUB_TOKEN}"},"disabledTools":["create_issue"]}
    9 remote: {"type":"http","url":"https://mcp.example.com/mcp","headers":{"API_KEY":"Bearer {file:/run/secrets/token}"},"enabled":false}
    "#);
}

#[test]
fn zed() {
    let sample = include_str!("samples/zed.jsonc");
    insta::assert_snapshot!(servers("zed", Scope::User, sample), @r#"
    4 local-mcp-server: {"command":"some-command","args":["arg-1","arg-2"],"timeout":90000}
    10 remote-mcp-server: {"type":"http","url":"https://mcp.example.com/mcp","headers":{"Authorization":"Bearer <token>"}}
    14 older: {"command":"/opt/server","args":["--stdio"],"env":{"A":"1"},"enabled":false}
    20 mcp-server-github: skipped: it is an extension of the client, which has no command or URL of its own
    "#);
}

#[test]
fn cline() {
    let sample = include_str!("samples/cline.json");
    insta::assert_snapshot!(servers("cline", Scope::User, sample), @r#"
    3 local-server: {"command":"node","args":["/path/to/server.js"],"env":{"API_KEY":"your_api_key"},"timeout":60000}
      left out: the approval `alwaysAllow`
    11 remote-server: {"type":"http","url":"https://your-server-url.com/mcp","headers":{"Authorization":"Bearer your-token"},"enabled":false}
    18 nested: {"command":"npx","args":["-y","x"],"cwd":"/srv"}
      left out: `metadata`
    "#);
}

#[test]
fn goose() {
    let sample = include_str!("samples/goose.yaml");
    insta::assert_snapshot!(servers("goose", Scope::User, sample), @r#"
    11 filesystem: {"command":"npx","args":["-y","@modelcontextprotocol/server-filesystem","/srv"],"env":{"DEPTH":"3","API_KEY":"${API_KEY}"},"timeout":300000}
      `API_KEY` is in the keychain of Goose: set the variable API_KEY where Callgate runs
    21 web: {"type":"http","url":"https://mcp.example.com/mcp","headers":{"X-Key":"v"},"enabled":false,"allowedTools":["search"]}
    "#);
}

#[test]
fn amp() {
    let sample = include_str!("samples/amp.json");
    insta::assert_snapshot!(servers("amp", Scope::User, sample), @r#"
    3 files: {"command":"npx","args":["-y","x"],"env":{"A":"b"}}
    13 web: {"type":"http","url":"https://mcp.example.com/mcp","headers":{"Authorization":"Bearer ${API_TOKEN}"},"allowedTools":["navigate_*"]}
    "#);
}

#[test]
fn junie() {
    let sample = include_str!("samples/junie.json");
    insta::assert_snapshot!(servers("junie", Scope::User, sample), @r#"3 Context7: {"command":"npx","args":["-y","@upstash/context7-mcp"]}"#);
}

#[test]
fn zencoder() {
    let sample = include_str!("samples/zencoder.jsonc");
    insta::assert_snapshot!(servers("zencoder", Scope::User, sample), @r#"4 playwright: {"command":"npx","args":["-y","@playwright/mcp@latest","--isolated","--headless"]}"#);
}

#[test]
fn a_relative_directory_is_noted_for_every_form_of_entries() {
    for (id, text) in [
        (
            "cursor",
            r#"{"mcpServers": {"a": {"command": "x", "cwd": "tools"}}}"#,
        ),
        (
            "codex",
            "[mcp_servers.a]\ncommand = \"x\"\ncwd = \"tools\"\n",
        ),
        (
            "opencode",
            r#"{"mcp": {"a": {"type": "local", "command": ["x"], "cwd": "tools"}}}"#,
        ),
        (
            "opencode-v2",
            r#"{"mcp": {"servers": {"a": {"type": "local", "command": ["x"], "cwd": "tools"}}}}"#,
        ),
        (
            "goose",
            "extensions:\n  a:\n    type: stdio\n    cmd: x\n    cwd: tools\n",
        ),
    ] {
        let said = servers(id, Scope::User, text);
        let note = "  `cwd` is the relative path `tools`, which counts from the directory of our file here";
        assert_eq!(said.lines().nth(1), Some(note), "{id} {said}");
    }
}

#[test]
fn entries_that_cannot_be_used_are_told_of_one_by_one() {
    let sample = r#"{ "mcpServers": {
        "good": { "command": "a" },
        "text": "b",
        "empty": {},
        "both": { "command": "a", "url": "https://b.example" },
        "words": { "command": ["a"] },
        "list": { "command": "a", "args": "b" },
        "strange": { "type": "websocket", "url": "wss://b.example" },
        "late": { "command": "a", "timeout": -5, "env": { "N": 1, "T": true, "O": {} } },
        "forever": { "command": "a", "timeout": 9e99 }
    } }"#;
    insta::assert_snapshot!(servers("cursor", Scope::User, sample), @r#"
    2 good: {"command":"a"}
    3 text: skipped: the entry is not an object
    4 empty: skipped: it has neither a `command` nor a `url`
    5 both: skipped: it has both a `command` and a URL
    6 words: skipped: `command` is not a text
    7 list: skipped: `args` is not a list of texts
    8 strange: skipped: the transport `websocket` is not supported
    9 late: skipped: `env` is not an object of texts
    10 forever: {"command":"a"}
      `timeout` is not a time limit that can be used, and is left out
    "#);
}

#[test]
fn a_file_of_another_form_is_an_error_with_its_line() {
    for (id, text, expect) in [
        (
            "cursor",
            "{\n  \"mcpServers\": {\n",
            "FILE:2: this is not JSON: ",
        ),
        (
            "cursor",
            "{\n  \"mcpServers\": []\n}",
            "FILE:2: `mcpServers` is not an object",
        ),
        ("codex", "a = 1\nb =\n", "FILE:2: this is not TOML: "),
        ("goose", "a: 1\n  b: 2\n", "FILE:2: this is not YAML: "),
        (
            "goose",
            "a: &x 1\nb: *x\n",
            "FILE:1: this is not YAML: anchors, aliases and tags are not supported",
        ),
    ] {
        let client = find(id).unwrap();
        let file = ClientFile {
            path: "FILE".into(),
            servers: client.servers.clone(),
        };
        let error = in_text(client, &file, text).unwrap_err().with_hints();
        assert!(error.starts_with(expect), "{error}");
    }
}

#[test]
fn deep_values_are_an_error_and_not_the_end_of_the_stack() {
    for (id, text) in [
        ("cursor", "[".repeat(200_000)),
        ("goose", format!("a: {}", "[".repeat(200_000))),
        ("codex", format!("a = {}", "[".repeat(200_000))),
    ] {
        let client = find(id).unwrap();
        assert!(client.format.parse(&text).is_err(), "{id}");
    }
}

#[test]
fn clients_have_names_of_their_own() {
    let names = all()
        .iter()
        .flat_map(|client| client.aliases.iter().chain([&client.id]));
    let mut names: Vec<_> = names.collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}

/// The rows of docs/clients.md, from the table.
fn rows() -> String {
    let paths = |locations: &[super::table::Location]| {
        let mut paths: Vec<String> = Vec::new();
        for location in locations {
            let path = location
                .path
                .replace("{home}", "~")
                .replace("{config}", "~/.config");
            let path = path.replace("{appdata}", "%APPDATA%");
            let servers = location
                .servers
                .as_ref()
                .map(|servers| format!(" (`{}`)", servers.join(".")));
            paths.push(format!("`{path}`{}", servers.unwrap_or_default()));
        }
        match paths.is_empty() {
            true => "–".to_owned(),
            false => paths.join("<br>"),
        }
    };
    let mut rows = String::new();
    for client in all() {
        let http = match client.http {
            None => "no",
            Some(super::table::TokenForm::Variable) => "yes, with a variable",
            Some(super::table::TokenForm::Literal) => "yes, with the token",
        };
        let names: Vec<_> = [&client.id]
            .into_iter()
            .chain(&client.aliases)
            .map(|name| format!("`{name}`"))
            .collect();
        rows.push_str(&format!(
            "| {} | {} | {} | {} | {} | {} | {}, `{}` | {http} | {} |\n",
            client.name,
            names.join(", "),
            paths(&client.user.linux),
            paths(&client.user.macos),
            paths(&client.user.windows),
            paths(&client.project),
            client.format.name(),
            client.servers.join("."),
            client.evidence,
        ));
    }
    rows
}

#[test]
fn the_page_about_clients_has_the_rows_of_the_table() {
    let page = include_str!("../../../../docs/clients.md");
    let rows = rows();
    assert!(
        page.contains(&rows),
        "docs/clients.md must have these rows:\n{rows}"
    );
}
