use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use callgate_wire::RawJson;
use callgate_wire::logging::{LogLevel, LoggingMessageParams};
use callgate_wire::progress::ProgressParams;
use serde::Serialize;

/// How the calls of a [`Client`](super::Client) are made.
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
    pub(super) timeouts: Timeouts,
    pub(super) on_progress: Option<OnProgress>,
    pub(super) on_log: Option<OnLog>,
    pub(super) log_level: Option<LogLevel>,
    pub(super) meta: Vec<(String, RawJson)>,
    pub(super) cache: CacheUse,
}

/// How long to wait for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// The longest silence: progress of the request starts it anew.
    pub idle: Duration,
    /// The longest wait for one answer, progress or not.
    ///
    /// A request that is repeated because the server asked for input gets this time again.
    pub maximum: Duration,
    /// The longest wait for a task to end.
    pub task: Duration,
}

/// Whether a result that was kept will do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum CacheUse {
    #[default]
    Fresh,
    Never,
}

pub(super) type OnProgress = Arc<dyn Fn(ProgressParams) + Send + Sync>;
pub(super) type OnLog = Arc<dyn Fn(LoggingMessageParams) + Send + Sync>;

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(30),
            maximum: Duration::from_secs(10 * 60),
            task: Duration::from_secs(60 * 60),
        }
    }
}

impl CallOptions {
    /// The same options with these timeouts.
    #[must_use]
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// The same options with this longest silence.
    #[must_use]
    pub fn idle(mut self, idle: Duration) -> Self {
        self.timeouts.idle = idle;
        self
    }

    /// The same options with this longest wait for one answer.
    #[must_use]
    pub fn maximum(mut self, maximum: Duration) -> Self {
        self.timeouts.maximum = maximum;
        self
    }

    /// The same options, and `handler` sees the progress of each call.
    ///
    /// It runs where the call is awaited and must not block.
    #[must_use]
    pub fn on_progress(mut self, handler: impl Fn(ProgressParams) + Send + Sync + 'static) -> Self {
        self.on_progress = Some(Arc::new(handler));
        self
    }

    /// The same options, and `handler` sees log messages of `level` and above about each call.
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

    /// The same options with a member for the `_meta` of each request.
    ///
    /// The client's own members win over one with the same key.
    ///
    /// # Panics
    /// If the `Serialize` of `value` fails.
    #[must_use]
    pub fn meta<T: Serialize + ?Sized>(mut self, key: &str, value: &T) -> Self {
        let value = RawJson::encode(value).expect("a value for `_meta` is JSON");
        self.meta.retain(|(known, _)| known != key);
        self.meta.push((key.to_owned(), value));
        self
    }

    /// The same options, and the server is always asked, even if a result was kept that is fresh.
    #[must_use]
    pub fn no_cache(mut self) -> Self {
        self.cache = CacheUse::Never;
        self
    }
}

impl fmt::Debug for CallOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallOptions")
            .field("timeouts", &self.timeouts)
            .field("on_progress", &self.on_progress.is_some())
            .field("log_level", &self.log_level)
            .field("meta", &self.meta)
            .field("cache", &self.cache)
            .finish_non_exhaustive()
    }
}
