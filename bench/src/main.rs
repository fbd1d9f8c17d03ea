//! Runs the benchmark: `cargo xtask bench [--quick]`.
//!
//! It prints the page it writes to `docs/benchmarks.md`.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use callgate_bench::awake::{self, Awake};
use callgate_bench::machine::Machine;
use callgate_bench::relay;
use callgate_bench::report::{self, CostLevel, Figures, LoadLevel};
use callgate_bench::throughput::{Sample, Schedule};
use callgate_bench::valgrind::Valgrind;
use callgate_bench::variant::{Series, Transport, Variant};

const CONCURRENCY: [usize; 3] = [1, 16, 64];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    if std::env::args().nth(1).as_deref() == Some(awake::SPIN) {
        return awake::spin();
    }
    let schedule = schedule(std::env::args().skip(1))?;
    let this = std::env::current_exe()?;
    let programs = this.with_file_name("");
    let valgrind = Valgrind::find(programs.join("bench-profiles"))?;
    build()?;
    let machine = Machine::describe()?;
    let costs = costs(&valgrind, &programs).await?;
    let relay = relay::cost(&valgrind, &programs).await?;
    let awake = Awake::start(&this)?;
    let loads = loads(&schedule, &programs).await?;
    drop(awake);
    let figures = Figures {
        machine,
        valgrind: valgrind.version().to_owned(),
        schedule,
        loads,
        costs,
        relay,
    };
    let page = report::render(&figures);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/benchmarks.md");
    std::fs::write(&path, &page).context("cannot write docs/benchmarks.md")?;
    println!("{page}");
    Ok(())
}

fn schedule(arguments: impl Iterator<Item = String>) -> Result<Schedule> {
    let arguments: Vec<_> = arguments.collect();
    let (rounds, warm_up, duration) =
        match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [] => (5, 500, 3000),
            ["--quick"] => (3, 200, 1000),
            _ => bail!("usage: cargo xtask bench [--quick]"),
        };
    Ok(Schedule {
        warm_up: Duration::from_millis(warm_up),
        duration: Duration::from_millis(duration),
        rounds,
    })
}

/// Builds the servers. Cargo puts them beside this program because they share its profile.
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
            "--bins",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .context("cannot run cargo")?;
    ensure!(
        status.success(),
        "cannot build the benchmark servers; see the errors of cargo above"
    );
    Ok(())
}

async fn costs(valgrind: &Valgrind, programs: &Path) -> Result<Vec<CostLevel>> {
    let mut levels = Vec::new();
    for (transport, concurrency) in [
        (Transport::Http, 1),
        (Transport::Stdio, 1),
        (Transport::Stdio, 16),
    ] {
        eprintln!("{transport}, {concurrency} in flight: counting instructions and allocations");
        let cost = async |variant: Variant| {
            let command = variant.command(transport, programs);
            valgrind.cost(&command, transport, concurrency).await
        };
        let costs = Series {
            bare: cost(Variant::Bare).await?,
            ours: cost(Variant::Ours).await?,
            rmcp: cost(Variant::Rmcp).await?,
        };
        levels.push(CostLevel {
            transport,
            concurrency,
            costs,
        });
    }
    Ok(levels)
}

async fn loads(schedule: &Schedule, programs: &Path) -> Result<Vec<LoadLevel>> {
    let mut levels = Vec::new();
    for transport in [Transport::Http, Transport::Stdio] {
        for concurrency in CONCURRENCY {
            let mut rounds: Series<Vec<Sample>> = Series::default();
            for round in 1..=schedule.rounds {
                for variant in Variant::ALL {
                    let command = variant.command(transport, programs);
                    let sample = schedule.sample(&command, transport, concurrency).await?;
                    let speed = sample.requests_per_second;
                    eprintln!(
                        "{transport}, {concurrency} in flight, round {round}: {variant} {speed:.0}/s"
                    );
                    rounds.get_mut(variant).push(sample);
                }
            }
            let samples = rounds.map(|rounds| Sample::median(rounds));
            levels.push(LoadLevel {
                transport,
                concurrency,
                samples,
            });
        }
    }
    Ok(levels)
}
