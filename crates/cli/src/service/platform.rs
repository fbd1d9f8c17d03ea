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

/// A command on the way to a service that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) words: Words,
    /// True if the next command is run after a failure too.
    pub(super) may_fail: bool,
}

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
    pub(super) fn start(self, file: &str, is_replaced: bool) -> Vec<Step> {
        let must = |words| Step {
            words,
            may_fail: false,
        };
        match self {
            Self::Systemd => {
                let mut steps = vec![
                    must(words(["systemctl", "--user", "daemon-reload"])),
                    // A service that failed too often is not started again for minutes, even if its cause is gone.
                    Step {
                        words: words(["systemctl", "--user", "reset-failed", systemd::FILE]),
                        may_fail: true,
                    },
                    must(words([
                        "systemctl",
                        "--user",
                        "enable",
                        "--now",
                        systemd::FILE,
                    ])),
                ];
                if is_replaced {
                    let restart = words(["systemctl", "--user", "restart", systemd::FILE]);
                    steps.push(must(restart));
                }
                steps
            }
            // An agent that is loaded cannot be loaded again, and one that is not loaded cannot be unloaded.
            Self::Launchd => vec![
                Step {
                    words: self.stop(),
                    may_fail: true,
                },
                must(words(["launchctl", "bootstrap", &domain(), file])),
            ],
        }
    }

    /// Command that prints the process of the service.
    pub(super) fn show(self) -> Words {
        match self {
            Self::Systemd => words([
                "systemctl",
                "--user",
                "show",
                "--property=MainPID",
                systemd::FILE,
            ]),
            Self::Launchd => self.is_enabled(),
        }
    }

    /// The process in the text of [`show`](Self::show); `None` if there is none.
    pub(super) fn process(self, shown: &str) -> Option<u32> {
        let name = match self {
            Self::Systemd => "MainPID",
            Self::Launchd => "pid",
        };
        let members = shown.lines().filter_map(|line| line.split_once('='));
        let mut values = members.filter(|(member, _)| member.trim() == name);
        let (_, pid) = values.next()?;
        pid.trim().parse().ok().filter(|pid| *pid != 0)
    }

    /// True if the commands that start a service end only after its process has begun.
    pub(super) fn waits_for_start(self) -> bool {
        self == Self::Systemd
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loaded_agent_is_unloaded_before_it_is_loaded_and_a_missing_one_is_no_failure() {
        let platform = Platform::Launchd;
        for is_replaced in [false, true] {
            let steps = platform.start("/a.plist", is_replaced);
            let expect = [
                Step {
                    words: platform.stop(),
                    may_fail: true,
                },
                Step {
                    words: words(["launchctl", "bootstrap", &domain(), "/a.plist"]),
                    may_fail: false,
                },
            ];
            assert_eq!(steps, expect, "{is_replaced}");
        }
    }

    #[test]
    fn the_process_is_found_in_what_the_system_prints() {
        let agent = "gui/501/callgate = {\n\tstate = running\n\tpid = 812\n}\n";
        for (platform, shown, expect) in [
            (Platform::Systemd, "MainPID=41\n", Some(41)),
            (Platform::Systemd, "MainPID=0\n", None),
            (Platform::Systemd, "", None),
            (Platform::Launchd, agent, Some(812)),
            (Platform::Launchd, "\tstate = waiting\n", None),
        ] {
            assert_eq!(platform.process(shown), expect, "{shown}");
        }
    }
}
