//! The suite run through a relay: our HTTP endpoint in front of our server, over each way to it, and
//! the command `relay` in front of servers on other implementations.

mod limits;
mod page;
mod survey;

use std::process::Command;

use anyhow::{Result, ensure};
use clap::ValueEnum;

use super::gate::{self, Verdict};
use super::results::Results;
use super::suite::Suite;
use super::{REVISIONS, Side, scenarios};
use crate::background::Background;
use crate::node::Node;
use crate::process;
use crate::python;
use crate::repo::Repo;
use page::Row;

/// The way from the relay to the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Upstream {
    /// A child process that speaks 2025-11-25
    StdioOld,
    /// A child process that speaks 2026-07-28
    StdioNew,
    /// Streamable HTTP with a session
    HttpOld,
    /// Streamable HTTP of 2026-07-28
    HttpNew,
    /// HTTP with server-sent events, of 2024-11-05
    HttpSse,
    /// The conformance server on the TypeScript SDK, over HTTP
    TypescriptHttp,
    /// The conformance server on the TypeScript SDK, as a child process
    TypescriptStdio,
    /// The conformance server on the Python SDK, over HTTP
    PythonHttp,
    /// The conformance server on the Python SDK, as a child process
    PythonStdio,
}

const UPSTREAMS: [Upstream; 9] = [
    Upstream::StdioOld,
    Upstream::StdioNew,
    Upstream::HttpOld,
    Upstream::HttpNew,
    Upstream::HttpSse,
    Upstream::TypescriptHttp,
    Upstream::TypescriptStdio,
    Upstream::PythonHttp,
    Upstream::PythonStdio,
];

/// Runs the required scenarios of both revisions over every upstream, and writes or checks the page.
pub(crate) fn run(repo: &Repo, check: bool) -> Result<()> {
    build(repo)?;
    let rows: Vec<Row> = UPSTREAMS
        .into_iter()
        .map(|upstream| row(repo, upstream))
        .collect::<Result<_>>()?;
    let bad: usize = rows.iter().map(|row| row.unexpected.len()).sum();
    ensure!(
        bad == 0,
        "{bad} scenarios did not go as expected, see above"
    );
    let surveyed = survey::run(repo)?;
    page::update(repo, &rows, &surveyed, check)
}

/// Compares servers of others behind the relay with the same servers without it.
pub(crate) fn run_survey(repo: &Repo) -> Result<()> {
    build(repo)?;
    print!("{}", page::survey_table(&survey::run(repo)?));
    Ok(())
}

/// Runs the required scenarios of both revisions over one upstream.
pub(crate) fn run_one(repo: &Repo, upstream: Upstream) -> Result<()> {
    build(repo)?;
    let bad = row(repo, upstream)?.unexpected.len();
    ensure!(
        bad == 0,
        "{bad} scenarios did not go as expected, see above"
    );
    Ok(())
}

fn build(repo: &Repo) -> Result<()> {
    let packages = ["-p", "callgate-conformance", "-p", "callgate"];
    process::run(repo.cargo(&["build", "--bins"]).args(packages))
}

fn row(repo: &Repo, upstream: Upstream) -> Result<Row> {
    let mut row = Row::new(upstream);
    for revision in REVISIONS {
        let node = Node::install(repo)?;
        let tested = format!("bridge-{}", upstream.name());
        let suite = Suite::new(repo, node, revision, &tested)?;
        let names = scenarios::required(&suite.requirements()?, Side::Server)?;
        let results = match upstream.peer() {
            Some(_) => test_peer(repo, &suite, upstream)?,
            None => test(&suite, upstream)?,
        };
        println!("{tested}, revision {revision}");
        judge(&mut row, revision, &names, &results);
    }
    Ok(row)
}

/// Starts the server and the relay as the upstream has it, and runs the suite against the relay.
fn test(suite: &Suite, upstream: Upstream) -> Result<Results> {
    let mut relay = suite.program("conformance-bridge");
    relay.args(["127.0.0.1:0", upstream.name()]);
    let server = if upstream.is_child() {
        let server = suite.program("conformance-server");
        relay.arg(server.get_program()).arg("--stdio");
        None
    } else {
        let mut server = suite.program("conformance-server");
        let server = Background::start(server.arg("127.0.0.1:0"))?;
        relay.arg(server.url());
        Some(server)
    };
    let relay = Background::start(&mut relay)?;
    let results = suite.test_server(relay.url(), None);
    drop((relay, server));
    results
}

/// Starts the server on another SDK, and runs the suite against the command `relay` in front of it.
fn test_peer(repo: &Repo, suite: &Suite, upstream: Upstream) -> Result<Results> {
    let mut server = peer_command(repo, upstream)?;
    let mut relay = relay(repo, suite);
    let server = if upstream.is_child() {
        relay.arg("--stdio").arg(quoted(server.arg("stdio")));
        relay.current_dir(Node::install(repo)?.dir());
        None
    } else {
        let server = Background::start(server.arg("http"))?;
        relay.arg(server.url());
        Some(server)
    };
    let relay = Background::start(&mut relay)?;
    let results = suite.test_server(relay.url(), None);
    drop((relay, server));
    results
}

/// A command as one word, whose paths may have spaces.
fn quoted(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<String> = words
        .map(|word| format!("'{}'", word.to_string_lossy()))
        .collect();
    words.join(" ")
}

/// The command that users have, on any port.
fn relay(repo: &Repo, suite: &Suite) -> Command {
    let mut relay = suite.program("callgate");
    let data = repo.target("conformance/data");
    relay.arg("--data-dir").arg(data);
    relay.args(["relay", "--no-auth", "--listen", "127.0.0.1:0"]);
    relay
}

/// The conformance server on another SDK.
fn peer_command(repo: &Repo, upstream: Upstream) -> Result<Command> {
    let peers = repo.root().join("conformance/peers");
    Ok(match upstream.peer() {
        Some("python") => {
            let mut server = Command::new(python::install(repo)?.join("bin/python"));
            server.arg(peers.join("python/server.py"));
            server
        }
        _ => {
            let node = Node::install(repo)?;
            let mut server = Command::new(node.program());
            server.arg(peers.join("typescript/server.mjs"));
            // It finds its packages there.
            server.current_dir(node.dir());
            server
        }
    })
}

/// Counts the scenarios that passed or cannot be expressed, and prints the rest.
fn judge(row: &mut Row, revision: &str, names: &[String], results: &Results) {
    let mut passed = 0;
    for name in names {
        let checks = results.checks.get(name).map(Vec::as_slice);
        let verdict = gate::verdict(name, checks);
        let limit = limits::find(revision, row.upstream, name);
        let unexpected = match (&verdict, limit) {
            (Verdict::Passed, None) => {
                passed += 1;
                continue;
            }
            (Verdict::Passed, Some(_)) => "passes, though it is listed as a limit".to_owned(),
            (_, Some(_)) => continue,
            (verdict, None) => verdict.to_string(),
        };
        println!("  {name}: {unexpected}");
        for problem in gate::problems(checks.unwrap_or_default()) {
            println!("    {problem}");
        }
        row.unexpected.push(name.clone());
    }
    println!("  {passed} of {} passed", names.len());
    row.passed.push((passed, names.len()));
}

impl Upstream {
    fn name(self) -> &'static str {
        match self {
            Self::StdioOld => "stdio-old",
            Self::StdioNew => "stdio-new",
            Self::HttpOld => "http-old",
            Self::HttpNew => "http-new",
            Self::HttpSse => "http-sse",
            Self::TypescriptHttp => "typescript-http",
            Self::TypescriptStdio => "typescript-stdio",
            Self::PythonHttp => "python-http",
            Self::PythonStdio => "python-stdio",
        }
    }

    fn is_child(self) -> bool {
        matches!(
            self,
            Self::StdioOld | Self::StdioNew | Self::TypescriptStdio | Self::PythonStdio
        )
    }

    /// The language of the SDK, if the server is not ours.
    fn peer(self) -> Option<&'static str> {
        match self {
            Self::TypescriptHttp | Self::TypescriptStdio => Some("typescript"),
            Self::PythonHttp | Self::PythonStdio => Some("python"),
            _ => None,
        }
    }
}
