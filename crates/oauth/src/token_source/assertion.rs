use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use tokio::task::spawn_blocking;

use super::config::Assertion;
use super::error::TokenError;
use crate::Secret;

/// Maximum bytes of a token that is read from a file.
const MAX_BYTES: u64 = 64 * 1024;

impl Assertion {
    /// Reads the token, each time anew: platforms replace the file while the program runs.
    pub(super) async fn read(&self) -> Result<Secret, TokenError> {
        let path = match self {
            Self::Text(token) => return Ok(token.clone()),
            Self::File(path) => path.clone(),
        };
        let read = spawn_blocking({
            let path = path.clone();
            move || read(&path)
        });
        let text = read.await.map_err(|_| TokenError::Interrupted)?;
        text.map_err(|source| TokenError::Assertion { path, source })
    }
}

fn read(path: &Path) -> io::Result<Secret> {
    let mut text = String::new();
    let read = File::open(path)?
        // One byte more tells a file that is too large from one that just fits.
        .take(MAX_BYTES + 1)
        .read_to_string(&mut text)?;
    if read as u64 > MAX_BYTES {
        return Err(io::Error::from(io::ErrorKind::FileTooLarge));
    }
    // Many tools end a file with a newline, which no token has.
    Ok(Secret::new(text.trim()))
}
