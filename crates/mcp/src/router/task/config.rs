use std::time::Duration;

/// Task support of a tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskSupport {
    /// Calls never become tasks.
    #[default]
    Forbidden,
    /// Calls become tasks for clients that declare the tasks extension; other clients wait for the
    /// result.
    Optional,
    /// Calls always become tasks; clients without the tasks extension are refused.
    Required,
}

/// Limits and lifetime of tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskConfig {
    /// Maximum number of tasks, ended ones included until they expire.
    pub max_tasks: usize,
    /// Maximum number of tasks of one caller, ended ones included, so that none starves the others.
    pub max_tasks_per_caller: usize,
    /// Lifetime of a task since its creation; one that still runs at its end is stopped.
    pub ttl: Duration,
    /// Interval at which clients should poll.
    pub poll_interval: Duration,
}

impl TaskConfig {
    /// Sets the maximum number of tasks.
    #[must_use]
    pub fn with_max_tasks(mut self, tasks: usize) -> Self {
        self.max_tasks = tasks;
        self
    }

    /// Sets the maximum number of tasks of one caller.
    #[must_use]
    pub fn with_max_tasks_per_caller(mut self, tasks: usize) -> Self {
        self.max_tasks_per_caller = tasks;
        self
    }

    /// Sets the lifetime of a task.
    #[must_use]
    pub fn with_ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// Sets the interval at which clients should poll.
    #[must_use]
    pub fn with_poll_interval(mut self, interval: Duration) -> Self {
        self.poll_interval = interval;
        self
    }
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
