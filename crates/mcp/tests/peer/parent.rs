//! Programs that have children, and come to a bad end or are bad at it.

use std::io::Read;
use std::time::Duration;

use callgate_mcp::transport::child::{ChildConfig, CloseBy, ExitTimeouts, ModernChild, Supervisor};

pub(crate) fn raise(end: &str, shape: &str, signs: &str) {
    let runtime = runtime();
    let _inside = runtime.enter();
    let mut config = supervised(&["shape", shape, signs]);
    config.exit_timeouts = exit_timeouts(end);
    config.close_by = CloseBy::Supervisor;
    let child = ModernChild::spawn(&config).expect("the child starts");
    let mut word = [0];
    std::io::stdin()
        .read_exact(&mut word)
        .expect("the test says when");
    match end {
        "panic" => panic!("as the test wants"),
        "exit" => std::process::exit(0),
        "leave" | "leave-time" => {
            runtime.block_on(child.close());
            std::process::exit(0);
        }
        _ => panic!("there is no end {end}"),
    }
}

/// Times of a child to exit: long ones only for an end that gives it time.
fn exit_timeouts(end: &str) -> ExitTimeouts {
    let time = match end {
        "leave-time" => Duration::from_secs(60),
        _ => Duration::from_millis(100),
    };
    let mut timeouts = ExitTimeouts::default();
    (timeouts.exit, timeouts.terminate) = (time, time);
    timeouts
}

/// Starts a thousand children in vain and checks that nothing of them is left open.
#[cfg(target_os = "linux")]
pub(crate) fn fail_to_start() {
    let descriptors = || {
        let open = std::fs::read_dir("/proc/self/fd").expect("the system keeps count");
        open.count()
    };
    runtime().block_on(async {
        let dying = supervised(&["evil", "unknown"]);
        let missing = ChildConfig::new("child", "/nowhere/program");
        // The first child makes the runtime open what it keeps.
        ModernChild::spawn(&dying).expect("it starts").close().await;
        let before = descriptors();
        for _ in 0..20 {
            let child = ModernChild::spawn(&dying).expect("it starts");
            child.close().await;
            for _ in 0..50 {
                ModernChild::spawn(&missing).expect_err("there is no such program");
            }
        }
        // What is dropped without waiting goes soon.
        let settled = async {
            while descriptors() != before {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let settled = tokio::time::timeout(Duration::from_secs(60), settled).await;
        settled.expect("every descriptor is closed");
    });
}

fn supervised(args: &[&str]) -> ChildConfig {
    let program = std::env::current_exe().expect("this program has a path");
    let mut config = ChildConfig::new("child", &program);
    config.args = args.iter().map(Into::into).collect();
    config.supervisor = Some(Supervisor::new(program));
    config
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}
