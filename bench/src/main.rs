//! Runs the benchmark: `cargo xtask bench [--quick] [PART]...`.
//!
//! It prints the page it writes to `docs/benchmarks.md`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use callgate_bench::awake::{self, Awake};
use callgate_bench::command_line;
use callgate_bench::configured_commands;
use callgate_bench::hop;
use callgate_bench::hubs::{self, HubFloor, HubKind, ServerSet};
use callgate_bench::machine::Machine;
use callgate_bench::options::{Options, Part};
use callgate_bench::report::{self, Figures};
use callgate_bench::suite;
use callgate_bench::valgrind::Valgrind;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    if std::env::args().nth(1).as_deref() == Some(awake::SPIN) {
        return awake::spin();
    }
    let options = Options::read(std::env::args().skip(1))?;
    let programs = std::env::current_exe()?.with_file_name("");
    build()?;
    let start = Instant::now();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/benchmarks.md");
    let mut page = std::fs::read_to_string(&path).unwrap_or_default();
    for part in &options.parts {
        page = match part {
            Part::Echo => echo(&options, &programs).await?,
            Part::Hop => hop(&programs, &page).await?,
            Part::Commands => commands(&options, &programs, page).await?,
            Part::Hubs => hubs(&options, &programs, page).await?,
        };
    }
    std::fs::write(&path, &page).context("cannot write docs/benchmarks.md")?;
    println!("{page}");
    eprintln!("measured in {} s", start.elapsed().as_secs());
    Ok(())
}

/// Measures the echo tool, and returns a new page.
async fn echo(options: &Options, programs: &Path) -> Result<String> {
    let valgrind = Valgrind::find(programs.join("bench-profiles"))?;
    let servers = suite::servers(&valgrind, programs).await?;
    let relays = suite::relays(&valgrind, programs).await?;
    let clients = suite::clients(&valgrind, programs).await?;
    let held = suite::held(programs).await?;
    let home = directory(programs, "bench-home")?;
    let commands = command_line::times(programs, options.node.as_ref(), &home).await?;
    let awake = Awake::start(&std::env::current_exe()?)?;
    let loads = suite::loads(&options.schedule, programs).await?;
    drop(awake);
    Ok(report::render(&Figures {
        machine: Machine::describe()?,
        valgrind: valgrind.version().to_owned(),
        schedule: options.schedule,
        loads,
        servers,
        relays,
        clients,
        held,
        commands,
    }))
}

/// Counts the instructions of calls through a hub, and puts their section into the page.
async fn hop(programs: &Path, page: &str) -> Result<String> {
    let valgrind = Valgrind::find(programs.join("bench-profiles"))?;
    let figures = hop::measure(&valgrind, programs).await?;
    Ok(report::put_section(page, &report::hop_section(&figures)))
}

/// Measures commands on configured servers, and puts their section into the page.
async fn commands(options: &Options, programs: &Path, page: String) -> Result<String> {
    let Some(node) = &options.node else {
        eprintln!("mcporter is not installed: measuring no commands on configured servers");
        return Ok(page);
    };
    let directory = directory(programs, "bench-commands")?;
    let figures = configured_commands::measure(programs, node, &directory).await?;
    let section = report::commands_section(&figures);
    Ok(report::put_section(&page, &section))
}

/// Measures the hubs, and puts their section into the page.
async fn hubs(options: &Options, programs: &Path, page: String) -> Result<String> {
    let Some(peers) = options.peers() else {
        eprintln!("no hubs of others are installed: measuring none");
        return Ok(page);
    };
    let directory = directory(programs, "bench-hubs")?;
    let servers = ServerSet::new(&peers, &directory)?;
    let alone = hubs::measure_alone(&servers).await?;
    eprintln!("without a hub: {alone:?}");
    let mut figures = Vec::new();
    let mut prepared = None;
    for kind in HubKind::ALL {
        let directory = directory.join(kind.to_string());
        match hubs::measure(kind, &servers, programs, &peers, &directory).await {
            Ok((hub, tools)) => {
                figures.push(hub);
                if kind == HubKind::Callgate {
                    let time = hubs::measure_prepared(&tools).await?;
                    eprintln!("prepared: tools/list {time:?}");
                    prepared = Some(time);
                }
            }
            Err(error) if kind != HubKind::Callgate => {
                eprintln!("{kind} is not measured: {error:#}");
            }
            Err(error) => return Err(error),
        }
    }
    let floor = HubFloor {
        alone,
        list: prepared,
    };
    let section = report::hubs_section(&figures, &floor, servers.count());
    Ok(report::put_section(&page, &section))
}

/// Makes a directory beside the programs.
fn directory(programs: &Path, name: &str) -> Result<PathBuf> {
    let directory = programs.join(name);
    std::fs::create_dir_all(&directory)?;
    Ok(directory)
}

/// Profile of this program.
const PROFILE: &str = if cfg!(debug_assertions) {
    "dev"
} else {
    "bench"
};

/// Builds the measured programs. Cargo puts them beside this program because they share its profile.
fn build() -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    // The build script of `ring` depends on what cargo tells this program of its package. With it, everything that
    // was built for this program would be built again.
    let of_package = |name: &OsString| {
        let name = name.to_string_lossy();
        name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
    };
    for name in std::env::vars_os().map(|(name, _)| name).filter(of_package) {
        build.env_remove(name);
    }
    let status = build
        .args([
            "build",
            "--quiet",
            "--profile",
            PROFILE,
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
