//! Redirects that are followed, and their headers.

use callgate_oauth::Secret;
use callgate_oauth::fetch::FetchError;
use callgate_oauth::guard::{GuardRefusal, Network};
use callgate_oauth::http_message::Response;

use super::peer::{Log, Peer, answer, read_request, write};
use super::{LOOPBACK, fetcher, get, post};

/// Counts down in the path: `/3` leads to `/2`, and `/0` is the end.
async fn countdown(status: &'static str) -> Peer {
    Peer::new(move |mut stream, log: Log| async move {
        if !read_request(&mut stream, &log).await {
            return;
        }
        let path = log.last_path();
        let response = match path.trim_start_matches('/').parse::<u32>() {
            Ok(left) if left > 0 => {
                format!("HTTP/1.1 {status}\r\nlocation: /{}\r\n\r\n", left - 1)
            }
            _ => "HTTP/1.1 200 OK\r\n\r\n{}".to_owned(),
        };
        write(&mut stream, &response).await;
    })
    .await
}

#[tokio::test]
async fn three_redirects_are_followed() {
    for status in ["301 M", "302 F", "303 S", "307 T", "308 P"] {
        let peer = countdown(status).await;
        let fetched = fetcher().fetch(LOOPBACK, &get(&peer.url("/3"))).await;
        assert_eq!(fetched.expect("it comes"), Response::new(200, "{}"));
        assert_eq!(peer.connections(), 4);

        let fetched = fetcher().fetch(LOOPBACK, &get(&peer.url("/4"))).await;
        check_not_followed(fetched, &peer, "there have been too many");
        assert_eq!(peer.connections(), 8);
    }
}

#[tokio::test]
async fn a_form_follows_no_redirect() {
    for status in ["301 M", "302 F", "303 S", "307 T", "308 P"] {
        let peer = countdown(status).await;
        let fetched = fetcher()
            .fetch(LOOPBACK, &post(&peer.url("/1"), "code=canary"))
            .await;
        check_not_followed(fetched, &peer, "it would send a form elsewhere");
        assert_eq!(peer.connections(), 1);
    }
}

#[tokio::test]
async fn other_answers_are_answers() {
    for head in [
        "300 M\r\nlocation: /0",
        "304 N\r\nlocation: /0",
        "305 U\r\nlocation: /0",
        "302 F",
        "201 C\r\nlocation: /0",
        "404 N\r\nlocation: /0",
    ] {
        let peer = Peer::answering(head, "").await;
        let fetched = fetcher().fetch(LOOPBACK, &get(&peer.url("/"))).await;
        let status = head[..3].parse().expect("a number");
        assert_eq!(fetched.expect("it comes"), Response::new(status, ""));
        assert_eq!(peer.connections(), 1);
    }
}

#[tokio::test]
async fn another_origin_sees_nothing_of_ours() {
    let other = Peer::answering("200 OK", "{}").await;
    let location = other.url("/b");
    let head = format!("302 Found\r\nset-cookie: a=b\r\nlocation: {location}");
    let peer = Peer::answering(&head, "").await;
    let mut request = get(&peer.url("/a"));
    for name in ["authorization", "dpop", "x-key", "mcp-protocol-version"] {
        request.headers.push((name, Secret::new("canary")));
    }
    let fetched = fetcher().fetch(LOOPBACK, &request).await;
    assert_eq!(fetched.expect("it comes"), Response::new(200, "{}"));
    let expect = format!(
        "GET /b HTTP/1.1\r\nhost: {}\r\nuser-agent: callgate/{}\r\nconnection: close\r\naccept-encoding: identity\r\n\
         accept: application/json\r\nmcp-protocol-version: canary\r\n\r\n",
        other.address,
        env!("CARGO_PKG_VERSION"),
    );
    assert_eq!(other.requests(), [expect]);
}

#[tokio::test]
async fn a_redirect_is_guarded_like_the_first_url() {
    for (location, expect) in [
        ("http://169.254.169.254/latest", Network::Reserved),
        ("https://0xa9fea9fe/", Network::Reserved),
        ("//10.0.0.1/", Network::Private),
        ("http://[fd12::1]/", Network::Private),
    ] {
        let peer = Peer::answering(&format!("302 Found\r\nlocation: {location}"), "").await;
        let fetched = fetcher().fetch(LOOPBACK, &get(&peer.url("/"))).await;
        let error = fetched.expect_err("it is refused");
        let FetchError::Refused(GuardRefusal::Network { network, .. }) = error else {
            panic!("{location}: {error:?}");
        };
        assert_eq!(network, expect, "{location}");
    }
    for location in [
        "ftp://a.example/",
        "http://8.8.8.8/",
        "https://u@localhost/",
    ] {
        let peer = Peer::answering(&format!("302 Found\r\nlocation: {location}"), "").await;
        let fetched = fetcher().fetch(LOOPBACK, &get(&peer.url("/"))).await;
        let error = fetched.expect_err("it is refused");
        assert!(
            matches!(error, FetchError::Refused(_)),
            "{location}: {error:?}"
        );
    }
}

#[tokio::test]
async fn the_body_of_a_redirect_is_not_read() {
    let endless = |stream, log| async move {
        let head = "HTTP/1.1 302 Found\r\nlocation: /0\r\ncontent-length: 1000000\r\n\r\n";
        answer(stream, log, head.to_owned()).await;
    };
    let peer = Peer::new(endless).await;
    let fetched = fetcher().fetch(LOOPBACK, &get(&peer.url("/1"))).await;
    check_not_followed(fetched, &peer, "there have been too many");
}

#[track_caller]
fn check_not_followed(fetched: Result<Response, FetchError>, peer: &Peer, expect: &str) {
    let error = fetched.expect_err("it is not followed");
    let expect = format!(
        "not following a redirect of http://{}: {expect}",
        peer.address
    );
    assert_eq!((error.to_string(), error.is_transient()), (expect, false));
}
