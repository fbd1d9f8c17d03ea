//! Repository chores, run as `cargo xtask <command>`.
//!
//! # Layout
//!
//! One file per command: `test`, `tidy`, `spec`, `conformance` and its `bridge`, `interop`, `keychain`,
//! `shells`, `readme`, `examples`, `fuzz`, `bench`, `attack`, `deny`; `features` is a step of `test` only.
//! They share `repo`, `process`, `background` and `step`, and install their peers with `node`, `python` and
//! `debian`.

mod attack;
mod background;
mod bench;
mod conformance;
mod debian;
mod deny;
mod examples;
mod features;
mod fuzz;
mod interop;
mod keychain;
mod node;
mod process;
mod python;
mod readme;
mod repo;
mod shells;
mod spec;
mod step;
mod test;
mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use repo::Repo;

fn main() -> ExitCode {
    match run(Command::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Repository chores")]
enum Command {
    /// Run everything that continuous integration runs
    Test {
        /// Run these steps only, named as in the output
        steps: Vec<String>,
    },
    /// Check the invariants of docs/architecture.md
    Tidy,
    /// Check the wire types against the schemas of the specification
    Spec {
        /// The folder that holds one folder per revision
        #[arg(long, value_name = "DIR")]
        spec: Option<PathBuf>,
    },
    /// Run the official conformance suite
    Conformance {
        /// The program under test
        side: conformance::Side,
        /// The revision of the protocol
        #[arg(long, default_value = conformance::REVISIONS[0])]
        revision: String,
        /// Run this scenario only
        #[arg(long, value_name = "NAME")]
        scenario: Option<String>,
    },
    /// Run the official conformance suite through a relay, and write the table of docs/bridge.md
    Bridge {
        /// The way from the relay to the server; all if not given
        #[arg(long)]
        upstream: Option<conformance::bridge::Upstream>,
        /// Fail if the table differs instead of writing it
        #[arg(long)]
        check: bool,
        /// Only compare servers of others with and without the relay
        #[arg(long, conflicts_with_all = ["upstream", "check"])]
        survey: bool,
    },
    /// Test with other implementations of the protocol
    Interop,
    /// Test logins whose secrets are sealed, with GNOME Keyring
    Keychain,
    /// Test the completions in bash, zsh and fish
    Shells,
    /// Run the commands that the README shows
    Readme,
    /// Run the example programs
    Examples,
    /// Feed the parsers with mutated input
    Fuzz {
        /// Run this target only
        target: Option<String>,
        /// Seconds to run each target
        #[arg(long, default_value_t = 30)]
        seconds: u32,
    },
    /// Measure Callgate beside its peers
    Bench {
        /// Arguments of the benchmark
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Attack the resources of the binary on loopback, and write the table of docs/security.md
    Attack(attack::Options),
    /// Speak over standard input and output as the server of the ping flood
    #[command(hide = true)]
    Flood,
    /// Speak over standard input and output as the server with a long name of a tool
    #[command(hide = true)]
    LongName {
        /// Number of characters
        length: usize,
    },
    /// Check the licenses and sources of the dependencies
    Deny,
}

fn run(command: Command) -> Result<()> {
    let repo = Repo::find()?;
    match command {
        Command::Test { steps } => test::run(&repo, &steps),
        Command::Tidy => tidy::run(&repo),
        Command::Spec { spec } => spec::run(&repo, spec).map(|outcome| outcome.report()),
        Command::Conformance {
            side,
            revision,
            scenario,
        } => conformance::run(
            &repo,
            &conformance::Plan {
                side,
                revision,
                scenario,
            },
        ),
        Command::Bridge { survey: true, .. } => conformance::bridge::run_survey(&repo),
        Command::Bridge {
            upstream, check, ..
        } => match upstream {
            Some(upstream) => conformance::bridge::run_one(&repo, upstream),
            None => conformance::bridge::run(&repo, check),
        },
        Command::Interop => interop::run(&repo),
        Command::Keychain => keychain::run(&repo).map(|outcome| outcome.report()),
        Command::Shells => shells::run(&repo).map(|outcome| outcome.report()),
        Command::Readme => readme::run(&repo),
        Command::Examples => examples::run(&repo),
        Command::Fuzz { target, seconds } => fuzz::run(&repo, target.as_deref(), seconds),
        Command::Bench { args } => bench::run(&repo, &args),
        Command::Attack(options) => attack::run(&repo, &options),
        Command::Flood => attack::serve_flood(),
        Command::LongName { length } => attack::serve_long_name(length),
        Command::Deny => deny::run(&repo),
    }
}
