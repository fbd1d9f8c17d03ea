use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Reason why the program was not found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(
    not(unix),
    expect(dead_code, reason = "elsewhere the system looks for programs")
)]
pub(super) enum NotFound {
    #[error("there is no program `{}`", .0.display())]
    Missing(PathBuf),
    #[error("`{}` is not an executable file", .0.display())]
    NotExecutable(PathBuf),
    #[error("program `{program}` is in none of the directories of PATH ({path})")]
    NotInPath { program: String, path: String },
}

/// Finds the file of the program as a shell does: by its path, or by its name in `PATH`.
#[cfg(unix)]
pub(super) fn find(
    program: &OsStr,
    path: Option<&OsStr>,
    cwd: Option<&Path>,
) -> Result<PathBuf, NotFound> {
    use std::os::unix::ffi::OsStrExt;

    let base = cwd.unwrap_or(Path::new(""));
    if program.as_bytes().contains(&b'/') {
        let file = base.join(program);
        return match file.metadata() {
            Err(_) => Err(NotFound::Missing(file)),
            Ok(_) if !is_executable(&file) => Err(NotFound::NotExecutable(file)),
            Ok(_) => Ok(file),
        };
    }
    // Shells have a similar default where `PATH` is not set.
    let path = path.unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
    path.as_bytes()
        .split(|byte| *byte == b':')
        // An empty entry means the working directory, which could hold a planted program.
        .filter(|directory| !directory.is_empty())
        .map(|directory| base.join(OsStr::from_bytes(directory)).join(program))
        .find(|file| is_executable(file))
        .ok_or_else(|| NotFound::NotInPath {
            program: program.to_string_lossy().into_owned(),
            path: path.to_string_lossy().into_owned(),
        })
}

/// Leaves the lookup to the system.
#[cfg(not(unix))]
pub(super) fn find(
    program: &OsStr,
    _path: Option<&OsStr>,
    _cwd: Option<&Path>,
) -> Result<PathBuf, NotFound> {
    Ok(program.into())
}

#[cfg(unix)]
fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;

    file.metadata()
        .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn programs_are_found_by_path_or_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let (tool, text) = (root.join("bin/tool"), root.join("text"));
        fs::create_dir(root.join("bin")).unwrap();
        fs::write(&tool, "").unwrap();
        fs::write(&text, "").unwrap();
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(&text, fs::Permissions::from_mode(0o644)).unwrap();

        let path = format!(
            "/nonexistent::{}:{}",
            root.display(),
            root.join("bin").display()
        );
        let find = |program: &str| find(OsStr::new(program), Some(OsStr::new(&path)), Some(root));
        assert_eq!(find("tool"), Ok(tool.clone()));
        assert_eq!(find("bin/tool"), Ok(tool.clone()));
        assert_eq!(find(tool.to_str().unwrap()), Ok(tool));
        assert_eq!(
            find("./text"),
            Err(NotFound::NotExecutable(root.join("./text")))
        );
        assert_eq!(find("./none"), Err(NotFound::Missing(root.join("./none"))));
        for name in ["text", "bin", "none", ""] {
            let not_found = NotFound::NotInPath {
                program: name.to_owned(),
                path: path.clone(),
            };
            assert_eq!(find(name), Err(not_found));
        }
    }
}
