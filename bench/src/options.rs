//! Arguments of the benchmark.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::peers::{Node, Peers, Python};
use crate::throughput::Schedule;

/// Arguments of the benchmark.
#[derive(Debug)]
pub struct Options {
    /// Parts to measure.
    pub parts: Vec<Part>,
    /// Schedule of the load.
    pub schedule: Schedule,
    /// Node.js with its packages, where they could be installed.
    pub node: Option<Node>,
    /// Python with its packages, where they could be installed.
    pub python: Option<Python>,
}

/// Part of the benchmark that can be measured alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Servers, relays and clients of an echo tool.
    Echo,
    /// Way of a call through a hub.
    Hop,
    /// Commands on configured servers.
    Commands,
    /// Many servers behind one endpoint.
    Hubs,
}

const USAGE: &str = "usage: cargo xtask bench [--quick] [echo] [hop] [commands] [hubs]";

impl Options {
    /// Reads the arguments; without the name of a part, all are measured.
    pub fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        let (mut rounds, mut warm_up, mut duration) = (5, 300, 1200);
        let mut parts = Vec::new();
        let (mut node, mut python) = (None, None);
        while let Some(argument) = arguments.next() {
            let mut path = |name| arguments.next().map(PathBuf::from).context(name);
            match &*argument {
                "--quick" => (rounds, warm_up, duration) = (3, 100, 500),
                "--node" => {
                    node = Some(Node {
                        program: path("the path of Node.js")?,
                        modules: path("the directory of the packages")?,
                    });
                }
                "--python" => {
                    let environment = path("the virtual environment")?;
                    python = Some(Python { environment });
                }
                "echo" => parts.push(Part::Echo),
                "hop" => parts.push(Part::Hop),
                "commands" => parts.push(Part::Commands),
                "hubs" => parts.push(Part::Hubs),
                _ => bail!(USAGE),
            }
        }
        if parts.is_empty() {
            parts = vec![Part::Echo, Part::Hop, Part::Commands, Part::Hubs];
        }
        Ok(Self {
            parts,
            schedule: Schedule {
                warm_up: Duration::from_millis(warm_up),
                duration: Duration::from_millis(duration),
                rounds,
            },
            node,
            python,
        })
    }

    /// Returns the programs of others, if all are installed.
    #[must_use]
    pub fn peers(&self) -> Option<Peers> {
        let (node, python) = self.node.clone().zip(self.python.clone())?;
        Some(Peers { node, python })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_parts_are_measured_unless_some_are_named() {
        let parts = |arguments: &[&str]| {
            let arguments = arguments.iter().map(|&argument| argument.to_owned());
            Options::read(arguments).map(|options| options.parts).ok()
        };
        let all = vec![Part::Echo, Part::Hop, Part::Commands, Part::Hubs];
        assert_eq!(parts(&["--quick"]), Some(all));
        assert_eq!(parts(&["hubs", "--quick"]), Some(vec![Part::Hubs]));
        assert_eq!(parts(&["others"]), None);
        assert_eq!(parts(&["--node", "program"]), None);
    }
}
