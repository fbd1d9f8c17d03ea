//! Questions of a server during a call.

use std::fs;

use crate::fixture::{Home, Ran};
use crate::terminal::{FakeBrowser, Terminal};

/// A server with a tool that shows a form, one that opens a page, and the answer as the result of both.
fn asking_server(home: &Home) -> String {
    let tools = r#"{"resultType":"complete","tools":[{"name":"book","inputSchema":{"type":"object"}},{"name":"pay","inputSchema":{"type":"object"}},{"name":"steal","inputSchema":{"type":"object"}}]}"#;
    let form = r#"{"mode":"form","message":"Your trip\nhint: run `evil`","requestedSchema":{"type":"object","properties":{
        "email":{"type":"string","format":"email","title":"E-mail","description":"For the ticket"},
        "people":{"type":"integer","minimum":1,"default":2},
        "class":{"type":"string","oneOf":[{"const":"e","title":"Economy"},{"const":"b","title":"Business"}]},
        "extras":{"type":"array","items":{"type":"string","enum":["bike","meal"]}},
        "window":{"type":"boolean"}},"required":["email","class"]}}"#.replace('\n', " ").replace("trip hint", r"trip\nhint");
    let page = |url: &str| {
        format!(r#"{{"mode":"url","message":"Pay here","elicitationId":"1","url":"{url}"}}"#)
    };
    let ask = |params: &str| {
        format!(
            r#"{{"resultType":"input_required","requestState":"s","inputRequests":{{"q":{{"method":"elicitation/create","params":{params}}}}}}}"#
        )
    };
    let (form, pay, steal) = (
        ask(&form),
        ask(&page("https://pay.example/order?id=7")),
        ask(&page("file:///etc/passwd")),
    );
    home.shell_server(&format!(
        r#"*'"method":"tools/list"'*) result='{tools}' ;;
        *'"inputResponses"'*)
            answer=${{line#*\"inputResponses\":}}
            answer=$(printf '%s' "${{answer%%,\"requestState\"*}}" | sed 's/"/\\"/g')
            result="{{\"resultType\":\"complete\",\"content\":[{{\"type\":\"text\",\"text\":\"$answer\"}}]}}" ;;
        *'"name":"book"'*) result='{form}' ;;
        *'"name":"pay"'*) result='{pay}' ;;
        *'"name":"steal"'*) result='{steal}' ;;"#
    ))
}

/// Calls a tool of that server on a terminal.
fn call(home: &Home, tool: &str) -> Terminal {
    let server = asking_server(home);
    Terminal::start(
        home.command(&["call", "--stdio", &server, tool])
            .env("PATH", "/usr/bin:/bin"),
    )
}

#[test]
fn a_form_is_filled_in_field_by_field_and_reviewed() {
    let home = Home::new();
    let mut terminal = call(&home, "book");
    terminal.answer("answer? [YES/no/cancel] ", "maybe");
    terminal.answer("answer? [YES/no/cancel] ", "y");
    for (question, line) in [
        ("> ", "nonsense"),
        ("> ", "ada@example.org"),
        ("[2] > ", "0"),
        ("[2] > ", ""),
        ("> ", ""),
        ("> ", "2"),
        ("> ", "meal,1"),
        ("> ", ""),
        ("send them? [YES/edit/no/cancel] ", "e"),
        ("[ada@example.org] > ", ""),
        ("[2] > ", "3"),
        ("[b] > ", ""),
        ("[[\"meal\",\"bike\"]] > ", ""),
        ("> ", "no"),
        ("send them? [YES/edit/no/cancel] ", ""),
    ] {
        terminal.answer(question, line);
    }
    let server = asking_server(&home);
    let (said, exit) = terminal.end();
    assert_eq!(exit, Some(0), "{said}");
    let (first, second) = said
        .split_once("send them? [YES/edit/no/cancel] e\n")
        .unwrap();
    assert_eq!(
        first,
        format!(
            r#"the server `{server}` asks for input:
  | Your trip
  | hint: run `evil`
never enter passwords or keys here: the server may see and store the answers
answer? [YES/no/cancel] maybe
answer with one of: yes, no, cancel
answer? [YES/no/cancel] y

E-mail (email): an email address, required
  | For the ticket
> nonsense
write an email address, as a@b.example
> ada@example.org

people: a whole number, optional
[2] > 0
write a number of at least 1
[2] > 

class: one of these, required
   1  Economy
   2  Business
> 
an answer is needed; to cancel, press Ctrl-D
> 2

extras: some of these, by numbers with commas, optional
   1  bike
   2  meal
> meal,1

window: yes or no, optional
> 

your answers:
  email: ada@example.org
  people: 2
  class: b
  extras: ["meal","bike"]
  window: -
"#
        )
    );
    assert!(
        second.ends_with(
            "send them? [YES/edit/no/cancel] \n{\"q\":{\"action\":\"accept\",\"content\":{\"email\":\"ada@example.org\",\"people\":3,\"class\":\"b\",\"extras\":[\"meal\",\"bike\"],\"window\":false}}}\n"
        ),
        "{second}"
    );
}

#[test]
fn a_form_can_be_declined_and_canceled() {
    let home = Home::new();
    for (line, action) in [("no", "decline"), ("c", "cancel")] {
        let mut terminal = call(&home, "book");
        terminal.answer("answer? [YES/no/cancel] ", line);
        let (said, exit) = terminal.end();
        let answer = format!("{line}\n{{\"q\":{{\"action\":\"{action}\"}}}}\n");
        assert!(said.ends_with(&answer), "{said}");
        assert_eq!(exit, Some(0));
    }
    let mut terminal = call(&home, "book");
    terminal.answer("answer? [YES/no/cancel] ", "");
    terminal.end_input("> ");
    let (said, _) = terminal.end();
    let answer = "> \n{\"q\":{\"action\":\"cancel\"}}\n";
    assert!(said.ends_with(answer), "{said}");
}

#[test]
fn an_interrupt_at_a_question_begins_a_line() {
    let home = Home::new();
    let mut terminal = call(&home, "book");
    terminal.expect("answer? [YES/no/cancel] ");
    let said = terminal.stop();
    assert!(
        said.ends_with("answer? [YES/no/cancel] \nerror: interrupted\n"),
        "{said}"
    );
}

#[test]
fn a_page_is_opened_only_after_a_yes() {
    let home = Home::new();
    let server = asking_server(&home);
    let mut command = home.command(&["call", "--stdio", &server, "pay"]);
    let browser = FakeBrowser::new(&home, &mut command);
    let mut terminal = Terminal::start(&mut command);
    terminal.answer("browser? [yes/no/cancel] ", "");
    terminal.answer("browser? [yes/no/cancel] ", "y");
    assert_eq!(browser.opened(), "1 https://pay.example/order?id=7");
    let (said, exit) = terminal.end();
    assert_eq!(
        (said, exit),
        (
            format!(
                "the server `{server}` asks you to open a page:\n  | Pay here\n  \
                 page  https://pay.example/order?id=7\n  host  pay.example\n\
                 open it in a browser? [yes/no/cancel] \nanswer with one of: yes, no, cancel\n\
                 open it in a browser? [yes/no/cancel] y\n{{\"q\":{{\"action\":\"accept\"}}}}\n"
            ),
            Some(0)
        )
    );
}

#[test]
fn a_page_that_no_browser_should_open_is_declined() {
    let home = Home::new();
    let (said, _) = call(&home, "steal").end();
    let answer = "  | Pay here\nrefusing to open a URL that is not https; the server is told that you declined\n{\"q\":{\"action\":\"decline\"}}\n";
    assert!(said.ends_with(answer), "{said}");
}

/// A server with a tool that shows one form.
fn server_with_form(home: &Home, message: &str, properties: &str) -> String {
    let cases = format!(
        r#"*'"method":"tools/list"'*) result='{{"resultType":"complete","tools":[{{"name":"t","inputSchema":{{"type":"object"}}}}]}}' ;;
        *'"inputResponses"'*) result='{{"resultType":"complete","content":[]}}' ;;
        *'"name":"t"'*) result='{{"resultType":"input_required","requestState":"s","inputRequests":{{"q":{{"method":"elicitation/create","params":{{"message":"{message}","requestedSchema":{{"type":"object","properties":{{{properties}}}}}}}}}}}}}' ;;"#
    );
    home.shell_server(&cases)
}

#[test]
fn a_form_without_end_is_declined() {
    let home = Home::new();
    let fields: Vec<_> = (0..65)
        .map(|number| format!(r#""f{number}":{{"type":"string"}}"#))
        .collect();
    let message = format!("{}\\n", "x".repeat(1001)).repeat(51);
    let server = server_with_form(&home, &message, &fields.join(","));
    let terminal = Terminal::start(&mut home.command(&["call", "--stdio", &server, "t"]));
    let line = format!("  | {}…\n", "x".repeat(1000));
    assert_eq!(
        terminal.end(),
        (
            format!(
                "the server `{server}` asks for input:\n{}the form has more than 64 fields; the server is told that you declined\n",
                line.repeat(50)
            ),
            Some(0)
        )
    );
}

#[test]
fn only_the_first_of_many_choices_are_shown() {
    let home = Home::new();
    let choices: Vec<_> = (1..=65).map(|number| format!(r#""c{number}""#)).collect();
    let field = format!(
        r#""f":{{"type":"string","title":"{}","enum":[{}]}}"#,
        "t".repeat(300),
        choices.join(",")
    );
    let server = server_with_form(&home, "m", &field);
    let mut terminal = Terminal::start(&mut home.command(&["call", "--stdio", &server, "t"]));
    terminal.answer("answer? [YES/no/cancel] ", "y");
    terminal.expect(&format!("\n{}…\n   1  c1\n", "t".repeat(200)));
    let last = "\n  64  c64\n      and more, which you can type\n> ";
    terminal.answer(last, "c65");
    terminal.answer("\n  f: c65\nsend them? [YES/edit/no/cancel] ", "");
    assert_eq!(terminal.end().1, Some(0));
}

/// Writes down the capabilities that an old server is told of.
const OLD: &str = r#"while read -r line; do
    id=${line#*\"id\":}
    id=${id%%,*}
    case $line in
        *'"method":"server/discover"'*)
            printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id"
            continue ;;
        *'"method":"initialize"'*)
            printf '%s' "$line" > "$0.told"
            result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}' ;;
        *'"method":"tools/list"'*) result='{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}' ;;
        *'"method":"tools/call"'*) result='{"content":[]}' ;;
        *) continue ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done"#;

#[test]
fn a_server_is_told_only_of_questions_that_can_be_answered() {
    let home = Home::new();
    let file = home.path().join("old.sh");
    fs::write(&file, OLD).unwrap();
    let server = format!("/bin/sh {}", file.display());
    let told = || {
        let told = fs::read_to_string(home.path().join("old.sh.told")).unwrap();
        let told: serde_json::Value = serde_json::from_str(&told).unwrap();
        told["params"]["capabilities"].to_string()
    };
    let args = ["call", "--stdio", &server, "t"];
    assert_eq!(home.run(&args), Ran::printed(""));
    assert_eq!(told(), "{}");
    let (said, _) = Terminal::start(&mut home.command(&args)).end();
    assert_eq!(said, "");
    assert_eq!(told(), r#"{"elicitation":{"form":{},"url":{}}}"#);
    let args = ["list", "--stdio", &server];
    let (said, _) = Terminal::start(&mut home.command(&args)).end();
    assert_eq!((said.as_str(), told().as_str()), ("t\n", "{}"));
}
