use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process;
use crate::repo::Repo;

/// The manifest of the fuzz targets, which are a workspace of their own.
pub(crate) const MANIFEST: &str = "fuzz/Cargo.toml";

/// Compiler flags of cargo-fuzz, as far as the stable toolchain takes them; there is no address sanitizer,
/// and hardly a use for one without `unsafe`.
const INSTRUMENTATION: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
    "--cfg=fuzzing",
];

/// Runs every fuzz target, or `only` one, for `seconds` each.
///
/// Found inputs stay under the build directory and are used again; the seeds in `fuzz/corpus` are not touched.
pub(crate) fn run(repo: &Repo, only: Option<&str>, seconds: u32) -> Result<()> {
    process::require(
        "c++",
        &["--version"],
        "install a C++ compiler, which libFuzzer needs",
    )?;
    let targets = targets(repo, only)?;
    let programs = build(repo)?;
    for target in &targets {
        println!("\n==> fuzz {target} for {seconds} s");
        fuzz(repo, &programs.join(target), target, seconds)?;
    }
    println!("\n{} passed, 0 failed", targets.len());
    Ok(())
}

/// A clippy command for the fuzz targets that needs no C++ compiler.
pub(crate) fn clippy(repo: &Repo) -> Command {
    let mut clippy = repo.cargo(&["clippy", "--manifest-path", MANIFEST, "--target-dir"]);
    // Nothing is linked, so the library need not be there; naming one keeps it from being compiled.
    clippy
        .arg(repo.target("fuzz"))
        .env("CUSTOM_LIBFUZZER_PATH", "not-linked/libfuzzer.a");
    clippy
}

/// Builds the fuzz targets and returns the folder that holds them.
fn build(repo: &Repo) -> Result<PathBuf> {
    let host = host()?;
    let dir = repo.target("fuzz");
    // With an explicit target, build scripts and macros are not instrumented.
    let mut build = repo.cargo(&["build", "--release", "--bins", "--target", &host]);
    build
        .args(["--manifest-path", MANIFEST, "--target-dir"])
        .arg(&dir);
    process::run(build.env("CARGO_ENCODED_RUSTFLAGS", INSTRUMENTATION.join("\x1f")))?;
    Ok(dir.join(host).join("release"))
}

fn fuzz(repo: &Repo, program: &Path, target: &str, seconds: u32) -> Result<()> {
    let dir = repo.target("fuzz/runs").join(target);
    let (found, log) = (dir.join("corpus"), dir.join("log"));
    fs::create_dir_all(&found)?;
    let mut fuzzer = Command::new(program);
    fuzzer.arg(format!("-max_total_time={seconds}"));
    fuzzer.args([
        "-timeout=10",
        "-rss_limit_mb=1024",
        "-max_len=4096",
        "-print_final_stats=1",
    ]);
    fuzzer.arg(format!("-artifact_prefix={}/", dir.display()));
    fuzzer
        .arg(found)
        .arg(repo.root().join("fuzz/corpus").join(target));
    let result = process::run(fuzzer.stderr(fs::File::create(&log)?));
    let log = String::from_utf8_lossy(&fs::read(log)?).into_owned();
    if result.is_err() {
        eprintln!("{log}");
    }
    for line in log.lines().filter(|line| line.starts_with("stat::")) {
        println!("{line}");
    }
    result.with_context(|| {
        format!(
            "{target} failed; the input is in {}, pass it to the program to repeat",
            dir.display()
        )
    })
}

/// The names of the programs in `fuzz/src/bin`.
fn targets(repo: &Repo, only: Option<&str>) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(repo.root().join("fuzz/src/bin"))? {
        let path = entry?.path();
        names.extend(
            path.file_stem()
                .map(|name| name.to_string_lossy().into_owned()),
        );
    }
    names.sort();
    if let Some(only) = only {
        ensure!(
            names.iter().any(|name| name == only),
            "no target {only}; there are {}",
            names.join(", ")
        );
        names = vec![only.to_owned()];
    }
    Ok(names)
}

/// The target triple of this machine.
fn host() -> Result<String> {
    let version = process::capture(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc -vV names no host")?.to_owned())
}
