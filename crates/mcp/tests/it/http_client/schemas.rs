//! Tool parameters that travel in headers.

use callgate_mcp::Kind;

use super::peer::{Answer, META, Peer, Received, call, failure, http, json, result};

fn tool(name: &str, annotation: &str) -> String {
    format!(
        r#"{{"name":"{name}", "inputSchema":{{"type":"object","properties":{{"region":{{"type":"string","x-mcp-header":{annotation}}},"n":{{"type":"integer"}}}}}}}}"#
    )
}

fn tools(tools: &[String]) -> String {
    format!(r#"{{"tools":[{}],"ttlMs":0}}"#, tools.join(","))
}

const CALL: &str = r#""name":"t","arguments":{"region":"eu","n":1},"#;

/// Lists `t` and calls it only with the header.
fn strict(request: &Received) -> Answer {
    match request.method().as_str() {
        "tools/list" => json(&request.result(&tools(&[tool("t", r#""Region""#)]))),
        _ if request.header("mcp-param-region") == Some("eu") => json(&request.result("{}")),
        _ => http(
            "400 Bad Request",
            "application/json",
            &request.error(-32020),
        ),
    }
}

fn methods(peer: &mut Peer) -> Vec<String> {
    peer.requests().iter().map(Received::method).collect()
}

#[tokio::test]
async fn sm_c6_annotated_parameters_are_mirrored_once_the_schema_is_known() {
    let mut peer = Peer::start(strict).await;
    let client = peer.client();
    result(&client, call("tools/list", "")).await;
    result(&client, call("tools/call", CALL)).await;
    assert_eq!(methods(&mut peer), ["tools/list", "tools/call"]);
}

#[tokio::test]
async fn sm_c6_a_refused_call_learns_the_schema_and_is_made_again() {
    let mut peer = Peer::start(strict).await;
    let client = peer.client();
    assert_eq!(result(&client, call("tools/call", CALL)).await, "{}");
    let requests = peer.requests();
    let seen: Vec<_> = requests.iter().map(Received::method).collect();
    assert_eq!(seen, ["tools/call", "tools/list", "tools/call"]);
    let meta = META.replace(r#""mine""#, "2");
    assert_eq!(requests[1].message().params.as_str(), format!("{{{meta}}}"));
    // From now on it is known.
    result(&client, call("tools/call", CALL)).await;
    assert_eq!(methods(&mut peer), ["tools/call"]);
}

#[tokio::test]
async fn sm_c6_the_schema_may_be_on_a_later_page() {
    let mut peer = Peer::start(|request| match request.method().as_str() {
        "tools/list" if request.message().params.get("cursor").is_none() => {
            json(&request.result(r#"{"tools":[],"nextCursor":""}"#))
        }
        _ => strict(request),
    })
    .await;
    assert_eq!(result(&peer.client(), call("tools/call", CALL)).await, "{}");
    assert_eq!(
        methods(&mut peer),
        ["tools/call", "tools/list", "tools/list", "tools/call"]
    );
}

#[tokio::test]
async fn sm_c6_a_changed_schema_is_learned_the_same_way() {
    let mut names = [r#""Old""#, r#""Region""#].into_iter();
    let mut peer = Peer::start(move |request| match request.method().as_str() {
        "tools/list" => json(&request.result(&tools(&[tool("t", names.next().unwrap())]))),
        _ => strict(request),
    })
    .await;
    let client = peer.client();
    result(&client, call("tools/list", "")).await;
    assert_eq!(result(&client, call("tools/call", CALL)).await, "{}");
    assert_eq!(
        methods(&mut peer),
        ["tools/list", "tools/call", "tools/list", "tools/call"]
    );
}

#[tokio::test]
async fn sm_c6_nothing_is_repeated_in_vain() {
    let never = |listed: &'static str| {
        Peer::start(move |request| match request.method().as_str() {
            "tools/list" => json(&request.result(listed)),
            _ => http(
                "400 Bad Request",
                "application/json",
                &request.error(-32020),
            ),
        })
    };
    let mut unknown = never(r#"{"tools":[]}"#).await;
    let error = failure(&unknown.client(), call("tools/call", CALL)).await;
    assert_eq!((error.kind(), error.code()), (Kind::Rpc, -32020));
    assert_eq!(methods(&mut unknown), ["tools/call", "tools/list"]);

    let mut stubborn = never(
        r#"{"tools":[{"name":"t","inputSchema":{"properties":{"region":{"type":"string","x-mcp-header":"R"}}}}]}"#,
    )
    .await;
    let error = failure(&stubborn.client(), call("tools/call", CALL)).await;
    assert_eq!((error.kind(), error.code()), (Kind::Rpc, -32020));
    assert_eq!(
        methods(&mut stubborn),
        ["tools/call", "tools/list", "tools/call"]
    );

    let mut endless = never(r#"{"tools":[],"nextCursor":"again"}"#).await;
    failure(&endless.client(), call("tools/call", CALL)).await;
    assert_eq!(methods(&mut endless).len(), 1 + 16);

    let mut broken = Peer::start(|request| match request.method().as_str() {
        "tools/list" => http("500 Oops", "text/plain", "no"),
        _ => http(
            "400 Bad Request",
            "application/json",
            &request.error(-32020),
        ),
    })
    .await;
    let error = failure(&broken.client(), call("tools/call", CALL)).await;
    assert_eq!((error.kind(), error.code()), (Kind::Rpc, -32020));
    assert_eq!(methods(&mut broken), ["tools/call", "tools/list"]);
}

#[tokio::test]
async fn sm_c7_tools_with_invalid_annotations_are_left_out() {
    let good = [
        tool("good", r#""Region""#),
        r#"{"name":"plain","z": 49E-31}"#.to_owned(),
    ];
    let bad = [r#""""#, r#""a b""#, "null", "7", r#"{}"#].map(|annotation| tool("bad", annotation));
    let all: Vec<String> = [&good[..1], &bad[..], &good[1..]].concat();
    let peer = Peer::start(move |request| json(&request.result(&tools(&all)))).await;
    assert_eq!(
        result(&peer.client(), call("tools/list", "")).await,
        tools(&good)
    );
}
