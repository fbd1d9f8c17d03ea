use callgate_mcp::SessionLimits;
use callgate_mcp::transport::http::server::HttpServerConfig;

use crate::args::HttpLimits;

const MIB: usize = 1024 * 1024;

impl HttpLimits {
    /// Sets the limits that the command line gives.
    pub(crate) fn apply(&self, config: &mut HttpServerConfig) {
        let limits = &mut config.limits;
        set(&mut limits.connections, self.max_connections);
        let per_address = &mut limits.connections_per_peer;
        set(per_address, self.max_connections_per_address);
        let unauthenticated = &mut limits.unauthenticated_connections;
        set(unauthenticated, self.max_unauthenticated_connections);
        let bytes = |mib: usize| mib.saturating_mul(MIB);
        set(&mut limits.unsent_bytes, self.max_unread_mib.map(bytes));
        let per_caller = self.max_unread_mib_per_caller.map(bytes);
        set(&mut limits.unsent_bytes_per_caller, per_caller);

        let mut sessions = SessionLimits::default();
        set(&mut sessions.sessions, self.max_sessions);
        let per_caller = &mut sessions.sessions_per_caller;
        set(per_caller, self.max_sessions_per_caller);
        config.sessions = Some(sessions);
    }
}

fn set(limit: &mut usize, given: Option<usize>) {
    if let Some(given) = given {
        *limit = given;
    }
}

/// Lets this process open as many files as the system permits: each connection is one.
///
/// Many systems start a process with 1,024 and permit more on request. A limit that cannot be raised is
/// no error: the server then accepts fewer connections.
#[cfg(unix)]
pub(crate) fn allow_many_connections() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    if current != maximum && setrlimit(Resource::Nofile, raised).is_err() {
        tracing::debug!("cannot raise the limit of open files");
    }
}

#[cfg(not(unix))]
pub(crate) fn allow_many_connections() {}
