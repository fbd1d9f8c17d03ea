//! Process trees of all shapes. Every process holds the pipe of signs open while it lives.

use std::fs::File;
use std::io::{Read, Write};
use std::process::Command;

use tokio::signal::unix::{SignalKind, signal};

pub(crate) fn take(shape: &str, signs: &str) {
    let mut life = File::options()
        .write(true)
        .open(signs)
        .expect("the test listens for signs");
    match shape {
        "orphan" => {
            rustix::process::setsid().expect("not yet the leader of a session");
            report(&mut life, shape);
            ignore_everything();
        }
        "stubborn" => {
            report(&mut life, shape);
            ignore_everything();
        }
        "plain" => {
            report(&mut life, shape);
            wait_for_end_of_input();
        }
        "talkative" => {
            report(&mut life, shape);
            wait_for_end_of_input();
            let mut go = File::open(format!("{signs}.go")).expect("the test says when");
            go.read_exact(&mut [0]).expect("the test says when");
            let farewell = "farewell\n".repeat(100_000);
            for stream in [
                &mut std::io::stdout() as &mut dyn Write,
                &mut std::io::stderr(),
            ] {
                stream
                    .write_all(farewell.as_bytes())
                    .expect("the stream is read");
            }
            report(&mut life, "finished");
        }
        "daemon" => {
            report(&mut life, shape);
            run("middle", signs).wait().expect("it exits at once");
            wait_for_end_of_input();
        }
        "middle" => {
            #[expect(clippy::zombie_processes, reason = "nobody waits for an orphan")]
            run("orphan", signs);
        }
        "wrapper" => {
            report(&mut life, shape);
            run("stubborn", signs).wait().expect("it can be waited for");
        }
        _ => panic!("there is no shape {shape}"),
    }
}

fn run(shape: &str, signs: &str) -> std::process::Child {
    let program = std::env::current_exe().expect("this program has a path");
    Command::new(program)
        .args(["shape", shape, signs])
        .spawn()
        .expect("this program runs")
}

fn report(life: &mut File, shape: &str) {
    // One write per line, so that lines of several processes do not mix.
    life.write_all(format!("{shape}\n").as_bytes())
        .expect("the test listens for signs");
}

fn wait_for_end_of_input() {
    let mut rest = Vec::new();
    std::io::stdin()
        .read_to_end(&mut rest)
        .expect("standard input is readable");
}

fn ignore_everything() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let _caught = [SignalKind::terminate(), SignalKind::hangup()].map(signal);
        std::future::pending::<()>().await;
    });
}
