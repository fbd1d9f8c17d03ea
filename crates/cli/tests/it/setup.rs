//! `setup` and its undo.

use crate::client_machine::{CLAUDE, CURSOR, Machine};
use crate::fixture::CALLGATE;
use crate::terminal::Terminal;

#[test]
fn all_steps_are_done_without_a_question() {
    let machine = Machine::new();
    insta::assert_snapshot!(machine.said(&["setup", "--yes"]), @r#"
    Servers of your clients
      files  Claude Code  stdio npx -y files --token [hidden] (KEY)
      web    Cursor       http https://mcp.example.com/mcp?key=[hidden]
      time   Codex        stdio uvx mcp-server-time
      skipped here: `args` uses `${workspaceFolder}`, which only the client can fill in (HOME/.cursor/mcp.json:6)
      names that are taken already: files (Cursor)
      added to HOME/.config/callgate/config.json: 3 servers

    Connect your clients to Callgate

    Claude Code: HOME/.claude.json
    @@ line 1 @@
     {
       "numStartups": ***,
       "mcpServers": {
    -    "files": ***
    +    "files": ***,
    +    "callgate": {
    +      "command": "CALLGATE",
    +      "args": ["serve", "--stdio"]
    +    }
       }
     }
      connected Claude Code

    Cursor: HOME/.cursor/mcp.json
    @@ line 3 @@
       "mcpServers": {
         "web": ***,
         "files": ***,
    -    "here": ***
    +    "here": ***,
    +    "callgate": {
    +      "command": "CALLGATE",
    +      "args": ["serve", "--stdio"]
    +    }
       }
     }
      connected Cursor

    Codex: HOME/.codex/config.toml
    @@ line 4 @@
     [mcp_servers.time]
     command = ***
     args = ***
    +
    +[mcp_servers.callgate]
    +command = "CALLGATE"
    +args = ["serve", "--stdio"]
      connected Codex

    Run Callgate in the background
      Each server then runs once for all clients, and starts before they do.
      file: HOME/.config/systemd/user/callgate.service
      command: CALLGATE serve --no-workspace
      installed and started the service

    Done. `callgate setup --undo` takes all of it back.
    warning: these values look like secrets, and are written to HOME/.config/callgate/config.json as they are: `KEY` of `files`; a variable such as '${KEY}' in their place takes them from the environment
    hint: restart your clients, then run `callgate list` to see the servers
    hint: the servers are still in the files of your clients too; remove them there when all works
    exit 0
    "#);
    insta::assert_snapshot!(machine.told(), @r#"
    --user show-environment
    --user daemon-reload
    --user reset-failed callgate.service
    --user enable --now callgate.service
    --user show --property=MainPID callgate.service
    "#);
}

#[test]
fn a_second_run_has_nothing_to_do() {
    let machine = Machine::new();
    machine.said(&["setup", "--yes"]);
    machine.told();
    let done = machine.tree();
    insta::assert_snapshot!(machine.said(&["setup", "--yes"]), @r#"
    Servers of your clients
      skipped here: `args` uses `${workspaceFolder}`, which only the client can fill in (HOME/.cursor/mcp.json:6)
      names that are taken already: files (Claude Code), web (Cursor), files (Cursor), time (Codex)
      nothing to add

    Connect your clients to Callgate
      Claude Code is connected already (HOME/.claude.json)
      Cursor is connected already (HOME/.cursor/mcp.json)
      Codex is connected already (HOME/.codex/config.toml)

    Run Callgate in the background
      the service is installed already (HOME/.config/systemd/user/callgate.service)

    Nothing is left to do.
    exit 0
    "#);
    insta::assert_snapshot!(machine.told(), @r#"
    --user is-enabled callgate.service
    --user show --property=MainPID callgate.service
    "#);
    assert_eq!(machine.tree(), done);
}

const SERVICE_ALONE: [&str; 3] = ["setup", "--yes", "--no-connect"];

#[test]
fn a_service_that_was_not_started_is_started_by_the_next_run() {
    let machine = Machine::new();
    machine.systemctl("case $* in *enable*) echo 'Job failed' >&2; exit 1 ;; esac");
    let said = machine.said(&SERVICE_ALONE);
    assert!(said.contains("the service was not started: "), "{said}");
    assert!(said.ends_with("exit 1"), "{said}");
    // As after a start that succeeded, and a process that ended.
    machine.services_end();
    let said = machine.said(&SERVICE_ALONE);
    assert!(
        said.contains("but the service does not run: its process has ended"),
        "{said}"
    );
    assert!(said.ends_with("exit 1"), "{said}");
    machine.systemctl("");
    let said = machine.said(&SERVICE_ALONE);
    assert!(said.contains("installed and started the service"), "{said}");
    assert!(said.ends_with("exit 0"), "{said}");
    let said = machine.said(&["setup", "--undo"]);
    assert!(said.contains("removed the service"), "{said}");
    assert!(!machine.path(".config/systemd").exists());
}

#[test]
fn a_service_that_was_installed_by_hand_stays() {
    let unit = ".config/systemd/user/callgate.service";
    for install in [
        &["service", "install"][..],
        &["service", "install", "--workspace", "."],
    ] {
        let machine = Machine::new();
        machine.said(install);
        machine.stop_service();
        let before = machine.read(unit);
        let said = machine.said(&SERVICE_ALONE);
        // Another command is a choice of the user.
        let expect = match install.len() {
            2 => "installed and started the service",
            _ => "the service is installed already",
        };
        assert!(said.contains(expect), "{said}");
        machine.said(&["setup", "--undo"]);
        assert_eq!(machine.read(unit), before);
    }
}

#[test]
fn a_client_that_was_connected_by_hand_stays() {
    let machine = Machine::new();
    for client in [
        &["connect", "cursor", "--http", "--yes"][..],
        &["connect", "codex", "--yes"],
    ] {
        machine.said(client);
    }
    // Written by the user, with a command of its own.
    let own =
        r#"{"mcpServers":{"callgate":{"command":"/opt/callgate","args":["serve","--stdio"]}}}"#;
    machine.write(".claude.json", own);
    let files = [".cursor/mcp.json", ".codex/config.toml", ".claude.json"];
    let before = files.map(|file| machine.read(file));
    let said = machine.said(&["setup", "--yes", "--no-service"]);
    assert!(
        said.contains("Cursor is connected already (HOME/.cursor/mcp.json)"),
        "{said}"
    );
    assert_eq!(files.map(|file| machine.read(file)), before);
    machine.said(&["setup", "--undo"]);
    assert_eq!(files.map(|file| machine.read(file)), before);
}

#[test]
fn all_steps_are_taken_back() {
    let machine = Machine::new();
    let before = machine.files();
    machine.said(&["setup", "--yes"]);
    machine.told();
    insta::assert_snapshot!(machine.read(".config/callgate/config.json"), @r#"
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
          "url": "https://mcp.example.com/mcp?key=abc"
        },
        "time": {
          "command": "uvx",
          "args": ["mcp-server-time"]
        }
      }
    }
    "#);
    insta::assert_snapshot!(machine.read(".codex/config.toml"), @r#"
    # Codex
    model = "x"

    [mcp_servers.time]
    command = "uvx"
    args = ["mcp-server-time"]

    [mcp_servers.callgate]
    command = "CALLGATE"
    args = ["serve", "--stdio"]
    "#);
    let done = machine.tree();
    insta::assert_snapshot!(machine.said(&["setup", "--undo", "--dry-run"]), @r#"
    the service would be stopped and removed
    Claude Code: HOME/.claude.json would be as it was before
    Cursor: HOME/.cursor/mcp.json would be as it was before
    Codex: HOME/.codex/config.toml would be as it was before
    configuration: HOME/.config/callgate/config.json would be removed
    exit 0
    "#);
    assert_eq!(machine.tree(), done);
    insta::assert_snapshot!(machine.said(&["setup", "--undo"]), @r#"
    removed the service
    Claude Code: HOME/.claude.json is as it was before
    Cursor: HOME/.cursor/mcp.json is as it was before
    Codex: HOME/.codex/config.toml is as it was before
    configuration: HOME/.config/callgate/config.json is removed
    exit 0
    "#);
    insta::assert_snapshot!(machine.told(), @r#"
    --user disable --now callgate.service
    --user daemon-reload
    "#);
    assert_eq!(machine.files(), before);
    insta::assert_snapshot!(machine.said(&["setup", "--undo"]), @r#"
    `setup` has done nothing here that could be undone
    exit 0
    "#);
}

#[test]
fn a_dry_run_shows_all_steps_and_writes_nothing() {
    let machine = Machine::new();
    let before = machine.tree();
    let said = machine.said(&["setup", "--dry-run"]);
    let json = machine.said(&["--json", "setup", "--dry-run", "--no-service"]);
    insta::assert_snapshot!(machine.told(), @r#"
    --user show-environment
    "#);
    assert_eq!(machine.tree(), before);
    insta::assert_snapshot!(said, @r#"
    Servers of your clients
      files  Claude Code  stdio npx -y files --token [hidden] (KEY)
      web    Cursor       http https://mcp.example.com/mcp?key=[hidden]
      time   Codex        stdio uvx mcp-server-time
      skipped here: `args` uses `${workspaceFolder}`, which only the client can fill in (HOME/.cursor/mcp.json:6)
      names that are taken already: files (Cursor)
      would be added to HOME/.config/callgate/config.json: 3 servers

    Connect your clients to Callgate

    Claude Code: HOME/.claude.json
    @@ line 1 @@
     {
       "numStartups": ***,
       "mcpServers": {
    -    "files": ***
    +    "files": ***,
    +    "callgate": {
    +      "command": "CALLGATE",
    +      "args": ["serve", "--stdio"]
    +    }
       }
     }

    Cursor: HOME/.cursor/mcp.json
    @@ line 3 @@
       "mcpServers": {
         "web": ***,
         "files": ***,
    -    "here": ***
    +    "here": ***,
    +    "callgate": {
    +      "command": "CALLGATE",
    +      "args": ["serve", "--stdio"]
    +    }
       }
     }

    Codex: HOME/.codex/config.toml
    @@ line 4 @@
     [mcp_servers.time]
     command = ***
     args = ***
    +
    +[mcp_servers.callgate]
    +command = "CALLGATE"
    +args = ["serve", "--stdio"]

    Run Callgate in the background
      Each server then runs once for all clients, and starts before they do.
      file: HOME/.config/systemd/user/callgate.service
      command: CALLGATE serve --no-workspace

    Nothing was written.
    hint: run `callgate setup` to be asked for each step, or `callgate setup --yes` to do all
    exit 0
    "#);
    insta::assert_snapshot!(json, @r#"
    {"written":false,"import":{"target":"HOME/.config/callgate/config.json","state":"planned","servers":[{"client":"claude-code","name":"files","action":"add","transport":"stdio","target":"npx -y files --token [hidden]","file":"HOME/.claude.json","line":4},{"client":"cursor","name":"web","action":"add","transport":"http","target":"https://mcp.example.com/mcp?key=[hidden]","file":"HOME/.cursor/mcp.json","line":4},{"client":"cursor","name":"files","action":"shadowed","transport":"stdio","target":"other","file":"HOME/.cursor/mcp.json","line":5},{"client":"cursor","name":"here","action":"skip","reason":"`args` uses `${workspaceFolder}`, which only the client can fill in","file":"HOME/.cursor/mcp.json","line":6},{"client":"codex","name":"time","action":"add","transport":"stdio","target":"uvx mcp-server-time","file":"HOME/.codex/config.toml","line":4}]},"clients":[{"client":"claude-code","file":"HOME/.claude.json","state":"planned","diff":"@@ line 1 @@\n {\n   \"numStartups\": ***,\n   \"mcpServers\": {\n-    \"files\": ***\n+    \"files\": ***,\n+    \"callgate\": {\n+      \"command\": \"CALLGATE\",\n+      \"args\": [\"serve\", \"--stdio\"]\n+    }\n   }\n }\n"},{"client":"cursor","file":"HOME/.cursor/mcp.json","state":"planned","diff":"@@ line 3 @@\n   \"mcpServers\": {\n     \"web\": ***,\n     \"files\": ***,\n-    \"here\": ***\n+    \"here\": ***,\n+    \"callgate\": {\n+      \"command\": \"CALLGATE\",\n+      \"args\": [\"serve\", \"--stdio\"]\n+    }\n   }\n }\n"},{"client":"codex","file":"HOME/.codex/config.toml","state":"planned","diff":"@@ line 4 @@\n [mcp_servers.time]\n command = ***\n args = ***\n+\n+[mcp_servers.callgate]\n+command = \"CALLGATE\"\n+args = [\"serve\", \"--stdio\"]\n"}]}
    exit 0
    "#);
}

#[test]
fn a_guided_start_asks_before_each_step() {
    let machine = Machine::new();
    let mut terminal = Terminal::start(&mut machine.command(&["setup"]));
    terminal.answer("config.json? [Y/n]", "");
    terminal.answer("Connect Claude Code? [Y/n]", "what");
    terminal.answer("[Y/n]", "yes");
    terminal.answer("Connect Cursor? [Y/n]", "n");
    terminal.answer("Connect Codex? [Y/n]", "");
    terminal.answer("start the service? [Y/n]", "no");
    let (said, exit) = terminal.end();
    assert_eq!(exit, Some(0));
    insta::assert_snapshot!(machine.shown(&said), @r#"
    Nothing is written before your yes to a step. Enter means yes.

    Servers of your clients
      files  Claude Code  stdio npx -y files --token [hidden] (KEY)
      web    Cursor       http https://mcp.example.com/mcp?key=[hidden]
      time   Codex        stdio uvx mcp-server-time
      skipped here: `args` uses `${workspaceFolder}`, which only the client can fill in (HOME/.cursor/mcp.json:6)
      names that are taken already: files (Cursor)
    Add 3 servers to HOME/.config/callgate/config.json? [Y/n] 
      added to HOME/.config/callgate/config.json: 3 servers
    warning: these values look like secrets, and are written to HOME/.config/callgate/config.json as they are: `KEY` of `files`; a variable such as '${KEY}' in their place takes them from the environment

    Connect your clients to Callgate

    Claude Code: HOME/.claude.json
    @@ line 1 @@
     {
       "numStartups": ***,
       "mcpServers": {
    -    "files": ***
    +    "files": ***,
    +    "callgate": {
    +      "command": "CALLGATE",
    +      "args": ["serve", "--stdio"]
    +    }
       }
     }
    Connect Claude Code? [Y/n] what
    answer with y or n, or press Enter for yes
    Connect Claude Code? [Y/n] yes
      connected Claude Code

    Cursor: HOME/.cursor/mcp.json
    @@ line 3 @@
       "mcpServers": {
         "web": ***,
         "files": ***,
    -    "here": ***
    +    "here": ***,
    +    "callgate": {
    +      "command": "CALLGATE",
    +      "args": ["serve", "--stdio"]
    +    }
       }
     }
    Connect Cursor? [Y/n] n

    Codex: HOME/.codex/config.toml
    @@ line 4 @@
     [mcp_servers.time]
     command = ***
     args = ***
    +
    +[mcp_servers.callgate]
    +command = "CALLGATE"
    +args = ["serve", "--stdio"]
    Connect Codex? [Y/n] 
      connected Codex

    Run Callgate in the background
      Each server then runs once for all clients, and starts before they do.
      file: HOME/.config/systemd/user/callgate.service
      command: CALLGATE serve --no-workspace
    Install and start the service? [Y/n] no

    Done. `callgate setup --undo` takes all of it back.
    hint: restart your clients, then run `callgate list` to see the servers
    hint: the servers are still in the files of your clients too; remove them there when all works
    "#);
    assert_eq!(machine.read(".cursor/mcp.json"), CURSOR);
    assert!(!machine.path(".config/systemd").exists());
    assert!(machine.read(".claude.json").contains("\"callgate\""));
}

#[test]
fn nothing_is_written_after_no_to_all_questions() {
    let machine = Machine::new();
    let mut terminal = Terminal::start(&mut machine.command(&["setup", "--no-service"]));
    let before = machine.tree();
    terminal.answer("config.json? [Y/n]", "n");
    terminal.answer("Connect Claude Code? [Y/n]", "n");
    terminal.answer("Connect Cursor? [Y/n]", "n");
    terminal.end_input("Connect Codex? [Y/n]");
    let (said, exit) = terminal.end();
    assert_eq!(exit, Some(0));
    assert!(said.ends_with("Nothing was written. Run `callgate setup` again at any time.\n"));
    assert_eq!(machine.tree(), before);
}

#[test]
fn without_a_terminal_the_answers_must_be_given() {
    let machine = Machine::new();
    insta::assert_snapshot!(machine.said(&["setup"]), @r#"
    error: `setup` asks before each step, and there is no terminal to ask on
    hint: run `callgate setup --dry-run` to see the steps
    hint: run `callgate setup --yes` to do them without questions
    exit 1
    "#);
}

#[test]
fn an_undo_keeps_what_was_changed_since() {
    let machine = Machine::new();
    let mine = "{\n  // mine\n  \"mcpServers\": { \"mine\": { \"command\": \"x\" } }\n}\n";
    machine.write(".config/callgate/config.json", mine);
    machine.said(&["setup", "--yes", "--no-connect", "--no-service"]);
    let config = machine.read(".config/callgate/config.json");
    machine.write(
        ".config/callgate/config.json",
        &config.replace("mcp-server-time", "mcp-server-time2"),
    );
    insta::assert_snapshot!(machine.said(&["setup", "--undo"]), @r#"
    configuration: HOME/.config/callgate/config.json was changed since; removed from it: files, web; kept, because they were changed: time
    exit 0
    "#);
    insta::assert_snapshot!(machine.read(".config/callgate/config.json"), @r#"
    {
      // mine
      "mcpServers": {
        "mine": { "command": "x" },
        "time": {
          "command": "uvx",
          "args": ["mcp-server-time2"]
        }
      }
    }
    "#);
}

#[test]
fn a_file_that_was_there_is_restored_after_two_runs() {
    let machine = Machine::new();
    let mine = "{\n  // mine\n  \"mcpServers\": { \"mine\": { \"command\": \"x\" } }\n}\n";
    machine.write(".config/callgate/config.json", mine);
    machine.said(&["setup", "--yes", "--no-connect", "--no-service"]);
    machine.write(
        ".gemini/settings.json",
        r#"{ "mcpServers": { "late": { "command": "x" } } }"#,
    );
    machine.said(&["setup", "--yes", "--no-connect", "--no-service"]);
    assert!(
        machine
            .read(".config/callgate/config.json")
            .contains("late")
    );
    machine.said(&["setup", "--undo"]);
    assert_eq!(machine.read(".config/callgate/config.json"), mine);
}

#[test]
fn a_client_with_a_broken_file_does_not_keep_the_others() {
    let machine = Machine::new();
    machine.write(".cursor/mcp.json", "{ broken");
    insta::assert_snapshot!(machine.said(&["setup", "--yes", "--no-service"]), @r#"
    Servers of your clients
      files  Claude Code  stdio npx -y files --token [hidden] (KEY)
      time   Codex        stdio uvx mcp-server-time
      added to HOME/.config/callgate/config.json: 2 servers

    Connect your clients to Callgate

    Claude Code: HOME/.claude.json
    @@ line 1 @@
     {
       "numStartups": ***,
       "mcpServers": {
    -    "files": ***
    +    "files": ***,
    +    "callgate": {
    +      "command": "CALLGATE",
    +      "args": ["serve", "--stdio"]
    +    }
       }
     }
      connected Claude Code

    Codex: HOME/.codex/config.toml
    @@ line 4 @@
     [mcp_servers.time]
     command = ***
     args = ***
    +
    +[mcp_servers.callgate]
    +command = "CALLGATE"
    +args = ["serve", "--stdio"]
      connected Codex

    Done. `callgate setup --undo` takes all of it back.
    warning: Cursor is left out: HOME/.cursor/mcp.json:1: this is not JSON: Expected string for object property
    hint: correct the file, or move it away and start Cursor once
    warning: these values look like secrets, and are written to HOME/.config/callgate/config.json as they are: `KEY` of `files`; a variable such as '${KEY}' in their place takes them from the environment
    warning: Cursor is not connected: cannot edit HOME/.cursor/mcp.json:1: Expected string for object property; the entry would be:
      {
        "mcpServers": {
          "callgate": {
            "command": "CALLGATE",
            "args": ["serve", "--stdio"]
          }
        }
      }
    hint: correct the file and run the same command again, or add the entry by hand
    hint: restart your clients, then run `callgate list` to see the servers
    hint: the servers are still in the files of your clients too; remove them there when all works
    error: not all steps of the setup were done
    hint: correct what failed, and run `callgate setup` again
    exit 1
    "#);
}

#[test]
fn where_no_service_can_run_the_other_steps_are_done() {
    let machine = Machine::new();
    machine.systemctl("echo 'Failed to connect to bus: No medium found' >&2; exit 1");
    let said = machine.said(&["setup", "--yes", "--no-connect"]);
    insta::assert_snapshot!(said, @r"
    Servers of your clients
      files  Claude Code  stdio npx -y files --token [hidden] (KEY)
      web    Cursor       http https://mcp.example.com/mcp?key=[hidden]
      time   Codex        stdio uvx mcp-server-time
      skipped here: `args` uses `${workspaceFolder}`, which only the client can fill in (HOME/.cursor/mcp.json:6)
      names that are taken already: files (Cursor)
      added to HOME/.config/callgate/config.json: 3 servers

    Run Callgate in the background
      not possible here: `systemctl --user show-environment` failed: Failed to connect to bus: No medium found
      Without it, each client starts Callgate itself.

    Done. `callgate setup --undo` takes all of it back.
    warning: these values look like secrets, and are written to HOME/.config/callgate/config.json as they are: `KEY` of `files`; a variable such as '${KEY}' in their place takes them from the environment
    hint: restart your clients, then run `callgate list` to see the servers
    hint: the servers are still in the files of your clients too; remove them there when all works
    exit 0
    ");
    assert!(!machine.path(".config/systemd").exists());
}

#[test]
fn a_part_that_cannot_be_undone_does_not_keep_the_others() {
    let machine = Machine::new();
    machine.said(&["setup", "--yes", "--no-service"]);
    let connected = machine.read(".cursor/mcp.json");
    machine.write(".cursor/mcp.json", "{ broken");
    insta::assert_snapshot!(machine.said(&["setup", "--undo"]), @r#"
    Claude Code: HOME/.claude.json is as it was before
    Codex: HOME/.codex/config.toml is as it was before
    configuration: HOME/.config/callgate/config.json is removed
    error: cannot edit HOME/.cursor/mcp.json: line 1: Expected string for object property
    hint: remove the entry `mcpServers.callgate` by hand
    hint: repair this, then run `callgate setup --undo` again
    exit 1
    "#);
    assert_eq!(machine.read(".claude.json"), CLAUDE);
    let connected = connected.replace("CALLGATE", CALLGATE);
    machine.write(".cursor/mcp.json", &connected);
    insta::assert_snapshot!(machine.said(&["setup", "--undo"]), @r#"
    Cursor: HOME/.cursor/mcp.json is as it was before
    exit 0
    "#);
    assert_eq!(machine.read(".cursor/mcp.json"), CURSOR);
}

#[test]
fn a_change_between_two_runs_stays() {
    let machine = Machine::new();
    let setup = ["setup", "--yes", "--no-connect", "--no-service"];
    machine.said(&setup);
    machine.said(&["add", "mine", "--", "run"]);
    machine.write(
        ".gemini/settings.json",
        r#"{ "mcpServers": { "late": { "command": "x" } } }"#,
    );
    machine.said(&setup);
    insta::assert_snapshot!(machine.said(&["setup", "--undo"]), @r#"
    configuration: HOME/.config/callgate/config.json was changed since; removed from it: files, web, time, late
    exit 0
    "#);
    insta::assert_snapshot!(machine.read(".config/callgate/config.json"), @r#"
    {
      "mcpServers": {
        "mine": {
          "command": "run"
        }
      }
    }
    "#);
}

#[test]
fn one_configuration_is_set_up_at_a_time() {
    let machine = Machine::new();
    machine.said(&["setup", "--yes", "--no-connect", "--no-service"]);
    let other = ["--config", "other.json", "setup", "--yes", "--no-service"];
    insta::assert_snapshot!(machine.said(&other), @r#"
    error: `setup` has added servers to another configuration, HOME/.config/callgate/config.json
    hint: run `callgate setup --undo` first, or name that file with --config
    exit 1
    "#);
    assert!(!machine.path("workspace/other.json").exists());
}
