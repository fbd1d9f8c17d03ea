use std::fmt;
use std::sync::Arc;

use callgate_wire::logging::{LogLevel, LoggingMessageParams};
use callgate_wire::progress::ProgressParams;
use callgate_wire::{Map, Method, Notification, Number, RawJson, method};
use serde::Serialize;
use tokio::sync::SetOnce;
use tokio::time::Instant;

use super::input_exchange::InputExchange;
use super::task::TaskEntry;
use crate::error::Error;
use crate::mutex::Mutex;
use crate::service::{Caller, Cx, PeerInfo};

/// Context of the request that a [`Handler`](super::Handler) answers: the caller, the client, and
/// ways to report progress, log, ask for input and become a task.
///
/// Clones are the same request.
#[derive(Clone)]
pub struct RequestCx(Arc<RequestCxInner>);

struct RequestCxInner {
    cx: Cx,
    /// Highest progress sent so far.
    progress: Mutex<f64>,
    /// Input requests to the client; `None` if the method does not allow them.
    input: Option<InputExchange>,
    /// Task that the request has become.
    task: SetOnce<Arc<TaskEntry>>,
}

impl RequestCx {
    pub(crate) fn new(cx: Cx, input: Option<InputExchange>) -> Self {
        Self(Arc::new(RequestCxInner {
            cx,
            progress: Mutex::new(f64::NEG_INFINITY),
            input,
            task: SetOnce::new(),
        }))
    }

    /// Caller: the authority that the request acts with.
    #[must_use]
    pub fn caller(&self) -> &Caller {
        &self.0.cx.caller
    }

    /// Client information of this request: revision, capabilities and other metadata.
    #[must_use]
    pub fn peer(&self) -> &PeerInfo {
        self.0.cx.peer()
    }

    /// Deadline after which the caller stops waiting.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.0.cx.deadline
    }

    /// Requires that the client declared the capability at `path` in this request.
    ///
    /// # Errors
    /// The client did not; the error names the capability to declare.
    pub fn require_capability(&self, path: &[&str]) -> Result<(), Error> {
        require_capability(self.peer(), path)
    }

    /// Turns the request into a task, if the tool and the client support it; else does nothing.
    ///
    /// The client gets the task at once and the handler goes on in the background, where input
    /// requests wait for their answers. This is for tools with
    /// [`ToolRoute::task_when_detached`](super::ToolRoute::task_when_detached); other tools are
    /// tasks from the start, or never.
    pub async fn detach(&self) {
        if self.input().is_ok_and(InputExchange::request_detach) {
            self.0.task.wait().await;
        }
    }

    /// Reports progress, if the client asked for it.
    ///
    /// Progress that is not higher than before is not sent, as the specification demands. Waits
    /// while the client is slow to read; dropping the future sends nothing. In a task only the
    /// message counts, as the status message of the task.
    pub async fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        if let Some(task) = self.task() {
            if let Some(message) = message {
                task.set_message(message);
            }
            return;
        }
        let Some(progress_token) = self.peer().progress_token() else {
            return;
        };
        let Some(number) = number(progress) else {
            return;
        };
        {
            let mut last = self.0.progress.lock();
            if progress <= *last {
                return;
            }
            *last = progress;
        }
        let mut params = ProgressParams::new(progress_token, number);
        params.total = total.and_then(self::number);
        params.message = message.map(str::to_owned);
        self.notify(method::NOTIFICATIONS_PROGRESS, &params).await;
    }

    /// Sends a log message, if the client wants messages of this level.
    ///
    /// Never log secrets: the client may show messages to anyone. Waits while the client is slow to
    /// read; dropping the future sends nothing. Tasks do not log, because their request is over.
    pub async fn log<T: Serialize + ?Sized>(
        &self,
        level: LogLevel,
        logger: Option<&str>,
        data: &T,
    ) {
        let wanted = self
            .peer()
            .log_level()
            .is_some_and(|lowest| level >= lowest);
        if !wanted || self.task().is_some() {
            return;
        }
        let Ok(data) = RawJson::encode(data) else {
            return;
        };
        let mut params = LoggingMessageParams::new(level, data);
        params.logger = logger.map(str::to_owned);
        self.notify(method::NOTIFICATIONS_MESSAGE, &params).await;
    }

    /// Input requests to the client.
    ///
    /// # Errors
    /// The method does not allow them.
    pub(crate) fn input(&self) -> Result<&InputExchange, Error> {
        self.0
            .input
            .as_ref()
            .ok_or_else(|| Error::internal("only tools, prompts and resources can ask for input"))
    }

    /// Task that the request has become.
    pub(crate) fn task(&self) -> Option<&Arc<TaskEntry>> {
        self.0.task.get()
    }

    /// Turns the request into `task` and wakes the handler that waits for it.
    pub(crate) fn become_task(&self, task: Arc<TaskEntry>) {
        // Before the handler is woken: if it detaches once more, it must not wait again.
        if let Some(input) = &self.0.input {
            input.set_detached();
        }
        // A request becomes a task only once, so setting it cannot fail.
        let _ = self.0.task.set(task);
    }

    async fn notify(&self, method: &str, params: &impl Serialize) {
        let params = RawJson::encode(params).expect("params are JSON");
        let method = Method::new(method);
        self.0.cx.notify.send(Notification { method, params }).await;
    }
}

impl fmt::Debug for RequestCx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestCx")
            .field("id", &self.0.cx.id)
            .field("caller", &self.0.cx.caller)
            .finish_non_exhaustive()
    }
}

/// Refuses clients that did not declare the capability at `path`.
pub(crate) fn require_capability(peer: &PeerInfo, path: &[&str]) -> Result<(), Error> {
    match peer.declares(path) {
        true => Ok(()),
        false => Err(missing_capability(path)),
    }
}

/// Error for a client that did not declare the capability at `path`.
pub(crate) fn missing_capability(path: &[&str]) -> Error {
    let required = path.iter().rfold(RawJson::empty_object(), |inner, key| {
        let object: Map<RawJson> = [(*key, inner)].into_iter().collect();
        RawJson::encode(&object).expect("an object of objects is JSON")
    });
    Error::missing_capability(&required)
}

/// Number as JSON, whole ones without a fraction; `None` if it is not finite.
fn number(value: f64) -> Option<Number> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "a whole number of 53 bits")]
        let whole = value as i64;
        return Some(Number::from(whole));
    }
    Number::from_f64(value)
}
