use serde_json::json;

use crate::fixture::{Home, Ran};

#[test]
fn a_server_is_told_of_the_roots_of_its_configuration() {
    let home = Home::new();
    let cases = r#"*'"method":"tools/list"'*)
        result='{"resultType":"complete","tools":[{"name":"a","inputSchema":{"type":"object"}}]}' ;;
    *'"inputResponses"'*)
        uri=${line#*file://}
        uri=${uri%%\"*}
        result='{"resultType":"complete","content":[{"type":"text","text":"'$uri'"}]}' ;;
    *'"roots":{}'*'"name":"a"'* | *'"name":"a"'*'"roots":{}'*)
        result='{"resultType":"input_required","requestState":"s","inputRequests":{"k":{"method":"roots/list"}}}' ;;"#;
    let mut server = home.shell_definition(cases);
    server["roots"] = json!(["project"]);
    home.configure(&json!({ "s": server }));
    let root = home.path().join(".config/callgate/project");
    let printed = format!("{}\n", root.display());
    assert_eq!(home.run(&["call", "s/a"]), Ran::printed(&printed));
}
