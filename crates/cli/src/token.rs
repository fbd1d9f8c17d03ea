use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use callgate_oauth::store::read_secret_file;

use crate::data_dir::DataDir;
use crate::error::CommandError;

const FILE: &str = "token";

/// The token of this data directory, made on first use.
///
/// Two processes that start at once agree on one token: the second one reads that of the first.
///
/// # Errors
/// Another user could read or replace the token, or it is damaged.
pub(crate) fn load_or_create(data_dir: &DataDir) -> Result<String, CommandError> {
    if let Some(token) = load(data_dir)? {
        return Ok(token);
    }
    data_dir.create()?;
    let path = data_dir.file(FILE);
    create(&path)?;
    // Read and not remembered: another process may have been faster, and its file is checked too.
    let token = load(data_dir)?.with_context(|| format!("{} was removed", path.display()))?;
    Ok(token)
}

/// The token of this data directory, if there is one.
pub(crate) fn own(data_dir: &DataDir) -> Option<String> {
    let text = fs::read_to_string(data_dir.file(FILE)).ok()?;
    Some(text.trim().to_owned())
}

fn create(path: &Path) -> Result<()> {
    let mut secret = [0_u8; 32];
    getrandom::fill(&mut secret).context("the random number generator of the system failed")?;
    let token = URL_SAFE_NO_PAD.encode(secret);
    let directory = path.parent().unwrap_or(Path::new("."));
    // Written beside and linked into place: the file is never there without its content, and it is
    // readable by the user alone from the start.
    let failed = || format!("cannot write {}", path.display());
    let mut file = tempfile::NamedTempFile::new_in(directory).with_context(failed)?;
    file.write_all(token.as_bytes()).with_context(failed)?;
    file.as_file().sync_all().with_context(failed)?;
    match file.persist_noclobber(path) {
        Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => {
            Err(error.error).with_context(failed)
        }
        _ => Ok(()),
    }
}

/// The token of this data directory, if it is there.
///
/// # Errors
/// As for [`load_or_create`].
pub(crate) fn load(data_dir: &DataDir) -> Result<Option<String>, CommandError> {
    let path = data_dir.file(FILE);
    let Some(bytes) = read_secret_file(&path)? else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&bytes);
    let token = text.trim();
    if token.len() < 32 || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let message = format!("{} does not hold a token", path.display());
        return Err(CommandError::usage(message).hint("remove it to get a new one"));
    }
    Ok(Some(token.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data_dir() -> (tempfile::TempDir, DataDir) {
        let directory = tempfile::tempdir().unwrap();
        let data_dir = DataDir::locate(Some(&directory.path().join("data"))).unwrap();
        (directory, data_dir)
    }

    #[test]
    fn a_token_is_made_once() {
        let (_directory, data_dir) = data_dir();
        let first = load_or_create(&data_dir).unwrap();
        assert_eq!(first.len(), 43);
        assert_eq!(load_or_create(&data_dir).unwrap(), first);
    }

    #[cfg(unix)]
    #[test]
    fn the_token_is_for_the_user_alone() {
        use std::os::unix::fs::PermissionsExt;
        let (_directory, data_dir) = data_dir();
        load_or_create(&data_dir).unwrap();
        let path = data_dir.file(FILE);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));

        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let error = load_or_create(&data_dir).unwrap_err().with_hints();
        let shown = path.display();
        assert_eq!(
            error,
            format!(
                "`{shown}` is open to other users (mode 644); allow only its owner: chmod 600\nhint: run `chmod 600 {shown}`"
            )
        );

        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let directory = path.parent().unwrap();
        let shown = directory.display();
        for mode in [0o720, 0o702, 0o777, 0o1777] {
            fs::set_permissions(directory, fs::Permissions::from_mode(mode)).unwrap();
            let error = load_or_create(&data_dir).unwrap_err().with_hints();
            assert_eq!(
                error,
                format!(
                    "other users can write to the directory `{shown}` (mode {mode:03o}); allow only its owner: chmod 700\nhint: run `chmod 700 {shown}`"
                )
            );
        }
        fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
        load_or_create(&data_dir).unwrap();
    }

    #[test]
    fn a_damaged_token_is_reported_and_kept() {
        let (_directory, data_dir) = data_dir();
        data_dir.create().unwrap();
        let path = data_dir.file(FILE);
        let mut file = fs::File::create(&path).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            file.set_permissions(fs::Permissions::from_mode(0o600))
                .unwrap();
        }
        file.write_all(b"short").unwrap();
        let error = load_or_create(&data_dir).unwrap_err().with_hints();
        let shown = path.display();
        assert_eq!(
            error,
            format!("{shown} does not hold a token\nhint: remove it to get a new one")
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "short");
    }
}
