use callgate_mcp::upstream::Process;
use callgate_mcp::wire::Version;
use callgate_mcp::{Kind, Reply, Retry};

use crate::child_fixture::{PEER, ask, peer, supervised};
use crate::stdio_fixture::{json, soon};

#[tokio::test]
async fn a_modern_process_is_called_as_it_is() {
    let process = Process::spawn(&peer(["evil", "modern"])).unwrap();
    assert_eq!(process.version(), None);
    let reply = ask(&process).await.unwrap();
    assert_eq!(reply, Reply::Complete(json(r#"{"seen":true}"#)));
    assert_eq!(process.version(), Some(Version::V2026_07_28));
    soon(process.close()).await;
}

#[tokio::test]
async fn an_old_process_gets_a_handshake() {
    let process = Process::spawn(&peer(["evil", "old"])).unwrap();
    for _ in 0..2 {
        let Reply::Complete(result) = ask(&process).await.unwrap() else {
            panic!("an old server asks for nothing");
        };
        assert_eq!(result.get("seen"), Some(json("true")));
    }
    assert_eq!(process.version(), Some(Version::V2025_06_18));
    assert_eq!(process.malformed_lines(), 0);
    soon(process.close()).await;
    let gone = ask(&process).await.unwrap_err();
    assert_eq!((gone.kind(), gone.retry()), (Kind::Closed, Retry::Safe));
}

#[tokio::test]
async fn a_process_that_dies_when_probed_is_started_once_more() {
    for config in [
        peer(["evil", "old-and-dies"]),
        supervised(peer(["evil", "old-and-dies"])),
    ] {
        let process = Process::spawn(&config).unwrap();
        ask(&process).await.unwrap();
        assert_eq!(process.version(), Some(Version::V2025_06_18));
        assert_eq!(process.stderr_tail(), "");
        soon(process.close()).await;
    }
}

#[tokio::test]
async fn a_process_that_dies_of_everything_is_not_started_a_third_time() {
    let process = Process::spawn(&peer(["evil", "die"])).unwrap();
    for _ in 0..2 {
        let error = ask(&process).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (
                Kind::Closed,
                "server `peer` exited (exit status: 3); end of its standard error:\nthe disk is full"
            )
        );
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let mut config = peer([]);
    config.program = format!("{PEER}-not").into();
    let error = Process::spawn(&config).err().unwrap();
    assert_eq!(error.kind(), Kind::Connect);
}
