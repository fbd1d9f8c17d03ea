//! Servers that ask more than they read.

use callgate_mcp::Kind;
use callgate_mcp::upstream::UpstreamConfig;
use tokio::io::{AsyncWriteExt, copy, sink};

use super::fixture::{asks, complete, connect, outcome, request, start};
use crate::stdio_fixture::{result, soon};

/// A few kilobytes of pings.
fn pings() -> String {
    let ping = asks("7", "ping", "{}") + "\n";
    ping.repeat(100)
}

#[tokio::test(start_paused = true)]
async fn a_server_that_floods_pings_and_reads_no_answer_is_disconnected() {
    let (stream, mut peer) = connect(r#"{"tools":{}}"#, UpstreamConfig::default()).await;
    let call = start(&stream, request("tools/list", "{}"));
    let pings = pings();
    let flood = async {
        let mut sent = 0;
        // Ends by the error of a closed connection; a client that reads on would take all of it.
        while sent < 64 << 20 && peer.writer.write_all(pings.as_bytes()).await.is_ok() {
            sent += pings.len();
        }
        sent
    };
    let sent = soon(flood).await;
    assert!(sent < 16 << 20, "the client has read {sent} bytes");
    let error = outcome(call).await.expect_err("the connection is closed");
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (
            Kind::Protocol,
            "server `old` sends requests but does not read the answers"
        )
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_floods_pings_and_reads_the_answers_stays_connected() {
    let (stream, mut peer) = connect(r#"{"tools":{}}"#, UpstreamConfig::default()).await;
    let call = start(&stream, request("tools/list", "{}"));
    let flood = async {
        for _ in 0..1_000 {
            let sent = peer.writer.write_all(pings().as_bytes()).await;
            sent.expect("the client reads on");
        }
        let answer = result("3", r#"{"tools":[]}"#) + "\n";
        let sent = peer.writer.write_all(answer.as_bytes()).await;
        sent.expect("the client reads on");
        complete(call).await
    };
    let mut discard = sink();
    let answers = copy(&mut peer.reader, &mut discard);
    tokio::select! {
        result = soon(flood) => assert!(result.contains(r#""tools":[]"#)),
        _ = answers => panic!("the client has closed the connection"),
    }
}
