use std::path::{Component, Path, PathBuf};

use super::WorkspaceError;
use super::temporary::is_temporary;

/// The path as the directory handle takes it: relative, and `.` for the directory itself.
///
/// The check only gives clear errors early; the directory handle confines.
pub(super) fn relative(path: &str) -> Result<PathBuf, WorkspaceError> {
    if path.is_empty() {
        return Err(WorkspaceError::NoPath);
    }
    let mut relative = PathBuf::new();
    for component in Path::new(path).components() {
        match component {
            Component::Normal(part) => relative.push(part),
            Component::CurDir => {}
            Component::ParentDir => {
                if !relative.pop() {
                    return Err(WorkspaceError::Escapes(path.to_owned()));
                }
            }
            Component::RootDir | Component::Prefix(_) => {
                return Err(WorkspaceError::Escapes(path.to_owned()));
            }
        }
    }
    if relative.as_os_str().is_empty() {
        relative.push(".");
    }
    check_names(&relative, path)?;
    Ok(relative)
}

/// Refuses a path through a name that no tool shows.
pub(super) fn check_names(relative: &Path, path: &str) -> Result<(), WorkspaceError> {
    if relative.iter().any(is_temporary) {
        return Err(WorkspaceError::Reserved(path.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_inside() {
        for (path, expect) in [
            ("a", "a"),
            ("./a/b", "a/b"),
            ("a/../b", "b"),
            (".", "."),
            ("a/..", "."),
            ("a//b", "a/b"),
        ] {
            assert_eq!(relative(path).unwrap(), Path::new(expect), "{path}");
        }
        for path in ["..", "../a", "a/../../b", "/etc/passwd", "/"] {
            assert_eq!(
                relative(path).unwrap_err().to_string(),
                format!("path escapes workspace: {path}")
            );
        }
        assert_eq!(relative("").unwrap_err().to_string(), "path is required");
    }
}
