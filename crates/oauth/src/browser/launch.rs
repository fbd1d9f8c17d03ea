use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};

use tokio::process::{Child, Command};

use super::page_url::{PageUrl, PageUrlError};

/// Program that opens pages in the user's browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Browser {
    program: PathBuf,
}

/// Running browser program. Dropping this leaves the program running.
#[derive(Debug)]
pub struct BrowserProcess {
    program: PathBuf,
    child: Child,
}

/// The page was not opened.
///
/// The user can still open it by hand, unless the URL was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The URL is not safe to open.
    #[error(transparent)]
    Url(#[from] PageUrlError),
    /// The program cannot be started.
    #[error("cannot start `{}`", program.display())]
    Start {
        /// Path of the program.
        program: PathBuf,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
    /// The program exited with a failure.
    #[error("`{}` failed: {status}", program.display())]
    Failed {
        /// Path of the program.
        program: PathBuf,
        /// Exit status.
        status: ExitStatus,
    },
}

impl Browser {
    /// Default program of this system.
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

    /// Starts the program with `url`, if the URL is safe, and does not wait for it.
    ///
    /// # Errors
    /// The URL is refused and nothing was started, or the program cannot be started.
    pub fn open(&self, url: &str) -> Result<BrowserProcess, OpenError> {
        let url = PageUrl::parse(url)?;
        let started = Command::new(&self.program)
            .arg(url.as_str())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let program = self.program.clone();
        match started {
            Ok(child) => Ok(BrowserProcess { program, child }),
            Err(source) => Err(OpenError::Start { program, source }),
        }
    }
}

impl BrowserProcess {
    /// Waits until the program exits.
    ///
    /// That may be hours later, because some programs are the browser itself and stay in the foreground.
    /// So a caller must not wait for this before it goes on with the login.
    ///
    /// # Errors
    /// The program reported a failure.
    pub async fn exit(mut self) -> Result<(), OpenError> {
        let program = self.program;
        match self.child.wait().await {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(OpenError::Failed { program, status }),
            Err(source) => Err(OpenError::Start { program, source }),
        }
    }
}
