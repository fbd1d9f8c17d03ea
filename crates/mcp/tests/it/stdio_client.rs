use std::sync::Arc;
use std::time::Duration;

use callgate_mcp::transport::line::{LineConfig, ModernConnection};
use callgate_mcp::transport::memory;
use callgate_mcp::wire::{Limits, Method, Notification};
use callgate_mcp::{Caller, Error, Kind, Notifications, Origin, Reply, Retry, Service};
use tokio::io::{DuplexStream, duplex, split};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::stdio_fixture::{
    META, RawPeer, SendOnDrop, call, cancelled, complete, json, notification, result, service, soon,
};

/// A connection to a server that says what the test wants.
fn connect(config: LineConfig) -> (Arc<ModernConnection>, RawPeer) {
    let (ours, theirs) = duplex(64 * 1024);
    let (reader, writer) = split(ours);
    let connection = ModernConnection::new("files", reader, writer, config);
    (Arc::new(connection), RawPeer::new(theirs))
}

/// A connection that takes only short messages.
fn small() -> LineConfig {
    let limits = Limits::default().with_bytes(500).with_depth(16);
    {
        let mut config = LineConfig::default();
        config.limits = limits;
        config
    }
}

/// Starts a call of `method` with these params.
fn start(
    connection: &Arc<ModernConnection>,
    method: &str,
    params: &str,
) -> JoinHandle<Result<Reply, Error>> {
    let (call, _) = call(method, params);
    let connection = connection.clone();
    tokio::spawn(async move { connection.call(call).await })
}

async fn outcome(call: JoinHandle<Result<Reply, Error>>) -> Result<Reply, Error> {
    soon(call).await.expect("the call does not panic")
}

fn progress(token: &str, progress: u32) -> String {
    notification(
        "notifications/progress",
        &format!(r#"{{"progressToken":{token},"progress":{progress}}}"#),
    )
}

#[tokio::test]
async fn an_unknown_notification_reaches_the_only_call() {
    let (connection, mut peer) = connect(LineConfig::default());
    let (call, mut told) = call("tools/call", "{}");
    let calling = tokio::spawn({
        let connection = connection.clone();
        async move { connection.call(call).await }
    });
    peer.line().await.unwrap();
    let news = ("notifications/vendor/news", r#"{"n":1}"#);
    peer.send(&notification(news.0, news.1)).await;
    let expect = Notification {
        method: Method::new(news.0),
        params: json(news.1),
    };
    assert_eq!(soon(told.next()).await, expect);
    peer.send(&result("1", r#"{"resultType":"complete"}"#))
        .await;
    assert!(outcome(calling).await.is_ok());
}

#[tokio::test]
async fn an_unknown_notification_reaches_the_subscriptions_of_an_only_caller() {
    let (connection, mut peer) = connect(LineConfig::default());
    let start = |method: &str, caller: &str| {
        let (mut call, told) = call(method, r#"{"notifications":{}}"#);
        call.cx.caller = Caller::named(caller);
        let id = call.cx.id.to_string();
        let connection = connection.clone();
        (
            tokio::spawn(async move { connection.call(call).await }),
            told,
            id,
        )
    };
    let (_listen, mut of_listen, id) = start("subscriptions/listen", "ann");
    peer.line().await.unwrap();
    let (_call, mut of_call, _) = start("tools/call", "ann");
    peer.line().await.unwrap();
    let news = "notifications/vendor/news";
    peer.send(&notification(news, r#"{"n":1}"#)).await;
    let meta = format!(r#"{{"io.modelcontextprotocol/subscriptionId":{id}}}"#);
    let expect = Notification {
        method: Method::new(news),
        params: json(&format!(r#"{{"n":1,"_meta":{meta}}}"#)),
    };
    assert_eq!(soon(of_listen.next()).await, expect);
    assert_eq!(of_call.try_next(), None);

    // With a call of another caller, it might be about that one.
    let (other, mut of_other, _) = start("tools/call", "bob");
    peer.line().await.unwrap();
    peer.send(&notification(news, r#"{"n":2}"#)).await;
    peer.send(&result("3", r#"{"resultType":"complete"}"#))
        .await;
    assert!(outcome(other).await.is_ok());
    assert_eq!((of_listen.try_next(), of_other.try_next()), (None, None));
}

#[tokio::test]
async fn calls_have_ids_of_their_own_and_answers_may_come_in_any_order() {
    let (connection, mut peer) = connect(LineConfig::default());
    let first = start(
        &connection,
        "tools/call",
        r#"{"name":"a", "_meta":{"x":1}}"#,
    );
    assert_eq!(
        peer.line().await.as_deref(),
        Some(
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a", "_meta":{"x":1,"progressToken":1}}}"#
        )
    );
    let second = start(&connection, "tools/list", "{}");
    assert_eq!(
        peer.line().await.as_deref(),
        Some(
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"progressToken":2}}}"#
        )
    );
    let input = r#"{"resultType":"input_required","requestState":"s"}"#;
    peer.send(&result("\"2\"", input)).await;
    peer.send(&result("1", r#"{"n":49E-31}"#)).await;
    assert_eq!(
        outcome(first).await.unwrap(),
        Reply::Complete(json(r#"{"n":49E-31}"#))
    );
    assert_eq!(
        outcome(second).await.unwrap(),
        Reply::InputRequired(json(input))
    );
}

#[tokio::test]
async fn an_error_of_the_server_comes_as_it_is() {
    let (connection, mut peer) = connect(LineConfig::default());
    let call = start(&connection, "tools/call", "{}");
    peer.line().await;
    let error = r#"{"code":-7,"message":"no","data":{"a":1e2},"extra":true}"#;
    peer.send(&format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#))
        .await;
    let seen = outcome(call).await.unwrap_err();
    assert_eq!(seen.kind(), Kind::Rpc);
    assert_eq!(seen.code(), -7);
    assert_eq!(seen.raw(), Some(&json(error)));
    assert_eq!(seen.origin(), &Origin::Upstream("files".into()));
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_once_and_an_answered_one_never() {
    let (connection, mut peer) = connect(LineConfig::default());
    let answered = start(&connection, "tools/call", "{}");
    let dropped = start(&connection, "tools/call", "{}");
    peer.lines(2).await;
    peer.send(&result("1", "{}")).await;
    outcome(answered).await.unwrap();
    dropped.abort();
    assert_eq!(peer.line().await, Some(cancelled("2")));

    // An answer that comes too late is nobody's, and the connection goes on.
    peer.send(&result("2", "{}")).await;
    let third = start(&connection, "tools/call", "{}");
    assert!(peer.line().await.unwrap().contains(r#""id":3"#));
    peer.send(&result("3", "{}")).await;
    outcome(third).await.unwrap();
    Arc::into_inner(connection)
        .unwrap()
        .close(Duration::ZERO)
        .await;
    assert_eq!(peer.rest().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_call_that_is_dropped_before_it_was_sent_leaves_no_trace() {
    let mut config = LineConfig::default();
    config.unsent_bytes = 1;
    let (ours, theirs) = duplex(10);
    let (reader, writer) = split(ours);
    let connection = Arc::new(ModernConnection::new("files", reader, writer, config));
    let mut peer = RawPeer::new(theirs);
    let first = start(&connection, "tools/call", "{}");
    let waiting = start(&connection, "tools/list", "{}");
    tokio::task::yield_now().await;
    waiting.abort();
    assert!(soon(waiting).await.unwrap_err().is_cancelled());
    assert!(peer.line().await.unwrap().contains("tools/call"));
    let third = start(&connection, "prompts/list", "{}");
    assert!(peer.line().await.unwrap().contains("prompts/list"));
    peer.send(&result("1", "{}")).await;
    peer.send(&result("3", "{}")).await;
    outcome(first).await.unwrap();
    outcome(third).await.unwrap();
}

#[tokio::test]
async fn progress_and_logs_reach_the_calls_that_asked_in_their_own_terms() {
    let (connection, mut peer) = connect(LineConfig::default());
    let level = "io.modelcontextprotocol/logLevel";
    let params = [
        format!(r#"{{"_meta":{{"progressToken":"mine","{level}":"info"}}}}"#),
        format!(r#"{{"_meta":{{"{level}":"error"}}}}"#),
        "{}".to_owned(),
    ];
    let mut told = Vec::new();
    for params in &params {
        let (call, notifications) = call("tools/call", params);
        let connection = connection.clone();
        tokio::spawn(async move { connection.call(call).await });
        peer.line().await.expect("the request");
        told.push(notifications);
    }
    peer.send(&progress("1", 1)).await;
    peer.send(&progress("\"2\"", 2)).await;
    peer.send(&progress("77", 3)).await;
    let warning = notification("notifications/message", r#"{"level":"warning","data":1}"#);
    peer.send(&warning).await;
    peer.send(&progress("3", 4)).await;

    let seen = soon(told[2].next()).await;
    assert_eq!(
        seen.params,
        json(r#"{"progressToken":"caller","progress":4}"#)
    );
    let seen = [told[0].try_next(), told[0].try_next(), told[0].try_next()];
    assert_eq!(
        seen.map(|seen| seen.map(|seen| seen.params)),
        [
            Some(json(r#"{"progressToken":"mine","progress":1}"#)),
            Some(json(r#"{"level":"warning","data":1}"#)),
            None
        ]
    );
    let seen = [told[1].try_next(), told[1].try_next()];
    assert_eq!(
        seen.map(|seen| seen.map(|seen| seen.params)),
        [
            Some(json(r#"{"progressToken":"caller","progress":2}"#)),
            None
        ]
    );
}

#[tokio::test]
async fn hc_8_log_messages_that_may_concern_another_caller_are_dropped() {
    let (connection, mut peer) = connect(LineConfig::default());
    let level = "io.modelcontextprotocol/logLevel";
    let params = format!(r#"{{"notifications":{{}},"_meta":{{"{level}":"info"}}}}"#);
    let start = |method: &str, caller: &str| {
        let (mut call, told) = call(method, &params);
        call.cx.caller = Caller::named(caller);
        let connection = connection.clone();
        (
            tokio::spawn(async move { connection.call(call).await }),
            told,
        )
    };
    let levels = |told: &mut Notifications| -> Vec<String> {
        std::iter::from_fn(|| told.try_next())
            .map(|told| told.params.get("level").unwrap().text().unwrap().into())
            .collect()
    };
    let log = |level: &str| {
        let params = format!(r#"{{"level":"{level}","data":1}}"#);
        notification("notifications/message", &params)
    };
    let (_first, mut of_ada) = start("subscriptions/listen", "ada");
    peer.line().await.unwrap();
    peer.send(&log("info")).await;
    let seen = soon(of_ada.next()).await;
    assert_eq!(seen.params, json(r#"{"level":"info","data":1}"#));
    let (_second, mut of_bob) = start("subscriptions/listen", "bob");
    peer.line().await.unwrap();
    // Without a call, it may be about either.
    peer.send(&log("notice")).await;
    let (call_of_ada, mut of_call) = start("tools/call", "ada");
    peer.line().await.unwrap();
    peer.send(&log("warning")).await;
    assert_eq!(
        soon(of_call.next()).await.params,
        json(r#"{"level":"warning","data":1}"#)
    );
    let (call_of_bob, mut of_other) = start("tools/call", "bob");
    peer.line().await.unwrap();
    peer.send(&log("error")).await;
    for (id, call) in [("4", call_of_bob), ("3", call_of_ada)] {
        peer.send(&result(id, r#"{"resultType":"complete"}"#)).await;
        assert!(outcome(call).await.is_ok());
    }
    assert_eq!(levels(&mut of_ada), ["warning"]);
    let others = [&mut of_call, &mut of_bob, &mut of_other];
    assert_eq!(others.map(levels), [[""; 0]; 3]);
}

#[tokio::test]
async fn a_subscription_is_named_after_its_caller_and_ends_either_way() {
    let (connection, mut peer) = connect(LineConfig::default());
    let key = "io.modelcontextprotocol/subscriptionId";
    let named = |id: &str| format!(r#"{{"_meta":{{"{key}":{id}}}}}"#);
    let complete = |id: &str| format!(r#"{{"resultType":"complete","_meta":{{"{key}":{id}}}}}"#);
    for (number, ends) in [
        ("1", vec![cancelled("1"), result("1", &complete("1"))]),
        ("2", vec![result("2", &complete("2")), cancelled("2")]),
    ] {
        let (listen, mut notifications) = call("subscriptions/listen", r#"{"notifications":{}}"#);
        let listening = tokio::spawn({
            let connection = connection.clone();
            async move { connection.call(listen).await }
        });
        assert_eq!(
            peer.line().await,
            Some(format!(
                r#"{{"jsonrpc":"2.0","id":{number},"method":"subscriptions/listen","params":{{"notifications":{{}}}}}}"#
            ))
        );
        peer.send(&notification(
            "notifications/tools/list_changed",
            &named(number),
        ))
        .await;
        let seen = soon(notifications.next()).await;
        assert_eq!(
            seen,
            Notification {
                method: Method::new("notifications/tools/list_changed"),
                params: json(&named("\"caller\"")),
            }
        );
        for end in ends {
            peer.send(&end).await;
        }
        assert_eq!(
            outcome(listening).await.unwrap(),
            Reply::Complete(json(&complete("\"caller\"")))
        );
    }
}

#[tokio::test]
async fn garbage_is_counted_and_skipped_and_twenty_in_a_row_end_the_connection() {
    let (connection, mut peer) = connect(LineConfig::default());
    for number in 1..=1000 {
        let call = start(&connection, "tools/call", "{}");
        peer.line().await.expect("the request");
        peer.send("Debugger attached.").await;
        peer.send(&result(
            &number.to_string(),
            &format!(r#"{{"n":{number}}}"#),
        ))
        .await;
        let expect = json(&format!(r#"{{"n":{number}}}"#));
        assert_eq!(outcome(call).await.unwrap(), Reply::Complete(expect));
    }
    assert_eq!(connection.malformed_lines(), 1000);

    let call = start(&connection, "tools/call", "{}");
    peer.line().await.expect("the request");
    for _ in 0..19 {
        peer.send("garbage").await;
    }
    // A request breaks the row, although a server must not send any.
    peer.send(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)
        .await;
    for _ in 0..20 {
        peer.send("garbage").await;
    }
    let error = outcome(call).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Protocol);
    assert_eq!(
        error.to_string(),
        "server `files` sent 20 malformed lines in a row: message is not JSON at byte 0"
    );
    assert_eq!(peer.rest().await, Vec::<String>::new());
}

#[tokio::test]
async fn an_answer_that_cannot_be_used_fails_its_call_at_once() {
    let (connection, mut peer) = connect(small());
    let long = format!(r#"{{"text":"{}"}}"#, "x".repeat(40_000));
    for (number, answer, kind, text) in [
        (
            1,
            format!(r#"{{"result":{long},"jsonrpc":"2.0","id":1}}"#),
            Kind::TooLarge,
            "server `files` sent an answer longer than 500 bytes",
        ),
        (
            2,
            result("2", &format!("{}{}", "[".repeat(99), "]".repeat(99))),
            Kind::Protocol,
            "server `files` sent a malformed answer: message is nested deeper than 16",
        ),
        (
            3,
            result("3", "[]"),
            Kind::Protocol,
            "server `files` answered with a result that is no object",
        ),
    ] {
        let call = start(&connection, "tools/call", "{}");
        peer.line().await.expect("the request");
        peer.send(&answer).await;
        let error = outcome(call).await.unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (kind, text));
        assert_eq!(error.retry(), Retry::Never, "{number}");
    }
    let call = start(&connection, "tools/call", "{}");
    peer.line().await.expect("the request");
    peer.send(&result("4", "{}")).await;
    outcome(call).await.unwrap();
}

#[tokio::test]
async fn an_answer_that_is_not_utf8_fails_its_call_at_once() {
    let (connection, mut peer) = connect(LineConfig::default());
    let calls = [(); 2].map(|()| start(&connection, "tools/call", "{}"));
    for _ in &calls {
        peer.line().await.expect("the request");
    }
    // None of these answers a call: the first has no id, the second has the id of a request of the server.
    peer.send_bytes(b"\xff\xfe\n").await;
    peer.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}\n")
        .await;
    peer.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"text\":\"\xff\"}}\n")
        .await;
    let [first, second] = calls;
    let error = outcome(second).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().as_str(), error.retry()),
        (
            Kind::Protocol,
            "server `files` sent a malformed answer: message is not UTF-8 at byte 42",
            Retry::Never
        )
    );
    peer.send(&result("1", "{}")).await;
    outcome(first).await.unwrap();
    assert_eq!(connection.malformed_lines(), 3);
}

#[tokio::test]
async fn an_answer_over_the_limit_fails_its_call_even_if_it_never_ends() {
    let (connection, mut peer) = connect(small());
    let call = start(&connection, "tools/call", "{}");
    peer.line().await.expect("the request");
    let endless = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"text":"{}"#,
        "x".repeat(600)
    );
    peer.send_bytes(endless.as_bytes()).await;
    let error = outcome(call).await.unwrap_err();
    assert_eq!(error.kind(), Kind::TooLarge);

    peer.send(r#""}}"#).await;
    let call = start(&connection, "tools/call", "{}");
    peer.line().await.expect("the request");
    peer.send(&result("2", "{}")).await;
    outcome(call).await.unwrap();
    assert_eq!(connection.malformed_lines(), 0);
}

#[tokio::test]
async fn a_server_with_headers_is_told_apart_at_once() {
    let (connection, mut peer) = connect(LineConfig::default());
    let call = start(&connection, "tools/call", "{}");
    peer.line().await.expect("the request");
    peer.send("Content-Length: 40\r\n\r").await;
    let error = outcome(call).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Protocol);
    assert_eq!(
        error.to_string(),
        "server `files` frames its messages with `Content-Length` headers instead of lines"
    );
}

#[tokio::test]
async fn a_last_answer_without_a_line_break_counts() {
    let (connection, mut peer) = connect(LineConfig::default());
    let call = start(&connection, "tools/call", "{}");
    peer.line().await.expect("the request");
    peer.send_bytes(result("1", "{}").as_bytes()).await;
    drop(peer);
    outcome(call).await.unwrap();
}

#[tokio::test]
async fn at_the_end_every_call_fails_and_its_error_tells_if_it_was_sent() {
    let mut config = LineConfig::default();
    config.unsent_bytes = 1;
    let (ours, theirs): (DuplexStream, DuplexStream) = duplex(10);
    let (reader, writer) = split(ours);
    let connection = Arc::new(ModernConnection::new("files", reader, writer, config));
    let mut peer = RawPeer::new(theirs);

    let sent = start(&connection, "tools/call", "{}");
    peer.line().await.expect("the request");
    // The stream holds ten bytes: one call is half written, one waits for room.
    let half_sent = start(&connection, "tools/call", "{}");
    let waiting = start(&connection, "tools/call", "{}");
    tokio::task::yield_now().await;
    drop(peer);

    let failed = [
        outcome(sent).await,
        outcome(half_sent).await,
        outcome(waiting).await,
    ]
    .map(|failed| failed.unwrap_err());
    let seen = failed.each_ref().map(|error| (error.kind(), error.retry()));
    assert_eq!(
        seen,
        [
            (Kind::Closed, Retry::Never),
            (Kind::Closed, Retry::Safe),
            (Kind::Closed, Retry::Safe)
        ]
    );
    assert_eq!(
        failed[0].to_string(),
        "server `files` closed the connection"
    );

    let late = outcome(start(&connection, "tools/call", "{}"))
        .await
        .unwrap_err();
    assert_eq!((late.kind(), late.retry()), (Kind::Closed, Retry::Safe));
}

#[tokio::test]
async fn over_the_limit_of_calls_in_flight_a_call_is_refused() {
    let mut config = LineConfig::default();
    config.in_flight = 1;
    let (connection, mut peer) = connect(config);
    let first = start(&connection, "tools/call", "{}");
    peer.line().await.expect("the request");
    let error = outcome(start(&connection, "tools/call", "{}"))
        .await
        .unwrap_err();
    assert_eq!((error.kind(), error.retry()), (Kind::Busy, Retry::Safe));
    peer.send(&result("1", "{}")).await;
    outcome(first).await.unwrap();
}

#[tokio::test]
async fn a_slow_caller_delays_no_other() {
    let (connection, mut peer) = connect(LineConfig::default());
    let (listen, deaf) = call("subscriptions/listen", "{}");
    let listening = tokio::spawn({
        let connection = connection.clone();
        async move { connection.call(listen).await }
    });
    peer.line().await.expect("the subscription");
    let event = notification(
        "notifications/tools/list_changed",
        r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}"#,
    );
    for number in 2..102 {
        let call = start(&connection, "tools/call", "{}");
        peer.line().await.expect("the request");
        for _ in 0..100 {
            peer.send(&event).await;
        }
        peer.send(&result(&number.to_string(), "{}")).await;
        outcome(call).await.unwrap();
    }
    assert_eq!(deaf.dropped(), 100 * 100 - 16);
    listening.abort();
}

#[tokio::test]
async fn a_memory_pair_carries_calls_notifications_and_cancellation() {
    let (hung, mut steps) = mpsc::channel(2);
    let service = service(move |call| {
        let hung = hung.clone();
        async move {
            if call.method.as_str() == "hang" {
                hung.send(()).await.expect("the test listens");
                let _guard = SendOnDrop(hung);
                return std::future::pending().await;
            }
            let token = call.cx.peer().progress_token().expect("a token");
            let params = json(&format!(r#"{{"progressToken":{token},"progress":1}}"#));
            let method = Method::new("notifications/progress");
            call.cx.notify.send(Notification { method, params }).await;
            complete(r#"{"done":true}"#)
        }
    });
    let (connection, serving) = memory::pair(service);
    let serving = tokio::spawn(serving);
    let params = format!(
        r#"{{"_meta":{}}}"#,
        META.replacen('{', r#"{"progressToken":"p","#, 1)
    );
    let (quick, mut told) = call("tools/call", &params);
    let reply = soon(connection.call(quick)).await.unwrap();
    assert_eq!(reply, Reply::Complete(json(r#"{"done":true}"#)));
    let seen = told.try_next().map(|seen| seen.params);
    assert_eq!(seen, Some(json(r#"{"progressToken":"p","progress":1}"#)));

    let connection = Arc::new(connection);
    let hanging = start(&connection, "hang", &params);
    assert_eq!(soon(steps.recv()).await, Some(()));
    hanging.abort();
    assert_eq!(soon(steps.recv()).await, Some(()));
    drop(connection);
    soon(serving).await.unwrap().unwrap();
}
