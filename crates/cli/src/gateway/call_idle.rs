use std::time::Duration;

use callgate_mcp::Call;

/// Key of `_meta` by which a command gives its `--timeout` to the process that runs the server: milliseconds without an
/// answer or progress, in place of those of the server.
pub(crate) const CALL_IDLE: &str = "callgate/idleMs";

/// Longest time that is given to a call: the maximum of the configuration.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Time without an answer or progress that a call asks for.
pub(super) fn asked_idle(call: &Call) -> Option<Duration> {
    let milliseconds = call.cx.peer().meta().get(CALL_IDLE)?.decode().ok()?;
    Some(Duration::from_millis(milliseconds).min(LONGEST))
}
