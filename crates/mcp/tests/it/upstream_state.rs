//! The state of connections, and how a user learns that one is closed without making a call.

use std::sync::Arc;
use std::time::Duration;

use callgate_mcp::transport::line::{self, ModernConnection};
use callgate_mcp::upstream::{ConnectionState, StreamPair, UpstreamConfig};
use callgate_mcp::wire::Version;
use callgate_mcp::{Kind, Retry, Service};
use tokio::io::{duplex, split};

use crate::stdio_fixture::{META, RawPeer, call, result, soon};

/// The state in a word.
fn word(state: &ConnectionState) -> String {
    match state {
        ConnectionState::NotConnected => "not connected".to_owned(),
        ConnectionState::Connecting => "connecting".to_owned(),
        ConnectionState::Connected { version } => version.as_str().to_owned(),
        ConnectionState::Closed(reason) => format!("closed: {reason}"),
        other => format!("{other:?}"),
    }
}

fn stream_pair(config: UpstreamConfig) -> (Arc<StreamPair>, RawPeer) {
    let (ours, theirs) = duplex(64 * 1024);
    let (reader, writer) = split(ours);
    let stream = StreamPair::new("peer", reader, writer, line::LineConfig::default());
    (Arc::new(stream.with_config(config)), RawPeer::new(theirs))
}

/// Makes a call beside the test.
fn start(service: &Arc<StreamPair>) -> tokio::task::JoinHandle<Result<(), callgate_mcp::Error>> {
    let service = service.clone();
    tokio::spawn(async move {
        let (call, _) = call("tools/call", &format!(r#"{{"_meta":{META}}}"#));
        service.call(call).await.map(drop)
    })
}

const DISCOVERED: &str = r#"{"supportedVersions":["2026-07-28"]}"#;

#[tokio::test]
async fn the_end_of_a_stream_closes_its_connection_while_no_call_is_made() {
    let (stream, mut peer) = stream_pair(UpstreamConfig::default());
    assert_eq!(word(&stream.state()), "not connected");
    let calling = start(&stream);
    peer.line().await.unwrap();
    assert_eq!(word(&stream.state()), "connecting");
    peer.send(&result("1", DISCOVERED)).await;
    peer.line().await.unwrap();
    assert_eq!(word(&stream.state()), "2026-07-28");
    peer.send(&result("2", "{}")).await;
    soon(calling).await.unwrap().unwrap();
    let waiting = tokio::spawn({
        let stream = stream.clone();
        async move { stream.closed().await }
    });
    drop(peer);
    let reason = soon(waiting).await.unwrap();
    let text = "server `peer` closed the connection";
    assert_eq!(
        (reason.kind(), reason.to_string().as_str()),
        (Kind::Closed, text)
    );
    assert_eq!(word(&stream.state()), format!("closed: {text}"));
    assert_eq!(soon(stream.closed()).await.to_string(), text);
    let error = soon(start(&stream)).await.unwrap().unwrap_err();
    assert_eq!(
        (error.to_string().as_str(), error.retry()),
        (text, Retry::Safe)
    );
}

#[tokio::test]
async fn a_stream_that_ends_before_the_first_call_is_closed() {
    let (stream, peer) = stream_pair(UpstreamConfig::default());
    drop(peer);
    let reason = soon(stream.closed()).await;
    assert_eq!(reason.to_string(), "server `peer` closed the connection");
    assert_eq!(reason.exit_status(), None);
}

#[tokio::test(start_paused = true)]
async fn a_failed_detection_closes_the_connection_until_it_is_reset() {
    let mut config = UpstreamConfig::default();
    config.handshake_timeout = Duration::from_secs(1);
    let (stream, mut peer) = stream_pair(config);
    let calling = start(&stream);
    let reason = soon(stream.closed()).await;
    let error = soon(calling).await.unwrap().unwrap_err();
    assert_eq!(reason.to_string(), error.to_string());
    let again = soon(start(&stream)).await.unwrap().unwrap_err();
    assert_eq!(again.to_string(), error.to_string());

    stream.reset();
    assert_eq!(word(&stream.state()), "not connected");
    while let Some(line) = peer.line().await
        && !line.contains("initialize")
    {
        assert!(line.contains("server/discover"), "{line}");
        if cfg!(not(feature = "legacy")) {
            break;
        }
    }
    let calling = start(&stream);
    let probe: serde_json::Value = serde_json::from_str(&peer.line().await.unwrap()).unwrap();
    peer.send(&result(&probe["id"].to_string(), DISCOVERED))
        .await;
    let sent: serde_json::Value = serde_json::from_str(&peer.line().await.unwrap()).unwrap();
    assert_eq!(sent["method"], "tools/call");
    peer.send(&result(&sent["id"].to_string(), "{}")).await;
    soon(calling).await.unwrap().unwrap();
    assert_eq!(stream.version(), Some(Version::LATEST));
}

#[tokio::test]
async fn a_reset_fails_the_calls_that_wait_for_the_detection() {
    let (stream, mut peer) = stream_pair(UpstreamConfig::default());
    let calling = start(&stream);
    peer.line().await.unwrap();
    stream.reset();
    let error = soon(calling).await.unwrap().unwrap_err();
    assert_eq!((error.kind(), error.retry()), (Kind::Closed, Retry::Safe));
}

#[tokio::test]
async fn a_modern_connection_can_be_watched_too() {
    let (ours, theirs) = duplex(64);
    let (reader, writer) = split(ours);
    let connection = ModernConnection::new("peer", reader, writer, line::LineConfig::default());
    assert_eq!(word(&connection.state()), "2026-07-28");
    drop(theirs);
    let reason = soon(connection.closed()).await;
    assert_eq!(word(&connection.state()), format!("closed: {reason}"));
}

#[cfg(unix)]
mod process {
    use std::pin::pin;

    use callgate_mcp::upstream::{Era, Process, RestartingProcess};
    use futures_util::FutureExt as _;

    use super::*;
    use crate::child_fixture::{ask, peer, supervised};

    #[tokio::test]
    async fn the_exit_of_a_process_is_noticed_while_no_call_is_made() {
        for (how, status) in [("exit", "exit status: 3"), ("kill", "signal: 9 (SIGKILL)")] {
            let config = peer(["evil", "modern-once", how]);
            for config in [config.clone(), supervised(config)] {
                let process = Process::spawn(&config).unwrap();
                ask(&process).await.unwrap();
                let reason = soon(process.closed()).await;
                assert_eq!(
                    reason.to_string(),
                    format!(
                        "server `peer` exited ({status}); end of its standard error:\nmy work is done"
                    )
                );
                assert_eq!(reason.exit_status().unwrap().to_string(), status);
                assert_eq!(word(&process.state()), format!("closed: {reason}"));
                let error = ask(&process).await.unwrap_err();
                assert_eq!(error.to_string(), reason.to_string());
            }
        }
    }

    #[tokio::test]
    async fn a_process_can_be_restarted_after_its_exit_and_while_it_runs() {
        let process = Process::spawn(&peer(["evil", "modern-once"])).unwrap();
        for _ in 0..2 {
            ask(&process).await.unwrap();
            soon(process.closed()).await;
            soon(process.restart()).await.unwrap();
            assert_eq!(word(&process.state()), "not connected");
            assert_eq!(process.version(), None);
            assert!(process.closed().now_or_never().is_none());
        }
        soon(process.restart()).await.unwrap();
        ask(&process).await.unwrap();
        soon(process.closed()).await;
    }

    #[tokio::test]
    async fn a_call_finds_a_process_that_has_exited_started_again_until_it_is_closed() {
        let process = Arc::new(Process::spawn(&peer(["evil", "modern-once"])).unwrap());
        let restarting = RestartingProcess::new(process.clone());
        for _ in 0..2 {
            ask(&restarting).await.unwrap();
            soon(process.closed()).await;
        }
        soon(restarting.close()).await;
        let error = ask(&restarting).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.retry(), error.retry_after()),
            (Kind::Closed, Retry::Safe, None)
        );
    }

    #[tokio::test]
    async fn a_close_waits_for_a_restart_and_ends_its_process() {
        let mut mute = peer(["evil", "close-output"]);
        mute.exit_timeouts.status = Duration::ZERO;
        mute.exit_timeouts.exit = Duration::from_millis(500);
        let process = Arc::new(Process::spawn(&mute).unwrap().assume(Era::Modern));
        let restarting = RestartingProcess::new(process.clone());
        ask(&restarting).await.unwrap_err();
        soon(process.closed()).await;
        // The restart waits for the exit of the process before.
        let mut calling = pin!(ask(&restarting));
        assert!(calling.as_mut().now_or_never().is_none());
        let first = async {
            let _ = calling.await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            biased;
            () = first => {}
            () = soon(restarting.close()) => {}
        }
        assert_eq!(process.process_id(), None);
    }

    #[tokio::test]
    async fn a_restart_fails_the_calls_in_flight() {
        let mut silent = peer(["shape", "plain", "/dev/null"]);
        silent.exit_timeouts.exit = Duration::ZERO;
        let silent = Arc::new(Process::spawn(&silent).unwrap());
        let calling = tokio::spawn({
            let silent = silent.clone();
            async move { ask(&*silent).await }
        });
        while !matches!(silent.state(), ConnectionState::Connecting) {
            tokio::task::yield_now().await;
        }
        soon(silent.restart()).await.unwrap();
        let error = soon(calling).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), Kind::Closed);
    }

    #[tokio::test]
    async fn a_process_that_is_closed_during_the_detection_is_not_started_again() {
        let process = Arc::new(Process::spawn(&peer(["shape", "plain", "/dev/null"])).unwrap());
        let calling = tokio::spawn({
            let process = process.clone();
            async move { ask(&*process).await }
        });
        while !matches!(process.state(), ConnectionState::Connecting) {
            tokio::task::yield_now().await;
        }
        soon(process.close()).await;
        let error = soon(calling).await.unwrap().unwrap_err();
        assert_eq!(
            error.to_string(),
            "server `peer` exited (exit status: 0)",
            "and no second process fails in its own way"
        );
        assert_eq!(soon(process.closed()).await.to_string(), error.to_string());
    }

    #[cfg(feature = "legacy")]
    #[tokio::test]
    async fn the_second_start_of_a_server_that_dies_when_probed_is_not_a_close() {
        let process = Process::spawn(&peer(["evil", "old-and-dies"])).unwrap();
        ask(&process).await.unwrap();
        assert_eq!(word(&process.state()), "2025-06-18");
        assert!(process.closed().now_or_never().is_none());
        soon(process.close()).await;
        let reason = soon(process.closed()).await;
        assert_eq!(reason.to_string(), "server `peer` exited (exit status: 0)");
    }

    #[tokio::test]
    async fn a_modern_child_can_be_watched_too() {
        use callgate_mcp::transport::child::ModernChild;

        let child = ModernChild::spawn(&peer(["evil", "complete"])).unwrap();
        ask(&child).await.unwrap();
        assert_eq!(word(&child.state()), "2026-07-28");
        soon(child.close()).await;
        let reason = soon(child.closed()).await;
        assert_eq!(reason.to_string(), "server `peer` exited (exit status: 0)");
    }
}

#[cfg(feature = "http-client")]
mod remote {
    use callgate_mcp::upstream::{HttpConfig, Remote};
    use futures_util::FutureExt as _;

    use super::*;
    use crate::http_client::peer::{Answer, Peer, json, result};

    fn tool_call() -> callgate_mcp::Call {
        crate::http_client::peer::call("tools/call", r#""name":"t","#)
    }

    #[tokio::test]
    async fn a_server_of_the_newest_revision_is_closed_by_us_only() {
        let peer = Peer::start(|request| {
            let discovered = r#"{"resultType":"complete","supportedVersions":["2026-07-28"]}"#;
            let answer = json(&request.result(discovered));
            match answer {
                Answer::Write(bytes) => Answer::WriteAndClose(bytes),
                other => other,
            }
        })
        .await;
        let server = Remote::new(&peer.url, HttpConfig::new("peer")).unwrap();
        assert_eq!(word(&server.state()), "not connected");
        result(&server, tool_call()).await;
        assert_eq!(word(&server.state()), "2026-07-28");
        assert!(server.closed().now_or_never().is_none());
        soon(server.close()).await;
        let reason = soon(server.closed()).await;
        assert_eq!(reason.to_string(), "the connection to `peer` was closed");
    }

    #[tokio::test]
    async fn a_check_opens_a_connection_only_if_there_is_none() {
        let mut peer = Peer::start(|request| {
            let discovered = r#"{"resultType":"complete","supportedVersions":["2026-07-28"]}"#;
            json(&request.result(discovered))
        })
        .await;
        let server = Remote::new(&peer.url, HttpConfig::new("peer")).unwrap();
        server.check().await.unwrap();
        result(&server, tool_call()).await;
        assert_eq!(peer.connections(), 2);
        server.check().await.unwrap();
        peer.die().await;
        // Its end shows when the task of the connection has seen it.
        let error = soon(async {
            loop {
                match server.check().await {
                    Ok(()) => tokio::task::yield_now().await,
                    Err(error) => return error,
                }
            }
        })
        .await;
        assert_eq!((error.kind(), error.retry()), (Kind::Connect, Retry::Safe));
        assert_eq!(peer.connections(), 2);
    }

    #[tokio::test]
    async fn a_detection_that_fails_leaves_no_connection() {
        let peer = Peer::always("HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n").await;
        let server = Remote::new(&peer.url, HttpConfig::new("peer")).unwrap();
        crate::http_client::peer::failure(&server, tool_call()).await;
        assert_eq!(word(&server.state()), "not connected");
    }
}
