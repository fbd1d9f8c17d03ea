use std::env;
use std::path::PathBuf;

use super::program::ServiceProgram;
use super::{launchd, systemd};
use crate::error::CommandError;

/// Line by which this program knows a file that it wrote.
pub(super) const MARK: &str =
    "Written by `callgate service install`; `callgate service uninstall` removes it.";

/// Program of the system that runs services of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Platform {
    Systemd,
    Launchd,
}

/// A command and its arguments.
pub(super) type Words = Vec<String>;

impl Platform {
    /// The one of this system.
    pub(crate) fn of_this_system() -> Result<Self, CommandError> {
        match env::consts::OS {
            "linux" => Ok(Self::Systemd),
            "macos" => Ok(Self::Launchd),
            other => {
                let message = format!("services are not supported on {other}");
                Err(CommandError::usage(message)
                    .hint("run `callgate serve` yourself, for example at each login"))
            }
        }
    }

    /// The file of the service of this user.
    pub(crate) fn file(self) -> Result<PathBuf, CommandError> {
        let directory = |name: &str| {
            let path = env::var_os(name).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        let home = || directory("HOME");
        let file = match self {
            Self::Systemd => directory("XDG_CONFIG_HOME")
                .or_else(|| Some(home()?.join(".config")))
                .map(|config| config.join("systemd/user").join(systemd::FILE)),
            Self::Launchd => {
                home().map(|home| home.join("Library/LaunchAgents").join(launchd::FILE))
            }
        };
        file.ok_or_else(|| {
            CommandError::usage("there is no place for the service: HOME is not set")
                .hint("set HOME to your home directory")
        })
    }

    /// Text of the file.
    pub(super) fn text(self, service: &ServiceProgram) -> String {
        match self {
            Self::Systemd => systemd::unit(service),
            Self::Launchd => launchd::agent(service),
        }
    }

    /// Command that succeeds if services of the user can be started from here.
    pub(super) fn probe(self) -> Words {
        match self {
            Self::Systemd => words(["systemctl", "--user", "show-environment"]),
            Self::Launchd => words(["launchctl", "print", &domain()]),
        }
    }

    /// Commands that start the service now and at each login; `is_replaced` if one with another text may run.
    pub(super) fn start(self, file: &str, is_replaced: bool) -> Vec<Words> {
        match self {
            Self::Systemd => {
                let mut commands = vec![
                    words(["systemctl", "--user", "daemon-reload"]),
                    words(["systemctl", "--user", "enable", "--now", systemd::FILE]),
                ];
                if is_replaced {
                    commands.push(words(["systemctl", "--user", "restart", systemd::FILE]));
                }
                commands
            }
            Self::Launchd => {
                let mut commands = vec![words(["launchctl", "bootstrap", &domain(), file])];
                if is_replaced {
                    commands.insert(0, self.stop());
                }
                commands
            }
        }
    }

    /// Command that stops the service, now and at later logins.
    pub(super) fn stop(self) -> Words {
        match self {
            Self::Systemd => words(["systemctl", "--user", "disable", "--now", systemd::FILE]),
            Self::Launchd => {
                let service = format!("{}/{}", domain(), launchd::LABEL);
                words(["launchctl", "bootout", &service])
            }
        }
    }

    /// Command for the time after the file was removed.
    pub(super) fn forget(self) -> Option<Words> {
        match self {
            Self::Systemd => Some(words(["systemctl", "--user", "daemon-reload"])),
            Self::Launchd => None,
        }
    }

    /// Command that succeeds if the service is started at each login.
    pub(super) fn is_enabled(self) -> Words {
        match self {
            Self::Systemd => words(["systemctl", "--user", "is-enabled", systemd::FILE]),
            Self::Launchd => {
                let service = format!("{}/{}", domain(), launchd::LABEL);
                words(["launchctl", "print", &service])
            }
        }
    }

    /// Command that shows the log of the service.
    pub(crate) fn log_command(self) -> Option<&'static str> {
        match self {
            Self::Systemd => Some("journalctl --user -u callgate"),
            Self::Launchd => None,
        }
    }
}

fn words<const N: usize>(words: [&str; N]) -> Words {
    words.map(str::to_owned).to_vec()
}

/// Domain of the services of this user.
#[cfg(unix)]
fn domain() -> String {
    format!("gui/{}", rustix::process::getuid().as_raw())
}

#[cfg(not(unix))]
fn domain() -> String {
    "gui".to_owned()
}
