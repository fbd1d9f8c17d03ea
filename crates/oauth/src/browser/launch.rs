use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use super::page_url::{PageUrl, PageUrlError};

/// The program that opens pages in the user's browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Browser {
    program: PathBuf,
}

/// Why no page was opened.
///
/// The user can still open it by hand, unless the URL was refused.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The URL is not safe to open.
    #[error(transparent)]
    Url(#[from] PageUrlError),
    /// The program cannot be started.
    #[error("cannot start `{}`", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The program ended at once and said that it failed.
    #[error("`{}` failed: {status}", program.display())]
    Failed {
        /// The program.
        program: PathBuf,
        /// How it ended.
        status: ExitStatus,
    },
}

impl Browser {
    /// The program that this system has for it.
    #[must_use]
    pub fn of_this_system() -> Self {
        Self::new(if cfg!(target_os = "macos") {
            "/usr/bin/open"
        } else {
            "xdg-open"
        })
    }

    /// Opens pages with `program`, which gets the URL as its only argument.
    #[must_use]
    pub fn new(program: impl AsRef<Path>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
        }
    }

    /// Opens `url`, if it is safe.
    ///
    /// Returns when the program has ended, or when it has run long enough to be the browser itself.
    /// Dropping the future leaves the program running.
    ///
    /// # Errors
    /// The URL is refused and nothing was started, or the program does not work.
    pub async fn open(&self, url: &str) -> Result<(), OpenError> {
        let url = PageUrl::parse(url)?;
        let mut child = Command::new(&self.program)
            .arg(url.as_str())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|source| self.start_error(source))?;
        match timeout(WATCH, child.wait()).await {
            Err(_) => Ok(()),
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(Ok(status)) => Err(OpenError::Failed {
                program: self.program.clone(),
                status,
            }),
            Ok(Err(source)) => Err(self.start_error(source)),
        }
    }

    fn start_error(&self, source: io::Error) -> OpenError {
        OpenError::Start {
            program: self.program.clone(),
            source,
        }
    }
}

/// How long a program may take to fail.
const WATCH: Duration = Duration::from_millis(500);
