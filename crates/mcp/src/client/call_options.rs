use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use callgate_wire::RawJson;
use callgate_wire::logging::{LogLevel, LoggingMessageParams};
use callgate_wire::progress::ProgressParams;
use serde::Serialize;

use crate::layer::{LONGEST, TimeLimits};

/// Options of the calls of a [`Client`](super::Client): timeouts, handlers, `_meta` and caching.
///
/// ```
/// # use std::time::Duration;
/// # use callgate_mcp::client::CallOptions;
/// let options = CallOptions::default()
///     .idle(Duration::from_secs(5))
///     .on_progress(|progress| println!("{progress:?}"))
///     .meta("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
/// ```
#[derive(Clone, Default)]
pub struct CallOptions {
    pub(super) time_limits: TimeLimits,
    task_timeout: Option<Duration>,
    pub(super) on_progress: Option<OnProgress>,
    pub(super) on_log: Option<OnLog>,
    pub(super) log_level: Option<LogLevel>,
    pub(super) meta: Vec<(String, RawJson)>,
    pub(super) cache: CacheUse,
}

/// Use of the result cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum CacheUse {
    /// A fresh result is returned without a request.
    #[default]
    Fresh,
    /// Every call sends a request. Its result is cached for other calls.
    Never,
}

/// Default of the maximum wait for a task.
const TASK_TIMEOUT: Duration = Duration::from_secs(60 * 60);

pub(super) type OnProgress = Arc<dyn Fn(ProgressParams) + Send + Sync>;
pub(super) type OnLog = Arc<dyn Fn(LoggingMessageParams) + Send + Sync>;

impl CallOptions {
    /// Sets the idle timeout: the maximum silence of a request. Progress of the request restarts it.
    #[must_use]
    pub fn idle(mut self, idle: Duration) -> Self {
        self.time_limits.idle = idle;
        self
    }

    /// Sets the hard timeout of a request, with or without progress.
    ///
    /// A request that is repeated because the server asked for input gets this time again.
    #[must_use]
    pub fn maximum(mut self, maximum: Duration) -> Self {
        self.time_limits.maximum = maximum;
        self
    }

    /// Sets the timeout of waiting for a task, one hour by default.
    #[must_use]
    pub fn task_timeout(mut self, timeout: Duration) -> Self {
        self.task_timeout = Some(timeout);
        self
    }

    /// Returns the timeout of waiting for a task, short enough to be added to any time.
    pub(super) fn task_limit(&self) -> Duration {
        self.task_timeout.unwrap_or(TASK_TIMEOUT).min(LONGEST)
    }

    /// Sets the handler of progress notifications.
    ///
    /// It runs where the call is awaited and must not block.
    #[must_use]
    pub fn on_progress(mut self, handler: impl Fn(ProgressParams) + Send + Sync + 'static) -> Self {
        self.on_progress = Some(Arc::new(handler));
        self
    }

    /// Asks for log messages of `level` and above about each call, and sets their handler.
    ///
    /// It runs where the call is awaited and must not block.
    #[must_use]
    pub fn on_log(
        mut self,
        level: LogLevel,
        handler: impl Fn(LoggingMessageParams) + Send + Sync + 'static,
    ) -> Self {
        self.log_level = Some(level);
        self.on_log = Some(Arc::new(handler));
        self
    }

    /// Adds a member to the `_meta` of each request, such as `traceparent`.
    ///
    /// The client's own members win over one with the same key.
    ///
    /// # Panics
    /// If `value` cannot be serialized.
    #[must_use]
    pub fn meta<T: Serialize + ?Sized>(mut self, key: &str, value: &T) -> Self {
        let value = RawJson::encode(value).expect("a value for `_meta` is JSON");
        self.meta.retain(|(known, _)| known != key);
        self.meta.push((key.to_owned(), value));
        self
    }

    /// Sends a request even if the cache has a fresh result.
    #[must_use]
    pub fn no_cache(mut self) -> Self {
        self.cache = CacheUse::Never;
        self
    }
}

impl fmt::Debug for CallOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallOptions")
            .field("time_limits", &self.time_limits)
            .field("task_timeout", &self.task_timeout)
            .field("on_progress", &self.on_progress.is_some())
            .field("log_level", &self.log_level)
            .field("meta", &self.meta)
            .field("cache", &self.cache)
            .finish_non_exhaustive()
    }
}
