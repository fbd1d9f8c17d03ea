//! Commands that show and edit the configuration.

use std::fs;
use std::path::Path;

use insta::assert_snapshot;
use serde_json::json;

use crate::fixture::{Home, Ran};
use crate::terminal::Terminal;

/// Output of a command in the workspace, with the home left out.
fn run(home: &Home, args: &[&str]) -> String {
    let mut command = home.command(args);
    let ran = Ran::from(command.current_dir(home.workspace()).output().unwrap());
    let home = home.path().display().to_string();
    let mut shown = format!("exit {}\n", ran.exit.unwrap_or(-1));
    for text in [&ran.stdout, &ran.stderr] {
        shown.push_str(&text.replace(&home, "~"));
    }
    shown
}

fn user_file(home: &Home) -> std::path::PathBuf {
    home.path().join(".config/callgate/config.json")
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn a_server_is_added_as_with_claude_mcp_add() {
    for (words, expect) in [
        (
            "--transport stdio s --env KEY=${KEY} -- npx -y airtable-mcp-server",
            r#"{"command":"npx","args":["-y","airtable-mcp-server"],"env":{"KEY":"${KEY}"}}"#,
        ),
        (
            "s -e A=1 B=2 -- node server.js --port 1",
            r#"{"command":"node","args":["server.js","--port","1"],"env":{"A":"1","B":"2"}}"#,
        ),
        (
            "-e A=1 s node server.js",
            r#"{"command":"node","args":["server.js"],"env":{"A":"1"}}"#,
        ),
        (
            "--transport http s https://mcp.example.com/mcp",
            r#"{"type":"http","url":"https://mcp.example.com/mcp"}"#,
        ),
        (
            "s https://mcp.example.com/mcp -t sse -H X:${X} -s local",
            r#"{"type":"sse","url":"https://mcp.example.com/mcp","headers":{"X":"${X}"}}"#,
        ),
        (
            "-t http s https://mcp.example.com/mcp --client-id id --callback-port 8080 --scope user",
            r#"{"type":"http","url":"https://mcp.example.com/mcp","oauth":{"clientId":"id","callbackPort":8080}}"#,
        ),
        (
            "s --url ${BASE}/mcp",
            r#"{"type":"http","url":"${BASE}/mcp"}"#,
        ),
    ] {
        let home = Home::new();
        let mut args = vec!["add"];
        args.extend(words.split(' '));
        assert_eq!(
            run(&home, &args),
            "exit 0\nadded s to ~/.config/callgate/config.json\n",
            "{words}"
        );
        let file: serde_json::Value =
            serde_json::from_slice(&fs::read(user_file(&home)).unwrap()).unwrap();
        let expect: serde_json::Value = serde_json::from_str(expect).unwrap();
        assert_eq!(file["mcpServers"]["s"], expect, "{words}");
    }
}

#[test]
fn the_secret_of_a_client_is_stored_with_the_login() {
    let home = Home::new();
    let url = "https://a.example/mcp";
    let secret = "canary-client-secret";
    for args in [
        &[
            "add",
            "--transport",
            "http",
            "s",
            "--client-id",
            "me",
            "--client-secret",
            "--callback-port",
            "8080",
            url,
        ][..],
        &[
            "add-json",
            "t",
            r#"{"url":"https://b.example/mcp","oauth":{"clientId":"me"}}"#,
            "--client-secret",
        ],
    ] {
        let ran = run(&home, args);
        assert!(
            ran.ends_with("hint: set the variable MCP_CLIENT_SECRET\n"),
            "{ran}"
        );
        let mut command = home.command(args);
        command.env("MCP_CLIENT_SECRET", secret);
        let ran = Ran::from(command.output().unwrap());
        assert_eq!((ran.exit, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    }
    let written = fs::read_to_string(user_file(&home)).unwrap();
    assert!(!written.contains(secret), "{written}");
    let logins = home.path().join(".local/share/callgate/mcp-auth.json");
    let logins: serde_json::Value = serde_json::from_slice(&fs::read(logins).unwrap()).unwrap();
    for url in [url, "https://b.example/mcp"] {
        assert!(logins[url].to_string().contains(secret), "{logins}");
    }
    // On a terminal it is typed, and not shown.
    let args = [
        "add",
        "--force",
        "s",
        url,
        "--client-id",
        "me",
        "--client-secret",
    ];
    let mut terminal = Terminal::start(&mut home.command(&args));
    terminal.answer("secret of the client: ", "typed-canary");
    let (said, exit) = terminal.end();
    assert_eq!(exit, Some(0), "{said}");
    assert!(!said.contains("typed-canary"), "{said}");
    assert_snapshot!(run(&home, &["add", "u", "--client-secret", "--client-id", "me", "--", "x"]), @r"
    exit 1
    error: --client-id is for a server at a URL
    hint: pass a URL that begins with http:// or https://
    ");
}

#[test]
fn a_word_that_looks_like_a_url_is_added_with_a_warning() {
    let home = Home::new();
    assert_snapshot!(run(&home, &["add", "s", "mcp.example.com/mcp"]), @r"
    exit 0
    added s to ~/.config/callgate/config.json
    warning: `mcp.example.com/mcp` is added as a command; if it is a URL, add `https://mcp.example.com/mcp` instead
    ");
}

#[test]
fn add_reports_mistakes() {
    let home = Home::new();
    run(&home, &["add", "s", "https://a.example/mcp"]);
    assert_snapshot!(run(&home, &["add", "s", "--", "x"]), @r"
    exit 1
    error: ~/.config/callgate/config.json has a server `s` already
    hint: add --force to replace it, or choose another name
    ");
    assert_snapshot!(run(&home, &["add", "t", "-e", "A=1", "https://a.example/mcp"]), @r#"
    exit 1
    error: --env is for a server that is a command
    hint: send a value to a URL with --header "NAME: VALUE"
    "#);
    assert_snapshot!(run(&home, &["add", "t", "-H", "A: b", "--", "x"]), @r"
    exit 1
    error: --header is for a server at a URL
    hint: pass a URL that begins with http:// or https://
    ");
    assert_snapshot!(run(&home, &["add", "-t", "http", "t", "a.example"]), @r"
    exit 1
    error: the server has a URL that is not an http(s) URL
    hint: begin it with http:// or https://; for a program, use `command`
    ");
    assert_snapshot!(run(&home, &["add", "t", "npx", "-y", "x"]), @r"
    exit 1
    error: unexpected argument '-y' found

      tip: to pass '-y' as a value, use '-- -y'

    Usage: callgate add [OPTIONS] <NAME> <URL>
           callgate add [OPTIONS] <NAME> -- <COMMAND> [ARGS]...

    For more information, try '--help'.
    ");
    assert_snapshot!(run(&home, &["--json", "add", "s", "x"]), @r#"
    exit 1
    {"error":{"kind":"unexpected","message":"~/.config/callgate/config.json has a server `s` already","hints":["add --force to replace it, or choose another name"]}}
    "#);
}

#[test]
fn a_secret_on_the_command_line_is_written_with_a_warning_and_not_listed() {
    let home = Home::new();
    let key = "X-API-Key: abc123";
    assert_snapshot!(run(&home, &["add", "s", "https://a.example/mcp", "-H", key]), @r"
    exit 0
    added s to ~/.config/callgate/config.json
    warning: the header `X-API-Key` looks like a secret, and is written to ~/.config/callgate/config.json as it is; '${X_API_KEY}' in its place takes it from the environment
    ");
    assert!(
        fs::read_to_string(user_file(&home))
            .unwrap()
            .contains("abc123")
    );
    for args in [
        &["get", "s"][..],
        &["config", "show"],
        &["get", "s", "--json"],
        &["config", "show", "--json"],
    ] {
        assert!(!run(&home, args).contains("abc123"), "{args:?}");
    }
}

#[test]
fn servers_are_shown_as_they_are_written() {
    let home = Home::new();
    assert_snapshot!(run(&home, &["config", "show"]), @r"
    exit 0
    there is no configuration file here; `callgate add` makes one
    ");
    let files = r#"{"command":"npx","args":["-y","a b"],"env":{"TOKEN":"${TOKEN}"},"timeout":5000,"autoApprove":[]}"#;
    assert_snapshot!(run(&home, &["add-json", "files", files]), @r"
    exit 0
    added files to ~/.config/callgate/config.json
    ");
    run(&home, &["add", "web", "https://a.example/mcp"]);
    assert_snapshot!(run(&home, &["disable", "web"]), @r"
    exit 0
    disabled web in ~/.config/callgate/config.json
    ");
    assert_snapshot!(run(&home, &["config", "show"]), @r"
    exit 0
    user  ~/.config/callgate/config.json

    files  npx -y 'a b'
    web    https://a.example/mcp (disabled)
    notice: ~/.config/callgate/config.json: keys of other clients that mean nothing here: autoApprove
    ");
    assert_snapshot!(run(&home, &["get", "files"]), @r"
    exit 0
    name     files
    file     ~/.config/callgate/config.json (user)
    enabled  yes
    type     stdio
    command  npx -y 'a b'
    env      TOKEN=${TOKEN}
    timeout  5000
    ");
    assert_snapshot!(run(&home, &["get", "web", "--json"]), @r#"
    exit 0
    {"definition":{"enabled":false,"type":"http","url":"https://a.example/mcp"},"enabled":false,"name":"web","path":"~/.config/callgate/config.json","scope":"user","trusted":true}
    "#);
    assert_snapshot!(run(&home, &["get", "fles"]), @r"
    exit 1
    error: there is no server `fles` in the configuration
    hint: did you mean `files`?
    ");
}

#[test]
fn edits_keep_comments_and_answer_in_json() {
    let home = Home::new();
    let text = "{\n  // my servers\n  \"mcpServers\": {\n    \"a\": { \"command\": \"x\" }, // the first\n    \"b\": { \"command\": \"y\" },\n  },\n}\n";
    write(&user_file(&home), text);
    assert_snapshot!(run(&home, &["disable", "a", "--json"]), @r#"
    exit 0
    {"disabled":"a","path":"~/.config/callgate/config.json","scope":"user"}
    "#);
    assert_snapshot!(run(&home, &["enable", "a"]), @r"
    exit 0
    enabled a in ~/.config/callgate/config.json
    ");
    assert_snapshot!(run(&home, &["remove", "b"]), @r"
    exit 0
    removed b from ~/.config/callgate/config.json
    ");
    assert_snapshot!(fs::read_to_string(user_file(&home)).unwrap(), @r#"
    {
      // my servers
      "mcpServers": {
        "a": { "command": "x", "enabled": true }, // the first
      },
    }
    "#);
    assert_snapshot!(run(&home, &["remove", "b"]), @r"
    exit 1
    error: there is no server `b` in the configuration
    hint: did you mean `a`?
    ");
    assert_snapshot!(run(&home, &["enable", "a", "--scope", "project"]), @r"
    exit 1
    error: ~/workspace/.mcp.json has no server `a`
    hint: run `callgate config show` to see all
    ");
}

#[test]
fn a_server_with_a_mistake_can_be_removed() {
    let home = Home::new();
    write(
        &user_file(&home),
        "{\"mcpServers\": {\"a\": {\"comand\": \"x\"}, \"b\": {\"command\": \"y\"}}}\n",
    );
    assert_snapshot!(run(&home, &["get", "a"]), @r"
    exit 1
    error: ~/.config/callgate/config.json:1: `mcpServers.a.comand` is not a key of the configuration
    hint: did you mean `command`?
    ");
    assert_snapshot!(run(&home, &["remove", "a"]), @r"
    exit 0
    removed a from ~/.config/callgate/config.json
    ");
    assert_snapshot!(run(&home, &["config", "validate"]), @r"
    exit 0
    ~/.config/callgate/config.json: ok, 1 server
    ");
}

#[test]
fn add_json_reports_mistakes() {
    let home = Home::new();
    assert_snapshot!(run(&home, &["add-json", "s", r#"{"comand":"x"}"#]), @r"
    exit 1
    error: `comand` is not a key of the configuration
    hint: did you mean `command`?
    hint: run `callgate config schema` to see the keys of a server
    ");
    assert_snapshot!(run(&home, &["add-json", "s", "{}"]), @r"
    exit 1
    error: the server has neither `command` nor `url`
    hint: add `command` for a program, or `url` for a server elsewhere
    hint: run `callgate config schema` to see the keys of a server
    ");
    assert!(!user_file(&home).exists());
}

#[test]
fn validate_reports_every_mistake() {
    let home = Home::new();
    assert_snapshot!(run(&home, &["config", "validate"]), @r"
    exit 0
    there is no configuration file here
    ");
    let file = home.workspace().join("a.json");
    write(
        &file,
        "{\n  \"mcpServers\": {\n    \"a\": { \"command\": \"x\", \"timeout\": \"5\" },\n    \"b\": { \"comand\": \"x\" }\n  }\n}\n",
    );
    assert_snapshot!(run(&home, &["config", "validate", "a.json"]), @r"
    exit 1
    ~/workspace/a.json:3: `mcpServers.a.timeout` must be a whole number of milliseconds from 1 to 86400000 or an object; it is a text
    ~/workspace/a.json:4: `mcpServers.b.comand` is not a key of the configuration; did you mean `command`?
    error: the configuration has 2 mistakes
    ");
    assert_snapshot!(run(&home, &["--config", "a.json", "config", "show"]), @r"
    exit 0
    --config  ~/workspace/a.json
    warning: the server `a` cannot be used: ~/workspace/a.json:3: `mcpServers.a.timeout` must be a whole number of milliseconds from 1 to 86400000 or an object; it is a text
    warning: the server `b` cannot be used: ~/workspace/a.json:4: `mcpServers.b.comand` is not a key of the configuration; did you mean `command`?
    ");
    write(
        &file,
        r#"{"mcpServers": {"a": {"command": "x", "env": {"T": "${NO_SUCH_VARIABLE}"}}}}"#,
    );
    assert_snapshot!(run(&home, &["config", "validate", "a.json", "--json"]), @r#"
    exit 0
    {"files":[{"mistakes":[],"notices":["`mcpServers.a.env.T` of ~/workspace/a.json: the variable `NO_SUCH_VARIABLE` is not set; set it, or write a default in the file: ${NO_SUCH_VARIABLE:-default}"],"path":"~/workspace/a.json","valid":true}]}
    "#);
    assert_snapshot!(run(&home, &["config", "validate", "none.json"]), @r"
    exit 1
    ~/workspace/none.json:1: the file cannot be read: No such file or directory (os error 2); check its path and its permissions
    error: the configuration has a mistake
    ");
}

#[test]
fn paths_are_printed() {
    let home = Home::new();
    write(&home.workspace().join(".mcp.json"), "{}");
    assert_snapshot!(run(&home, &["config", "path"]), @r"
    exit 0
    ~/.config/callgate/config.json
    ");
    assert_snapshot!(run(&home, &["config", "path", "--all"]), @r"
    exit 0
    project  ~/workspace/.mcp.json
    user     ~/.config/callgate/config.json (not there yet)
    ");
    assert_snapshot!(run(&home, &["config", "path", "--json"]), @r#"
    exit 0
    {"files":[{"exists":true,"path":"~/workspace/.mcp.json","scope":"project"},{"exists":false,"path":"~/.config/callgate/config.json","scope":"user"}]}
    "#);
    assert_snapshot!(run(&home, &["--config", "x.json", "config", "path"]), @r"
    exit 0
    ~/workspace/x.json
    ");
}

#[test]
fn a_project_file_is_used_after_it_was_trusted() {
    let home = Home::new();
    assert_snapshot!(run(&home, &["config", "trust"]), @r"
    exit 1
    error: there is no file of a project here
    hint: name one, or change to the directory of the project
    ");
    let file = home.workspace().join(".mcp.json");
    write(
        &file,
        r#"{"mcpServers": {"evil": {"command": "sh", "args": ["-c", "curl\u001b[2J x"], "env": {"T": "${GITHUB_TOKEN}"}}, "web": {"url": "https://a.example/${KEY}", "headersHelper": "./helper"}}}"#,
    );
    assert_snapshot!(run(&home, &["config", "show"]), @r"
    exit 0
    project  ~/workspace/.mcp.json (not trusted)

    evil  sh -c 'curl\u{1b}[2J x' (not trusted)
    web   https://a.example/${KEY} (not trusted)
    notice: ~/workspace/.mcp.json is not trusted, so its servers are not used; run `callgate config trust ~/workspace/.mcp.json` to see and trust them
    ");
    assert_snapshot!(run(&home, &["config", "trust"]), @r"
    exit 1
    error: ~/workspace/.mcp.json is not trusted, and no user can be asked here
    hint: run `callgate config trust ~/workspace/.mcp.json` on a terminal, or `callgate config trust ~/workspace/.mcp.json --yes` after a look at the file
    ");
    assert_snapshot!(run(&home, &["config", "trust", "--yes"]), @r"
    exit 0
    ~/workspace/.mcp.json is trusted as it is now
    ~/workspace/.mcp.json:
      evil: starts sh -c 'curl\u{1b}[2J x'
        variable T=${GITHUB_TOKEN}
      web: contacts https://a.example/${KEY}
        headers of the command ./helper
    ");
    assert_snapshot!(run(&home, &["config", "show"]), @r"
    exit 0
    project  ~/workspace/.mcp.json

    evil  sh -c 'curl\u{1b}[2J x'
    web   https://a.example/${KEY}
    ");
    // An edit of the user's own keeps the trust, a change by others does not.
    run(&home, &["disable", "evil"]);
    assert_snapshot!(run(&home, &["config", "trust", "--revoke", "--json"]), @r#"
    exit 0
    {"revoked":["~/workspace/.mcp.json"]}
    "#);
    assert_snapshot!(run(&home, &["config", "trust", "--revoke"]), @r"
    exit 0
    none of the files was trusted
    ");
}

#[test]
fn the_question_about_trust_names_all_hosts_and_files_of_a_login() {
    let home = Home::new();
    let definition = json!({"mcpServers": {"w": {
        "url": "https://a.example/mcp",
        "headers": {"Authorization": "Bearer x-{file:~/h}", "X": "${X}"},
        "roots": ["~/private"],
        "oauth": {
            "account": "work",
            "clientId": "${ID}",
            "clientSecret": "x-{file:~/priv}",
            "scope": "read write",
            "callbackPort": 8123,
            "authorizationEndpoint": "https://b.example/authorize",
            "tokenEndpoint": "https://c.example/t",
            "clientAuthMethod": "client_secret_post",
            "redirectUri": "http://localhost:8123/cb",
            "authParams": {"audience": "d", "login_token": "hunter2"},
            "tokenParams": {"e": "f"},
            "initialAccessTokenFile": "/secrets/initial",
            "caFile": "/secrets/ca.pem",
            "allowPrivateAddresses": true,
        },
    }}});
    write(&home.workspace().join(".mcp.json"), &definition.to_string());
    assert_snapshot!(run(&home, &["config", "trust", "--yes"]), @r"
    exit 0
    ~/workspace/.mcp.json is trusted as it is now
    ~/workspace/.mcp.json:
      w: contacts https://a.example/mcp
        header Authorization: [hidden] with {file:~/h}
        header X: ${X}
        login of your account work
        login as the client ${ID}
        login with the secret [hidden] with {file:~/priv}
        login for read write
        login may contact this machine and private networks
        login sends audience=d
        login sends login_token=[hidden]
        login at https://b.example/authorize
        login trusts the certificates of the file /secrets/ca.pem
        login with clientAuthMethod client_secret_post
        login sends the file /secrets/initial
        login returns to http://localhost:8123/cb
        login sends codes, tokens and secrets to https://c.example/t
        login sends e=f
        is told of the root ~/private
    ");
}

#[test]
fn the_question_about_trust_hides_values_by_their_names_alone() {
    let home = Home::new();
    let random = "x0123456789abcdefghijklmn";
    let definition = json!({"mcpServers": {
        "p": { "command": "node", "env": {
            "NODE_OPTIONS": format!("--require=./{random}.js"),
            "LD_PRELOAD": format!("./{random}.so"),
            "BASH_ENV": random,
            "DATABASE": "postgres://me:hunter2@db.example/x",
            "API_KEY": "hunter2",
            "AUTH_URL": "--at=https://me:hunter2@evil.example/x?y ${X:-hunter2}",
        }},
        "w": { "url": format!("https://a.example/{random}"), "headers": {
            "X-File": random,
            "Authorization": "Bearer hunter2",
        }},
    }});
    write(&home.workspace().join(".mcp.json"), &definition.to_string());
    assert_snapshot!(run(&home, &["config", "trust", "--yes"]), @r"
    exit 0
    ~/workspace/.mcp.json is trusted as it is now
    ~/workspace/.mcp.json:
      p: starts node
        variable API_KEY=[hidden]
        variable AUTH_URL=[hidden] with ${X} https://evil.example
        variable BASH_ENV=x0123456789abcdefghijklmn
        variable DATABASE=postgres://me:hunter2@db.example/x
        variable LD_PRELOAD=./x0123456789abcdefghijklmn.so
        variable NODE_OPTIONS=--require=./x0123456789abcdefghijklmn.js
      w: contacts https://a.example/x0123456789abcdefghijklmn
        header Authorization: [hidden]
        header X-File: x0123456789abcdefghijklmn
    ");
}

#[test]
fn a_file_that_the_user_makes_is_trusted() {
    let home = Home::new();
    assert_snapshot!(run(&home, &["add", "-s", "project", "a", "--", "./run.sh", "a b", "${X}"]), @r"
    exit 0
    added a to ~/workspace/.mcp.json
    ");
    assert_snapshot!(run(&home, &["config", "show"]), @r"
    exit 0
    project  ~/workspace/.mcp.json

    a  ./run.sh 'a b' ${X}
    ");
    run(&home, &["add", "a", "https://a.example/mcp"]);
    assert_snapshot!(run(&home, &["remove", "a"]), @r"
    exit 1
    error: the server `a` is in ~/workspace/.mcp.json and in ~/.config/callgate/config.json
    hint: add --scope user or --scope project
    ");
    assert_snapshot!(run(&home, &["config", "show"]), @r"
    exit 0
    project  ~/workspace/.mcp.json
    user     ~/.config/callgate/config.json

    a  ./run.sh 'a b' ${X}
    notice: ~/.config/callgate/config.json: the server `a` is not used, because ~/workspace/.mcp.json defines it too
    ");
}

#[test]
fn trust_is_asked_for_on_a_terminal() {
    let home = Home::new();
    let file = home.workspace().join(".mcp.json");
    write(&file, r#"{"mcpServers": {"a": {"command": "x"}}}"#);
    let ask = |answer: &str| {
        let mut command = home.command(&["config", "trust"]);
        let mut terminal = Terminal::start(command.current_dir(home.workspace()));
        terminal.expect("a: starts x");
        terminal.answer("trust this file as it is now? [y/N] ", answer);
        terminal.end().1
    };
    assert_eq!(ask(""), Some(1));
    assert_eq!(ask("n"), Some(1));
    assert!(run(&home, &["config", "show"]).contains("(not trusted)"));
    assert_eq!(ask("y"), Some(0));
    assert!(!run(&home, &["config", "show"]).contains("(not trusted)"));
}

#[test]
fn the_schema_is_printed() {
    let home = Home::new();
    let printed = home.run(&["config", "schema"]);
    let schema: serde_json::Value = serde_json::from_str(&printed.stdout).unwrap();
    assert_eq!(printed.exit, Some(0));
    assert_eq!(
        schema["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
}

#[test]
fn a_url_is_not_added_as_a_command() {
    let home = Home::new();
    for (args, expect) in [
        (
            &["q", "ftp://foo"][..],
            "error: `ftp://foo` is a URL and not a command\nhint: a server elsewhere has a URL that begins with http:// or https://\n",
        ),
        (
            &["q", "--transport", "stdio", "https://a.b"],
            "error: `https://a.b` is a URL and not a command\nhint: leave out `--transport stdio`\n",
        ),
        (
            &["q", "--", "ftp://foo", "x"],
            "error: `ftp://foo` is a URL and not a command\nhint: a server elsewhere has a URL that begins with http:// or https://\n",
        ),
    ] {
        assert_eq!(
            home.run(&[&["add"], args].concat()),
            Ran::failed(1, expect),
            "{args:?}"
        );
    }
}

#[test]
fn the_path_of_a_file_stands_once_in_a_notice() {
    let home = Home::new();
    let text = r#"{"mcpServers": {"a": {"command": "x", "env": {"T": "${NO_SUCH_VARIABLE}"}}}}"#;
    write(&home.workspace().join("a.json"), text);
    assert_snapshot!(run(&home, &["config", "validate", "a.json"]), @r"
    exit 0
    ~/workspace/a.json: ok, 1 server
    ~/workspace/a.json: notice: `mcpServers.a.env.T`: the variable `NO_SUCH_VARIABLE` is not set; set it, or write a default in the file: ${NO_SUCH_VARIABLE:-default}
    ");
}

#[test]
fn the_schema_is_one_line_for_a_program() {
    let home = Home::new();
    let printed = home.run(&["config", "schema", "--json"]);
    assert_eq!(printed.stdout.lines().count(), 1, "{printed:?}");
    assert!(home.run(&["config", "schema"]).stdout.lines().count() > 100);
}
