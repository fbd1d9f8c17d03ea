use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::fixture::{Home, Ran};

#[test]
fn without_servers_the_next_step_is_named() {
    let home = Home::new();
    assert_eq!(
        home.run(&["list"]),
        Ran {
            stdout: String::new(),
            stderr: "no servers are configured\n\
                     hint: add one: run `callgate add NAME URL` or `callgate add NAME -- COMMAND`\n"
                .to_owned(),
            exit: Some(0)
        }
    );
    assert_eq!(home.run(&["list", "--json"]), Ran::printed("[]\n"));
}

#[test]
fn servers_are_listed_with_their_state() {
    let home = Home::new();
    home.configure(&json!({
        "files": home.workspace_server(),
        "gone": { "command": "/no/such/program" },
        "off": { "command": "true", "disabled": true },
        "unset": { "command": "true", "args": ["${NO_SUCH_VARIABLE}"] },
        "web": { "url": "http://127.0.0.1:1/mcp" },
    }));
    let ran = home.run(&["list"]);
    let shown = without_latency(&ran.stdout.replace(home.path().to_str().unwrap(), "HOME"));
    assert_snapshot!(shown, @r"
    NAME   STATUS     TRANSPORT  REVISION    TOOLS  LATENCY
    files  connected  stdio      2026-07-28  3      N ms
    gone   failed     stdio      -           -      -        cannot start server `gone`: there is no program `/no/such/program`
    off    disabled   stdio      -           -      -
    unset  failed     stdio      -           -      -        `mcpServers.unset.args[0]` of HOME/.config/callgate/config.json: the variable `NO_SUCH_VARIABLE` is not set
    web    failed     http       -           -      -        cannot connect to server `web` at http://127.0.0.1:1/mcp: Connection refused (os error 111)
    ");
    assert_eq!((ran.exit, ran.stderr.as_str()), (Some(0), ""));
}

/// A program that prints a secret and ends.
fn leaking_server() -> Value {
    json!({
        "command": "/bin/sh",
        "args": ["-c", "echo starting >&2; echo \"fatal: SECRET=$SECRET bad\" >&2; exit 3"],
        "env": { "SECRET": "s3cr3t-val-123" },
    })
}

#[test]
fn secrets_that_a_server_prints_are_masked() {
    let home = Home::new();
    home.configure(&json!({ "leaks": leaking_server() }));
    for args in [
        &["list"][..],
        &["list", "--json"],
        &["list", "leaks"],
        &["call", "leaks/tool"],
        &["doctor"],
        &["doctor", "--json"],
    ] {
        let ran = home.run(args);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!said.contains("s3cr3t"), "{args:?}: {said}");
        assert!(said.contains("fatal: SECRET=*** bad"), "{args:?}: {said}");
    }
}

#[test]
fn the_reason_of_a_program_that_ended_is_what_it_said_last() {
    let home = Home::new();
    home.configure(&json!({ "leaks": leaking_server() }));
    let ran = home.run(&["list"]);
    assert!(
        ran.stdout.ends_with(
            "server `leaks` exited (exit status: 3); end of its standard error: fatal: SECRET=*** bad\n"
        ),
        "{ran:?}"
    );
}

#[test]
fn a_server_that_is_known_is_not_started_again() {
    let home = Home::new();
    let starts = home.path().join("starts");
    let cases = r#"*'"method":"tools/list"'*)
        result='{"resultType":"complete","tools":[{"name":"a","inputSchema":{"type":"object"}},{"name":"b","inputSchema":{"type":"object"}}]}' ;;"#;
    let mut server = home.shell_definition(cases);
    let script = home.path().join("server.sh");
    let text = fs::read_to_string(&script).unwrap();
    fs::write(&script, format!("echo x >> {}\n{text}", starts.display())).unwrap();
    home.configure(&json!({ "s": server.clone() }));
    let count = || {
        fs::read_to_string(&starts)
            .unwrap_or_default()
            .lines()
            .count()
    };
    let status = |args: &[&str]| {
        let list = home.json(args);
        assert_eq!(list[0]["revision"], "2026-07-28", "{args:?}");
        (list[0]["status"].clone(), list[0]["tools"].clone())
    };
    assert_eq!(status(&["list"]), (json!("connected"), json!(2)));
    assert_eq!(status(&["list"]), (json!("idle"), json!(2)));
    assert_eq!(count(), 1);
    assert_eq!(
        status(&["list", "--refresh"]),
        (json!("connected"), json!(2))
    );
    assert_eq!(count(), 2);

    // Another filter is another definition, which is asked once.
    server["allowedTools"] = json!(["a"]);
    home.configure(&json!({ "s": server }));
    assert_eq!(status(&["list"]), (json!("connected"), json!(1)));
    assert_eq!(status(&["list"]), (json!("idle"), json!(1)));
}

#[test]
fn the_tools_of_a_configured_server_have_their_own_names() {
    let home = Home::new();
    let mut server = home.workspace_server();
    server["disabledTools"] = json!(["*_write"]);
    server["tools"] = json!({ "workspace_list": { "name": "ls", "description": "List files" } });
    home.configure(&json!({ "files": server }));
    assert_eq!(
        home.run(&["list", "files"]),
        Ran::printed(
            "ls              List files\nworkspace_read  Read a text file in the workspace\n"
        )
    );
    assert_eq!(
        home.run(&["list", "fils"]),
        Ran::failed(
            1,
            "error: `fils` is neither a configured server nor an http(s) URL\nhint: did you mean `files`?\n"
        )
    );
}

#[test]
fn servers_of_a_project_that_is_not_trusted_are_shown_and_not_started() {
    let home = Home::new();
    let started = home.path().join("started");
    let project = json!({ "mcpServers": { "p": { "command": "touch", "args": [started] } } });
    fs::write(home.workspace().join(".mcp.json"), project.to_string()).unwrap();
    let mut command = home.command(&["list", "--json"]);
    let ran = Ran::from(command.current_dir(home.workspace()).output().unwrap());
    let list: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (&list[0]["name"], &list[0]["status"]),
        (&json!("p"), &json!("untrusted"))
    );
    let mut command = home.command(&["call", "p/x"]);
    let ran = Ran::from(command.current_dir(home.workspace()).output().unwrap());
    assert_eq!(ran.exit, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("is not trusted"), "{ran:?}");
    assert!(!started.exists());
}

/// A server of an old revision that has a second tool for clients with a model, and resources without templates.
const OLD_SERVER: &str = r#"
    while read -r line; do
        id=${line#*\"id\":}
        id=${id%%,*}
        outcome=result
        case $line in
            *'"method":"initialize"'*)
                case $line in
                    *'"sampling"'*) more=',{"name":"b","inputSchema":{"type":"object"}}' ;;
                esac
                value='{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
            *'"method":"tools/list"'*)
                value="{\"tools\":[{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\"}}$more]}" ;;
            *'"method":"resources/list"'*) value='{"resources":[{"uri":"x://a","name":"a"}]}' ;;
            *'"method":"tools/call"'*) value='{"content":[{"type":"text","text":"answer"}]}' ;;
            *'"method":"notifications/'*) continue ;;
            *) outcome=error value='{"code":-32601,"message":"Method not found"}' ;;
        esac
        printf '{"jsonrpc":"2.0","id":%s,"%s":%s}\n' "$id" "$outcome" "$value"
    done
"#;

fn old_server(home: &Home) {
    let script = home.path().join("old.sh");
    fs::write(&script, OLD_SERVER).unwrap();
    home.configure(&json!({ "s": { "command": "/bin/sh", "args": [script] } }));
}

#[test]
fn commands_agree_on_the_tools_of_a_server_whatever_they_declare() {
    let home = Home::new();
    old_server(&home);
    let count = || home.json(&["list"])[0]["tools"].clone();
    // A call declares neither a model nor roots, so the server offers it less.
    assert_eq!(home.run(&["call", "s/a"]), Ran::printed("answer\n"));
    assert_eq!(count(), json!(2));
    assert_eq!(home.run(&["call", "s/a"]), Ran::printed("answer\n"));
    assert_eq!(count(), json!(2));
    assert_eq!(home.run(&["list", "s"]), Ran::printed("a\nb\n"));
    assert_eq!(count(), json!(2));
}

#[test]
fn a_server_without_templates_is_known_after_it_was_listed_once() {
    let home = Home::new();
    old_server(&home);
    let status = || {
        let ran = home.run(&["list", "--json"]);
        let list: Value = serde_json::from_str(&ran.stdout).unwrap();
        (list[0]["status"].clone(), ran.stderr)
    };
    assert_eq!(status(), (json!("connected"), String::new()));
    assert_eq!(status(), (json!("idle"), String::new()));
    let resources = home.json(&["resources"]);
    assert_eq!(resources["resources"][0]["uri"], json!("x://a"));
}

/// The table without the numbers that differ from run to run.
fn without_latency(table: &str) -> String {
    // The longest latency decides about the width of its column.
    let widths = table
        .lines()
        .map(|line| match line.split_once(" -      -  ") {
            Some((before, after)) => format!("{before} -      -        {}", after.trim_start()),
            None => line.to_owned(),
        });
    let lines = widths.map(|line| match line.split_once(" ms") {
        Some((before, after)) => {
            let before = before.trim_end_matches(|c: char| c.is_ascii_digit());
            format!("{before}N ms{after}").trim_end().to_owned()
        }
        None => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Names of tools depend on the configuration, not on the servers that a command connects.
#[test]
fn a_command_that_connects_one_server_names_its_tools_as_beside_the_others() {
    let home = Home::new();
    let servers = json!({ "x": home.workspace_server(), "x_workspace": home.workspace_server() });
    home.configure(&servers);
    home.run(&["list", "x"]);
    let catalogs = home.path().join(".local/share/callgate/catalogs");
    let catalogs: Vec<Value> = fs::read_dir(catalogs)
        .unwrap()
        .map(|entry| serde_json::from_slice(&fs::read(entry.unwrap().path()).unwrap()).unwrap())
        .collect();
    let marked: Vec<_> = catalogs.iter().map(|it| &it["outrankedTools"]).collect();
    // `x_workspace_list` could be the tool `list` of `x_workspace`.
    assert_eq!(
        marked,
        [&json!([
            "workspace_list",
            "workspace_read",
            "workspace_write"
        ])]
    );
}
