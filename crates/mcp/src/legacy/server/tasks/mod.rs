//! The tasks of 2025-11-25, made of those of the extension.
//!
//! A call becomes a task only if the client asks for it, and always if it does: where the service
//! answers at once, the task is ours and has ended already.
//!
//! # Layout
//! - `methods`: how calls become tasks, and what a client may ask about them.
//! - `look`: how a task is doing.
//! - `registry`: the tasks of one session.

mod look;
mod methods;
mod registry;

use super::config::Config;
use super::upstream::Upstream;
use registry::Registry;

/// The tasks of one session with a service that has them.
pub(super) struct Tasks {
    /// The service, asked as by a client of the extension.
    pub(super) upstream: Upstream,
    registry: Registry,
}

impl Tasks {
    pub(super) fn new(upstream: &Upstream, config: &Config) -> Self {
        Self {
            upstream: upstream.with_tasks(),
            registry: Registry::new(config.tasks),
        }
    }
}
