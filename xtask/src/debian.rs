//! Programs of the system that tests start, installed where they are missing.

use std::process::{Command, Stdio};

use anyhow::Result;

use crate::process;

/// Programs, and the Debian packages that have them.
pub(crate) struct Programs {
    pub(crate) programs: &'static [&'static str],
    pub(crate) packages: &'static [&'static str],
}

impl Programs {
    /// Installs the packages if a program is missing, which works for root on Debian.
    ///
    /// Returns the reason if a program is still missing.
    pub(crate) fn provide(&self) -> Option<String> {
        let missing = self.missing()?;
        let failed = self.install().err();
        let still_missing = self.missing()?;
        let packages = self.packages.join(" and ");
        let reason = match failed {
            Some(error) => format!("`{missing}` is missing; install {packages} ({error:#})"),
            None => format!("`{still_missing}` is missing after the installation of {packages}"),
        };
        Some(reason)
    }

    fn missing(&self) -> Option<&'static str> {
        let runs = |program: &str| {
            let mut command = Command::new(program);
            command
                .arg("--version")
                .stdin(Stdio::null())
                .output()
                .is_ok()
        };
        self.programs.iter().copied().find(|program| !runs(program))
    }

    fn install(&self) -> Result<()> {
        let mut apt = Command::new("apt-get");
        apt.args(["install", "--yes", "--no-install-recommends"])
            .args(self.packages)
            .env("DEBIAN_FRONTEND", "noninteractive");
        println!("installing {}", self.packages.join(", "));
        process::capture(&mut apt).map(drop)
    }
}
