//! What a flood of handshakes costs.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use callgate_mcp::SessionLimits;

use super::subject::{NEWEST, initialize};
use crate::http_server::peer::Peer;

/// A server in a process of its own.
struct Process {
    child: Child,
    address: SocketAddr,
}

const HANDSHAKES: usize = 100_000;
const CONNECTIONS: usize = 50;
/// How many requests are sent before the first answer is read.
const AHEAD: usize = 20;

#[tokio::test]
async fn a_hundred_thousand_handshakes_cost_little_memory() {
    let process = Process::start();
    let before = process.resident_bytes();
    let (opened, refused) = flood(process.address, HANDSHAKES).await;
    let growth = process.resident_bytes().saturating_sub(before);
    let most = SessionLimits::default().sessions_per_caller;
    // A session that was never used gives way after some seconds, so more may be opened.
    assert!(opened >= most, "{opened} sessions");
    assert_eq!(opened + refused, HANDSHAKES);
    assert!(growth < 32 * 1024 * 1024, "{growth} bytes");
}

/// Sends handshakes over many connections; returns how many were let in and how many refused.
async fn flood(address: SocketAddr, handshakes: usize) -> (usize, usize) {
    let mut floods = tokio::task::JoinSet::new();
    for _ in 0..CONNECTIONS {
        floods.spawn(async move {
            let request = initialize(NEWEST).bytes(address).repeat(AHEAD);
            let mut peer = Peer::connect(address).await;
            let (mut opened, mut refused) = (0, 0);
            for _ in 0..handshakes / CONNECTIONS / AHEAD {
                peer.send(&request).await;
                for _ in 0..AHEAD {
                    let answer = peer.answer().await;
                    match answer.status {
                        200 => opened += 1,
                        429 => refused += 1,
                        status => panic!("{status}: {}", answer.body),
                    }
                }
            }
            (opened, refused)
        });
    }
    let counts = floods.join_all().await;
    let add = |(a, b), (c, d)| (a + c, b + d);
    counts.into_iter().fold((0, 0), add)
}

impl Process {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_callgate-mcp-peer"))
            .arg("serve-http")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        Self {
            child,
            address: line.trim().parse().unwrap(),
        }
    }

    /// The memory that the process has in use.
    fn resident_bytes(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let kilobytes = line.unwrap().split_whitespace().nth(1).unwrap();
        kilobytes.parse::<usize>().unwrap() * 1024
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
