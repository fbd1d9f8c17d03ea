use std::fs;
use std::process::{Command, Stdio};

use insta::assert_snapshot;
use serde_json::json;

use super::setup::{children, is_running, signal, wait_for};
use crate::fixture::{CALLGATE, Home, Ran, Serving};

impl Home {
    /// Calls a tool of a running `serve` as one of its clients.
    fn call_served(&self, serving: &Serving, words: &[&str]) -> Ran {
        let args = [&["call", serving.url.as_str()], words].concat();
        let token = self.run(&["token"]).stdout;
        let mut command = self.command(&args);
        Ran::from(
            command
                .env("CALLGATE_TOKEN", token.trim())
                .output()
                .unwrap(),
        )
    }

    /// Names of the tools of a running `serve`.
    fn served_tools(&self, serving: &Serving) -> Vec<String> {
        let token = self.run(&["token"]).stdout;
        let mut command = self.command(&["list", &serving.url, "--json"]);
        let ran = command
            .env("CALLGATE_TOKEN", token.trim())
            .output()
            .unwrap();
        let tools: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
        let names = tools.as_array().unwrap().iter();
        names
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    }
}

#[test]
fn configured_servers_and_built_in_tools_are_served_together() {
    let home = Home::new();
    home.configure(&json!({ "files": home.workspace_server() }));
    let serving = home.serve(&[]);
    assert_eq!(
        home.served_tools(&serving),
        [
            "workspace_list",
            "workspace_read",
            "workspace_write",
            "files_workspace_list",
            "files_workspace_read",
            "files_workspace_write",
        ]
    );
    for tool in ["workspace_list", "files_workspace_list"] {
        assert_eq!(
            home.call_served(&serving, &[tool]),
            Ran::printed("{\"path\":\".\",\"entries\":[]}\n"),
            "{tool}"
        );
    }
}

#[test]
fn the_workspace_tools_can_be_left_out() {
    let home = Home::new();
    home.configure(&json!({ "workspace": home.workspace_server() }));
    let mut command = home.command(&["serve", "--listen", "127.0.0.1:0", "--no-workspace"]);
    let serving = Serving::start(command.stderr(Stdio::null()));
    assert_eq!(home.served_tools(&serving).len(), 3);
    drop(serving);
    let ran = home.run(&["serve", "--workspace", "."]);
    assert_snapshot!(ran.stderr, @r"
    error: the configuration has a server `workspace`, which is the name of the built-in tools
    hint: give the server another name
    ");
    assert_eq!(ran.exit, Some(1));
}

#[test]
fn clients_read_nothing_that_a_server_prints() {
    let home = Home::new();
    let cases = r#"*'"method":"tools/list"'*)
        result='{"resultType":"complete","tools":[{"name":"die","inputSchema":{"type":"object"}}]}' ;;
    *'"name":"die"'*) echo "private words in $PWD" >&2; exit 3 ;;"#;
    home.configure(&json!({ "s": home.shell_definition(cases) }));
    let serving = home.serve(&[]);
    let ran = home.call_served(&serving, &["s_die"]);
    assert_eq!(
        ran.stderr.lines().next(),
        Some(
            "error: server `s` ended or closed the connection; the log of this endpoint has the cause"
        ),
        "{ran:?}"
    );
}

#[test]
fn the_reason_why_a_server_cannot_be_used_is_for_the_user_and_not_for_clients() {
    let home = Home::new();
    let cases = r#"*'"method":"tools/list"'*)
        result='{"resultType":"complete","tools":[{"name":"a","inputSchema":{"type":"object"}}]}' ;;"#;
    home.configure(&json!({ "s": home.shell_definition(cases) }));
    // Its catalog is kept, so that the tool is offered although the server fails.
    assert_eq!(home.json(&["list"])[0]["tools"], 1);
    fs::write(
        home.path().join("server.sh"),
        "echo private words >&2; exit 3",
    )
    .unwrap();
    let serving = home.serve(&[]);
    let listed = || home.json(&["list"]);
    wait_for("the failure", || listed()[0]["status"] == "failed");
    let reason = listed()[0]["reason"].to_string();
    assert!(reason.contains("private words"), "{reason}");
    let token = home.run(&["token"]).stdout;
    for args in [
        &["list", serving.url.as_str(), "--json"][..],
        &["call", serving.url.as_str(), "s_a"],
    ] {
        let mut command = home.command(args);
        let ran = command.env("CALLGATE_TOKEN", token.trim()).output();
        let ran = Ran::from(ran.unwrap());
        assert!(!format!("{ran:?}").contains("private"), "{ran:?}");
    }
}

#[test]
fn a_second_gateway_is_noticed() {
    let home = Home::new();
    let serving = home.serve(&[]);
    let address = serving.url.trim_start_matches("http://");
    let address = address.trim_end_matches("/mcp");
    let ran = home.run(&["serve", "--no-workspace", "--listen", address]);
    let expect = format!(
        "hint: `callgate serve` runs there already, as process {}\n",
        serving.pid()
    );
    assert!(ran.stderr.ends_with(&expect), "{ran:?}");
    let log = home.path().join("second.log");
    let mut command = home.command(&["serve", "--no-workspace", "--listen", "127.0.0.1:0"]);
    let _second = Serving::start(command.stderr(fs::File::create(&log).unwrap()));
    let notice = fs::read_to_string(&log).unwrap();
    let expect = format!(
        "notice: another `callgate serve` runs already, as process {} at {}; ",
        serving.pid(),
        serving.url
    );
    assert!(notice.starts_with(&expect), "{notice}");
}

#[test]
fn a_killed_server_is_back_and_disturbs_no_other() {
    let home = Home::new();
    home.configure(&json!({ "a": home.workspace_server(), "b": home.workspace_server() }));
    let serving = home.serve(&[]);
    wait_for("the start", || home.connected().len() == 2);
    let before = home.connected();
    let supervisor = before[0]["pid"].as_u64().unwrap();
    let server = children(supervisor)[0];
    signal("-KILL", server);
    // The call waits for the new process, or is sent again: the tool only reads.
    for tool in ["b_workspace_list", "a_workspace_list"] {
        assert_eq!(home.call_served(&serving, &[tool]).exit, Some(0), "{tool}");
    }
    wait_for("the restart", || {
        home.connected()
            .iter()
            .any(|process| process["restarts"] == 1)
    });
    let after = home.connected();
    assert_eq!(after[1]["pid"], before[1]["pid"]);
    assert_ne!(after[0]["pid"], before[0]["pid"]);
}

// An update replaces the program of a process that runs.
#[test]
fn a_killed_server_is_back_although_the_program_was_replaced() {
    let home = Home::new();
    home.configure(&json!({ "a": home.workspace_server() }));
    let program = home.path().join("callgate");
    fs::copy(CALLGATE, &program).unwrap();
    let mut command = Command::new(&program);
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--no-workspace"])
        .env_clear()
        .env("HOME", home.path())
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    let serving = Serving::start(&mut command);
    wait_for("the start", || home.connected().len() == 1);
    let newer = home.path().join("newer");
    fs::write(&newer, "a program that cannot be started").unwrap();
    fs::rename(&newer, &program).unwrap();
    let supervisor = home.connected()[0]["pid"].as_u64().unwrap();
    signal("-KILL", children(supervisor)[0]);
    wait_for("the restart", || {
        let processes = home.connected();
        processes.iter().any(|process| process["restarts"] == 1)
    });
    let ran = home.call_served(&serving, &["a_workspace_list"]);
    assert_eq!(ran, Ran::printed("{\"path\":\".\",\"entries\":[]}\n"));
}

#[test]
fn a_changed_configuration_is_applied_and_other_servers_stay_connected() {
    let home = Home::new();
    home.configure(&json!({ "a": home.workspace_server(), "b": home.workspace_server() }));
    let _serving = home.serve(&[]);
    wait_for("the start", || home.connected().len() == 2);
    let pid_of = |name: &str| {
        let processes = home.connected();
        let found = processes.iter().find(|process| process["server"] == name);
        found.and_then(|process| process["pid"].as_u64())
    };
    let (a, b) = (pid_of("a").unwrap(), pid_of("b"));
    home.configure(&json!({ "b": home.workspace_server(), "c": home.workspace_server() }));
    wait_for("the reload", || {
        pid_of("c").is_some() && pid_of("a").is_none()
    });
    assert_eq!(pid_of("b"), b);
    wait_for("the end of the removed server", || !is_running(a));
}

/// The files are compared with those that were read, not with those that were there a moment later.
#[test]
fn a_change_right_after_the_start_is_applied() {
    let home = Home::new();
    home.configure(&json!({}));
    let _serving = home.serve(&[]);
    home.configure(&json!({ "a": home.workspace_server() }));
    wait_for("the reload", || home.connected().len() == 1);
}

#[test]
fn a_hangup_reloads_a_service_without_a_terminal() {
    let home = Home::new();
    let nothing = home.path().join("one.json");
    let write = |servers: &serde_json::Value| {
        fs::write(&nothing, json!({ "mcpServers": servers }).to_string()).unwrap();
    };
    write(&json!({}));
    // Without `setsid` the process would have the terminal of the developer, and under `nohup` it would leave the
    // signal ignored.
    let mut command = Command::new("setsid");
    command
        .args([
            "--wait",
            "env",
            "--default-signal=HUP",
            CALLGATE,
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--config",
        ])
        .arg(&nothing)
        .arg("--no-workspace")
        .env_clear()
        .env("HOME", home.path())
        .env("PATH", std::env::var_os("PATH").unwrap())
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    let serving = Serving::start(&mut command);
    write(&json!({ "a": home.workspace_server() }));
    let run = home.path().join(".local/share/callgate/run");
    let record = fs::read_dir(run).unwrap().next().unwrap().unwrap();
    let name = record.file_name().into_string().unwrap();
    let pid: u64 = name.split('-').next().unwrap().parse().unwrap();
    signal("-HUP", pid);
    wait_for("the reload", || home.connected().len() == 1);
    signal("-TERM", pid);
    assert_eq!(serving.wait(), Some(0));
}

#[test]
fn a_server_that_never_answers_does_not_block_the_others() {
    let home = Home::new();
    home.configure(&json!({
        "files": home.workspace_server(),
        "hangs": { "command": "sleep", "args": ["3600"], "timeout": { "connect": 3_600_000 } },
    }));
    let mut command = home.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.env("PATH", std::env::var_os("PATH").unwrap());
    command.arg("--workspace").arg(home.workspace());
    let serving = Serving::start(command.stderr(Stdio::null()));
    let ran = home.call_served(&serving, &["workspace_list"]);
    assert_eq!(ran.exit, Some(0), "{ran:?}");
}

#[test]
fn a_server_that_fails_too_often_is_stopped_and_says_so() {
    let home = Home::new();
    home.configure(&json!({ "gone": { "command": "/no/such/program" } }));
    let log = home.path().join("serve.log");
    let mut command = home.command(&["serve", "--listen", "127.0.0.1:0", "--no-workspace"]);
    let _serving = Serving::start(command.stderr(fs::File::create(&log).unwrap()));
    wait_for("the stop", || {
        home.json(&["list"])[0]["stoppedAfter"] == json!(5)
    });
    let shown = home.run(&["list"]).stdout;
    assert_snapshot!(shown, @r"
    NAME  STATUS  TRANSPORT  REVISION  TOOLS  LATENCY
    gone  failed  stdio      -         -      -        cannot start server `gone`: there is no program `/no/such/program`; stopped after 5 attempts; run `callgate list gone` to try again
    ");
    let logged = || {
        let log = fs::read_to_string(&log).unwrap();
        let lines = log
            .lines()
            .filter(|line| line.contains("callgate::servers"));
        let lines: Vec<&str> = lines.map(str::trim).collect();
        lines.join("\n")
    };
    wait_for("the log", || logged().contains("stopped after"));
    assert_snapshot!(logged(), @r"
    WARN callgate::servers: server `gone` failed and is tried again: cannot start server `gone`: there is no program `/no/such/program`
    WARN callgate::servers: server `gone` is not connected: cannot start server `gone`: there is no program `/no/such/program`; stopped after 5 attempts; run `callgate list gone` to try again
    ");
    // The command that is named makes another attempt, which fails.
    assert_eq!(home.run(&["list", "gone"]).exit, Some(4));
}

#[test]
fn a_process_that_is_still_connecting_is_listed() {
    let home = Home::new();
    home.configure(&json!({
        "hangs": { "command": "/bin/sleep", "args": ["3600"], "timeout": { "connect": 3_600_000 } },
    }));
    let _serving = home.serve(&[]);
    wait_for("the start", || home.processes().len() == 1);
    let process = &home.processes()[0];
    assert_eq!(
        (&process["server"], &process["status"], &process["restarts"]),
        (&json!("hangs"), &json!("connecting"), &json!(0))
    );
    assert!(process["ageSeconds"].is_u64(), "{process}");
}

/// A `serve` in its own configuration would start itself, and that one itself again.
#[test]
fn a_serve_that_is_a_server_of_its_own_configuration_serves_the_built_in_tools_alone() {
    let home = Home::new();
    let definition = json!({
        "command": CALLGATE,
        "args": ["serve", "--stdio", "--workspace", home.workspace()],
    });
    home.configure(
        &json!({ "itself": definition, "off": { "command": "true", "disabled": true } }),
    );
    // What is known from one run is shown by the next one.
    for _ in 0..3 {
        let tools = home.json(&["list", "itself"]);
        let names: Vec<_> = tools
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        assert_eq!(
            names,
            ["workspace_list", "workspace_read", "workspace_write"]
        );
    }
}

#[test]
fn the_log_has_the_last_words_of_a_program_that_ended() {
    let home = Home::new();
    let script = "echo starting >&2; echo fatal: no key >&2; exit 3";
    home.configure(&json!({ "s": { "command": "/bin/sh", "args": ["-c", script] } }));
    let log = home.path().join("serve.log");
    let mut command = home.command(&["serve", "--listen", "127.0.0.1:0", "--no-workspace"]);
    let _serving = Serving::start(command.stderr(fs::File::create(&log).unwrap()));
    let failure = || {
        let log = fs::read_to_string(&log).unwrap();
        let mut lines = log.lines().map(str::to_owned);
        lines.find(|line| line.contains("failed and is tried again: "))
    };
    wait_for("the failure", || failure().is_some());
    let line = failure().unwrap();
    assert!(
        line.contains("end of its standard error: fatal: no key"),
        "{line}"
    );
}
