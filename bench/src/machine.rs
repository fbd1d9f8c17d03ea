//! Machine and program versions of a run, without the name of the machine.

use std::process::Command;

use anyhow::{Context, Result};

const LOCK_FILE: &str = include_str!("../../Cargo.lock");

/// The machine and the programs that took part.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Name and number of the processors.
    pub processor: String,
    /// Memory in GiB, rounded.
    pub memory_gib: u64,
    /// The kernel's name and version.
    pub kernel: String,
    /// The compiler's name and version.
    pub compiler: String,
    /// The name and version of the packages whose speed matters here.
    pub packages: Vec<String>,
}

impl Machine {
    /// Describes this machine.
    pub fn describe() -> Result<Self> {
        let processors = std::thread::available_parallelism()?;
        let model = read_field("/proc/cpuinfo", "model name")?;
        let memory = read_field("/proc/meminfo", "MemTotal")?;
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease")?;
        let rustc = Command::new("rustc")
            .arg("--version")
            .output()
            .context("rustc cannot run")?;
        Ok(Self {
            processor: format!("{processors} × {model}"),
            memory_gib: gib(&memory).with_context(|| format!("memory size: {memory}"))?,
            kernel: format!("Linux {}", first_two_parts(release.trim())),
            compiler: first_words(&String::from_utf8_lossy(&rustc.stdout), 2),
            packages: ["rmcp", "hyper", "tokio", "serde_json"]
                .iter()
                .map(|package| locked(LOCK_FILE, package))
                .collect::<Option<_>>()
                .context("a package is not in the lock file")?,
        })
    }
}

fn read_field(path: &str, name: &str) -> Result<String> {
    let text = std::fs::read_to_string(path)?;
    field(&text, name).with_context(|| format!("no {name} in {path}"))
}

fn field(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    })
}

fn gib(memory: &str) -> Option<u64> {
    let kib: u64 = memory.strip_suffix(" kB")?.parse().ok()?;
    Some((kib + (1 << 19)) >> 20)
}

/// Cuts a kernel version to its series, without the name of a build.
fn first_two_parts(release: &str) -> String {
    release.split('.').take(2).collect::<Vec<_>>().join(".")
}

fn first_words(text: &str, count: usize) -> String {
    text.split_whitespace()
        .take(count)
        .collect::<Vec<_>>()
        .join(" ")
}

fn locked(lock_file: &str, package: &str) -> Option<String> {
    let (_, entry) = lock_file.split_once(&format!("\nname = \"{package}\"\nversion = \""))?;
    let (version, _) = entry.split_once('"')?;
    Some(format!("{package} {version}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "model\t\t: 49\nmodel name\t: Some CPU\n";
        assert_eq!(field(text, "model name"), Some("Some CPU".to_owned()));
        assert_eq!(field(text, "name"), None);
    }

    #[test]
    fn memory_is_rounded_to_gib() {
        assert_eq!(gib("24682416 kB"), Some(24));
        assert_eq!(gib("24682416"), None);
    }

    #[test]
    fn a_kernel_is_described_by_its_series() {
        assert_eq!(first_two_parts("6.18.44-build-7"), "6.18");
    }

    #[test]
    fn versions_come_from_the_lock_file() {
        let lock_file = "\n[[package]]\nname = \"rmcp-macros\"\nversion = \"1.0.0\"\n\
                         \n[[package]]\nname = \"rmcp\"\nversion = \"3.8.0\"\nsource = \"x\"\n";
        assert_eq!(locked(lock_file, "rmcp"), Some("rmcp 3.8.0".to_owned()));
        assert_eq!(locked(lock_file, "hyper"), None);
    }
}
