//! Supervisor: the small process between this one and a server that ends its whole tree.
//!
//! A program that starts servers can be its own supervisor: it calls [`run_if_requested`] first
//! thing in `main`, and names itself in [`ChildConfig::supervisor`](super::ChildConfig).
//!
//! The supervisor starts the server with its own standard streams and then only waits. A process that
//! loses its parent below it becomes its child, so it can end every process, however it was forked:
//! when the program exits, on request, and when its own parent has exited.
//!
//! A parent that does not want to wait for the exit of the program leaves it to the supervisor, which
//! then takes the steps of [`ModernChild::close`](super::ModernChild::close) by itself.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use super::config::ExitTimeouts;

#[cfg(target_os = "linux")]
mod linux;

/// Argument that makes a process a supervisor.
const MARKER: &str = "--callgate-supervise";

/// Signal that tells a supervisor to kill the tree. Shells and `nohup` do not set it to ignored,
/// so it is never inherited as such.
#[cfg(unix)]
pub(super) const KILL: rustix::process::Signal = rustix::process::Signal::USR1;

/// Signal that tells a supervisor to end the tree step by step, and that its parent may exit.
#[cfg(unix)]
pub(super) const LEAVE: rustix::process::Signal = rustix::process::Signal::USR2;

/// Supervises a child, if the arguments of this process say so.
///
/// `args` are those of the process, its own name included. With `Some`, `main` must return at once.
///
/// ```no_run
/// use std::process::ExitCode;
///
/// fn main() -> ExitCode {
///     if let Some(code) =
///         callgate_mcp::transport::child::supervisor::run_if_requested(std::env::args_os())
///     {
///         return code;
///     }
///     ExitCode::SUCCESS
/// }
/// ```
pub fn run_if_requested(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut args = args.into_iter().skip(1);
    if args.next()? != MARKER {
        return None;
    }
    Some(run(args))
}

/// Arguments that request supervision of `program`; its own follow.
pub(super) fn request(program: &Path, timeouts: &ExitTimeouts) -> [OsString; 5] {
    let parent = std::process::id().to_string();
    let milliseconds = |time: Duration| time.as_millis().to_string();
    [
        MARKER.into(),
        parent.into(),
        milliseconds(timeouts.exit).into(),
        milliseconds(timeouts.terminate).into(),
        program.into(),
    ]
}

#[cfg(target_os = "linux")]
fn run(args: impl Iterator<Item = OsString>) -> ExitCode {
    use std::io::Write;

    linux::run(args).unwrap_or_else(|error| {
        // The parent reads this stream and shows its end as the reason.
        let _ = writeln!(std::io::stderr(), "cannot supervise: {error}");
        // As a shell exits that cannot start a program.
        ExitCode::from(127)
    })
}

#[cfg(not(target_os = "linux"))]
fn run(_args: impl Iterator<Item = OsString>) -> ExitCode {
    ExitCode::FAILURE
}
