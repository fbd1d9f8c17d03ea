use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::fixture::{CALLGATE, Home, Ran};

#[test]
fn clients_must_send_the_token() {
    let home = Home::new();
    let serving = home.serve(&[]);
    let ran = home.run(&["list", &serving.url]);
    assert_eq!(ran.exit, Some(3), "{ran:?}");
    assert!(ran.stderr.contains("hint: or send a token"), "{ran:?}");

    let token = home.run(&["token"]).stdout;
    let call = ["call", &serving.url, "workspace_list"];
    let ran = home
        .command(&call)
        .env("CALLGATE_TOKEN", token.trim())
        .output()
        .unwrap();
    assert_eq!(
        Ran::from(ran),
        Ran::printed("{\"path\":\".\",\"entries\":[]}\n")
    );
    let file = home.path().join(".local/share/callgate/token");
    let ran = home.run(&[&call[..], &["--token-file", file.to_str().unwrap()]].concat());
    assert_eq!(ran.exit, Some(0), "{ran:?}");
}

#[test]
fn the_token_and_the_address_are_json_on_request() {
    let home = Home::new();
    let token = home.run(&["token"]).stdout;
    assert_eq!(
        home.run(&["token", "--json"]),
        Ran::printed(&format!("{{\"token\":\"{}\"}}\n", token.trim()))
    );
    let mut command = home.command(&["serve", "--json", "--listen", "127.0.0.1:0"]);
    let mut server = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(server.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(line.starts_with("{\"url\":\"http://127.0.0.1:"), "{line}");
    assert!(line.ends_with("/mcp\"}\n"), "{line}");
}

#[test]
fn with_no_auth_every_process_of_the_machine_may_call() {
    let home = Home::new();
    let serving = home.serve(&["--no-auth"]);
    assert_eq!(home.run(&["list", &serving.url]).exit, Some(0));
}

#[test]
fn a_start_removes_the_temporary_files_of_killed_writes() {
    let home = Home::new();
    let left = home
        .workspace()
        .join(".callgate-write-0123456789abcdef.tmp");
    std::fs::write(&left, "half").unwrap();
    let _serving = home.serve(&[]);
    // Removed in the background; only a start that leaves it reaches the limit.
    let limit = Instant::now() + Duration::from_secs(300);
    while left.exists() {
        assert!(Instant::now() < limit, "the file is still there");
        thread::yield_now();
    }
}

#[test]
fn limits_are_options() {
    let home = Home::new();
    let serving = home.serve(&["--no-auth", "--max-connections-per-address", "1"]);
    let address = serving.url.split('/').nth(2).unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         content-length: 2\r\n\r\n{{}}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    // The connection has sent a request, so it does not give way.
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 400");
    let ran = home.run(&["list", &serving.url]);
    assert!(ran.stderr.contains("503"), "{ran:?}");
    drop(stream);
    while home.run(&["list", &serving.url]).exit != Some(0) {}
}

#[test]
fn other_machines_may_not_connect() {
    let home = Home::new();
    assert_eq!(
        home.run(&["serve", "--listen", "0.0.0.0:0"]),
        Ran::failed(
            1,
            "error: 0.0.0.0:0 is not a loopback address\nhint: other machines may only connect over TLS, which is not supported yet\n"
        )
    );
}

#[test]
fn a_taken_port_is_reported() {
    let home = Home::new();
    let serving = home.serve(&[]);
    let address = serving
        .url
        .trim_start_matches("http://")
        .trim_end_matches("/mcp");
    let ran = home.run(&["serve", "--listen", address]);
    assert_eq!(ran.exit, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("hint: pick another port"), "{ran:?}");
}

#[test]
fn a_missing_workspace_is_reported() {
    let home = Home::new();
    let ran = home.run(&["serve", "--workspace", "/no/such/directory"]);
    assert_eq!(
        ran,
        Ran::failed(
            1,
            "error: cannot open the workspace /no/such/directory: No such file or directory (os error 2)\nhint: name a directory with --workspace DIR\n"
        )
    );
}

#[test]
fn a_directory_that_nobody_has_chosen_has_no_tools_if_it_is_the_home() {
    let home = Home::new();
    let tools = |directory: &std::path::Path, args: &[&str]| {
        let mut command = home.command(&["serve", "--stdio"]);
        command
            .args(args)
            .current_dir(directory)
            .stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut serve = command.spawn().unwrap();
        let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#;
        writeln!(serve.stdin.take().unwrap(), "{list}").unwrap();
        let ran = Ran::from(serve.wait_with_output().unwrap());
        (ran.stdout.contains("workspace_write"), ran.stderr)
    };
    for wide in [home.path(), home.path().parent().unwrap(), "/".as_ref()] {
        let (has_tools, said) = tools(wide, &[]);
        assert!(!has_tools, "{said}");
        let notice = format!(
            "notice: the workspace tools are left out, since this process was started in {}; pass --workspace DIR",
            wide.display()
        );
        assert!(said.contains(&notice), "{said}");
    }
    for (directory, args) in [
        (home.workspace(), &[][..]),
        (home.path().to_owned(), &["--workspace", "workspace"]),
    ] {
        let (has_tools, said) = tools(&directory, args);
        assert!(has_tools, "{said}");
    }
}

#[test]
fn a_terminated_server_ends_well() {
    let home = Home::new();
    let serving = home.serve(&[]);
    let pid = serving.pid().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &pid])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(serving.wait(), Some(0));
}

#[test]
fn a_second_signal_ends_the_drain_at_once() {
    let home = Home::new();
    let begun = home.path().join("begun");
    let cases = format!(
        r#"*'"method":"tools/list"'*)
            result='{{"resultType":"complete","tools":[{{"name":"hang","inputSchema":{{"type":"object"}}}}]}}' ;;
        *'"name":"hang"'*) : > {}; continue ;;"#,
        begun.display()
    );
    let relay = home.relay(&["--no-auth", "--stdio", &home.shell_server(&cases)]);
    let mut call = home
        .command(&["call", &relay.url, "hang"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let wait_for = |is_there: &dyn Fn() -> bool| {
        let deadline = Instant::now() + Duration::from_secs(600);
        while !is_there() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
    };
    wait_for(&|| begun.exists());
    let pid = relay.pid().to_string();
    let terminate = || Command::new("kill").args(["-TERM", &pid]).status().unwrap();
    assert!(terminate().success());
    // The drain has begun once no more connections are accepted.
    let address = relay.url.strip_prefix("http://").unwrap();
    let address = address.strip_suffix("/mcp").unwrap().to_owned();
    wait_for(&|| TcpStream::connect(&address).is_err());
    assert!(terminate().success());
    assert_eq!(relay.wait(), Some(130));
    call.wait().unwrap();
}

#[test]
fn the_default_data_directory_is_not_for_the_tools_of_a_process_with_another_one() {
    let home = Home::new();
    let path = home.path().to_str().unwrap();
    let serve = format!("{CALLGATE} serve --stdio --workspace {path} --data-dir {path}/other");
    let token = "path=.local/share/callgate/token";
    let read = || home.run(&["call", "--stdio", &serve, "workspace_read", token]);
    home.run(&["token"]);
    assert_eq!(
        read(),
        Ran::failed(
            5,
            "error: the tool failed: tools cannot use the data directory of Callgate: .local/share/callgate/token\n"
        )
    );
    let inside = format!("{path}/.local/share/callgate");
    let mut serve = home.command(&["serve", "--stdio", "--data-dir", "/nowhere"]);
    let ran = Ran::from(serve.args(["--workspace", &inside]).output().unwrap());
    assert_eq!(
        ran,
        Ran::failed(
            1,
            &format!(
                "error: {inside} is in the data directory {inside}\nhint: name a directory with --workspace DIR\n"
            )
        )
    );
}

#[test]
fn the_data_directory_is_not_for_the_tools() {
    let home = Home::new();
    let path = home.path().to_str().unwrap();
    home.run(&["token"]);
    let server = format!("{CALLGATE} serve --stdio --workspace {path}");
    let token = "path=.local/share/callgate/token";
    assert_eq!(
        home.run(&["call", "--stdio", &server, "workspace_read", token]),
        Ran::failed(
            5,
            "error: the tool failed: tools cannot use the data directory of Callgate: .local/share/callgate/token\n"
        )
    );
    let mut serve = home.command(&["serve", "--stdio", "--workspace", path]);
    let ran = Ran::from(serve.output().unwrap());
    assert_eq!(
        ran,
        Ran {
            stdout: String::new(),
            stderr: format!(
                "warning: the workspace {path} contains the data directory {path}/.local/share/callgate, which its tools cannot use; a smaller workspace is safer\n"
            ),
            exit: Some(0)
        }
    );
    let data = format!("{path}/.local/share/callgate");
    assert_eq!(
        home.run(&["serve", "--workspace", &data]),
        Ran::failed(
            1,
            &format!(
                "error: {data} is in the data directory {data}\nhint: name a directory with --workspace DIR\n"
            )
        )
    );
}

#[test]
fn a_server_outlives_its_terminal_if_hangups_are_ignored() {
    let home = Home::new();
    let mut command = Command::new("sh");
    command
        .args(["-c", "trap '' HUP; exec \"$0\" \"$@\"", CALLGATE, "serve"])
        .args(["--no-auth", "--listen", "127.0.0.1:0", "--workspace"])
        .arg(home.workspace())
        .env_clear()
        .env("HOME", home.path())
        .stdout(Stdio::piped());
    let mut server = command.spawn().unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(server.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    let url = line.trim().strip_prefix("listening on ").unwrap();
    let signal = |name: &str| {
        let pid = server.id().to_string();
        Command::new("kill")
            .args([name, pid.as_str()])
            .status()
            .unwrap()
    };
    assert!(signal("-HUP").success());
    assert_eq!(home.run(&["list", url]).exit, Some(0));
    assert!(signal("-TERM").success());
    assert_eq!(server.wait().unwrap().code(), Some(0));
}

#[test]
fn standard_output_carries_nothing_but_the_protocol() {
    let home = Home::new();
    let workspace = home.workspace();
    let mut server = home.command(&[
        "serve",
        "--stdio",
        "--workspace",
        workspace.to_str().unwrap(),
    ]);
    let mut server = server
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = server.stdin.take().unwrap();
    stdin
        .write_all(b"garbage\n{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"shutdown\"}\n")
        .unwrap();
    drop(stdin);
    let output = server.wait_with_output().unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"message is not JSON at byte 0\"}}\n\
         {\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32602,\"message\":\"params must have the object `_meta`; a client of an older revision must send `initialize` first\"}}\n"
    );
    assert_eq!(output.status.code(), Some(0));
}
