//! Old servers in a program that was built without the feature `legacy`.

use std::sync::Arc;

use callgate_mcp::transport::line;
use callgate_mcp::upstream::{HttpConfig, Process, Remote, StreamPair, UpstreamConfig};
use callgate_mcp::{Error, Kind, Service};
use tokio::io::{duplex, split};

use crate::child_fixture::{ask, peer};
use crate::http_client::peer::{Peer, http};
use crate::stdio_fixture::{META, RawPeer, call, soon};

fn assert_refused(error: &Error) {
    let text = "server `peer` speaks only revisions before 2026-07-28, and this program was built \
                without the feature `legacy`";
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (Kind::UnsupportedVersion, text)
    );
}

fn stream_pair() -> (Arc<StreamPair>, RawPeer) {
    let (ours, theirs) = duplex(64 * 1024);
    let (reader, writer) = split(ours);
    let stream = StreamPair::new("peer", reader, writer, line::LineConfig::default());
    (
        Arc::new(stream.with_config(UpstreamConfig::default())),
        RawPeer::new(theirs),
    )
}

async fn failure(service: &dyn Service) -> Error {
    let (call, _) = call("tools/call", &format!(r#"{{"name":"t","_meta":{META}}}"#));
    soon(service.call(call)).await.unwrap_err()
}

#[tokio::test]
async fn an_old_server_on_lines_is_refused_with_the_reason() {
    let (stream, mut peer) = stream_pair();
    let answering = async {
        peer.line().await.unwrap();
        peer.send(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"what?"}}"#)
            .await;
    };
    let (error, ()) = tokio::join!(failure(&*stream), answering);
    assert_refused(&error);
    assert_refused(&soon(stream.closed()).await.to_error());
    drop(stream);
    assert_eq!(peer.rest().await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ignores_the_probe_counts_as_old() {
    let (stream, _peer) = stream_pair();
    assert_refused(&failure(&*stream).await);
}

#[tokio::test]
async fn an_old_server_at_a_url_is_refused_with_the_reason() {
    let peer = Peer::start(|request| {
        http(
            "400 Bad Request",
            "application/json",
            &request.error(-32000),
        )
    })
    .await;
    let server = Remote::new(&peer.url, HttpConfig::new("peer")).unwrap();
    assert_refused(&failure(&server).await);
}

#[tokio::test]
async fn an_old_process_is_refused_with_the_reason() {
    for how in ["old", "old-and-dies"] {
        let process = Process::spawn(&peer(["evil", how])).unwrap();
        assert_refused(&ask(&process).await.unwrap_err());
    }
}
