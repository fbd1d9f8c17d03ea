//! Commands that show what servers offer, and results on a terminal.

use std::fs;

use serde_json::json;

use crate::fixture::{Home, Ran};
use crate::terminal::Terminal;

const TOOL: &str = r#"{"name":"greet","title":"Greet","description":"Greets **someone**","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","required":["name"],"properties":{"name":{"type":"string","description":"Person to greet"},"times":{"type":"integer","minimum":1,"default":1}}}}"#;
const PROMPT: &str = r#"{"name":"review","description":"Review a file","arguments":[{"name":"file","required":true},{"name":"style"}]}"#;
const RESOURCE: &str = r#"{"uri":"notes://today","name":"today","description":"Notes of today"}"#;
const TEMPLATE: &str = r#"{"uriTemplate":"notes://{day}","name":"day"}"#;

/// A server with a tool, a prompt and resources.
fn server(home: &Home) -> String {
    let list =
        |member: &str, item: &str| format!(r#"{{"resultType":"complete","{member}":[{item}]}}"#);
    home.shell_server(&format!(
        r#"*'"method":"tools/list"'*) result='{}' ;;
        *'"method":"prompts/list"'*) result='{}' ;;
        *'"method":"resources/list"'*) result='{}' ;;
        *'"method":"resources/templates/list"'*) result='{}' ;;
        *'"method":"prompts/get"'*) result='{{"resultType":"complete","messages":[{{"role":"user","content":{{"type":"text","text":"Review a.rs"}}}}]}}' ;;
        *'"uri":"notes://today"'*) result='{{"resultType":"complete","contents":[{{"uri":"notes://today","text":"buy milk"}}]}}' ;;
        *'"uri":"notes://blob"'*) result='{{"resultType":"complete","contents":[{{"uri":"notes://blob","blob":"AAECG1s="}}]}}' ;;
        *'"method":"resources/read"'*)
            printf '{{"jsonrpc":"2.0","id":%s,"error":{{"code":-32602,"message":"no such resource"}}}}\n' "$id"
            continue ;;
        *'"name":"table"'*) result='{{"resultType":"complete","content":[{{"type":"text","text":"[{{\"name\":\"a\",\"id\":1}},{{\"id\":2,\"name\":\"b\\u001b[2J\"}}]"}}],"structuredContent":[{{"id":1,"name":"a"}},{{"id":2,"name":"b\u001b[2J"}}]}}' ;;
        *'"name":"greet"'*) result='{{"resultType":"complete","content":[{{"type":"text","text":"\u0023 Hello\n\n- **you**\n- \u001b[31mme"}},{{"type":"image","mimeType":"image/png","data":"aGk="}}]}}' ;;"#,
        list("tools", &format!(r#"{TOOL},{{"name":"table","inputSchema":{{"type":"object"}}}}"#)),
        list("prompts", PROMPT),
        list("resources", RESOURCE),
        list("resourceTemplates", TEMPLATE),
    ))
}

fn on_terminal(home: &Home, args: &[&str]) -> (String, Option<i32>) {
    let mut command = home.command(args);
    command.env("TERM", "xterm").env("TMPDIR", home.path());
    Terminal::start(&mut command).end()
}

#[test]
fn a_tool_is_shown_with_its_arguments_and_a_command_that_calls_it() {
    let home = Home::new();
    let server = server(&home);
    let place = format!("--stdio '{server}'");
    let ran = home.run(&["inspect", "--stdio", &server, "greet"]);
    assert_eq!(
        ran,
        Ran::printed(&format!(
            "greet  Greet\nread-only\n\nGreets **someone**\n\nArguments\n  name  string, required\n      Person to greet\n  times  integer, at least 1, default 1\n\nCall it\n  callgate call {place} greet name=TEXT\n"
        ))
    );
    let ran = home.run(&["inspect", "--json", "--stdio", &server, "greet"]);
    assert_eq!(ran, Ran::printed(&format!("{TOOL}\n")));
    let ran = home.run(&["inspect", "--stdio", &server, "gret"]);
    let error = "error: the server has no tool `gret`\nhint: did you mean `greet`?\n";
    assert_eq!(ran, Ran::failed(5, error));
}

#[test]
fn the_command_that_is_shown_works_for_types_behind_alternatives() {
    let home = Home::new();
    let tool = r##"{"name":"set","inputSchema":{"type":"object","required":["maybe","level","size"],"properties":{"maybe":{"anyOf":[{"type":"integer"},{"type":"null"}]},"level":{"enum":[2,"high"]},"size":{"$ref":"#/$defs/size"}},"$defs":{"size":{"type":"number"}}}}"##;
    let server = home.shell_server(&format!(
        r#"*'"method":"tools/list"'*) result='{{"resultType":"complete","tools":[{tool}]}}' ;;
        *'"arguments":{{"maybe":1,"level":2,"size":1}}'*) result='{{"resultType":"complete","content":[{{"type":"text","text":"set"}}]}}' ;;
        *'"method":"tools/call"'*) result='{{"resultType":"complete","isError":true,"content":[{{"type":"text","text":"wrong types"}}]}}' ;;"#
    ));
    let ran = home.run(&["inspect", "--stdio", &server, "set"]);
    let line = ran.stdout.trim_end().rsplit('\n').next().unwrap();
    assert!(line.ends_with(" set maybe=1 level=2 size=1"), "{ran:?}");
    let words = shlex::split(line).unwrap();
    let args: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    assert_eq!(home.run(&args), Ran::printed("set\n"));
}

#[test]
fn prompts_are_listed_and_filled_in() {
    let home = Home::new();
    let server = server(&home);
    let run = |args: &[&str]| home.run(&[args, &["--stdio", &server]].concat());
    assert_eq!(
        run(&["prompts"]),
        Ran::printed("review <file> [style]  Review a file\n")
    );
    assert_eq!(
        run(&["prompts", "--json"]),
        Ran::printed(&format!("[{PROMPT}]\n"))
    );
    assert_eq!(
        run(&["prompt", "review", "a.rs"]),
        Ran::printed("Review a.rs\n")
    );
    assert_eq!(
        run(&["prompt", "review"]),
        Ran::failed(
            1,
            "error: the prompt `review` needs the argument `file`\nhint: write it as: review <file> [style]\n"
        )
    );
    assert_eq!(
        run(&["prompt", "reviw"]),
        Ran::failed(
            5,
            "error: the server has no prompt `reviw`\nhint: did you mean `review`?\n"
        )
    );
}

#[test]
fn resources_are_listed_and_read() {
    let home = Home::new();
    let server = server(&home);
    let run = |args: &[&str]| home.run(&[args, &["--stdio", &server]].concat());
    assert_eq!(
        run(&["resources"]),
        Ran::printed("notes://today  Notes of today\nnotes://{day}  day\n")
    );
    assert_eq!(
        run(&["resources", "--json"]),
        Ran::printed(&format!(
            "{{\"resources\":[{RESOURCE}],\"resourceTemplates\":[{TEMPLATE}]}}\n"
        ))
    );
    assert_eq!(
        run(&["read", "notes://{day}", "day=today"]),
        Ran::printed("buy milk")
    );
    assert_eq!(
        run(&["read", "notes://toda"]),
        Ran::failed(
            5,
            "error: no such resource\nhint: did you mean `notes://today`?\n"
        )
    );
}

#[test]
fn bytes_of_a_resource_go_to_programs_and_files_and_not_to_a_terminal() {
    let home = Home::new();
    let server = server(&home);
    let bytes = [0, 1, 2, 0x1b, b'['];
    let args = ["read", "notes://blob", "--stdio", &server];
    assert_eq!(home.command(&args).output().unwrap().stdout, bytes);
    assert_eq!(
        on_terminal(&home, &args),
        (
            "error: `notes://blob` is 5 bytes that a terminal cannot show\nhint: write it to a file with -o FILE, or pipe the output to a program\n".to_owned(),
            Some(1)
        )
    );
    let file = home.path().join("out");
    let path = file.to_str().unwrap();
    let args = ["read", "notes://blob", "-o", path, "--stdio", &server];
    assert_eq!(home.run(&args).exit, Some(0));
    assert_eq!(fs::read(&file).unwrap(), bytes);
    // A file is never overwritten.
    assert_eq!(home.run(&args).exit, Some(1));
}

#[test]
fn results_are_drawn_on_a_terminal_alone() {
    let home = Home::new();
    let server = server(&home);
    let args = ["call", "--stdio", &server, "greet", "name=x"];
    assert_eq!(
        home.run(&args),
        Ran::printed(
            "# Hello\n\n- **you**\n- \u{1b}[31mme\n[image, image/png, 2 bytes; use --json to get it]\n"
        )
    );
    let (said, exit) = on_terminal(&home, &args);
    let (drawn, saved) = said.split_once("\u{1b}[1mimage, ").unwrap();
    assert_eq!(
        (drawn.replace('\u{1b}', "^").as_str(), exit),
        (
            "^[1;4mHello^[0m\n\n^[2m• ^[0m^[1myou^[0m\n^[2m• ^[0m\\u{1b}[31mme\n",
            Some(0)
        )
    );
    let path = saved.split("\u{1b}[32m").nth(1).unwrap();
    let path = path.split('\u{1b}').next().unwrap();
    assert_eq!(fs::read(path).unwrap(), b"hi");
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(path).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);

    let (said, _) = on_terminal(&home, &["call", "--stdio", &server, "table"]);
    assert_eq!(
        said.replace("\u{1b}[1m", "")
            .replace("\u{1b}[2m", "")
            .replace("\u{1b}[36m", "")
            .replace("\u{1b}[0m", ""),
        "id  name\n──  ──────────\n1   a\n2   b\\u{1b}[2J\n"
    );
}

#[test]
fn configured_servers_are_searched_without_connecting() {
    let home = Home::new();
    let script = server(&home);
    let script = script.strip_prefix("/bin/sh ").unwrap();
    let directory = home.path().join(".config/callgate");
    fs::create_dir_all(&directory).unwrap();
    let config =
        format!(r#"{{"mcpServers":{{"demo":{{"command":"/bin/sh","args":["{script}"]}}}}}}"#);
    fs::write(directory.join("config.json"), config).unwrap();
    let note = "note: nothing is known yet of `demo`; run `callgate list` to connect to all servers, or `callgate debug NAME` to see why one cannot be connected\n";
    let ran = home.run(&["search", "greet"]);
    assert_eq!(
        (ran.stdout.as_str(), ran.stderr.ends_with(note)),
        ("", true),
        "{ran:?}"
    );
    let ran = home.run(&["inspect", "demo/greet"]);
    assert!(
        ran.stdout.ends_with("callgate call demo/greet name=TEXT\n"),
        "{ran:?}"
    );
    // The server is gone, and what is known of it stays.
    fs::remove_file(script).unwrap();
    assert_eq!(
        home.run(&["search", "gret", "person"]),
        Ran::printed("demo/greet  Greets **someone**\n")
    );
    let (said, exit) = on_terminal(&home, &[]);
    assert_eq!(exit, Some(0), "{said}");
    assert!(
        said.contains("2 tools") && said.contains("callgate inspect demo"),
        "{said}"
    );
}

#[test]
fn an_argument_that_the_configuration_fixes_is_not_found() {
    let home = Home::new();
    let script = server(&home);
    let script = script.strip_prefix("/bin/sh ").unwrap();
    let mut definition = json!({ "command": "/bin/sh", "args": [script] });
    home.configure(&json!({ "demo": definition }));
    assert_eq!(home.run(&["list", "demo"]).exit, Some(0));
    home.run(&["list"]);
    let found = home.json(&["search", "name"]);
    assert_eq!(found[0]["name"], "demo/greet", "{found}");
    definition["tools"] = json!({ "greet": { "fixed": { "name": "Ada" } } });
    home.configure(&json!({ "demo": definition }));
    home.run(&["list"]);
    assert_eq!(home.json(&["search", "name"]), json!([]));
    let found = home.json(&["search", "greet"]);
    let schema = &found[0]["definition"]["inputSchema"];
    assert_eq!(schema["properties"].get("name"), None, "{schema}");
}

#[test]
fn the_manual_page_names_the_commands_and_the_way_to_their_pages() {
    let home = Home::new();
    let page = home.run(&["man"]).stdout;
    assert!(
        page.contains("\\fBcallgate inspect\\fR\nShow a server"),
        "{page}"
    );
    assert!(page.contains("callgate man COMMAND"), "{page}");
    let of_inspect = home.run(&["man", "inspect"]).stdout;
    assert!(
        of_inspect.contains(".TH callgate-inspect 1"),
        "{of_inspect}"
    );
    let of_auth = home.run(&["man", "auth"]).stdout;
    assert!(
        of_auth.contains("\\fBcallgate auth import\\fR\n"),
        "{of_auth}"
    );
    let below = home.run(&["man", "auth", "import"]).stdout;
    assert!(below.contains(".TH callgate-auth-import 1"), "{below}");
    // No page names another one, which is on the disk only if the user has written it there.
    for page in [page, of_inspect, of_auth, below] {
        assert!(!page.contains("(1)"), "{page}");
    }
}

#[test]
fn a_manual_page_of_no_command_is_refused() {
    assert_eq!(
        Home::new().run(&["man", "auth", "imprt"]),
        Ran::failed(
            1,
            "error: there is no command `callgate auth imprt`\nhint: did you mean `import`?\n"
        )
    );
}
