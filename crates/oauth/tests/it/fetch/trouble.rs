//! Servers that are slow, or send too much or too little.

use std::error::Error;
use std::time::Duration;

use callgate_oauth::Secret;
use callgate_oauth::fetch::FetchError;
use callgate_oauth::http_message::{MAX_BODY, Response};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use super::peer::{Log, Peer, answer, read_request, write};
use super::{LOOPBACK, fetcher, get};

/// Fetches from a server that `serve`s its only connection.
async fn fetch_from(peer: &Peer) -> Result<Response, FetchError> {
    fetcher().fetch(LOOPBACK, &get(&peer.url("/"))).await
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_nothing_is_given_half_a_minute() {
    let silent = Peer::new(|mut stream: TcpStream, log: Log| async move {
        read_request(&mut stream, &log).await;
        let _ = stream.read_u8().await;
    })
    .await;
    let error = fetch_from(&silent).await.expect_err("it says nothing");
    let expect = format!("no answer from http://{} within 30s", silent.address);
    assert_eq!((error.to_string(), error.is_transient()), (expect, true));
}

#[tokio::test(start_paused = true)]
async fn a_handshake_is_given_ten_seconds() {
    let silent = Peer::new(|mut stream: TcpStream, _| async move {
        let _ = stream.read_to_end(&mut Vec::new()).await;
    })
    .await;
    let start = Instant::now();
    let request = get(&format!("https://{}/", silent.address));
    let error = fetcher()
        .fetch(LOOPBACK, &request)
        .await
        .expect_err("it says nothing");
    let expect = format!("no answer from https://{} within 10s", silent.address);
    assert_eq!((error.to_string(), error.is_transient()), (expect, true));
    assert!(start.elapsed() < Duration::from_secs(11));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_comes_to_an_end_is_cut_off() {
    for (head, drop_by_drop) in [
        ("HTTP/1.1 200 OK\r\n", "x: y\r\n"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n", "x"),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
            "1\r\nx\r\n",
        ),
        ("", "HTTP/1.1 103 Early Hints\r\n\r\n"),
        ("HTTP/1.1 302 Found\r\n", "x: y\r\n"),
    ] {
        let peer = Peer::new(move |mut stream: TcpStream, log: Log| async move {
            read_request(&mut stream, &log).await;
            let mut text = head;
            while stream.write_all(text.as_bytes()).await.is_ok() {
                sleep(Duration::from_secs(1)).await;
                text = drop_by_drop;
            }
        })
        .await;
        let start = Instant::now();
        let error = fetch_from(&peer).await.expect_err("it never ends");
        assert!(matches!(error, FetchError::TimedOut { .. }), "{error:?}");
        assert_eq!(start.elapsed().as_secs(), 30, "{head}");
    }
}

#[tokio::test(start_paused = true)]
async fn redirects_share_the_time_of_the_first_request() {
    let peer = Peer::new(|mut stream: TcpStream, log: Log| async move {
        read_request(&mut stream, &log).await;
        sleep(Duration::from_secs(12)).await;
        write(&mut stream, "HTTP/1.1 302 F\r\nlocation: /\r\n\r\n").await;
    })
    .await;
    let error = fetch_from(&peer).await.expect_err("it takes too long");
    assert!(matches!(error, FetchError::TimedOut { .. }), "{error:?}");
    assert_eq!(peer.connections(), 3);
}

#[tokio::test]
async fn a_body_is_read_up_to_the_limit_and_no_further() {
    for (length, expect) in [(MAX_BODY, MAX_BODY), (MAX_BODY + 1, MAX_BODY + 1)] {
        let head = format!("200 OK\r\ncontent-length: {length}");
        let peer = Peer::answering(&head, &"x".repeat(length)).await;
        let response = fetch_from(&peer).await.expect("it comes");
        assert_eq!(response.body.len(), expect);
    }
    for head in ["", "transfer-encoding: chunked\r\n"] {
        let (sender, mut hung_up) = mpsc::channel(1);
        let peer = Peer::new(move |mut stream: TcpStream, log: Log| {
            let sender = sender.clone();
            async move {
                read_request(&mut stream, &log).await;
                let mut text = format!("HTTP/1.1 200 OK\r\n{head}\r\n");
                while stream.write_all(text.as_bytes()).await.is_ok() {
                    text = format!("1000\r\n{}\r\n", "x".repeat(0x1000));
                }
                let _ = sender.send(()).await;
            }
        })
        .await;
        let response = fetch_from(&peer).await.expect("enough of it comes");
        assert_eq!(response.body.len(), MAX_BODY + 1);
        assert_eq!(hung_up.recv().await, Some(()));
    }
}

#[tokio::test]
async fn a_head_has_a_limit() {
    let long = "x".repeat(40 * 1024);
    let peer = Peer::answering(&format!("200 OK\r\nx: {long}"), "{}").await;
    check_http(fetch_from(&peer).await, false);
    let many = "x: y\r\n".repeat(200);
    let peer = Peer::answering(&format!("200 OK\r\n{many}"), "{}").await;
    check_http(fetch_from(&peer).await, false);
}

#[tokio::test]
async fn half_an_answer_is_none() {
    for (text, is_transient) in [
        ("", true),
        ("HTTP/1.1 200", true),
        ("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf", true),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n",
            true,
        ),
        ("220 mail.example ESMTP\r\n", false),
        ("HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n", false),
    ] {
        let peer = Peer::new(move |stream, log| answer(stream, log, text.to_owned()));
        check_http(fetch_from(&peer.await).await, is_transient);
    }
}

#[tokio::test]
async fn a_refused_connection_is_transient() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let request = get(&format!("http://{address}/"));
    let error = fetcher()
        .fetch(LOOPBACK, &request)
        .await
        .expect_err("nobody is there");
    assert!(matches!(error, FetchError::Connect { .. }), "{error:?}");
    assert!(error.is_transient());
}

#[tokio::test]
async fn a_fetch_that_is_dropped_hangs_up() {
    let (sender, mut events) = mpsc::channel(2);
    let peer = Peer::new(move |mut stream: TcpStream, log: Log| {
        let sender = sender.clone();
        async move {
            read_request(&mut stream, &log).await;
            sender.send("asked").await.expect("the test listens");
            let _ = stream.read_to_end(&mut Vec::new()).await;
            sender.send("hung up").await.expect("the test listens");
        }
    })
    .await;
    tokio::select! {
        _ = fetch_from(&peer) => panic!("nobody answers"),
        event = events.recv() => assert_eq!(event, Some("asked")),
    }
    assert_eq!(events.recv().await, Some("hung up"));
}

#[tokio::test]
async fn errors_show_no_secrets() {
    let answers = [
        "canary",
        "HTTP/1.1 302 F\r\nlocation: ftp://canary/?canary\r\n\r\n",
    ];
    for text in answers {
        let peer = Peer::new(move |stream, log| answer(stream, log, text.to_owned()));
        let mut request = get(&peer.await.url("/canary?canary#canary"));
        request
            .headers
            .push(("authorization", Secret::new("canary")));
        let error = fetcher()
            .fetch(LOOPBACK, &request)
            .await
            .expect_err("that is no answer");
        let mut shown = format!("{error} {error:?}");
        let mut cause = error.source();
        while let Some(error) = cause {
            shown.push_str(&format!(" {error} {error:?}"));
            cause = error.source();
        }
        assert!(!shown.contains("canary"), "{shown}");
    }
}

#[track_caller]
fn check_http(fetched: Result<Response, FetchError>, is_transient: bool) {
    let error = fetched.expect_err("that is no answer");
    assert!(matches!(error, FetchError::Http { .. }), "{error:?}");
    assert_eq!(error.is_transient(), is_transient, "{error:?}");
}
