use std::future::Future;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use callgate_wire::{RawJson, Version};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::config::Config;
use super::era::{Era, is_modern_after_all};
use super::identity::Identity;
use super::line::Lines;
use super::session::Session;
use crate::error::{Error, Kind};
use crate::service::{BoxFuture, Call, Reply, Service};
use crate::transport::line::Link;

/// A server whose era is found out by the first call, and then kept.
#[derive(Default)]
pub(super) struct Speaker {
    found: Arc<OnceLock<Found>>,
    finding: Mutex<Option<Finding>>,
}

/// What was found out about a server.
pub(super) enum Found {
    Modern(Arc<dyn Service>),
    Old(Arc<Session>),
    Broken(Broken),
}

/// Why a server cannot be spoken to.
pub(super) struct Broken {
    name: Arc<str>,
    kind: Kind,
    message: String,
    data: Option<RawJson>,
}

struct Finding {
    task: AbortHandle,
    done: watch::Receiver<()>,
}

impl Speaker {
    /// Makes a call. Should nothing be known yet, `find` finds it out, once for all calls.
    pub(super) fn call<'a, F>(
        &'a self,
        call: Call,
        find: impl FnOnce() -> F + Send + 'a,
    ) -> BoxFuture<'a, Result<Reply, Error>>
    where
        F: Future<Output = Found> + Send + 'static,
    {
        if let Some(found) = self.found.get() {
            return found.call(call);
        }
        Box::pin(async move {
            let mut done = self.begin(find);
            // Nothing is ever sent: the channel closes when the search is over.
            while done.changed().await.is_ok() {}
            match self.found.get() {
                Some(found) => found.call(call).await,
                None => Err(Error::internal(
                    "nobody found out how to speak to the server",
                )),
            }
        })
    }

    /// The revision that the server speaks, once that is known.
    pub(super) fn version(&self) -> Option<Version> {
        match self.found.get()? {
            Found::Modern(_) => Some(Version::LATEST),
            Found::Old(session) => Some(session.version()),
            Found::Broken(_) => None,
        }
    }

    /// Begins the search, unless somebody has.
    ///
    /// It goes on when the call that began it is dropped: a handshake cannot be taken back.
    fn begin<F>(&self, find: impl FnOnce() -> F) -> watch::Receiver<()>
    where
        F: Future<Output = Found> + Send + 'static,
    {
        let mut finding = self.finding.lock().unwrap_or_else(PoisonError::into_inner);
        let finding = finding.get_or_insert_with(|| {
            let (working, done) = watch::channel(());
            let (found, find) = (self.found.clone(), find());
            let task = tokio::spawn(async move {
                // The first to know is the only one to look.
                let _ = found.set(find.await);
                drop(working);
            });
            Finding {
                task: task.abort_handle(),
                done,
            }
        });
        finding.done.clone()
    }
}

impl Drop for Speaker {
    fn drop(&mut self) {
        let finding = self
            .finding
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(finding) = finding {
            finding.task.abort();
        }
    }
}

impl Found {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        match self {
            Self::Modern(service) => service.call(call),
            Self::Old(session) => session.call(call),
            Self::Broken(broken) => Box::pin(std::future::ready(Err(broken.to_error()))),
        }
    }
}

impl Broken {
    pub(super) fn new(name: &Arc<str>, error: &Error) -> Self {
        Self {
            name: name.clone(),
            kind: error.kind(),
            message: error.to_string(),
            data: error.data().cloned(),
        }
    }

    fn to_error(&self) -> Error {
        // No call got as far as the server.
        let error = Error::new(self.kind, self.message.clone())
            .from_upstream(&self.name)
            .retry_safe();
        match &self.data {
            Some(data) => error.with_data(data.clone()),
            None => error,
        }
    }
}

/// Speaks to the server on `link` as its era demands; `modern` is the same server as it is.
pub(super) async fn meet(
    link: &Arc<Link>,
    modern: Arc<dyn Service>,
    era: Era,
    identity: &Identity,
    config: Config,
) -> Result<Found, Error> {
    let version = match era {
        Era::Modern => return Ok(Found::Modern(modern)),
        Era::Old(version) => version,
    };
    let (lines, hearing) = Lines::new(link.clone(), config.heard);
    let name = Arc::from(link.name());
    let transport = Arc::new(lines);
    match Session::open(name, transport, hearing, identity, version, config).await {
        Ok(session) => Ok(Found::Old(session)),
        Err(error) if is_modern_after_all(&error) => Ok(Found::Modern(modern)),
        Err(error) => Err(error),
    }
}
