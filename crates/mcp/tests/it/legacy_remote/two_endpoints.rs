//! HTTP+SSE, the transport of 2024-11-05.

use callgate_mcp::upstream::ConnectionState;
use callgate_mcp::{Kind, Retry, Service};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::old_server::{
    COMPLETE, INITIALIZED, RESULT, accepted, log, next, refused, remote, tool_call, what,
};
use crate::http_client::peer::{
    Answer, CHUNKS_END, Peer, SSE_HEAD, call, chunk, event, failure, http, result, soon, sse,
};

/// A server whose stream names `endpoint`; what it is asked there it answers on the stream, except
/// for what `silent` says.
async fn start(endpoint: &'static str, silent: fn(&str) -> bool) -> Peer {
    let mut stream: Option<mpsc::UnboundedSender<Vec<u8>>> = None;
    Peer::start(move |request| {
        let say = |stream: &Option<mpsc::UnboundedSender<Vec<u8>>>, text: String| {
            let stream = stream.as_ref().expect("the stream was opened first");
            stream.send(text.into_bytes()).ok();
        };
        match what(request).as_str() {
            "GET" => {
                let (sender, receiver) = mpsc::unbounded_channel();
                let first = format!("event: endpoint\ndata: {endpoint}\n\n");
                stream = Some(sender);
                say(&stream, format!("{SSE_HEAD}{}", chunk(&first)));
                Answer::Pieces(receiver)
            }
            _ if request.line.starts_with("POST /mcp ") => {
                http("405 Method Not Allowed", "text/plain", "")
            }
            "tools/call" if request.text().contains("hang-up") => {
                say(&stream, CHUNKS_END.to_owned());
                stream = None;
                accepted()
            }
            name if name.starts_with("notifications/") || silent(name) => accepted(),
            name => {
                let result = match name {
                    "initialize" => INITIALIZED.replace("2025-11-25", "2024-11-05"),
                    _ => RESULT.to_owned(),
                };
                let message = format!("event: message\n{}", event(&request.result(&result)));
                say(&stream, chunk(&message));
                accepted()
            }
        }
    })
    .await
}

#[tokio::test]
async fn hs_5_messages_are_posted_to_the_url_that_the_stream_names() {
    let mut peer = start("/messages?session=secret-1", |_| false).await;
    let server = remote(&peer);
    for _ in 0..2 {
        assert_eq!(result(&server, tool_call()).await, COMPLETE);
    }
    server.close().await;
    peer.disconnected().await;
    let sent: Vec<_> = peer
        .requests()
        .iter()
        .map(|request| {
            let mut line = request.line.split(' ');
            let (_, target) = (line.next(), line.next().unwrap().to_owned());
            assert_eq!(request.header("mcp-session-id"), None);
            (what(request), target)
        })
        .collect();
    let expect = [
        ("server/discover", "/mcp"),
        ("initialize", "/mcp"),
        ("GET", "/mcp"),
        ("initialize", "/messages?session=secret-1"),
        ("notifications/initialized", "/messages?session=secret-1"),
        ("tools/call", "/messages?session=secret-1"),
        ("tools/call", "/messages?session=secret-1"),
    ];
    assert_eq!(
        sent,
        expect.map(|(what, target)| (what.to_owned(), target.to_owned()))
    );
}

#[tokio::test]
async fn hs_6_a_url_of_another_origin_is_refused() {
    for endpoint in [
        "https://127.0.0.1/messages",
        "http://127.0.0.1:1/messages",
        "http://localhost/messages",
        "//evil.example/messages",
    ] {
        let mut peer = start(endpoint, |_| false).await;
        let error = failure(&remote(&peer), tool_call()).await;
        assert!(
            error
                .to_string()
                .ends_with("wants messages posted to another origin, which is refused"),
            "{error}"
        );
        assert_eq!(log(&mut peer), ["server/discover", "initialize", "GET"]);
    }
}

#[tokio::test]
async fn a_stream_that_begins_with_anything_else_is_refused() {
    for (stream, did) in [
        (
            "data: {}\n\n",
            "sent a message before it said where to post messages to",
        ),
        (
            ": nothing\n\n",
            "ended the stream before it said where to post messages to",
        ),
        (
            "event: endpoint\ndata: http://\n\n",
            "named no URL to post messages to",
        ),
    ] {
        let peer = Peer::start(move |request| match what(request).as_str() {
            "GET" => sse(stream),
            _ => refused(request),
        })
        .await;
        let error = failure(&remote(&peer), tool_call()).await;
        assert!(error.to_string().ends_with(did), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_does_not_say_in_time_where_to_post_to_is_given_up() {
    let (stream, pieces) = mpsc::unbounded_channel();
    let mut pieces = Some(pieces);
    let first = format!("{SSE_HEAD}{}", chunk(": nothing yet\n\n"));
    stream.send(first.into_bytes()).unwrap();
    let mut peer = Peer::start(move |request| match what(request).as_str() {
        "GET" => Answer::Pieces(pieces.take().expect("one stream")),
        _ => refused(request),
    })
    .await;
    let begun = Instant::now();
    let error = failure(&remote(&peer), tool_call()).await;
    let did = "did not say within 10s where to post messages to";
    assert!(error.to_string().ends_with(did), "{error}");
    assert_eq!(begun.elapsed().as_secs(), 10);
    peer.disconnected().await;
}

#[tokio::test]
async fn hs_7_the_end_of_the_stream_is_the_end_of_the_session() {
    let mut peer = start("/messages", |_| false).await;
    let server = remote(&peer);
    let lost = call("tools/call", r#""name":"hang-up","#);
    let error = failure(&server, lost).await;
    assert_eq!(
        (error.kind(), error.retry(), error.to_string().as_str()),
        (
            Kind::Closed,
            Retry::Never,
            "server `peer` ended the stream before the response"
        )
    );
    log(&mut peer);
    assert_eq!(result(&server, tool_call()).await, COMPLETE);
    assert_eq!(
        log(&mut peer),
        [
            "GET",
            "initialize",
            "notifications/initialized",
            "tools/call"
        ]
    );
}

#[tokio::test]
async fn a_dropped_call_is_canceled_by_a_notification() {
    let mut peer = start("/messages", |name| name == "tools/call").await;
    let server = remote(&peer);
    let running = server.call(tool_call());
    let call = soon(async {
        tokio::select! {
            outcome = running => panic!("the call ended: {outcome:?}"),
            call = next(&mut peer, "tools/call") => call,
        }
    })
    .await;
    let cancelled = next(&mut peer, "notifications/cancelled").await;
    let request = cancelled
        .text()
        .contains(&format!(r#""requestId":{}"#, call.message().id));
    assert!(request, "{}", cancelled.text());
}

#[tokio::test]
async fn the_end_of_the_last_session_is_noticed_and_the_next_call_opens_another() {
    let peer = start("/messages", |_| false).await;
    let server = remote(&peer);
    for _ in 0..2 {
        assert_eq!(result(&server, tool_call()).await, COMPLETE);
        let version = match server.state() {
            ConnectionState::Connected { version } => version.as_str(),
            other => panic!("not connected: {other:?}"),
        };
        assert_eq!(version, "2024-11-05");
        failure(&server, call("tools/call", r#""name":"hang-up","#)).await;
        let reason = soon(server.closed()).await;
        assert_eq!(
            reason.to_string(),
            "server `peer` ended the stream of the session"
        );
    }
}
