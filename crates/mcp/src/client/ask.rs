use std::time::Duration;

use callgate_wire::{Method, Number, RawJson};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::answer::Answer;
use super::cache::Key;
use super::handle::Client;
use super::options::CacheUse;
use crate::error::{Error, Kind};
use crate::service::Reply;

impl Client {
    /// Sends any request and returns its result as it came, also for methods this crate does not
    /// know.
    ///
    /// Input that the server asks for is given as the client's handlers say. If the client allows
    /// tasks, the result of `tools/call` may be one.
    ///
    /// # Errors
    /// Says what failed, whose fault it was and whether a retry is safe.
    pub async fn request(
        &self,
        method: &str,
        params: &(impl Serialize + ?Sized + Sync),
    ) -> Result<RawJson, Error> {
        let driven = self.drive(&Method::new(method), &encode(params)?).await?;
        Ok(driven.answer.into_result())
    }

    /// Sends any request once and returns its reply as it came, even if it asks for input.
    ///
    /// # Errors
    /// Says what failed, whose fault it was and whether a retry is safe.
    pub async fn request_once(
        &self,
        method: &str,
        params: &(impl Serialize + ?Sized + Sync),
    ) -> Result<Reply, Error> {
        let method = Method::new(method);
        let reply = self.exchange(&method, &encode(params)?).await?;
        Ok(match self.read(&method, reply)? {
            Answer::InputRequired(result) => Reply::InputRequired(result),
            answer => Reply::Complete(answer.into_result()),
        })
    }

    /// Sends a request and reads its result.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        method: &str,
        params: &(impl Serialize + Sync),
    ) -> Result<T, Error> {
        let result = self.request(method, params).await?;
        self.decode(method, &result)
    }

    /// The result of a request, a kept one if that is fresh. It is kept if the server allows it.
    pub(super) async fn ask_cacheable(
        &self,
        method: &str,
        params: &(impl Serialize + Sync),
    ) -> Result<RawJson, Error> {
        let key = Key {
            method: Method::new(method),
            params: encode(params)?,
        };
        let cache = &self.shared.cache;
        if self.options.cache == CacheUse::Fresh
            && let Some(result) = cache.find(&key, Instant::now())
        {
            return Ok(result);
        }
        let ticket = cache.ticket();
        let driven = self.drive(&key.method, &key.params).await?;
        let result = driven.answer.into_result();
        if driven.rounds == 0 {
            cache.keep(key, &result, ttl(&result), Instant::now(), ticket);
        }
        Ok(result)
    }

    /// Reads the result of `method`.
    pub(super) fn decode<T: DeserializeOwned>(
        &self,
        method: &str,
        result: &RawJson,
    ) -> Result<T, Error> {
        result.decode().map_err(|error| {
            let message = format!("malformed result of `{method}`: {error}");
            self.of_server(Error::new(Kind::Protocol, message).with_source(error))
        })
    }
}

pub(super) fn encode(params: &(impl Serialize + ?Sized)) -> Result<RawJson, Error> {
    RawJson::encode(params)
        .map_err(|error| Error::invalid_params("params are not JSON").with_source(error))
}

/// How long a result may be kept; not at all if it does not say, or says nonsense.
fn ttl(result: &RawJson) -> Duration {
    let ttl: Option<Number> = result.get("ttlMs").and_then(|ttl| ttl.decode().ok());
    // The cast saturates: less than nothing is nothing.
    let milliseconds = |ttl: Number| ttl.as_u64().unwrap_or_else(|| ttl.as_f64() as u64);
    Duration::from_millis(ttl.map_or(0, milliseconds))
}
