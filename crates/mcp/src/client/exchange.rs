use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use callgate_wire::{Id, Method, Notification, RawJson, Version, code, method};
use tokio::time::{Instant, sleep_until};

use super::handle::Client;
use super::options::Timeouts;
use super::stamp::stamp;
use crate::error::{Error, Kind};
use crate::notifier::{Notifications, Notifier};
use crate::service::{BoxFuture, Call, Caller, Cx, PeerInfo, Reply};

/// How many notifications of one request wait while the handlers run.
const NOTIFICATIONS: usize = 64;

/// Longer timeouts mean the same as this one, and sums with it cannot overflow.
pub(super) const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

impl Client {
    /// Sends one request and waits for its reply, whatever kind it is.
    ///
    /// If the server does not speak our revision, the request is repeated once in one it does.
    pub(super) async fn exchange(&self, method: &Method, params: &RawJson) -> Result<Reply, Error> {
        match self.attempt(method, params, self.version()).await {
            Err(error) if error.code() == code::UNSUPPORTED_PROTOCOL_VERSION => {
                let version = self.choose_version_after(error)?;
                self.attempt(method, params, version).await
            }
            outcome => outcome,
        }
    }

    async fn attempt(
        &self,
        method: &Method,
        params: &RawJson,
        version: Version,
    ) -> Result<Reply, Error> {
        let (notify, notifications) = Notifier::channel(NOTIFICATIONS);
        let mut call = self.stamped_call(method, params, version, notify)?;
        call.cx.deadline = Some(Instant::now() + self.options.timeouts.maximum.min(LONGEST));
        let watch = Watch {
            client: self,
            method,
            token: call.cx.id.clone(),
            notifications,
        };
        watch.reply(self.shared.service.call(call)).await
    }

    /// A call without deadline, with an id of its own that is its progress token too.
    pub(super) fn stamped_call(
        &self,
        method: &Method,
        params: &RawJson,
        version: Version,
        notify: Notifier,
    ) -> Result<Call, Error> {
        let id = self.shared.next_id();
        let params = stamp(params, &self.shared.identity, version, &id, &self.options)?;
        let meta = params.get("_meta").unwrap_or_else(RawJson::empty_object);
        Ok(Call {
            method: method.clone(),
            params,
            cx: Cx {
                id,
                caller: Caller::Local,
                peer: Arc::new(PeerInfo::new(version, meta)),
                notify,
                deadline: None,
            },
        })
    }
}

/// Watches over one request: hands out its notifications and minds its timeouts.
struct Watch<'a> {
    client: &'a Client,
    method: &'a Method,
    token: Id,
    notifications: Notifications,
}

impl Watch<'_> {
    /// Waits for the reply. Notifications that came before it are handed out before it.
    async fn reply(mut self, call: BoxFuture<'_, Result<Reply, Error>>) -> Result<Reply, Error> {
        let Timeouts { idle, maximum, .. } = self.client.options.timeouts;
        let (idle, maximum) = (idle.min(LONGEST), maximum.min(LONGEST));
        let started = Instant::now();
        let last = started + maximum;
        let mut call = call;
        let mut expiry = pin!(sleep_until(last.min(started + idle)));
        loop {
            tokio::select! {
                biased;
                outcome = &mut call => {
                    while let Some(notification) = self.notifications.try_next() {
                        self.hand_out(&notification);
                    }
                    return outcome;
                }
                notification = self.notifications.next() => {
                    let now = Instant::now();
                    if self.hand_out(&notification) == Sign::OfLife {
                        expiry.as_mut().reset(last.min(now + idle));
                    }
                    // With more notifications always waiting, the clock would never get its turn.
                    if now >= last {
                        return Err(self.timed_out(true));
                    }
                }
                () = &mut expiry => return Err(self.timed_out(Instant::now() >= last)),
            }
        }
    }

    fn hand_out(&self, notification: &Notification) -> Sign {
        let params = &notification.params;
        match notification.method.as_str() {
            method::NOTIFICATIONS_PROGRESS => {
                if params.get("progressToken").as_ref() != Some(self.token.as_raw()) {
                    return Sign::None;
                }
                if let Some(handler) = &self.client.options.on_progress
                    && let Ok(progress) = params.decode()
                {
                    handler(progress);
                }
                Sign::OfLife
            }
            method::NOTIFICATIONS_MESSAGE => {
                if let Some(handler) = &self.client.options.on_log
                    && let Ok(message) = params.decode()
                {
                    handler(message);
                }
                Sign::None
            }
            _ => Sign::None,
        }
    }

    fn timed_out(&self, at_last: bool) -> Error {
        let Timeouts { idle, maximum, .. } = self.client.options.timeouts;
        let message = if at_last {
            format!("`{}` got no answer within {maximum:?}", self.method)
        } else {
            format!(
                "`{}` got neither answer nor progress for {idle:?}",
                self.method
            )
        };
        self.client.of_server(Error::new(Kind::Timeout, message))
    }
}

/// Whether a notification shows that its request is being worked on.
#[derive(PartialEq, Eq)]
enum Sign {
    OfLife,
    None,
}
