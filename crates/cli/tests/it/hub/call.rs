use std::fs;

use insta::assert_snapshot;
use serde_json::json;

use super::setup::wait_for;
use crate::fixture::{Home, Ran};

#[test]
fn a_tool_is_named_with_its_server() {
    let home = Home::new();
    home.configure(&json!({ "files": home.workspace_server() }));
    fs::write(home.workspace().join("a"), "x").unwrap();
    for tool in [
        "files/workspace_list",
        "files.workspace_list",
        "files:workspace_list",
        "files__workspace_list",
        "files_workspace_list",
    ] {
        assert_eq!(
            home.run(&["call", tool, "path=."]),
            Ran::printed("{\"path\":\".\",\"entries\":[\"a\"]}\n"),
            "{tool}"
        );
    }
}

#[test]
fn a_server_and_its_tool_may_be_two_words() {
    let home = Home::new();
    home.configure(&json!({ "files": home.workspace_server() }));
    assert_eq!(
        home.run(&["call", "files", "workspace_list", "path=."]),
        Ran::printed("{\"path\":\".\",\"entries\":[]}\n")
    );
}

#[test]
fn a_command_that_names_a_disabled_server_uses_it() {
    let home = Home::new();
    let mut server = home.workspace_server();
    server["enabled"] = json!(false);
    home.configure(&json!({ "files": server }));
    let listed = Ran::printed("{\"path\":\".\",\"entries\":[]}\n");
    assert_eq!(home.run(&["call", "files/workspace_list"]), listed);
    assert_eq!(home.run(&["list", "files"]).exit, Some(0));
    assert_eq!(home.run(&["inspect", "files/workspace_list"]).exit, Some(0));
    // A running gateway does not have it.
    let _serving = home.serve(&[]);
    assert_eq!(home.run(&["call", "files/workspace_list"]), listed);
}

#[test]
fn arguments_that_do_not_fit_have_one_exit_code() {
    let home = Home::new();
    let cases = r#"*'"method":"tools/list"'*)
        result='{"resultType":"complete","tools":[{"name":"add","inputSchema":{"type":"object","properties":{"a":{"type":"integer"}}}}]}' ;;"#;
    home.configure(&json!({ "s": home.shell_definition(cases) }));
    for words in [&["a=x"][..], &[r#"{"a":"x"}"#]] {
        let ran = home.run(&[&["call", "s/add"], words].concat());
        assert_eq!(ran.exit, Some(5), "{ran:?}");
        assert!(
            ran.stderr
                .ends_with("hint: run `callgate inspect s/add` to see its arguments\n"),
            "{ran:?}"
        );
    }
}

#[test]
fn near_misses_are_suggested() {
    let home = Home::new();
    home.configure(&json!({ "files": home.workspace_server() }));
    for (word, exit, expect) in [
        (
            "file/workspace_list",
            1,
            "error: `file/workspace_list` is neither a configured server nor an http(s) URL\nhint: did you mean `files`?\n",
        ),
        (
            "files/workspace_lst",
            5,
            "error: server `files` has no tool `workspace_lst`\nhint: did you mean `files/workspace_list`?\n",
        ),
        (
            "files_workspace_lst",
            5,
            "error: server `files` has no tool `files_workspace_lst`\nhint: did you mean `files_workspace_list`?\n",
        ),
        (
            "files",
            1,
            "error: no tool is given\nhint: write it as `callgate call files/TOOL`; `callgate list files` shows the tools\n",
        ),
    ] {
        assert_eq!(
            home.run(&["call", word]),
            Ran::failed(exit, expect),
            "{word}"
        );
    }
}

#[test]
fn only_the_server_of_the_tool_is_started() {
    let home = Home::new();
    let started = home.path().join("started");
    home.configure(&json!({
        "files": home.workspace_server(),
        "other": { "command": "touch", "args": [started] },
    }));
    let ran = home.run(&["call", "files/workspace_list"]);
    assert_eq!(ran.exit, Some(0), "{ran:?}");
    assert!(!started.exists());
}

#[test]
fn a_server_that_cannot_be_used_is_named_with_its_reason() {
    let home = Home::new();
    home.configure(&json!({
        "gone": { "command": "/no/such/program" },
        "unset": { "command": "true", "args": ["${NO_SUCH_VARIABLE}"] },
    }));
    let ran = home.run(&["call", "gone/tool"]);
    assert_eq!(ran.exit, Some(4), "{ran:?}");
    assert_snapshot!(ran.stderr, @r"
    error: cannot start server `gone`: there is no program `/no/such/program`
    hint: see its messages: run `callgate debug gone`; see its definition: run `callgate get gone`
    ");
    let ran = home.run(&["call", "unset/tool"]);
    assert_eq!(ran.exit, Some(1), "{ran:?}");
    assert_snapshot!(ran.stderr.replace(home.path().to_str().unwrap(), "HOME"), @r"
    error: `mcpServers.unset.args[0]` of HOME/.config/callgate/config.json: the variable `NO_SUCH_VARIABLE` is not set
    hint: set it, or write a default in the file: ${NO_SUCH_VARIABLE:-default}
    ");
}

#[test]
fn variables_files_and_directories_of_a_definition_reach_the_program() {
    let home = Home::new();
    let cases = r#"*'"method":"tools/list"'*)
        result='{"resultType":"complete","tools":[{"name":"show","inputSchema":{"type":"object"}}]}' ;;
    *'"name":"show"'*)
        result="{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\",\"text\":\"$A $B $C $PWD ${SECRET-none}\"}]}" ;;"#;
    let mut server = home.shell_definition(cases);
    fs::write(
        home.path().join(".config.env"),
        "B=from-file\nC=from-file\n",
    )
    .unwrap();
    server["env"] = json!({ "A": "${OUTER}", "C": "own" });
    server["envFile"] = json!(home.path().join(".config.env"));
    server["cwd"] = json!(home.workspace());
    home.configure(&json!({ "s": server }));
    let mut command = home.command(&["call", "s/show"]);
    command.env("OUTER", "from-outside").env("SECRET", "x");
    let workspace = home.workspace().canonicalize().unwrap();
    assert_eq!(
        Ran::from(command.output().unwrap()),
        Ran::printed(&format!(
            "from-outside from-file own {} none\n",
            workspace.display()
        ))
    );
}

/// The command waits for the server only if the server ends without waiting for the command.
#[cfg(target_os = "linux")]
#[test]
fn a_call_does_not_wait_for_the_exit_of_its_server() {
    let home = Home::new();
    let cases = r#"*'"method":"tools/list"'*)
        result='{"resultType":"complete","tools":[{"name":"show","inputSchema":{"type":"object"}}]}' ;;
    *'"name":"show"'*)
        result='{"resultType":"complete","content":[{"type":"text","text":"shown"}]}' ;;"#;
    let server = home.shell_definition(cases);
    let script = home.path().join("server.sh");
    let serve = fs::read_to_string(&script).unwrap();
    // The server is a child of the supervisor, and that one of the command.
    let until_the_command_has_exited = format!(
        r#"trap '' TERM
        read -r _ _ _ command _ < "/proc/$PPID/stat"
        {serve}
        while kill -0 "$command" 2>&-; do sleep 0.01; done
        echo "the server writes to its log"
        echo "the server writes to its log" >&2
        echo ended > "$HOME/ended""#
    );
    fs::write(&script, until_the_command_has_exited).unwrap();
    home.configure(&json!({ "s": server }));
    assert_eq!(home.run(&["call", "s/show"]), Ran::printed("shown\n"));
    let ended = home.path().join("ended");
    wait_for("the end of the server", || {
        fs::read_to_string(&ended).is_ok_and(|text| text == "ended\n")
    });
    wait_for("the exit of its supervisor", || home.processes().is_empty());
}

#[test]
fn a_command_has_no_login() {
    let home = Home::new();
    home.configure(&json!({ "files": home.workspace_server() }));
    for command in ["auth", "logout"] {
        assert_eq!(
            home.run(&[command, "files"]),
            Ran::failed(
                1,
                "error: `files` is a command, which has no login\nhint: a program gets its credentials from `env` in its definition\n"
            )
        );
    }
}

/// Ids are accepted as agents see them, with the hash that a tool has beside other servers too.
#[test]
fn an_id_with_a_hash_is_accepted() {
    let home = Home::new();
    let servers = json!({ "a b": home.workspace_server(), "a_b": home.workspace_server() });
    home.configure(&servers);
    let ids = [
        "a_b_workspace_list",
        // Of `a b`, which always has the hash.
        "a_b_workspace_list_b2856c",
        // Of `a_b`, which has it if another server has the plain id.
        "a_b_workspace_list_268387",
    ];
    let check = || {
        for id in ids {
            assert_eq!(
                home.run(&["call", id, "path=."]),
                Ran::printed("{\"path\":\".\",\"entries\":[]}\n"),
                "{id}"
            );
            let tool = home.json(&["inspect", id]);
            assert_eq!(tool["name"], json!("workspace_list"), "{id}");
        }
    };
    check();
    let _serving = home.serve(&["--no-auth"]);
    check();
}

#[test]
fn a_command_line_in_the_key_of_the_program_is_explained() {
    let home = Home::new();
    home.configure(&json!({ "s": { "command": "sh -c 'exit 3'", "args": ["x"] } }));
    let hint = r#"write the program and its arguments apart: "command": "sh", "args": ["-c","exit 3","x"]"#;
    for args in [&["call", "s/tool"][..], &["doctor"]] {
        let mut command = home.command(args);
        let ran = Ran::from(command.env("PATH", "/usr/bin:/bin").output().unwrap());
        let said = format!("{}{}", ran.stdout, ran.stderr).replace("\n", " ");
        let words: Vec<&str> = said.split_whitespace().collect();
        assert!(words.join(" ").contains(hint), "{args:?}: {ran:?}");
    }
}

#[test]
fn a_server_that_fails_during_a_call_is_named_with_the_next_step() {
    let home = Home::new();
    let cases = r#"*'"method":"tools/list"'*)
        result='{"resultType":"complete","tools":[{"name":"die","inputSchema":{"type":"object"}}]}' ;;
    *'"name":"die"'*) exit 3 ;;"#;
    home.configure(&json!({ "s": home.shell_definition(cases) }));
    let ran = home.run(&["call", "s/die"]);
    assert_eq!(ran.exit, Some(4), "{ran:?}");
    assert_snapshot!(ran.stderr, @r"
    error: server `s` exited (exit status: 3)
    hint: see its messages: run `callgate debug s`
    ");
    let _serving = home.serve(&[]);
    wait_for("the start", || home.connected().len() == 1);
    let ran = home.run(&["call", "s/die"]);
    assert_eq!(ran.exit, Some(4), "{ran:?}");
    assert_snapshot!(ran.stderr, @r"
    error: server `s` ended or closed the connection; the log of this endpoint has the cause
    hint: see its messages: run `callgate debug s`
    ");
}

#[test]
fn a_resource_is_read_by_its_server_and_uri() {
    let home = Home::new();
    let cases = r#"*'"method":"resources/list"'*)
        result='{"resultType":"complete","resources":[{"uri":"notes://today","name":"today"}]}' ;;
    *'"method":"resources/templates/list"'*) result='{"resultType":"complete","resourceTemplates":[]}' ;;
    *'"uri":"notes://today"'*)
        result='{"resultType":"complete","contents":[{"uri":"notes://today","text":"buy milk"}]}' ;;"#;
    let notes = home.shell_definition(cases);
    let script = home.path().join("server.sh");
    let text = fs::read_to_string(&script).unwrap();
    fs::write(&script, text.replace("\"tools\":{}", "\"resources\":{}")).unwrap();
    let other = json!({ "command": "/no/such/program" });
    home.configure(&json!({ "notes": notes, "other": other }));
    for words in [
        &["notes", "notes://today"][..],
        &["notes", "notes://{day}", "day=today"],
        &["mcp://notes/notes://today"],
    ] {
        assert_eq!(
            home.run(&[&["read"], words].concat()),
            Ran::printed("buy milk"),
            "{words:?}"
        );
    }
    assert_eq!(
        home.run(&["read", "notes"]),
        Ran::failed(
            1,
            "error: no resource is given\nhint: run `callgate resources notes` to see the resources of the server\n"
        )
    );
}

#[test]
fn a_server_without_resources_is_named() {
    let home = Home::new();
    let cases = r#"*'"method":"tools/list"'*) result='{"resultType":"complete","tools":[]}' ;;
    *'"method":"resources/read"'*)
        printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}\n' "$id"
        continue ;;"#;
    home.configure(&json!({ "s": home.shell_definition(cases) }));
    for words in [&["nope"][..], &["s", "nope"]] {
        assert_eq!(
            home.run(&[&["read"], words].concat()),
            Ran::failed(
                5,
                "error: server `s` offers no resources\nhint: run `callgate inspect s` to see what it offers\n"
            ),
            "{words:?}"
        );
    }
}
