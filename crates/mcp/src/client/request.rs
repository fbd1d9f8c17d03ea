use std::pin::pin;
use std::sync::atomic::Ordering;
use std::time::Duration;

use callgate_wire::{Id, Method, Notification, Number, RawJson, RawParams, Version, code, method};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::call_options::CacheUse;
use super::result_cache::CacheKey;
use super::typed_client::Client;
use crate::error::{Error, Kind};
use crate::layer::{Expired, Timer};
use crate::notifier::{Notifications, Notifier};
use crate::service::{BoxFuture, Call, Cx, Reply};

/// Maximum notifications of one request that wait while the handlers run.
const NOTIFICATION_CAPACITY: usize = 64;

impl Client {
    /// Sends any request and returns its result as the bytes the server sent, also for methods
    /// that this crate does not know.
    ///
    /// The client's handlers answer what the server asks for on the way. If the client allows
    /// tasks, the result of `tools/call` may be one.
    ///
    /// # Errors
    /// The error says what failed, which side caused it and whether a retry is safe.
    pub async fn request(
        &self,
        method: &str,
        params: &(impl Serialize + ?Sized + Sync),
    ) -> Result<RawJson, Error> {
        let answer = self
            .request_with_input(&Method::new(method), &encode(params)?)
            .await?;
        Ok(answer.reply.into_result())
    }

    /// Sends any request once and returns its reply, even if the reply asks for input.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn request_once(
        &self,
        method: &str,
        params: &(impl Serialize + ?Sized + Sync),
    ) -> Result<Reply, Error> {
        let method = Method::new(method);
        let reply = self.send(&method, &encode(params)?).await?;
        self.check_reply(&method, reply)
    }

    /// Sends a request and decodes its result.
    pub(super) async fn request_typed<T: DeserializeOwned>(
        &self,
        method: &str,
        params: &(impl Serialize + Sync),
    ) -> Result<T, Error> {
        let result = self.request(method, params).await?;
        self.decode(method, &result)
    }

    /// Returns the cached result of a request if it is fresh; else sends the request, and caches
    /// its result for the time that the server allows.
    pub(super) async fn request_cached(
        &self,
        method: &str,
        params: &(impl Serialize + Sync),
    ) -> Result<RawJson, Error> {
        let key = CacheKey {
            method: Method::new(method),
            params: encode(params)?,
        };
        let cache = &self.shared.cache;
        if self.options.cache == CacheUse::Fresh
            && let Some(result) = cache.get(&key, Instant::now())
        {
            return Ok(result);
        }
        // Read before the request is sent: a change that is announced while the request is in
        // flight may be missing in its result, which is then not cached.
        let generation = cache.generation();
        let answer = self.request_with_input(&key.method, &key.params).await?;
        let result = answer.reply.into_result();
        // The answers of a user are no part of the key, so a result that depends on them would be
        // returned for other answers too.
        if answer.rounds == 0 {
            cache.insert(
                key,
                &result,
                time_to_live(&result),
                Instant::now(),
                generation,
            );
        }
        Ok(result)
    }

    /// Decodes the result of `method`.
    pub(super) fn decode<T: DeserializeOwned>(
        &self,
        method: &str,
        result: &RawJson,
    ) -> Result<T, Error> {
        result.decode().map_err(|error| {
            let message = format!("malformed result of `{method}`: {error}");
            self.server_error(Error::new(Kind::Protocol, message).with_source(error))
        })
    }

    /// Sends one request and waits for its reply of any kind.
    ///
    /// If the server does not support the revision, the request is repeated once in one it does.
    /// A second refusal is an error, so that a server cannot keep the client going.
    pub(super) async fn send(&self, method: &Method, params: &RawJson) -> Result<Reply, Error> {
        match self.send_in(self.version(), method, params).await {
            Err(error) if error.code() == code::UNSUPPORTED_PROTOCOL_VERSION => {
                let version = self.choose_version_after(error)?;
                self.send_in(version, method, params).await
            }
            outcome => outcome,
        }
    }

    async fn send_in(
        &self,
        version: Version,
        method: &Method,
        params: &RawJson,
    ) -> Result<Reply, Error> {
        let (notify, notifications) = Notifier::channel(NOTIFICATION_CAPACITY);
        let mut call = self.new_call(method, params, version, notify)?;
        let timer = Timer::start(self.options.time_limits, None);
        call.cx.deadline = Some(timer.last);
        let pending = PendingRequest {
            client: self,
            method,
            token: call.cx.id.clone(),
            timer,
        };
        let outcome = self.shared.service.call(call);
        pending.wait(outcome, notifications).await
    }

    /// Makes a call without deadline. Its id is new and is its progress token too.
    pub(super) fn new_call(
        &self,
        method: &Method,
        params: &RawJson,
        version: Version,
        notify: Notifier,
    ) -> Result<Call, Error> {
        // Relaxed: ids only have to differ.
        let id = Id::number(self.shared.next_id.fetch_add(1, Ordering::Relaxed));
        let mut params = RawParams::from(params.clone());
        let identity = &self.shared.identity;
        let claims = identity.claims(&params, version, &id, &self.options)?;
        params.set("_meta", claims.meta());
        let cx = Cx::of_peer(id, claims).with_notifier(notify);
        Ok(Call::of_read_meta(method.clone(), params, cx))
    }
}

/// A request that waits for its reply, under its timeouts.
struct PendingRequest<'a> {
    client: &'a Client,
    method: &'a Method,
    token: Id,
    timer: Timer,
}

impl PendingRequest<'_> {
    /// Waits for the reply. Notifications that came before it are delivered before it.
    async fn wait(
        &self,
        mut call: BoxFuture<'_, Result<Reply, Error>>,
        mut notifications: Notifications,
    ) -> Result<Reply, Error> {
        let mut expiry = pin!(self.timer.expired());
        loop {
            tokio::select! {
                // The reply first: one that came in time counts, even if the clock has run out
                // since.
                biased;
                outcome = &mut call => {
                    while let Some(notification) = notifications.try_next() {
                        self.deliver(&notification);
                    }
                    return outcome;
                }
                notification = notifications.next() => {
                    self.deliver(&notification);
                    // With more notifications always waiting, the timer would never be polled.
                    if let Some(expired) = self.timer.check() {
                        return Err(self.timed_out(expired));
                    }
                }
                expired = &mut expiry => return Err(self.timed_out(expired)),
            }
        }
    }

    /// Calls the progress or log handler of the options.
    fn deliver(&self, notification: &Notification) {
        let params = &notification.params;
        match notification.method.as_str() {
            method::NOTIFICATIONS_PROGRESS => {
                // Progress of another request must not keep this one alive.
                if params.get("progressToken").as_ref() != Some(self.token.as_raw()) {
                    return;
                }
                self.timer.activity.note();
                if let Some(handler) = &self.client.options.on_progress
                    && let Ok(progress) = params.decode()
                {
                    handler(progress);
                }
            }
            method::NOTIFICATIONS_MESSAGE => {
                if let Some(handler) = &self.client.options.on_log
                    && let Ok(message) = params.decode()
                {
                    handler(message);
                }
            }
            _ => {}
        }
    }

    fn timed_out(&self, expired: Expired) -> Error {
        self.client.server_error(expired.to_error(self.method))
    }
}

pub(super) fn encode(params: &(impl Serialize + ?Sized)) -> Result<RawJson, Error> {
    RawJson::encode(params)
        .map_err(|error| Error::invalid_params("params are not JSON").with_source(error))
}

/// Returns the time to live that a result has, 0 if it has none or a malformed one.
fn time_to_live(result: &RawJson) -> Duration {
    let ttl: Option<Number> = result.get("ttlMs").and_then(|ttl| ttl.decode().ok());
    // The cast saturates, so that a negative number is 0.
    let milliseconds = |ttl: Number| ttl.as_u64().unwrap_or_else(|| ttl.as_f64() as u64);
    Duration::from_millis(ttl.map_or(0, milliseconds))
}
