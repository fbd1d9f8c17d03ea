use std::time::Duration;

/// Whether calls of a tool become tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TaskSupport {
    /// Never.
    #[default]
    Forbidden,
    /// For clients that know of tasks; for others the call takes as long as it takes.
    Optional,
    /// Always; clients that do not know of tasks are refused.
    Required,
}

/// How tasks are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskConfig {
    /// The most tasks at once, done ones included.
    pub max_tasks: usize,
    /// The most tasks of one caller at once, done ones included, so that none starves the others.
    pub max_tasks_per_caller: usize,
    /// How long a task is kept after it was made; one that still runs then is stopped.
    pub ttl: Duration,
    /// How long clients should wait before they ask again.
    pub poll_interval: Duration,
}

impl Default for TaskConfig {
    fn default() -> Self {
        Self {
            max_tasks: 1_000,
            max_tasks_per_caller: 250,
            ttl: Duration::from_secs(3_600),
            poll_interval: Duration::from_secs(1),
        }
    }
}
