//! `import`, `connect` and `disconnect`.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use crate::fixture::{CALLGATE, Home, Ran};
use crate::terminal::Terminal;

impl Home {
    fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// All output of a command, with the paths of this machine replaced.
    fn said(&self, args: &[&str]) -> String {
        let mut command = self.command(args);
        let ran = Ran::from(command.current_dir(self.workspace()).output().unwrap());
        let text = format!("{}{}exit {}", ran.stdout, ran.stderr, ran.exit.unwrap());
        let home = self.path().to_str().unwrap();
        text.replace(home, "HOME").replace(CALLGATE, "CALLGATE")
    }
}

const CURSOR: &str = r#"{
  // Servers
  "mcpServers": {
    "files": { "command": "npx", "args": ["-y", "files", "--token", "abc"], "env": { "KEY": "secret" } },
    "web": { "url": "https://mcp.example.com/mcp?key=abc", "headers": { "Authorization": "Bearer abc" } },
    "here": { "command": "run", "args": ["${workspaceFolder}"] },
    "off": { "command": "run", "disabled": true, "color": "red" },
    "callgate": { "command": "callgate", "args": ["serve", "--stdio"] }
  }
}
"#;

#[test]
fn an_import_hides_what_the_configuration_hides() {
    let home = Home::new();
    home.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {
            "path": { "url": "https://mcp.example.com/api/s/3f2b8c1d4e5f60718293a4b5c6d7e8f9/mcp" },
            "run": { "command": "npx", "args": ["--pass", "hunter2", "-e", "MYSQL_PWD=x", "3f2b8c1d4e5f60718293a4b5c6d7e8f9", "a b"] }
        }}"#,
    );
    let shown = "npx --pass [hidden] -e MYSQL_PWD=[hidden] [hidden] 'a b'";
    for args in [
        &["import", "cursor", "--dry-run"][..],
        &["import", "cursor", "--dry-run", "--json"],
        &["setup", "--dry-run"],
        &["setup", "--dry-run", "--json"],
        &["import", "cursor"],
    ] {
        let said = home.said(args);
        assert!(said.contains(shown), "{args:?}: {said}");
        assert!(
            said.contains("https://mcp.example.com/api/s/[hidden]/mcp"),
            "{args:?}: {said}"
        );
        assert!(
            !said.contains("hunter2") && !said.contains("3f2b8c1d"),
            "{args:?}: {said}"
        );
    }
}

#[test]
fn servers_of_a_client_are_shown_and_imported() {
    let home = Home::new();
    home.write(".cursor/mcp.json", CURSOR);
    insta::assert_snapshot!(home.said(&["import", "cursor", "--dry-run"]), @r#"
    would add files: stdio npx -y files --token [hidden] (KEY)
    would add web: http https://mcp.example.com/mcp?key=[hidden] (Authorization)
    skipped here: `args` uses `${workspaceFolder}`, which only the client can fill in (HOME/.cursor/mcp.json:6)
    would add off: stdio run, turned off
      left out: `color`
    3 would be added to HOME/.config/callgate/config.json
    hint: run `callgate import cursor` to add them
    exit 0
    "#);
    assert!(!home.path().join(".config/callgate").exists());
    insta::assert_snapshot!(home.said(&["import", "cursor"]), @r"
    added files: stdio npx -y files --token [hidden] (KEY)
    added web: http https://mcp.example.com/mcp?key=[hidden] (Authorization)
    skipped here: `args` uses `${workspaceFolder}`, which only the client can fill in (HOME/.cursor/mcp.json:6)
    added off: stdio run, turned off
      left out: `color`
    3 added to HOME/.config/callgate/config.json
    warning: these values look like secrets, and are written to HOME/.config/callgate/config.json as they are: `KEY` of `files`, `Authorization` of `web`; a variable such as '${KEY}' in their place takes them from the environment
    exit 0
    ");
    let config = fs::read_to_string(home.path().join(".config/callgate/config.json")).unwrap();
    insta::assert_snapshot!(config, @r#"
    {
      "mcpServers": {
        "files": {
          "command": "npx",
          "args": ["-y", "files", "--token", "abc"],
          "env": {
            "KEY": "secret"
          }
        },
        "web": {
          "type": "http",
          "url": "https://mcp.example.com/mcp?key=abc",
          "headers": {
            "Authorization": "Bearer abc"
          }
        },
        "off": {
          "command": "run",
          "enabled": false
        }
      }
    }
    "#);
    insta::assert_snapshot!(home.said(&["import", "cursor"]), @r#"
    shadowed files: there is a definition with this name already, which is kept
    shadowed web: there is a definition with this name already, which is kept
    skipped here: `args` uses `${workspaceFolder}`, which only the client can fill in (HOME/.cursor/mcp.json:6)
    shadowed off: there is a definition with this name already, which is kept
    nothing to import
    exit 0
    "#);
    insta::assert_snapshot!(home.said(&["--json", "import", "cursor", "--dry-run"]), @r#"
    {"target":"HOME/.config/callgate/config.json","written":false,"servers":[{"client":"cursor","name":"files","action":"shadowed","transport":"stdio","target":"npx -y files --token [hidden]","file":"HOME/.cursor/mcp.json","line":4},{"client":"cursor","name":"web","action":"shadowed","transport":"http","target":"https://mcp.example.com/mcp?key=[hidden]","file":"HOME/.cursor/mcp.json","line":5},{"client":"cursor","name":"here","action":"skip","reason":"`args` uses `${workspaceFolder}`, which only the client can fill in","file":"HOME/.cursor/mcp.json","line":6},{"client":"cursor","name":"off","action":"shadowed","transport":"stdio","target":"run","file":"HOME/.cursor/mcp.json","line":7}]}
    exit 0
    "#);
}

#[test]
fn an_entry_that_our_configuration_refuses_is_skipped_and_the_others_work() {
    let home = Home::new();
    home.write(
        ".config/Code/User/mcp.json",
        r#"{ "servers": {
          "socket": { "type": "http", "url": "unix:///path/to/server.sock" },
          "files": { "command": "no-such-program" }
        } }"#,
    );
    home.write(
        ".config/zed/settings.json",
        r#"{ "context_servers": { "zed": { "url": "custom" } } }"#,
    );
    insta::assert_snapshot!(home.said(&["import", "--all"]), @"
    skipped socket: the server has a URL that is not an http(s) URL (HOME/.config/Code/User/mcp.json:2)
    added files: stdio no-such-program
    skipped zed: the server has a URL that is not an http(s) URL (HOME/.config/zed/settings.json:1)
    1 added to HOME/.config/callgate/config.json
    exit 0
    ");
    insta::assert_snapshot!(home.said(&["config", "validate"]), @"
    HOME/.config/callgate/config.json: ok, 1 server
    exit 0
    ");
}

#[test]
fn settings_that_import_leaves_out_or_cannot_know_are_named() {
    let home = Home::new();
    home.write(
        ".gemini/settings.json",
        r#"{ "mcpServers": { "a": { "command": "run", "cwd": "tools", "alwaysLoad": true } } }"#,
    );
    insta::assert_snapshot!(home.said(&["import", "gemini"]), @"
    added a: stdio run
      `cwd` is the relative path `tools`, which counts from the directory of our file here
      left out: `alwaysLoad`
    1 added to HOME/.config/callgate/config.json
    exit 0
    ");
}

#[test]
fn clients_are_listed_with_the_number_of_their_servers() {
    let home = Home::new();
    insta::assert_snapshot!(home.said(&["import"]), @r#"
    no files of other clients were found
    exit 0
    "#);
    home.write(".cursor/mcp.json", CURSOR);
    home.write(".codex/config.toml", "[mcp_servers.a]\ncommand = \"x\"\n");
    home.write(".gemini/settings.json", "{ broken");
    insta::assert_snapshot!(home.said(&["import"]), @r#"
    cursor  4 servers in HOME/.cursor/mcp.json
    codex   1 server in HOME/.codex/config.toml
    gemini  HOME/.gemini/settings.json:1: this is not JSON: Expected string for object property
    hint: run `callgate import CLIENT --dry-run` to see what would be added, or `callgate import --all`
    exit 0
    "#);
    insta::assert_snapshot!(home.said(&["import", "--all"]), @r"
    added files: stdio npx -y files --token [hidden] (KEY)
    added web: http https://mcp.example.com/mcp?key=[hidden] (Authorization)
    skipped here: `args` uses `${workspaceFolder}`, which only the client can fill in (HOME/.cursor/mcp.json:6)
    added off: stdio run, turned off
      left out: `color`
    added a: stdio x
    warning: Gemini CLI is left out: HOME/.gemini/settings.json:1: this is not JSON: Expected string for object property
    hint: correct the file, or move it away and start Gemini CLI once
    4 added to HOME/.config/callgate/config.json
    warning: these values look like secrets, and are written to HOME/.config/callgate/config.json as they are: `KEY` of `files`, `Authorization` of `web`; a variable such as '${KEY}' in their place takes them from the environment
    exit 0
    ");
    insta::assert_snapshot!(home.said(&["import", "gemini"]), @r#"
    error: HOME/.gemini/settings.json:1: this is not JSON: Expected string for object property
    hint: correct the file, or move it away and start Gemini CLI once
    exit 1
    "#);
}

#[test]
fn a_project_has_servers_of_its_own() {
    let home = Home::new();
    home.write(
        "workspace/.vscode/mcp.json",
        r#"{ "servers": { "a": { "command": "x" } } }"#,
    );
    insta::assert_snapshot!(home.said(&["import", "vscode", "--scope", "project"]), @r#"
    added a: stdio x
    1 added to HOME/workspace/.mcp.json
    exit 0
    "#);
    let written = fs::read_to_string(home.workspace().join(".mcp.json")).unwrap();
    insta::assert_snapshot!(written, @r#"
    {
      "mcpServers": {
        "a": {
          "command": "x"
        }
      }
    }
    "#);
}

/// A file with tabs, comments and a comma at the end, and without a last line end.
const TABS: &str =
    "{\n\t// mine\n\t\"mcpServers\": {\n\t\t\"a\": { \"command\": \"x\" }, // last\n\t}\n}";

#[test]
fn without_a_yes_nothing_is_written() {
    let home = Home::new();
    let path = home.write(".cursor/mcp.json", TABS);
    insta::assert_snapshot!(home.said(&["connect", "cursor", "--dry-run"]), @r#"
    HOME/.cursor/mcp.json
    @@ line 2 @@
     	***
     	"mcpServers": {
     		"a": ***
    +		"callgate": {
    +			"command": "CALLGATE",
    +			"args": ["serve", "--stdio"],
    +		},
     	}
     }
    nothing was written
    exit 0
    "#);
    insta::assert_snapshot!(home.said(&["connect", "cursor"]), @r#"
    HOME/.cursor/mcp.json
    @@ line 2 @@
     	***
     	"mcpServers": {
     		"a": ***
    +		"callgate": {
    +			"command": "CALLGATE",
    +			"args": ["serve", "--stdio"],
    +		},
     	}
     }
    error: the file of Cursor is not written without a yes, and there is no terminal to ask on
    hint: run `callgate connect cursor --yes`
    exit 1
    "#);
    assert_eq!(fs::read_to_string(&path).unwrap(), TABS);
}

#[test]
fn a_client_is_connected_and_disconnected() {
    let home = Home::new();
    let path = home.write(".cursor/mcp.json", TABS);
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    insta::assert_snapshot!(home.said(&["connect", "cursor", "--yes"]), @r#"
    HOME/.cursor/mcp.json
    @@ line 2 @@
     	***
     	"mcpServers": {
     		"a": ***
    +		"callgate": {
    +			"command": "CALLGATE",
    +			"args": ["serve", "--stdio"],
    +		},
     	}
     }
    connected Cursor (HOME/.cursor/mcp.json)
    hint: restart Cursor to use it; `callgate disconnect cursor` undoes this
    exit 0
    "#);
    let after = fs::read_to_string(&path)
        .unwrap()
        .replace(CALLGATE, "CALLGATE");
    insta::assert_snapshot!(after, @r#"
    {
    	// mine
    	"mcpServers": {
    		"a": { "command": "x" }, // last
    		"callgate": {
    			"command": "CALLGATE",
    			"args": ["serve", "--stdio"],
    		},
    	}
    }
    "#);
    insta::assert_snapshot!(home.said(&["connect", "cursor", "--yes"]), @r#"
    Cursor is connected already (HOME/.cursor/mcp.json)
    exit 0
    "#);
    insta::assert_snapshot!(home.said(&["disconnect", "cursor"]), @r#"
    disconnected Cursor: HOME/.cursor/mcp.json is as it was before
    exit 0
    "#);
    assert_eq!(fs::read_to_string(&path).unwrap(), TABS);
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o640
    );
    insta::assert_snapshot!(home.said(&["disconnect", "cursor"]), @r#"
    Cursor is not connected (HOME/.cursor/mcp.json)
    exit 0
    "#);
}

#[cfg(target_os = "linux")]
#[test]
fn files_of_older_versions_are_read_and_not_written() {
    let home = Home::new();
    let text = r#"{ "mcp": { "servers": { "a": { "command": "x" } } } }"#;
    let settings = home.write(".config/Code/User/settings.json", text);
    insta::assert_snapshot!(home.said(&["import"]), @r#"
    vscode    1 server in HOME/.config/Code/User/settings.json
    zencoder  0 servers in HOME/.config/Code/User/settings.json
    hint: run `callgate import CLIENT --dry-run` to see what would be added, or `callgate import --all`
    exit 0
    "#);
    home.said(&["connect", "vscode", "--yes"]);
    assert_eq!(fs::read_to_string(settings).unwrap(), text);
    assert!(home.path().join(".config/Code/User/mcp.json").exists());
}

#[test]
fn a_change_of_the_user_stays() {
    let home = Home::new();
    let path = home.write(".codex/config.toml", "model = \"a\" # mine\n");
    home.said(&["connect", "codex", "--yes"]);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"a\"", "\"b\"")).unwrap();
    insta::assert_snapshot!(home.said(&["disconnect", "codex"]), @r#"
    disconnected Codex: HOME/.codex/config.toml was changed since, so only our entry is removed
    exit 0
    "#);
    assert_eq!(
        fs::read_to_string(&path).unwrap().trim_end(),
        "model = \"b\" # mine"
    );
}

#[test]
fn an_entry_of_the_user_comes_back() {
    let home = Home::new();
    let text = "{ \"mcpServers\": { \"callgate\": { \"command\": \"/opt/callgate\", \"args\": [\"serve\", \"--stdio\", \"--workspace\", \"x\"] } } } // mine\n";
    let path = home.write(".cursor/mcp.json", text);
    for _ in 0..2 {
        // A second connect, in another way, keeps what the first one found.
        home.said(&["connect", "cursor", "--yes"]);
        home.said(&["connect", "cursor", "--http", "--yes"]);
        insta::allow_duplicates! {
            insta::assert_snapshot!(home.said(&["disconnect", "cursor"]), @r#"
            disconnected Cursor: HOME/.cursor/mcp.json is as it was before
            exit 0
            "#);
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    home.said(&["connect", "cursor", "--yes"]);
    let connected = fs::read_to_string(&path).unwrap();
    fs::write(&path, connected.replace("mine", "changed")).unwrap();
    insta::assert_snapshot!(home.said(&["disconnect", "cursor"]), @r#"
    disconnected Cursor: HOME/.cursor/mcp.json was changed since, so only our entry is replaced by the one that was there before
    exit 0
    "#);
    let after = fs::read_to_string(&path).unwrap();
    assert!(after.contains("/opt/callgate"), "{after}");
    assert!(after.contains("\"--workspace\""), "{after}");
    assert!(after.contains("// changed"), "{after}");
}

#[test]
fn without_its_backup_only_the_entry_is_removed() {
    let home = Home::new();
    let path = home.write(".cursor/mcp.json", TABS);
    home.said(&["connect", "cursor", "--yes"]);
    fs::remove_file(
        home.path()
            .join(".local/share/callgate/clients/cursor.backup"),
    )
    .unwrap();
    insta::assert_snapshot!(home.said(&["disconnect", "cursor"]), @r#"
    disconnected Cursor: only our entry is removed from HOME/.cursor/mcp.json, since its text before is not known
    exit 0
    "#);
    assert_eq!(fs::read_to_string(&path).unwrap(), TABS);
}

#[test]
fn a_dry_run_and_a_no_make_no_token() {
    let home = Home::new();
    home.write(".config/zed/settings.json", "{}\n");
    let connect = ["connect", "zed", "--http"];
    for args in [&connect[..], &[&connect[..], &["--dry-run"]].concat()] {
        let said = home.said(args);
        assert!(
            said.contains("+        \"Authorization\": \"Bearer ***\""),
            "{said}"
        );
        assert!(!home.path().join(".local").exists(), "{said}");
    }
    home.said(&["connect", "zed", "--http", "--yes"]);
    let token = home.run(&["token"]).stdout;
    let text = fs::read_to_string(home.path().join(".config/zed/settings.json")).unwrap();
    assert!(
        text.contains(&format!("Bearer {}\"", token.trim())),
        "{text}"
    );
    assert!(home.said(&connect).contains("Zed is connected already"));
}

/// Clients and their files on Linux.
const FILES: [(&str, &str); 14] = [
    ("claude-code", ".claude.json"),
    ("cursor", ".cursor/mcp.json"),
    ("vscode", ".config/Code/User/mcp.json"),
    ("codex", ".codex/config.toml"),
    ("gemini", ".gemini/settings.json"),
    ("opencode", ".config/opencode/opencode.jsonc"),
    ("opencode-v2", ".config/opencode/opencode.jsonc"),
    ("windsurf", ".codeium/windsurf/mcp_config.json"),
    ("zed", ".config/zed/settings.json"),
    ("cline", ".cline/data/settings/cline_mcp_settings.json"),
    ("goose", ".config/goose/config.yaml"),
    ("amp", ".config/amp/settings.json"),
    ("junie", ".junie/mcp/mcp.json"),
    ("zencoder", ".config/Code/User/settings.json"),
];

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_was_not_there_is_removed_with_its_directories() {
    for (client, path) in FILES {
        let home = Home::new();
        let path = home.path().join(path);
        let said = home.said(&["connect", client, "--yes"]);
        assert!(said.contains("exit 0"), "{client} {said}");
        assert!(
            fs::read_to_string(&path).unwrap().contains("callgate"),
            "{client}"
        );
        let said = home.said(&["disconnect", client]);
        assert!(
            said.contains("removed, since there was none before"),
            "{client} {said}"
        );
        let left: Vec<_> = fs::read_dir(home.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        let mut left: Vec<_> = left.iter().map(|name| name.to_str().unwrap()).collect();
        left.sort_unstable();
        assert_eq!(left, [".local", "workspace"], "{client}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_lines_of_our_entry_are_shown_whole() {
    for (client, path, text) in [
        (
            "opencode",
            ".config/opencode/opencode.jsonc",
            r#"{"mcp":{"a":{"type":"local","command":["x"],"enabled":true,"environment":{"K":"s3cret"}}}}"#,
        ),
        (
            "vscode",
            ".config/Code/User/mcp.json",
            r#"{"servers":{"a":{"type":"stdio","command":"x","env":{"K":"s3cret"}}}}"#,
        ),
    ] {
        let home = Home::new();
        home.write(path, text);
        let said = home.said(&["connect", client, "--dry-run"]);
        assert!(!said.contains("s3cret"), "{said}");
        let is_type = |line: &&str| line.starts_with('+') && line.trim_end().ends_with("***");
        let masked: Vec<_> = said
            .lines()
            .filter(|line| line.contains("\"type\"") || line.contains("\"enabled\""))
            .filter(is_type)
            .collect();
        assert_eq!(masked, Vec::<&str>::new(), "{said}");
        assert!(said.contains("+    \"callgate\": {"), "{said}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn links_are_followed() {
    for (client, path) in FILES {
        let home = Home::new();
        let text = if path.ends_with("json") || path.ends_with("jsonc") {
            "{}\n"
        } else {
            "\n"
        };
        let target = home.write("dotfiles/target", text);
        let link = home.path().join(path);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(&target, &link).unwrap();
        home.said(&["connect", client, "--yes"]);
        assert!(
            fs::read_to_string(&target).unwrap().contains("callgate"),
            "{client}"
        );
        home.said(&["disconnect", client]);
        assert_eq!(fs::read_to_string(&target).unwrap(), text, "{client}");
        assert_eq!(fs::read_link(&link).unwrap(), target, "{client}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_link_to_a_file_that_is_not_there_stays() {
    for (client, path) in FILES {
        let home = Home::new();
        let link = home.path().join(path);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        let target = home.path().join("dotfiles/target");
        symlink(&target, &link).unwrap();
        home.said(&["connect", client, "--yes"]);
        assert!(
            fs::read_to_string(&target).unwrap().contains("callgate"),
            "{client}"
        );
        home.said(&["disconnect", client]);
        assert!(!target.parent().unwrap().exists(), "{client}");
        assert_eq!(fs::read_link(&link).unwrap(), target, "{client}");
    }
}

#[test]
fn the_token_is_a_variable_where_the_client_has_them() {
    let home = Home::new();
    let token = home.run(&["token"]).stdout;
    insta::assert_snapshot!(home.said(&["connect", "codex", "--http", "--yes"]), @r#"
    HOME/.codex/config.toml
    @@ line 1 @@
    +[mcp_servers.callgate]
    +url = "http://127.0.0.1:3000/mcp"
    +bearer_token_env_var = "CALLGATE_TOKEN"
    connected Codex (HOME/.codex/config.toml)
    hint: restart Codex to use it; `callgate disconnect codex` undoes this
    hint: Codex reads the token from the variable CALLGATE_TOKEN: run `export CALLGATE_TOKEN="$(callgate token)"` where it starts
    hint: the server must be running: `callgate serve`
    exit 0
    "#);
    let text = fs::read_to_string(home.path().join(".codex/config.toml")).unwrap();
    assert!(!text.contains(token.trim()), "{text}");
    insta::assert_snapshot!(home.said(&["connect", "zed", "--http", "--yes"]), @r#"
    HOME/.config/zed/settings.json
    @@ line 1 @@
    +{
    +  "context_servers": {
    +    "callgate": {
    +      "url": "http://127.0.0.1:3000/mcp",
    +      "headers": {
    +        "Authorization": "Bearer ***"
    +      }
    +    }
    +  }
    +}
    connected Zed (HOME/.config/zed/settings.json)
    hint: restart Zed to use it; `callgate disconnect zed` undoes this
    warning: Zed cannot read a variable, so the file holds the token itself
    hint: the server must be running: `callgate serve`
    exit 0
    "#);
    let text = fs::read_to_string(home.path().join(".config/zed/settings.json")).unwrap();
    assert!(text.contains(token.trim()), "{text}");
    insta::assert_snapshot!(home.said(&["connect", "junie", "--http", "--yes"]), @r#"
    error: JetBrains Junie has no documented way to send a token to a server at a URL
    hint: run `callgate connect junie` without --http
    exit 1
    "#);
}

#[test]
fn mistakes_are_answered_with_the_next_step() {
    let home = Home::new();
    insta::assert_snapshot!(home.said(&["connect", "cursr"]), @r#"
    error: invalid value 'cursr' for '<CLIENT>'
      [possible values: claude-code, claude-desktop, cursor, vscode, codex, gemini, opencode, opencode-v2, windsurf, zed, cline, goose, amp, junie, zencoder]

      tip: a similar value exists: 'cursor'

    For more information, try '--help'.
    exit 1
    "#);
    insta::assert_snapshot!(home.said(&["import", "opencod"]), @r#"
    error: invalid value 'opencod' for '[CLIENT]'
      [possible values: claude-code, claude-desktop, cursor, vscode, codex, gemini, opencode, opencode-v2, windsurf, zed, cline, goose, amp, junie, zencoder]

      tip: a similar value exists: 'opencode'

    For more information, try '--help'.
    exit 1
    "#);
    insta::assert_snapshot!(home.said(&["--json", "disconnect", "cursor"]), @r#"
    {"client":"cursor","file":"HOME/.cursor/mcp.json","state":"absent"}
    exit 0
    "#);
    home.write(
        ".config/goose/config.yaml",
        "extensions: {a: {type: stdio, cmd: x}}\n",
    );
    insta::assert_snapshot!(home.said(&["connect", "goose", "--yes"]), @r#"
    error: cannot edit HOME/.config/goose/config.yaml: it is written in a way that cannot be edited without a risk for the rest; the entry would be:
      extensions:
        callgate:
          type: "stdio"
          name: "callgate"
          description: "The tools of Callgate"
          enabled: true
          cmd: "CALLGATE"
          args: ["serve","--stdio"]
          timeout: 300
    hint: correct the file and run the same command again, or add the entry by hand
    exit 1
    "#);
}

#[test]
fn variables_of_a_client_name_other_places() {
    for (client, variable, value, file) in [
        ("codex", "CODEX_HOME", "other", "other/config.toml"),
        (
            "claude-code",
            "CLAUDE_CONFIG_DIR",
            "other",
            "other/.claude.json",
        ),
        (
            "cline",
            "CLINE_MCP_SETTINGS_PATH",
            "other/mcp.json",
            "other/mcp.json",
        ),
        (
            "amp",
            "AMP_SETTINGS_FILE",
            "other/amp.json",
            "other/amp.json",
        ),
    ] {
        let home = Home::new();
        let value = home.path().join(value);
        let run = |args: &[&str]| {
            let ran = Ran::from(home.command(args).env(variable, &value).output().unwrap());
            assert_eq!(ran.exit, Some(0), "{client} {ran:?}");
        };
        run(&["connect", client, "--yes"]);
        let text = fs::read_to_string(home.path().join(file)).unwrap();
        assert!(text.contains("callgate"), "{client} {text}");
        let said = home.said(&["connect", client, "--yes"]);
        assert!(
            said.contains("is connected in another file, HOME/other/"),
            "{client} {said}"
        );
        // It is known where the entry is, whatever the variable says.
        let said = home.said(&["disconnect", client]);
        assert!(
            said.contains("removed, since there was none before"),
            "{client} {said}"
        );
        assert!(!home.path().join("other").exists(), "{client}");
    }
}

#[test]
fn programs_get_the_change_as_json() {
    let home = Home::new();
    home.write(".cursor/mcp.json", "{}\n");
    let ran = home.run(&["--json", "connect", "cursor", "--dry-run"]);
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let program = serde_json::to_string(CALLGATE).unwrap();
    let diff = format!(
        "@@ line 1 @@\n-{{}}\n+{{\n+  \"mcpServers\": {{\n+    \"callgate\": {{\n+      \"command\": {program},\n\
         +      \"args\": [\"serve\", \"--stdio\"]\n+    }}\n+  }}\n+}}\n"
    );
    let file = home.path().join(".cursor/mcp.json");
    assert_eq!(
        report,
        serde_json::json!({ "client": "cursor", "file": file, "state": "planned", "diff": diff })
    );
}

#[test]
fn on_a_terminal_connect_asks() {
    let home = Home::new();
    let path = home.write(".cursor/mcp.json", "{}\n");
    for (answer, is_written) in [("n", false), ("y", true)] {
        let mut terminal = Terminal::start(&mut home.command(&["connect", "cursor"]));
        terminal.answer("write this? [y/N] ", answer);
        terminal.expect(if is_written {
            "connected Cursor"
        } else {
            "nothing was written"
        });
        terminal.end();
        assert_eq!(fs::read_to_string(&path).unwrap() != "{}\n", is_written);
    }
}

#[test]
fn imported_secrets_and_approvals_are_named() {
    let home = Home::new();
    home.write(
        ".gemini/settings.json",
        r#"{ "mcpServers": { "a": { "command": "run", "trust": true, "description": "x", "env": { "API_KEY": "sk-0123456789abcdef0123456789" } } } }"#,
    );
    insta::assert_snapshot!(home.said(&["import", "gemini"]), @r"
    added a: stdio run (API_KEY)
      left out: the approval `trust`
    1 added to HOME/.config/callgate/config.json
    warning: these values look like secrets, and are written to HOME/.config/callgate/config.json as they are: `API_KEY` of `a`; a variable such as '${KEY}' in their place takes them from the environment
    exit 0
    ");
}
