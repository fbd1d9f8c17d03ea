//! No server process is left when the process of the hub panics, with fifty servers and a thousand calls in flight.
//!
//! The test is a program of its own, because it has three parts: the test, the process that panics, and its servers.

#![cfg(target_os = "linux")]
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "one of the parts is there to panic, and a test should fail loudly"
)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use callgate_hub::{Hub, HubConfig, ServerConfig, ServerName, Upstream};
use callgate_mcp::client::CallOptions;
use callgate_mcp::transport::child::{ChildConfig, Supervisor, supervisor};
use callgate_mcp::{Client, Implementation, Process, RequestCx, Router};
use serde_json::json;

const SERVERS: usize = 50;
const CALLS: usize = 1_000;

fn main() -> ExitCode {
    if let Some(exit) = supervisor::run_if_requested(std::env::args_os()) {
        return exit;
    }
    match std::env::args().nth(1).as_deref() {
        Some("server") => serve(),
        Some("hub") => panic_with_calls_in_flight(),
        _ => no_server_outlives_a_hub_that_panics(),
    }
    ExitCode::SUCCESS
}

fn no_server_outlives_a_hub_that_panics() {
    let mut hub = Command::new(std::env::current_exe().unwrap())
        .arg("hub")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut ready = String::new();
    let mut output = BufReader::new(hub.stdout.take().unwrap());
    output.read_line(&mut ready).unwrap();
    assert_eq!(ready, "ready\n");
    let supervisors = children(hub.id());
    let servers: Vec<u32> = supervisors.iter().flat_map(|pid| children(*pid)).collect();
    assert_eq!((supervisors.len(), servers.len()), (SERVERS, SERVERS));
    hub.stdin.take().unwrap().write_all(b"!").unwrap();
    assert_eq!(hub.wait().unwrap().code(), Some(101));
    // Only a process that stays for ever reaches the limit.
    let limit = Instant::now() + Duration::from_secs(300);
    let pids = [supervisors, servers].concat();
    while let Some(pid) = pids.iter().find(|pid| is_running(**pid)) {
        assert!(Instant::now() < limit, "process {pid} is left");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Panics when a byte is read, while all calls are at their servers.
fn panic_with_calls_in_flight() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let hub = Arc::new(Hub::new(HubConfig::new(Implementation::new("hub", "1"))));
        for number in 0..SERVERS {
            let name = ServerName::new(&format!("s{number}")).unwrap();
            hub.add(ServerConfig::new(name, Arc::new(connect))).unwrap();
        }
        assert!(
            hub.wait_settled(tokio::time::Instant::now() + Duration::from_secs(300))
                .await
        );
        let (begun, mut begins) = tokio::sync::mpsc::unbounded_channel();
        for number in 0..CALLS {
            let begun = begun.clone();
            let options = CallOptions::default().on_progress(move |_| begun.send(()).unwrap());
            let client = Client::builder(hub.clone()).options(options).build();
            tokio::spawn(async move {
                let tool = format!("s{}_wait", number % SERVERS);
                let ended = client.call_tool(&tool, &json!({})).await;
                panic!("a call ended: {ended:?}");
            });
        }
        for _ in 0..CALLS {
            begins.recv().await.unwrap();
        }
        println!("ready");
        let mut byte = [0];
        std::io::stdin().read_exact(&mut byte).unwrap();
        panic!("as the test wants");
    });
}

fn connect() -> Result<Arc<dyn Upstream>, callgate_mcp::Error> {
    let program = std::env::current_exe().unwrap();
    let mut config = ChildConfig::new("server", &program);
    config.args = vec!["server".into()];
    config.supervisor = Some(Supervisor::new(program));
    Ok(Arc::new(Process::spawn(&config)?))
}

/// Serves a tool that reports progress once and never ends.
fn serve() {
    let wait = |cx: RequestCx| async move {
        cx.progress(1.0, None, None).await;
        std::future::pending::<String>().await
    };
    let router = Router::new(Implementation::new("server", "1")).tool("wait", "Waits", wait);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let served = runtime.block_on(callgate_mcp::transport::stdio::serve(Arc::new(router)));
    served.unwrap();
}

fn children(pid: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    let pids = text.split_whitespace();
    pids.map(|pid| pid.parse().unwrap()).collect()
}

fn is_running(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest.to_owned());
    state.is_some_and(|state| !state.starts_with('Z'))
}
