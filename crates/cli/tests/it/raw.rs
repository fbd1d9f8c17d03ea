//! `--json` against a server that sends members which this program does not know.

use crate::fixture::{Home, Ran};

const TOOLS: [&str; 3] = [
    r#"{"z-unknown" : [1e2,-0],"name":"echo","inputSchema":{"type":"object"},"name2":12345678901234567890123}"#,
    r#"{"name":"\u0065cho2", "inputSchema":{"type":"object","x":0.10},"icons":null}"#,
    r#"{"inputSchema":{"type":"object"},"name":"fail"}"#,
];

const ECHOED: &str = r#"{"resultType":"complete","content":[{"type":"text","text":"hi","new":98765432109876543210}],"future" : {"a":1.50},"structuredContent":{"n":12345678901234567890123}}"#;

const FAILED: &str = r#"{"resultType":"complete","isError":true,"content":[{"type":"text","text":"no"}],"why":1E400}"#;

impl Home {
    /// The command line of a server that answers from a script, with two pages of tools.
    fn scripted_server(&self) -> String {
        let [first, second, third] = TOOLS;
        let cases = format!(
            r#"*'"cursor":"2"'*) result='{{"resultType":"complete","tools":[{third}]}}' ;;
            *'"method":"tools/list"'*)
                result='{{"resultType":"complete","tools":[ {first}, {second} ],"nextCursor":"2","unknown":1}}' ;;
            *'"name":"echo"'*) result='{ECHOED}' ;;
            *'"name":"fail"'*) result='{FAILED}' ;;"#
        );
        self.shell_server(&cases)
    }
}

#[test]
fn list_prints_every_tool_as_the_server_sent_it() {
    let home = Home::new();
    let server = home.scripted_server();
    assert_eq!(
        home.run(&["list", "--json", "--stdio", &server]),
        Ran::printed(&format!("[{}]\n", TOOLS.join(",")))
    );
    assert_eq!(
        home.run(&["list", "--stdio", &server]),
        Ran::printed("echo\necho2\nfail\n")
    );
}

#[test]
fn call_prints_the_result_as_the_server_sent_it() {
    let home = Home::new();
    let server = home.scripted_server();
    let call = |args: &[&str]| home.run(&[&["call", "--stdio", &server], args].concat());
    assert_eq!(
        call(&["echo", "--json"]),
        Ran::printed(&format!("{ECHOED}\n"))
    );
    assert_eq!(call(&["echo"]), Ran::printed("hi\n"));
    let failed = call(&["fail", "--json"]);
    assert_eq!(
        (failed.exit, failed.stdout),
        (Some(5), format!("{FAILED}\n"))
    );
}
