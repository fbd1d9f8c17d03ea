use std::fs;
use std::io;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::fixture::{Home, Ran};

/// Standard error of a command that fails with exit code 1.
fn check(args: &[&str], expect: &str) {
    assert_eq!(Home::new().run(args), Ran::failed(1, expect), "{args:?}");
}

#[test]
fn a_server_is_a_url_or_a_command() {
    for args in [
        &["list", "localhost:3000/mcp"][..],
        &["call", "localhost:3000/mcp", "tool"],
        &["call", "localhost:3000/mcp"],
    ] {
        let error =
            "error: `localhost:3000/mcp` is neither a configured server nor an http(s) URL\n";
        let hint = "hint: begin a URL with http:// or https://\n";
        check(args, &format!("{error}{hint}"));
    }
    check(
        &["relay", "localhost:3000/mcp"],
        "error: `localhost:3000/mcp` is not an http(s) URL\n\
         hint: begin a URL with http:// or https://; for a server that is a command, use --stdio COMMAND\n",
    );
    check(
        &["call", "files/read"],
        "error: `files/read` is neither a configured server nor an http(s) URL\n\
         hint: run `callgate list` to see the configured servers; begin a URL with http:// or https://, \
         and for a server that is a command, use --stdio COMMAND\n",
    );
}

#[test]
fn an_address_to_listen_on_has_numbers() {
    check(
        &["serve", "--listen", "localhost:3000"],
        "error: invalid value 'localhost:3000' for '--listen <ADDRESS>': \
         write it as IP:PORT, for example 127.0.0.1:3000\n\nFor more information, try '--help'.\n",
    );
}

#[test]
fn options_of_http_are_refused_for_stdio() {
    for (option, value) in [("--scope", "<SCOPE>"), ("--resource", "<URL>")] {
        check(
            &["serve", "--stdio", option, "x"],
            &format!(
                "error: the argument '--stdio' cannot be used with '{option} {value}'\n\n\
                 Usage: callgate serve --stdio\n\nFor more information, try '--help'.\n"
            ),
        );
    }
}

#[test]
fn a_file_that_is_not_there_is_told_from_one_without_logins() {
    check(
        &["auth", "import", "/no/such/file"],
        "error: `/no/such/file` does not exist\n\
         hint: name the file mcp-auth.json of OpenCode\n",
    );
}

#[test]
fn a_reader_that_has_enough_is_no_error() {
    let home = Home::new();
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let mut command = home.command(&["token"]);
    let child = command.stdout(writer).stderr(Stdio::piped());
    let child = child.spawn().unwrap();
    assert_eq!(
        Ran::from(child.wait_with_output().unwrap()),
        Ran::printed("")
    );
}

#[test]
fn one_faulty_entry_leaves_the_other_servers_usable() {
    let home = Home::new();
    let directory = home.path().join(".config/callgate");
    fs::create_dir_all(&directory).unwrap();
    let good = home.stdio_server();
    let words: Vec<&str> = good.split(' ').collect();
    let config = json!({ "mcpServers": {
        "good": { "command": words[0], "args": words[1..] },
        "bad": { "url": "custom" },
    } });
    fs::write(directory.join("config.json"), config.to_string()).unwrap();
    let file = directory.join("config.json");
    let mistake = format!(
        "{}:1: `mcpServers.bad` has a URL that is not an http(s) URL",
        file.display()
    );
    let ran = home.run(&["list", "--json"]);
    let listed: Value = serde_json::from_str(&ran.stdout).unwrap();
    let states: Vec<_> = ["0", "1"]
        .iter()
        .map(|at| {
            let server = &listed[at.parse::<usize>().unwrap()];
            (&server["name"], &server["status"], &server["reason"])
        })
        .collect();
    assert_eq!(
        states,
        [
            (&json!("good"), &json!("connected"), &Value::Null),
            (&json!("bad"), &json!("failed"), &json!(mistake)),
        ]
    );
    for args in [&["list", "bad"][..], &["call", "bad/tool"], &["get", "bad"]] {
        let hint = "begin it with http:// or https://; for a program, use `command`";
        let expect = format!("error: {mistake}\nhint: {hint}\n");
        assert_eq!(home.run(args), Ran::failed(1, &expect), "{args:?}");
    }
    assert_eq!(home.run(&["config", "validate"]).exit, Some(1));
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_said_to_be_so() {
    let home = Home::new();
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = home.command(&["token"]);
    let child = command.stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    assert_eq!(
        Ran::from(child.wait_with_output().unwrap()),
        Ran::failed(
            1,
            "error: cannot write the output: No space left on device (os error 28)\n\
             hint: free space on that disk, or in your share of it\n"
        )
    );
}
