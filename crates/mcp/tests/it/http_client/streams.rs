//! Answers that are streams, and how calls end early.

use callgate_mcp::{Kind, Notifier, Reply, Retry, Service};
use futures_util::future::join;
use tokio::sync::mpsc;

use super::peer::{
    Answer, CHUNKS_END, Peer, SSE_HEAD, call, chunk, event, failure, json, listening, result, run,
    soon, sse,
};

const PROGRESS: &str = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"mine","progress":0.50}}"#;

#[tokio::test]
async fn sm_c8_json_and_streams_give_the_same_result() {
    const RESULT: &str = r#"{"content":[],"z":12345678901234567890123,"resultType":"complete"}"#;
    let mut streamed = false;
    let peer = Peer::start(move |request| {
        streamed = !streamed;
        let message = request.result(RESULT);
        match streamed {
            true => sse(&event(&message)),
            false => json(&message),
        }
    })
    .await;
    let client = peer.client();
    for _ in 0..4 {
        assert_eq!(
            result(&client, call("tools/call", r#""name":"t","#)).await,
            RESULT
        );
    }
}

#[tokio::test]
async fn sm_c8_comments_and_events_without_a_message_are_passed_over() {
    let peer = Peer::start(|request| {
        sse(&format!(
            ": keep-alive\n\n\
             data:\n\n\
             id: 1\nretry: 10\n\n\
             event: ping\ndata: not a message\n\n\
             event: message\ndata: {PROGRESS}\n\n\
             data: {}\ndata: {}\n\n\
             data: not even read\n\n",
            r#"{"jsonrpc":"2.0","#,
            request
                .result(r#"{"a":1}"#)
                .replace(r#"{"jsonrpc":"2.0","#, ""),
        ))
    })
    .await;
    let (call, mut notifications) = listening(call("tools/call", r#""name":"t","#));
    assert_eq!(result(&peer.client(), call).await, r#"{"a":1}"#);
    let progress = notifications.try_next().unwrap();
    assert_eq!(
        (progress.method.as_str(), progress.params.as_str()),
        (
            "notifications/progress",
            r#"{"progressToken":"mine","progress":0.50}"#
        )
    );
    assert_eq!(notifications.try_next(), None);
}

#[tokio::test]
async fn notifications_arrive_before_the_response_does() {
    let (pieces, receiver) = mpsc::unbounded_channel();
    let mut receiver = Some(receiver);
    let mut peer = Peer::start(move |_| Answer::Pieces(receiver.take().unwrap())).await;
    let client = peer.client();
    let (call, mut notifications) = listening(call("tools/call", r#""name":"t","#));
    let running = client.call(call);
    let test = async {
        let request = peer.request().await;
        let send = |text: &str| pieces.send(text.as_bytes().to_vec()).unwrap();
        send(SSE_HEAD);
        // The cut runs through an event.
        let (first, second) = PROGRESS.split_at(20);
        send(&chunk(&format!("data: {first}")));
        send(&chunk(&format!("{second}\n\n")));
        let progress = soon(notifications.next()).await;
        assert_eq!(progress.method.as_str(), "notifications/progress");
        send(&chunk(&event(&request.result("{}"))));
    };
    let (outcome, ()) = soon(join(running, test)).await;
    assert_eq!(outcome.unwrap(), Reply::Complete(super::peer::raw("{}")));
}

#[tokio::test]
async fn a_subscription_goes_by_the_id_of_the_caller() {
    let tag =
        |id: &str| format!(r#"{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}"#);
    let peer = Peer::start(move |request| {
        let id = request.message().id.to_string();
        let acknowledged = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{}}}"#,
            tag(&id)
        );
        sse(&(event(&acknowledged) + &event(&request.result(&tag(&id)))))
    })
    .await;
    let (call, mut notifications) =
        listening(call("subscriptions/listen", r#""notifications":{},"#));
    let expect = tag(r#""caller-1""#);
    assert_eq!(result(&peer.client(), call).await, expect);
    assert_eq!(notifications.try_next().unwrap().params.as_str(), expect);
}

#[tokio::test]
async fn input_required_is_told_apart() {
    let peer = Peer::start(|request| {
        json(&request.result(r#"{"resultType":"input_required","requestState":"s"}"#))
    })
    .await;
    assert_eq!(
        run(&peer.client(), call("tools/call", r#""name":"t","#))
            .await
            .unwrap(),
        Reply::InputRequired(super::peer::raw(
            r#"{"resultType":"input_required","requestState":"s"}"#
        ))
    );
}

#[tokio::test]
async fn a_request_of_the_server_is_counted_and_ignored() {
    let peer = Peer::start(|request| {
        let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        sse(&(event(ping) + &event(ping) + &event(&request.result("{}"))))
    })
    .await;
    let client = peer.client();
    assert_eq!(result(&client, call("tools/list", "")).await, "{}");
    assert_eq!(client.violations(), 2);
}

#[tokio::test]
async fn sm_c9_dropping_a_call_closes_the_stream_and_sends_nothing() {
    for head in ["", SSE_HEAD] {
        let (pieces, receiver) = mpsc::unbounded_channel();
        let mut receiver = Some(receiver);
        let mut peer = Peer::start(move |_| Answer::Pieces(receiver.take().unwrap())).await;
        let client = peer.client();
        let (call, mut notifications) = listening(call("tools/call", r#""name":"t","#));
        let mut running = client.call(call);
        let started = async {
            peer.request().await;
            if !head.is_empty() {
                let stream = format!("{head}{}", chunk(&event(PROGRESS)));
                pieces.send(stream.into_bytes()).unwrap();
                soon(notifications.next()).await;
            }
        };
        tokio::select! {
            outcome = &mut running => panic!("ended early: {outcome:?}"),
            () = started => {}
        }
        drop(running);
        peer.disconnected().await;
        assert_eq!(peer.requests().len(), 0);
    }
}

#[tokio::test]
async fn sm_c10_a_lost_stream_is_an_error_and_not_a_second_request() {
    let lost = format!("{SSE_HEAD}{}", chunk(&event(PROGRESS)));
    let ended = format!("{lost}{CHUNKS_END}");
    let unfinished = format!(
        "{SSE_HEAD}{}{CHUNKS_END}",
        chunk("data: {\"jsonrpc\":\"2.0\"")
    );
    let half_body =
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{";
    for response in [lost.as_str(), &ended, &unfinished, half_body, ""] {
        let bytes = response.as_bytes().to_vec();
        let mut peer = Peer::start(move |_| Answer::WriteAndClose(bytes.clone())).await;
        let client = peer.client();
        for attempt in 1..=2 {
            let error = failure(&client, call("tools/call", r#""name":"t","#)).await;
            assert_eq!(
                (error.kind(), error.retry()),
                (Kind::Closed, Retry::Never),
                "{response:?}: {error}"
            );
            // What the caller sends again is a new request.
            let requests = peer.requests();
            let ids: Vec<_> = requests
                .iter()
                .map(|r| r.message().id.to_string())
                .collect();
            assert_eq!(ids, [attempt.to_string()]);
        }
    }
}

#[tokio::test]
async fn more_notifications_than_the_caller_holds_slow_the_server_down() {
    let peer =
        Peer::start(|request| sse(&(event(PROGRESS).repeat(100) + &event(&request.result("{}")))))
            .await;
    let client = peer.client();
    let (notify, mut notifications) = Notifier::channel(2);
    let mut call = call("tools/call", r#""name":"t","#);
    call.cx.notify = notify;
    let mut running = client.call(call);
    let mut seen = 0;
    let outcome = soon(async {
        loop {
            tokio::select! {
                biased;
                _ = notifications.next() => seen += 1,
                outcome = &mut running => break outcome,
            }
        }
    })
    .await;
    outcome.unwrap();
    while notifications.try_next().is_some() {
        seen += 1;
    }
    assert_eq!((seen, notifications.dropped()), (100, 0));
}

#[tokio::test]
async fn a_stream_that_goes_on_after_the_response_is_closed() {
    let endless = chunk(&": more\n\n".repeat(4096));
    for rest in [String::new(), endless] {
        let (pieces, receiver) = mpsc::unbounded_channel();
        let mut receiver = Some(receiver);
        let mut peer = Peer::start(move |_| Answer::Pieces(receiver.take().unwrap())).await;
        let client = peer.client();
        let answered = async {
            let request = peer.request().await;
            let stream = format!("{SSE_HEAD}{}", chunk(&event(&request.result("{}"))));
            pieces.send(stream.into_bytes()).unwrap();
        };
        soon(join(result(&client, call("tools/list", "")), answered)).await;
        pieces.send(rest.into_bytes()).unwrap();
        peer.disconnected().await;
    }
}
