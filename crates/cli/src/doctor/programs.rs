use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;
use tokio::process::Command;
use tokio::time::timeout;

use super::{Code, Finding};
use crate::server::ProcessSpec;

/// Oldest version of Node.js that the servers of today run on.
const OLDEST_NODE: u32 = 20;

/// Time that a program has to print its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

/// Checks that the program of a server is there.
///
/// `path` is the variable PATH that the server gets, and `directory` the one in which it is started.
pub(crate) fn check_program(
    server: &str,
    program: &str,
    path: Option<&OsStr>,
    directory: &Path,
) -> Option<Finding> {
    match find(program, path, directory) {
        Some(_) => None,
        None => Some(Finding::new(
            Code::MissingProgram,
            server,
            format!("the program `{program}` was not found"),
            installation(program),
        )),
    }
}

/// Next step if the program of a server is a whole command line, which is a common mistake of those who paste one.
pub(crate) fn split_command_line(spec: &ProcessSpec) -> Option<String> {
    let (path, here) = (search_path(spec), env::current_dir().unwrap_or_default());
    let directory = spec.cwd.as_deref().unwrap_or(&here);
    let is_there = |program: &str| find(program, path.as_deref(), directory).is_some();
    let words = shlex::split(&spec.program)?;
    let (program, args) = words.split_first().filter(|(_, args)| !args.is_empty())?;
    if is_there(&spec.program) || !is_there(program) {
        return None;
    }
    let args = json!([args, spec.args.as_slice()].concat());
    let program = json!(program);
    Some(format!(
        "write the program and its arguments apart: \"command\": {program}, \"args\": {args}"
    ))
}

/// The variable PATH of a server.
pub(crate) fn search_path(spec: &ProcessSpec) -> Option<OsString> {
    let own = spec.env.iter().find(|(name, _)| name == "PATH");
    own.map(|(_, path)| path.into())
        .or_else(|| env::var_os("PATH"))
}

/// Checks that the directory in which a server is started is there.
pub(crate) fn check_directory(server: &str, directory: &Path) -> Option<Finding> {
    if directory.is_dir() {
        return None;
    }
    Some(Finding::new(
        Code::MissingDirectory,
        server,
        format!("the directory {} does not exist", directory.display()),
        format!("create it, or correct `cwd` of the server: callgate get {server}"),
    ))
}

/// True for programs that run on Node.js.
pub(crate) fn is_node(program: &str) -> bool {
    let name = Path::new(program).file_stem().and_then(OsStr::to_str);
    matches!(name, Some("node" | "npx" | "npm" | "pnpm" | "yarn"))
}

/// Checks the version of Node.js, if there is one.
pub(crate) async fn check_node(path: Option<&OsStr>) -> Option<Finding> {
    let node = find("node", path, Path::new("."))?;
    let mut command = Command::new(node);
    command
        .arg("--version")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let output = timeout(VERSION_TIMEOUT, command.output()).await;
    let output = output.ok()?.ok()?;
    judge_node(&String::from_utf8_lossy(&output.stdout))
}

/// Decides about the text of `node --version`.
fn judge_node(version: &str) -> Option<Finding> {
    let version = version.trim();
    let major = version.strip_prefix('v')?.split('.').next()?;
    let major: u32 = major.parse().ok()?;
    (major < OLDEST_NODE).then(|| {
        Finding::new(
            Code::OldNode,
            "node",
            format!("Node.js {version} is older than {OLDEST_NODE}, which many servers need"),
            format!("install Node.js {OLDEST_NODE} or newer"),
        )
    })
}

/// The file of a program, as the system would find it.
fn find(program: &str, path: Option<&OsStr>, directory: &Path) -> Option<PathBuf> {
    let named = Path::new(program);
    if named.components().count() > 1 {
        return Some(directory.join(named)).filter(|file| is_program(file));
    }
    let directories = env::split_paths(path?);
    directories
        .flat_map(|directory| candidates(&directory, program))
        .find(|file| is_program(file))
}

#[cfg(windows)]
fn candidates(directory: &Path, program: &str) -> Vec<PathBuf> {
    let endings = ["", ".exe", ".cmd", ".bat"].iter();
    endings
        .map(|ending| directory.join(format!("{program}{ending}")))
        .collect()
}

#[cfg(not(windows))]
fn candidates(directory: &Path, program: &str) -> Vec<PathBuf> {
    vec![directory.join(program)]
}

#[cfg(unix)]
fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let metadata = file.metadata();
    metadata.is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(file: &Path) -> bool {
    file.is_file()
}

/// Next step to get a program that servers are often started with.
fn installation(program: &str) -> String {
    match program {
        "npx" | "node" | "npm" => "install Node.js, which brings it".to_owned(),
        "uvx" | "uv" => "install uv, which brings it".to_owned(),
        "docker" => "install Docker, and see that its service runs".to_owned(),
        "bunx" | "bun" => "install Bun, which brings it".to_owned(),
        "deno" => "install Deno".to_owned(),
        "python" | "python3" | "pipx" => format!("install Python, or {program} itself"),
        _ => "install it, or correct `command` of the server; a program outside of PATH needs its whole path".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_in_path_or_by_its_own_path() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("server");
        std::fs::write(&file, "").unwrap();
        let path = directory.path().as_os_str();
        let check = |program: &str| check_program("s", program, Some(path), directory.path());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert!(check("server").is_some(), "a file that cannot be run");
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&file, mode).unwrap();
        }
        assert_eq!(check("server"), None);
        assert_eq!(check("./server"), None);
        assert_eq!(check(file.to_str().unwrap()), None);
        let missing = check("npx").unwrap();
        assert_eq!(
            (
                missing.code,
                missing.problem.as_str(),
                missing.repair.as_str()
            ),
            (
                Code::MissingProgram,
                "the program `npx` was not found",
                "install Node.js, which brings it"
            )
        );
    }

    #[test]
    fn old_versions_of_node_are_reported() {
        for (version, is_old) in [
            ("v18.20.4\n", true),
            ("v20.0.0", false),
            ("v24.1.0", false),
            ("something else", false),
            ("", false),
        ] {
            assert_eq!(judge_node(version).is_some(), is_old, "{version}");
        }
    }

    #[test]
    fn programs_that_run_on_node_are_recognized() {
        for (program, is) in [("npx", true), ("/usr/bin/node", true), ("uvx", false)] {
            assert_eq!(is_node(program), is, "{program}");
        }
    }
}
