//! Which sessions there are, and what becomes of calls when one is gone.

use callgate_mcp::{Caller, Kind, Reply, Retry, Service};
use futures_util::future::join_all;
use tokio::sync::mpsc;

use super::old_server::{
    COMPLETE, INITIALIZED, RESULT, accepted, from, log, next, old_server, opened, remote,
    tool_call, what,
};
use crate::http_client::peer::{
    Answer, Peer, SSE_HEAD, call, chunk, event, failure, http, json, raw, result, soon,
};

#[tokio::test]
async fn sl_c5_twenty_calls_lose_their_session_and_share_the_next() {
    let mut opened_so_far = 0;
    let mut peer = Peer::start(move |request| match what(request).as_str() {
        "initialize" => {
            opened_so_far += 1;
            opened(
                &format!("session-{opened_so_far}"),
                &request.result(INITIALIZED),
            )
        }
        _ => old_server(request, |request| {
            if request.text().contains(r#""name":"warm""#) {
                return json(&request.result(RESULT));
            }
            match request.header("mcp-session-id").unwrap() {
                "session-1" => http("404 Not Found", "text/plain", ""),
                _ => json(&request.result(RESULT)),
            }
        }),
    })
    .await;
    let server = remote(&peer);
    result(&server, call("tools/call", r#""name":"warm","#)).await;
    let calls = (0..20).map(|_| server.call(tool_call()));
    for outcome in soon(join_all(calls)).await {
        assert_eq!(outcome.unwrap().into_result().as_str(), COMPLETE);
    }
    let sent = log(&mut peer);
    let count = |wanted: &str| sent.iter().filter(|what| *what == wanted).count();
    assert_eq!(
        (count("server/discover"), count("initialize")),
        (1, 2),
        "{sent:?}"
    );
}

#[tokio::test]
async fn a_session_that_a_server_calls_invalid_is_opened_again() {
    let mut opened_so_far = 0;
    let peer = Peer::start(move |request| match what(request).as_str() {
        "initialize" => {
            opened_so_far += 1;
            let message = request.result(INITIALIZED);
            opened(&format!("session-{opened_so_far}"), &message)
        }
        _ => old_server(request, |request| {
            match request.header("mcp-session-id").unwrap() {
                "session-1" => {
                    let text = request
                        .error(-32000)
                        .replace("refused", "Bad Request: No valid session ID provided");
                    http("400 Bad Request", "application/json", &text)
                }
                _ => json(&request.result(RESULT)),
            }
        }),
    })
    .await;
    assert_eq!(result(&remote(&peer), tool_call()).await, COMPLETE);
}

#[tokio::test]
async fn a_call_that_loses_two_sessions_in_a_row_fails() {
    let mut peer =
        Peer::start(|request| old_server(request, |_| http("404 Not Found", "text/plain", "")))
            .await;
    let error = failure(&remote(&peer), tool_call()).await;
    assert_eq!(
        (error.kind(), error.code(), error.to_string().as_str()),
        (
            Kind::Closed,
            -32603,
            "server `peer` no longer knows the session"
        )
    );
    let sent = log(&mut peer);
    let count = |wanted: &str| sent.iter().filter(|what| *what == wanted).count();
    assert_eq!((count("initialize"), count("tools/call")), (2, 2));
}

#[tokio::test]
async fn hc_5_every_caller_and_every_set_of_capabilities_has_a_session_of_its_own() {
    let mut opened_so_far = 0;
    let mut peer = Peer::start(move |request| match what(request).as_str() {
        "initialize" => {
            opened_so_far += 1;
            let message = request.result(INITIALIZED);
            opened(&format!("session-{opened_so_far}"), &message)
        }
        _ => old_server(request, |request| json(&request.result(RESULT))),
    })
    .await;
    let server = remote(&peer);
    let elicitation = r#"{"elicitation":{}}"#;
    for (caller, capabilities) in [
        ("ann", "{}"),
        ("ann", elicitation),
        ("bob", "{}"),
        ("ann", "{}"),
        ("ann", elicitation),
    ] {
        result(&server, from(caller, capabilities)).await;
    }
    let requests = peer.requests();
    let told: Vec<String> = requests
        .iter()
        .filter(|request| what(request) == "initialize")
        .map(|request| {
            let params = request.message().params;
            params.get("capabilities").unwrap().as_str().to_owned()
        })
        .collect();
    assert_eq!(told, ["{}", elicitation, "{}"]);
    let used: Vec<&str> = requests
        .iter()
        .filter(|request| what(request) == "tools/call")
        .map(|request| request.header("mcp-session-id").unwrap())
        .collect();
    assert_eq!(
        used,
        [
            "session-1",
            "session-2",
            "session-3",
            "session-1",
            "session-2"
        ]
    );
}

#[tokio::test]
async fn hc_2_a_session_does_not_make_way_while_a_call_waits_for_input_in_it() {
    let mut sessions = 0;
    let (stream, pieces) = mpsc::unbounded_channel();
    let mut pieces = Some(pieces);
    let question = r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#;
    let first = format!("{SSE_HEAD}{}", chunk(&event(question)));
    stream.send(first.into_bytes()).unwrap();
    let mut asking: Option<String> = None;
    let peer = Peer::start(move |request| match what(request).as_str() {
        "initialize" => {
            sessions += 1;
            opened(&format!("session-{sessions}"), &request.result(INITIALIZED))
        }
        "response" => {
            let result = asking.take().expect("a call waits");
            stream.send(chunk(&event(&result)).into_bytes()).unwrap();
            accepted()
        }
        _ => old_server(request, |request| {
            match request.header("mcp-session-id").unwrap() {
                "session-1" => {
                    asking = Some(request.result(RESULT));
                    Answer::Pieces(pieces.take().expect("one call"))
                }
                _ => json(&request.result(RESULT)),
            }
        }),
    })
    .await;
    let server = remote(&peer);
    let roots = r#"{"roots":{}}"#;
    let asked = match soon(server.call(from("ann", roots))).await.unwrap() {
        Reply::InputRequired(asked) => asked,
        other => panic!("nothing was asked: {other:?}"),
    };
    for number in 0..300 {
        result(&server, from(&number.to_string(), "{}")).await;
    }
    let mut again = from("ann", roots);
    let state = asked.get("requestState").unwrap();
    again.set(&["requestState"], &state).unwrap();
    let roots = raw(r#"{"roots":[]}"#);
    again.set(&["inputResponses", "1"], &roots).unwrap();
    assert_eq!(result(&server, again).await, COMPLETE);
}

#[tokio::test]
async fn hc_10_a_session_does_not_make_way_while_a_task_runs_in_it() {
    let initialized = INITIALIZED.replace(
        r#""resources":{}"#,
        r#""tasks":{"requests":{"tools":{"call":{}}}}"#,
    );
    let task = r#""taskId":"t1","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":null"#;
    let (_stream, pieces) = mpsc::unbounded_channel();
    let mut pieces = Some(pieces);
    let mut sessions = 0;
    let peer = Peer::start(move |request| match what(request).as_str() {
        "initialize" => {
            sessions += 1;
            opened(
                &format!("session-{sessions}"),
                &request.result(&initialized),
            )
        }
        "tools/list" => {
            let tools = r#"{"tools":[{"name":"t","execution":{"taskSupport":"optional"}}]}"#;
            json(&request.result(tools))
        }
        "tools/call" if request.text().contains(r#""task":{}"#) => {
            json(&request.result(&format!(r#"{{"task":{{{task}}}}}"#)))
        }
        // The task does not end.
        "tasks/result" => Answer::Pieces(pieces.take().expect("one task")),
        "tasks/get" => json(&request.result(&format!("{{{task}}}"))),
        _ => old_server(request, |request| json(&request.result(RESULT))),
    })
    .await;
    let server = remote(&peer);
    let tasks = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
    let created = soon(server.call(from("ann", tasks))).await.unwrap();
    assert!(matches!(created, Reply::Task(_)), "{created:?}");
    for number in 0..300 {
        result(&server, from(&number.to_string(), "{}")).await;
    }
    let mut get = call("tasks/get", r#""taskId":"t1","#);
    get.cx.caller = Caller::named("ann");
    get.set(
        &["_meta", "io.modelcontextprotocol/clientCapabilities"],
        &raw(tasks),
    )
    .unwrap();
    let task = raw(&result(&server, get).await);
    assert!(task.get("status").unwrap().is("working"));
}

#[tokio::test]
async fn twenty_first_calls_make_one_probe_and_one_handshake() {
    let mut peer =
        Peer::start(|request| old_server(request, |request| json(&request.result(RESULT)))).await;
    let server = remote(&peer);
    let calls = (0..20).map(|_| server.call(tool_call()));
    for outcome in soon(join_all(calls)).await {
        assert_eq!(outcome.unwrap().into_result().as_str(), COMPLETE);
    }
    let sent = log(&mut peer);
    let count = |wanted: &str| sent.iter().filter(|what| *what == wanted).count();
    assert_eq!((count("server/discover"), count("initialize")), (1, 1));
}

#[tokio::test]
async fn sl_c6_a_server_that_does_not_end_sessions_is_left_alone() {
    let mut peer = Peer::start(|request| match what(request).as_str() {
        "DELETE" => http("405 Method Not Allowed", "text/plain", ""),
        _ => old_server(request, |request| json(&request.result(RESULT))),
    })
    .await;
    let server = remote(&peer);
    result(&server, from("ann", "{}")).await;
    result(&server, from("bob", "{}")).await;
    log(&mut peer);
    server.close().await;
    assert_eq!(log(&mut peer), ["DELETE", "DELETE"]);
    let error = failure(&server, tool_call()).await;
    assert_eq!(error.kind(), Kind::Closed);
}

#[tokio::test]
async fn a_server_that_is_dropped_ends_its_sessions() {
    let mut peer =
        Peer::start(|request| old_server(request, |request| json(&request.result(RESULT)))).await;
    let server = remote(&peer);
    result(&server, tool_call()).await;
    drop(server);
    next(&mut peer, "DELETE").await;
}

const TOOLS: &str = r#"{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":""}}}}]}"#;

#[tokio::test]
async fn hc_14_a_tool_with_a_bad_header_is_left_out_only_where_headers_are_sent() {
    let old =
        Peer::start(|request| old_server(request, |request| json(&request.result(TOOLS)))).await;
    let listed = result(&remote(&old), call("tools/list", "")).await;
    assert!(listed.contains(r#""name":"t""#), "{listed}");

    let modern = Peer::start(|request| match what(request).as_str() {
        "server/discover" => json(&request.result(
            r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}"#,
        )),
        _ => json(&request.result(TOOLS)),
    })
    .await;
    let listed = result(&remote(&modern), call("tools/list", "")).await;
    assert_eq!(listed, r#"{"tools":[]}"#);
}

#[tokio::test]
async fn a_session_that_is_opened_while_the_connection_is_closed_ends_at_once() {
    let (handshake, pieces) = mpsc::unbounded_channel();
    let mut pieces = Some(pieces);
    let mut peer = Peer::start(move |request| match what(request).as_str() {
        "initialize" => Answer::Pieces(pieces.take().unwrap()),
        _ => old_server(request, |request| json(&request.result(RESULT))),
    })
    .await;
    let server = remote(&peer);
    let mut calling = server.call(tool_call());
    let request = tokio::select! {
        outcome = &mut calling => panic!("the call ended: {outcome:?}"),
        request = next(&mut peer, "initialize") => request,
    };
    soon(server.close()).await;
    let Answer::Write(answer) = opened("session-1", &request.result(INITIALIZED)) else {
        panic!("a handshake is answered at once");
    };
    handshake.send(answer).unwrap();
    drop(handshake);
    let error = soon(calling).await.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (Kind::Closed, Retry::Safe));
    let reason = soon(server.closed()).await;
    assert_eq!(reason.to_string(), "the connection to `peer` was closed");
    next(&mut peer, "DELETE").await;
    assert_eq!(log(&mut peer), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_handshake_whose_last_message_is_never_answered_fails() {
    let (_held, never) = mpsc::unbounded_channel();
    let mut never = Some(never);
    let peer = Peer::start(move |request| match what(request).as_str() {
        "notifications/initialized" => Answer::Pieces(never.take().unwrap()),
        _ => old_server(request, |request| json(&request.result(RESULT))),
    })
    .await;
    let error = failure(&remote(&peer), tool_call()).await;
    assert_eq!(
        error.to_string(),
        "server `peer` did not answer the handshake within 60s"
    );
}
