use std::fs;
use std::net::TcpListener;

use crate::fixture::{Home, Ran};

#[test]
fn a_command_is_started_asked_and_stopped() {
    let home = Home::new();
    let server = home.stdio_server();
    let call = |args: &[&str]| home.run(&[&["call", "--stdio", &server], args].concat());
    assert_eq!(
        call(&["workspace_write", "path=a/b.txt", "content=12"]),
        Ran::printed("{\"path\":\"a/b.txt\",\"bytes\":2}\n")
    );
    assert_eq!(
        call(&["workspace_read", r#"{"path":"a/b.txt"}"#]),
        Ran::printed("{\"path\":\"a/b.txt\",\"content\":\"12\",\"size\":2}\n")
    );
    assert_eq!(
        call(&["workspace_list"]),
        Ran::printed("{\"path\":\".\",\"entries\":[\"a/\"]}\n")
    );
}

#[test]
fn tools_are_listed_in_two_columns() {
    let home = Home::new();
    assert_eq!(
        home.run(&["list", "--stdio", &home.stdio_server()]),
        Ran::printed(
            "workspace_list   List the entries of a directory in the workspace; if there are more, `next_cursor` continues as `cursor`\n\
             workspace_read   Read a text file in the workspace\n\
             workspace_write  Write a text file in the workspace, with the directories that lead to it\n"
        )
    );
}

#[test]
fn a_failing_tool_is_an_error_with_an_exit_code_of_its_own() {
    let home = Home::new();
    let server = home.stdio_server();
    assert_eq!(
        home.run(&["call", "--stdio", &server, "workspace_read", "path=../x"]),
        Ran::failed(5, "error: the tool failed: path escapes workspace: ../x\n")
    );
    assert_eq!(
        home.run(&["call", "--stdio", &server, "workspace_raed", "path=x"]),
        Ran::failed(
            5,
            "error: the server has no tool `workspace_raed`\nhint: did you mean `workspace_read`?\n"
        )
    );
}

#[test]
fn an_invalid_argument_is_named() {
    let home = Home::new();
    let server = home.stdio_server();
    let ran = home.run(&["call", "--stdio", &server, "workspace_read"]);
    assert_eq!(
        (ran.exit, ran.stderr.contains("\"path\"")),
        (Some(5), true),
        "{ran:?}"
    );
    let ran = home.run(&["call", "--stdio", &server, "workspace_list", "pth=x"]);
    assert_eq!(
        ran,
        Ran::failed(
            5,
            "error: the arguments do not fit the tool `workspace_list`: Additional properties are not allowed ('pth' was unexpected)\n\
             hint: run `callgate inspect` with the same server and tool to see its arguments\n"
        )
    );
}

#[test]
fn an_unreachable_server_is_reported() {
    let home = Home::new();
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let ran = home.run(&["list", &format!("http://{free}/mcp")]);
    assert_eq!(ran.exit, Some(4), "{ran:?}");
    assert!(ran.stderr.ends_with(
        "hint: check that the server is running and the address is right, http or https included\n"
    ));

    let ran = home.run(&["list", "--stdio", "no-such-program --flag"]);
    assert_eq!(ran.exit, Some(4), "{ran:?}");
    assert!(ran.stderr.contains("no-such-program"), "{ran:?}");
    let hint = "hint: check that the program is installed and its name is right\n";
    assert!(ran.stderr.ends_with(hint), "{ran:?}");
}

#[test]
fn errors_are_one_line_of_json_on_request() {
    let home = Home::new();
    let ran = home.run(&["--json", "call", "http://127.0.0.1:1/mcp"]);
    assert_eq!(
        ran,
        Ran::failed(
            1,
            "{\"error\":{\"kind\":\"unexpected\",\"message\":\"no tool is given\",\"hints\":[\"run `callgate list` with the same server to see its tools\"]}}\n"
        )
    );
    assert_eq!(
        home.run(&["relay", "--json"]),
        Ran::failed(
            1,
            "{\"error\":{\"kind\":\"unexpected\",\"message\":\"the following required arguments were not provided: <URL>\",\"hints\":[\"run the same command with --help\"]}}\n"
        )
    );
}

#[test]
fn arguments_may_come_from_a_file() {
    let home = Home::new();
    let file = home.path().join("text");
    fs::write(&file, "from a file").unwrap();
    let argument = format!("content=@{}", file.display());
    let server = home.stdio_server();
    let ran = home.run(&[
        "call",
        "--stdio",
        &server,
        "workspace_write",
        "path=c",
        &argument,
    ]);
    assert_eq!(ran, Ran::printed("{\"path\":\"c\",\"bytes\":11}\n"));
    assert_eq!(
        fs::read_to_string(home.workspace().join("c")).unwrap(),
        "from a file"
    );
}

#[test]
fn a_result_of_structured_content_alone_is_printed() {
    let home = Home::new();
    let server = home.shell_server(
        r#"*'"method":"tools/list"'*)
            result='{"resultType":"complete","tools":[{"name":"sum","inputSchema":{"type":"object"}}]}' ;;
        *'"name":"sum"'*)
            result='{"resultType":"complete","content":[],"structuredContent":{"sum": 3}}' ;;"#,
    );
    assert_eq!(
        home.run(&["call", "--stdio", &server, "sum"]),
        Ran::printed("{\"sum\": 3}\n")
    );
}
