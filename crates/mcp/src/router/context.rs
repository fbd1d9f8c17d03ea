use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;

use callgate_wire::logging::{LogLevel, LoggingMessageParams};
use callgate_wire::progress::ProgressParams;
use callgate_wire::{Map, Method, Notification, Number, RawJson, method};
use serde::Serialize;
use tokio::sync::SetOnce;
use tokio::time::Instant;

use super::dialogue::{Dialogue, Pause};
use super::task::TaskEntry;
use crate::error::Error;
use crate::service::{Caller, Cx, PeerInfo};

/// The request that a [`Handler`](super::Handler) answers, and the way back to who sent it.
///
/// Clones speak for the same request.
#[derive(Clone)]
pub struct RequestCx(Arc<Inner>);

struct Inner {
    cx: Cx,
    /// The highest progress sent so far.
    progress: Mutex<f64>,
    /// What is asked of the client, where the method allows it.
    dialogue: Option<Dialogue>,
    /// The task that the request goes on as.
    task: SetOnce<Arc<TaskEntry>>,
}

impl RequestCx {
    pub(crate) fn new(cx: Cx, dialogue: Option<Dialogue>) -> Self {
        Self(Arc::new(Inner {
            cx,
            progress: Mutex::new(f64::NEG_INFINITY),
            dialogue,
            task: SetOnce::new(),
        }))
    }

    /// The authority that the request acts with.
    #[must_use]
    pub fn caller(&self) -> &Caller {
        &self.0.cx.caller
    }

    /// What the client says of itself in this request.
    #[must_use]
    pub fn peer(&self) -> &PeerInfo {
        &self.0.cx.peer
    }

    /// When the caller stops waiting.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.0.cx.deadline
    }

    /// Refuses to go on unless the client declared the capability at `path` in this request.
    ///
    /// # Errors
    /// The error that tells the client what to declare.
    pub fn require_capability(&self, path: &[&str]) -> Result<(), Error> {
        if self.peer().declares(path) {
            return Ok(());
        }
        Err(missing_capability(path))
    }

    /// Lets the request go on as a task, where the tool and the client support it.
    ///
    /// The client gets the task at once and the handler goes on in the background, where questions
    /// wait for their answers. Otherwise nothing happens. This is for tools of
    /// [`ToolRoute::task_when_detached`](super::ToolRoute::task_when_detached); others are tasks
    /// from the start, if at all.
    pub async fn detach(&self) {
        if self.dialogue().is_ok_and(Dialogue::want_detach) {
            self.0.task.wait().await;
        }
    }

    /// Says how far the request has come, if the client wants to know.
    ///
    /// What is not more than before is not sent. It waits while the client is slow to read;
    /// dropping the future sends nothing. Of a task only the message is told, as its status.
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
            let mut last = self
                .0
                .progress
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            if progress <= *last {
                return;
            }
            *last = progress;
        }
        let params = ProgressParams {
            meta: None,
            progress_token,
            progress: number,
            total: total.and_then(self::number),
            message: message.map(str::to_owned),
        };
        self.notify(method::NOTIFICATIONS_PROGRESS, &params).await;
    }

    /// Sends a log message, if the client wants messages of this level.
    ///
    /// Never log secrets: the client may show messages to anybody. It waits while the client is
    /// slow to read; dropping the future sends nothing. Tasks do not log.
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
        let params = LoggingMessageParams {
            meta: None,
            level,
            logger: logger.map(str::to_owned),
            data,
        };
        self.notify(method::NOTIFICATIONS_MESSAGE, &params).await;
    }

    /// What is asked of the client.
    pub(crate) fn dialogue(&self) -> Result<&Dialogue, Error> {
        self.0
            .dialogue
            .as_ref()
            .ok_or_else(|| Error::internal("only tools, prompts and resources can ask for input"))
    }

    /// Why the handler cannot go on; if it can, `runner` is woken when it cannot.
    pub(crate) fn pause_or_wake(&self, runner: &Waker) -> Option<Pause> {
        self.0.dialogue.as_ref()?.pause_or_wake(runner)
    }

    /// The task that the request goes on as.
    pub(crate) fn task(&self) -> Option<&Arc<TaskEntry>> {
        self.0.task.get()
    }

    /// Lets the request go on as `task`, and the handler with it.
    pub(crate) fn become_task(&self, task: Arc<TaskEntry>) {
        if let Some(dialogue) = &self.0.dialogue {
            dialogue.detached();
        }
        // A request becomes a task once.
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

/// The error for a client that did not declare the capability at `path`.
pub(crate) fn missing_capability(path: &[&str]) -> Error {
    let required = path.iter().rfold(RawJson::empty_object(), |inner, key| {
        let object: Map<RawJson> = [(*key, inner)].into_iter().collect();
        RawJson::encode(&object).expect("an object of objects is JSON")
    });
    Error::missing_capability(&required)
}

/// Whole numbers are written without a fraction.
fn number(value: f64) -> Option<Number> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "a whole number of 53 bits")]
        let whole = value as i64;
        return Some(Number::from(whole));
    }
    Number::from_f64(value)
}
