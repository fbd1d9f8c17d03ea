use std::fs;

use serde_json::json;

use super::setup::wait_for;
use crate::fixture::{CALLGATE, Home, Ran};

/// A home with a server that counts its starts.
fn counting_home() -> (Home, impl Fn() -> usize) {
    let home = Home::new();
    let starts = home.path().join("starts");
    let cases = r#"*'"method":"tools/list"'*)
        result='{"resultType":"complete","tools":[{"name":"a","inputSchema":{"type":"object"}}]}' ;;
    *'"name":"a"'*) result='{"resultType":"complete","content":[{"type":"text","text":"answer"}]}' ;;"#;
    let server = home.shell_definition(cases);
    let script = home.path().join("server.sh");
    let text = fs::read_to_string(&script).unwrap();
    fs::write(&script, format!("echo x >> {}\n{text}", starts.display())).unwrap();
    home.configure(&json!({ "s": server }));
    let count = move || {
        fs::read_to_string(&starts)
            .unwrap_or_default()
            .lines()
            .count()
    };
    (home, count)
}

#[test]
fn commands_use_the_servers_of_a_running_gateway() {
    let (home, starts) = counting_home();
    let _serving = home.serve(&[]);
    wait_for("the start", || home.connected().len() == 1);
    assert_eq!(home.run(&["call", "s/a"]), Ran::printed("answer\n"));
    assert_eq!(home.run(&["list", "s"]), Ran::printed("a\n"));
    assert_eq!(home.json(&["list"])[0]["status"], json!("connected"));
    assert_eq!(starts(), 1);
    assert_eq!(
        home.run(&["call", "--direct", "s/a"]),
        Ran::printed("answer\n")
    );
    assert_eq!(starts(), 2);
}

#[test]
fn a_stdio_server_attaches_and_has_a_workspace_of_its_own() {
    let (home, starts) = counting_home();
    let serving = home.serve(&["--no-auth"]);
    wait_for("the start", || home.connected().len() == 1);
    let other = home.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("mine"), "").unwrap();
    let stdio = format!("{CALLGATE} serve --stdio --workspace {}", other.display());
    let call = |tool: &str| home.run(&["call", "--stdio", &stdio, tool]);
    assert_eq!(call("s_a"), Ran::printed("answer\n"));
    assert_eq!(
        call("workspace_list"),
        Ran::printed("{\"path\":\".\",\"entries\":[\"mine\"]}\n")
    );
    assert_eq!(starts(), 1);
    // Without the gateway it connects the servers itself.
    drop(serving);
    assert_eq!(call("s_a"), Ran::printed("answer\n"));
    assert_eq!(starts(), 2);
}

#[test]
fn another_configuration_is_not_served_by_the_gateway() {
    let (home, starts) = counting_home();
    let _serving = home.serve(&[]);
    wait_for("the start", || home.connected().len() == 1);
    let config = home.path().join(".config/callgate/config.json");
    let mut other: serde_json::Value = serde_json::from_slice(&fs::read(config).unwrap()).unwrap();
    other["mcpServers"]["s"]["env"] = json!({ "X": "1" });
    let file = home.path().join("other.json");
    fs::write(&file, other.to_string()).unwrap();
    let ran = home.run(&["--config", file.to_str().unwrap(), "call", "s/a"]);
    assert_eq!(ran, Ran::printed("answer\n"));
    assert_eq!(starts(), 2);
}

#[test]
fn the_record_of_a_killed_process_is_swept() {
    let (home, _) = counting_home();
    let serving = home.serve(&[]);
    wait_for("the start", || home.connected().len() == 1);
    let run = home.path().join(".local/share/callgate/run");
    assert_eq!(fs::read_dir(&run).unwrap().count(), 1);
    // Dropping it kills the process, which cannot remove its record.
    drop(serving);
    assert_eq!(home.run(&["call", "s/a"]), Ran::printed("answer\n"));
    // The server of the command has a record until it has exited.
    wait_for("its exit", || home.processes().is_empty());
    assert_eq!(fs::read_dir(&run).unwrap().count(), 0);
}

#[test]
fn a_server_that_is_still_connecting_is_waited_for_as_long_as_the_command_says() {
    let home = Home::new();
    home.configure(&json!({
        "hangs": { "command": "/bin/sleep", "args": ["3600"], "timeout": { "connect": 3_600_000 } },
    }));
    let serving = home.serve(&[]);
    let error = "error: server `hangs` did not connect within 1 s\n\
                 hint: give it more time with --timeout SECONDS, or run `callgate debug hangs` to see what it does\n";
    let commands: [&[&str]; 6] = [
        &["call", "hangs/x"],
        &["list", "hangs"],
        &["inspect", "hangs"],
        &["prompts", "hangs"],
        &["resources", "hangs"],
        &["read", "mcp://hangs/x"],
    ];
    for command in commands {
        let ran = home.run(&[command, &["--timeout", "1"]].concat());
        assert_eq!(ran, Ran::failed(4, error), "{command:?}");
    }
    // Without a gateway the first request of the connection has no more time either.
    drop(serving);
    let ran = home.run(&["list", "hangs", "--timeout", "1"]);
    assert_eq!(ran.exit, Some(4), "{ran:?}");
}
