//! Runs the benchmark: `cargo xtask bench [--quick]`.
//!
//! It prints the page it writes to `docs/benchmarks.md`.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use callgate_bench::awake::{self, Awake};
use callgate_bench::command_line::{self, Peers};
use callgate_bench::machine::Machine;
use callgate_bench::report::{self, Figures};
use callgate_bench::suite;
use callgate_bench::throughput::Schedule;
use callgate_bench::valgrind::Valgrind;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    if std::env::args().nth(1).as_deref() == Some(awake::SPIN) {
        return awake::spin();
    }
    let (schedule, peers) = options(std::env::args().skip(1))?;
    let this = std::env::current_exe()?;
    let programs = this.with_file_name("");
    let valgrind = Valgrind::find(programs.join("bench-profiles"))?;
    build()?;
    let start = Instant::now();
    let machine = Machine::describe()?;
    let servers = suite::servers(&valgrind, &programs).await?;
    let relays = suite::relays(&valgrind, &programs).await?;
    let clients = suite::clients(&valgrind, &programs).await?;
    let held = suite::held(&programs).await?;
    let home = programs.join("bench-home");
    std::fs::create_dir_all(&home)?;
    let commands = command_line::times(&programs, peers.as_ref(), &home).await?;
    let awake = Awake::start(&this)?;
    let loads = suite::loads(&schedule, &programs).await?;
    drop(awake);
    let figures = Figures {
        machine,
        valgrind: valgrind.version().to_owned(),
        schedule,
        loads,
        servers,
        relays,
        clients,
        held,
        commands,
    };
    let page = report::render(&figures);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/benchmarks.md");
    std::fs::write(&path, &page).context("cannot write docs/benchmarks.md")?;
    println!("{page}");
    eprintln!("measured in {} s", start.elapsed().as_secs());
    Ok(())
}

/// Reads `[--quick] [--peers NODE MODULES]`.
fn options(mut arguments: impl Iterator<Item = String>) -> Result<(Schedule, Option<Peers>)> {
    let (mut rounds, mut warm_up, mut duration) = (5, 300, 1200);
    let mut peers = None;
    while let Some(argument) = arguments.next() {
        match &*argument {
            "--quick" => (rounds, warm_up, duration) = (3, 100, 500),
            "--peers" => {
                let mut path = || Some(arguments.next()?.into());
                let (node, modules) = path().zip(path()).context("two paths after --peers")?;
                peers = Some(Peers { node, modules });
            }
            _ => bail!("usage: cargo xtask bench [--quick]"),
        }
    }
    let schedule = Schedule {
        warm_up: Duration::from_millis(warm_up),
        duration: Duration::from_millis(duration),
        rounds,
    };
    Ok((schedule, peers))
}

/// Builds the measured programs. Cargo puts them beside this program because they share its profile.
fn build() -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args([
            "build",
            "--quiet",
            "--profile",
            "bench",
            "--package",
            "callgate-bench",
            "--package",
            "callgate",
            "--bins",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .context("cannot run cargo")?;
    ensure!(
        status.success(),
        "cannot build the measured programs; see the errors of cargo above"
    );
    Ok(())
}
