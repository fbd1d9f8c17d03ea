//! The small process between us and a child that ends its whole tree.
//!
//! A program that starts servers can be its own supervisor: it calls [`run_if_requested`] first
//! thing in `main`, and names itself in [`ChildConfig::supervisor`](super::ChildConfig).
//!
//! The supervisor starts the server with its own standard streams and then only waits. Whatever
//! loses its parent below it becomes its child, so it can end everything, however it was forked:
//! when the program exits, when it is told to, and when its own parent is gone.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

#[cfg(target_os = "linux")]
mod linux;

/// The argument by which a process knows that it is a supervisor.
const MARKER: &str = "--callgate-supervise";

/// Tells a supervisor to end everything. It is a signal that nobody inherits as ignored.
#[cfg(unix)]
pub(super) const KILL: rustix::process::Signal = rustix::process::Signal::USR1;

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

/// The arguments that ask for supervision of `program`; its own follow.
pub(super) fn request(program: &Path) -> [OsString; 3] {
    let parent = std::process::id().to_string();
    [MARKER.into(), parent.into(), program.into()]
}

#[cfg(target_os = "linux")]
fn run(args: impl Iterator<Item = OsString>) -> ExitCode {
    use std::io::Write;

    linux::run(args).unwrap_or_else(|error| {
        // Standard error is the child's; its reader shows it as the reason.
        let _ = writeln!(std::io::stderr(), "cannot supervise: {error}");
        ExitCode::from(127)
    })
}

#[cfg(not(target_os = "linux"))]
fn run(_args: impl Iterator<Item = OsString>) -> ExitCode {
    ExitCode::FAILURE
}
