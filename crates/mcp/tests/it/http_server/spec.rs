//! The rules SM-S1 to SM-S19 of the transport, one by one; those about streams are in `streams`.

use std::sync::Arc;

use callgate_mcp::HeaderParam;
use callgate_mcp::transport::http::server::HttpServerConfig;

use super::peer::Answer;
use super::post::{META, Post};
use super::subject::{RESULT, Subject};

async fn ask(request: &Post) -> Answer {
    Subject::start(HttpServerConfig::default())
        .await
        .ask(request)
        .await
}

/// The status of the answer, and its body.
async fn answer(request: &Post) -> (u16, String) {
    let answer = ask(request).await;
    (answer.status, answer.body)
}

/// Asks a server that serves no older revisions.
async fn ask_modern(request: &Post) -> Answer {
    let mut config = HttpServerConfig::default();
    config.sessions = None;
    Subject::start(config).await.ask(request).await
}

/// The status of the answer, the code of the error in it, and whether it carries the id.
async fn refusal(request: &Post) -> (u16, i64, bool) {
    code(&ask(request).await)
}

fn code(answer: &Answer) -> (u16, i64, bool) {
    let body: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    let code = body["error"]["code"].as_i64().unwrap();
    (answer.status, code, body["id"] == 1)
}

fn result(result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#)
}

fn with_meta(meta: &str) -> Post {
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":"#;
    Post::message(&format!("{call}{meta}}}")).set("mcp-method", "tools/list")
}

#[tokio::test]
async fn sm_s1_one_endpoint_answers_posts() {
    assert_eq!(answer(&Post::tool("echo")).await, (200, result(RESULT)));
    for target in ["/", "/mcp/", "/MCP", "/mcp/x", "*"] {
        let other = Post::tool("echo").to(target);
        assert_eq!(answer(&other).await, (404, String::new()), "{target}");
    }
    let query = Post::tool("echo").to("/mcp?x=1");
    assert_eq!(answer(&query).await.0, 200);
}

#[tokio::test]
async fn sm_s2_a_foreign_origin_is_forbidden() {
    let forbidden = r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"the Host or Origin is not allowed here"}}"#;
    for origin in ["http://evil.example.com", "null", "https://localhost"] {
        let request = Post::tool("echo").set("origin", origin);
        assert_eq!(
            answer(&request).await,
            (403, forbidden.to_owned()),
            "{origin}"
        );
    }
}

#[tokio::test]
async fn sm_s3_a_notification_is_accepted_without_a_body() {
    let notification = Post::message(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#);
    assert_eq!(answer(&notification).await, (202, String::new()));
    let bare = notification.without("mcp-protocol-version");
    assert_eq!(answer(&bare).await, (202, String::new()));
}

#[tokio::test]
async fn sm_s3_a_response_is_refused() {
    for body in [
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}"#,
    ] {
        assert_eq!(refusal(&Post::message(body)).await, (400, -32600, false));
    }
}

#[tokio::test]
async fn sm_s4_a_request_is_answered_with_json_or_events() {
    for (tool, content_type) in [
        ("echo", "application/json"),
        ("unknown", "application/json"),
        ("notify", "text/event-stream"),
    ] {
        let answer = ask(&Post::tool(tool)).await;
        assert_eq!(answer.status, 200, "{tool}");
        assert_eq!(answer.header("content-type"), Some(content_type), "{tool}");
    }
}

#[tokio::test]
async fn sm_s7_nothing_is_minted_and_nothing_resumed() {
    let old = Post::tool("notify")
        .set("mcp-session-id", "abc")
        .set("last-event-id", "7");
    let answer = ask(&old).await;
    let mut names: Vec<_> = answer.headers.iter().map(|(name, _)| name).collect();
    names.sort();
    assert_eq!(
        names,
        [
            "cache-control",
            "content-type",
            "date",
            "transfer-encoding",
            "x-accel-buffering"
        ]
    );
    let fields = |line: &str| line.split(':').next().unwrap().to_owned();
    let mut fields: Vec<_> = answer.body.lines().map(fields).collect();
    fields.sort();
    fields.dedup();
    assert_eq!(fields, ["", "data", "event"]);
}

#[tokio::test]
async fn sm_s9_a_required_header_must_be_there_once_and_match() {
    for (header, right) in [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "echo"),
    ] {
        let request = Post::tool("echo");
        let missing = request.clone().without(header);
        assert_eq!(refusal(&missing).await, (400, -32020, true), "{header}");
        let twice = request.clone().and(header, right);
        assert_eq!(refusal(&twice).await, (400, -32020, true), "{header}");
        for value in [
            "other",
            "",
            &right.to_uppercase().replace('-', "/"),
            "=?base64?ZWNobw?=",
            "=?base64?ZWN\u{e9}?=",
            "\u{e9}",
        ] {
            let different = request.clone().set(header, value);
            assert_eq!(
                refusal(&different).await,
                (400, -32020, true),
                "{header}: {value}"
            );
        }
    }
}

#[tokio::test]
async fn sm_s9_the_name_header_mirrors_the_member_of_its_method() {
    for (method, member) in [
        ("tools/call", "name"),
        ("prompts/get", "name"),
        ("resources/read", "uri"),
        ("tasks/get", "taskId"),
    ] {
        let request = Post::request(method, &format!(r#""{member}":"a\u00e9""#));
        let encoded = request.clone().set("mcp-name", "=?base64?YcOp?=");
        assert_eq!(answer(&encoded).await.0, 200, "{method}");
        assert_eq!(refusal(&request).await, (400, -32020, true), "{method}");
        let other = request.set("mcp-name", "a");
        assert_eq!(refusal(&other).await, (400, -32020, true), "{method}");
    }
    for method in ["tasks/update", "tasks/cancel"] {
        let request = Post::request(method, r#""taskId":"a""#);
        assert_eq!(refusal(&request).await, (400, -32020, true), "{method}");
    }
    let unnamed = Post::request("tools/list", r#""name":"x""#);
    assert_eq!(answer(&unnamed).await.0, 200);
    let nameless = Post::request("tools/call", r#""name":7"#);
    assert_eq!(answer(&nameless).await.0, 200);
    for body in [nameless, Post::request("tools/call", "")] {
        let named = body.set("mcp-name", "7");
        assert_eq!(refusal(&named).await, (400, -32020, true));
    }
}

#[tokio::test]
async fn sm_s10_the_version_header_equals_the_one_in_the_body() {
    let body = Post::tool("echo");
    let older = body.set("mcp-protocol-version", "2025-11-25");
    assert_eq!(refusal(&older).await, (400, -32020, true));
}

#[tokio::test]
async fn sm_s11_an_unsupported_version_is_refused_by_name() {
    for version in ["1999-01-01", "2025-11-25", "2026-07-29"] {
        let meta = META.replace("2026-07-28", version);
        let request = with_meta(&format!("{{{meta}}}")).set("mcp-protocol-version", version);
        assert_eq!(
            answer(&request).await,
            (
                400,
                format!(
                    r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-32022,"message":"protocol version `{version}` is not supported","data":{{"supported":["2026-07-28"],"requested":"{version}"}}}}}}"#
                )
            )
        );
    }
}

#[tokio::test]
async fn sm_s12_an_unknown_method_is_404() {
    let request = Post::request("no/such/method", "");
    assert_eq!(refusal(&request).await, (404, -32601, true));
}

#[tokio::test]
async fn sm_s13_missing_or_wrong_metadata_and_missing_capabilities_are_400() {
    const VERSION: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
    const CAPABILITIES: &str = r#""io.modelcontextprotocol/clientCapabilities""#;
    const LOG_LEVEL: &str = r#""io.modelcontextprotocol/logLevel""#;
    for params in [
        "{}",
        r#"{"_meta":{}}"#,
        r#"{"_meta":[]}"#,
        &format!(r#"{{"_meta":{{{VERSION}}}}}"#),
        &format!(r#"{{"_meta":{{{CAPABILITIES}:{{}}}}}}"#),
        &format!(r#"{{"_meta":{{{VERSION},{CAPABILITIES}:null}}}}"#),
        &format!(r#"{{"_meta":{{{VERSION},{CAPABILITIES}:{{}},{LOG_LEVEL}:"loud"}}}}"#),
    ] {
        assert_eq!(
            refusal(&with_meta(params)).await,
            (400, -32602, true),
            "{params}"
        );
    }
    assert_eq!(
        refusal(&Post::tool("capability")).await,
        (400, -32021, true)
    );
}

/// A call of a tool whose parameters `region` and `options.limit` are mirrored.
fn mirrored(arguments: &str, headers: &[(&str, &str)]) -> Post {
    let members = format!(r#""name":"echo","arguments":{arguments}"#);
    let request = Post::request("tools/call", &members).set("mcp-name", "echo");
    headers
        .iter()
        .fold(request, |request, (name, value)| request.and(name, value))
}

async fn mirror(arguments: &str, headers: &[(&str, &str)], expect: u16) {
    let param = |header: &str, path: &[&str]| HeaderParam::new(header, path.iter().copied());
    let params: Arc<[HeaderParam]> = Arc::new([
        param("mcp-param-region", &["region"]),
        param("mcp-param-limit", &["options", "limit"]),
    ]);
    let mut config = HttpServerConfig::default();
    config.header_params = Some(Arc::new(move |tool| {
        (tool == "echo").then(|| params.clone())
    }));
    let answer = Subject::start(config)
        .await
        .ask(&mirrored(arguments, headers))
        .await;
    assert_eq!(answer.status, expect, "{arguments} {headers:?}");
    if expect == 400 {
        assert_eq!(code(&answer), (400, -32020, true));
    }
}

#[tokio::test]
async fn sm_s14_mirrored_parameters_are_checked() {
    let region = r#"{"region":"us"}"#;
    mirror(region, &[("Mcp-Param-Region", "us")], 200).await;
    mirror(region, &[("Mcp-Param-Region", "=?base64?dXM=?=")], 200).await;
    mirror(region, &[], 400).await;
    mirror(region, &[("Mcp-Param-Region", "eu")], 400).await;
    mirror(region, &[("Mcp-Param-Region", "=?base64?dXM?=")], 400).await;
    mirror(region, &[("Mcp-Param-Region", "\u{e9}")], 400).await;
    let twice = [("Mcp-Param-Region", "us"), ("Mcp-Param-Region", "us")];
    mirror(region, &twice, 400).await;
    mirror(r#"{"region":null}"#, &[], 200).await;
    mirror("{}", &[], 200).await;
    mirror("{}", &[("Mcp-Param-Region", "us")], 400).await;
    mirror("{}", &twice, 400).await;
    mirror("{}", &[("Mcp-Param-Other", "x")], 200).await;
    mirror(r#"{"region":["us"]}"#, &[], 200).await;
    mirror(r#"{"region":["us"]}"#, &[("Mcp-Param-Region", "us")], 400).await;
}

#[tokio::test]
async fn sm_s15_names_ignore_case_values_do_not_and_integers_are_numbers() {
    let region = r#"{"region":"us"}"#;
    mirror(region, &[("mcp-PARAM-rEgIoN", "us")], 200).await;
    mirror(region, &[("mcp-param-region", "  us\t ")], 200).await;
    mirror(region, &[("mcp-param-region", "US")], 400).await;
    let limit = r#"{"options":{"limit":42}}"#;
    mirror(limit, &[("mcp-param-limit", "42")], 200).await;
    mirror(limit, &[("mcp-param-limit", "42.0")], 200).await;
    mirror(limit, &[("mcp-param-limit", "43")], 400).await;
    mirror(limit, &[("mcp-param-limit", "forty-two")], 400).await;
    let shouted = Post::tool("echo")
        .without("mcp-method")
        .set("MCP-METHOD", " tools/call ");
    assert_eq!(answer(&shouted).await.0, 200);
}

#[tokio::test]
async fn sm_s16_old_traffic_gets_405_and_its_headers_are_ignored() {
    for method in ["GET", "DELETE", "PUT", "HEAD", "OPTIONS", "PATCH"] {
        let answer = ask_modern(&Post::message("").by(method).to("/mcp")).await;
        assert_eq!(answer.status, 405, "{method}");
        assert_eq!(answer.header("allow"), Some("POST"), "{method}");
    }
    let old = Post::tool("echo")
        .set("mcp-session-id", "abc")
        .set("last-event-id", "7");
    assert_eq!(answer(&old).await, (200, result(RESULT)));
}

#[tokio::test]
async fn other_methods_than_those_of_any_revision_get_405() {
    for method in ["PUT", "HEAD", "OPTIONS", "PATCH", "TRACE"] {
        let answer = ask(&Post::message("").by(method)).await;
        assert_eq!(answer.status, 405, "{method}");
        let allowed = match cfg!(feature = "legacy") {
            true => "GET, POST, DELETE",
            false => "POST",
        };
        assert_eq!(answer.header("allow"), Some(allowed));
    }
}

#[cfg(feature = "legacy")]
#[tokio::test]
async fn sm_s17_an_old_client_learns_which_versions_are_spoken() {
    let handshake = Post::message(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#,
    );
    let plain = handshake.clone().without("mcp-protocol-version");
    let answer = ask_modern(&plain).await;
    assert_eq!(
        (answer.status, answer.body),
        (
            400,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"header `mcp-protocol-version` is missing","data":{"supported":["2026-07-28"]}}}"#.to_owned()
        )
    );
    let versioned = handshake.set("mcp-protocol-version", "2025-11-25");
    assert_eq!(code(&ask_modern(&versioned).await), (400, -32022, true));
}

#[tokio::test]
async fn sm_s18_other_errors_are_200() {
    assert_eq!(refusal(&Post::tool("unknown")).await, (200, -32602, true));
    assert_eq!(refusal(&Post::tool("panic")).await, (200, -32603, true));
    let begun = Post::tool("unknown").set("accept", "text/event-stream");
    assert_eq!(
        answer(&begun).await,
        (
            200,
            "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"unknown tool\"}}\n\n"
                .to_owned()
        )
    );
}

#[tokio::test]
async fn sm_s18_a_refusal_for_load_is_429_and_says_when_to_come_back() {
    let answer = ask(&Post::tool("busy")).await;
    assert_eq!(code(&answer), (429, 42900, true));
    assert_eq!(answer.header("retry-after"), Some("2"));
}

#[tokio::test]
async fn sm_s19_the_first_fault_decides() {
    // Each step repairs one fault of the request before it.
    let worst = Post::message("{")
        .by("GET")
        .to("/other")
        .set("host", "evil.example.com@x")
        .set("origin", "http://evil.example.com")
        .set("content-type", "text/plain")
        .set("accept", "text/html")
        .without("mcp-protocol-version");
    let host = worst.clone().without("host");
    let origin = host.clone().without("origin");
    let path = origin.clone().to("/mcp");
    let method = path.clone().by("POST");
    let content_type = method.clone().set("content-type", "application/json");
    let accept = content_type.clone().set("accept", "*/*");
    for (request, status) in [
        (&worst, 400),
        (&host, 403),
        (&origin, 404),
        (&path, 405),
        (&method, 415),
        (&content_type, 406),
        (&accept, 400),
    ] {
        assert_eq!(ask_modern(request).await.status, status, "{request:?}");
    }

    // From here on there is a message; each step repairs one fault of it.
    let bad_version = META.replace("2026-07-28", "1999-01-01");
    let call = |meta: &str| {
        Post::message(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"capability",{meta}}}}}"#
        ))
        .set("mcp-protocol-version", "1999-01-01")
    };
    let steps = [
        (accept, -32700),
        (Post::message(r#"{"jsonrpc":"2.0","id":1}"#), -32600),
        (call(r#""a":1"#).without("mcp-protocol-version"), -32020),
        (call(META), -32020),
        (call(&bad_version), -32022),
        (call(META).set("mcp-protocol-version", "2026-07-28"), -32020),
        (Post::tool("capability").set("mcp-name", "x"), -32020),
        (Post::tool("capability"), -32021),
    ];
    for (request, expect) in steps {
        let (status, code, _) = code(&ask_modern(&request).await);
        assert_eq!((status, code), (400, expect), "{request:?}");
    }
}

#[tokio::test]
async fn a_body_that_is_no_message_is_refused_with_the_id_it_has() {
    for (body, code, id) in [
        ("", -32700, false),
        ("nonsense", -32700, false),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",}",
            -32700,
            true,
        ),
        ("[]", -32600, false),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"m"}]"#, -32600, false),
        (r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#, -32600, true),
        (r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#, -32600, false),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#, -32600, false),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"m","method":"n"}"#,
            -32600,
            true,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":{"b":1,"b":2}}}"#,
            -32600,
            true,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[]}"#,
            -32602,
            true,
        ),
    ] {
        assert_eq!(
            refusal(&Post::message(body)).await,
            (400, code, id),
            "{body}"
        );
    }
}
