use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use callgate_wire::logging::LogLevel;
use callgate_wire::{RawJson, Version, method};
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::timeout;

use super::config::Config;
use super::flight::Flights;
use super::handshake::shake_hands;
use super::identity::Identity;
use super::listen::listen;
use super::pages::Pages;
use super::parked::Parked;
use super::replies::Replies;
use super::server::Server;
use super::tasks::{Tasks, Tools};
use super::transport::{Hearing, Transport};
use super::unclaimed::Unclaimed;
use super::watched::Watched;
use crate::error::Error;
use crate::router::listeners::Listeners;
use crate::seal::{Sealer, StateKey};
use crate::service::{BoxFuture, Call, Reply, Service};

/// An old server after the handshake, as a service of the newest revision.
///
/// Dropping it cancels the calls that wait for their clients, and drops its transport.
pub(crate) struct Session {
    shared: Arc<Shared>,
    workers: [AbortHandle; 3],
}

/// How long calls wait until the server can ask questions outside of them.
const HEAD_START: Duration = Duration::from_millis(500);

/// What the calls of a session share with each other and with those who work for all of them.
pub(super) struct Shared {
    pub(super) name: Arc<str>,
    pub(super) transport: Arc<dyn Transport>,
    pub(super) config: Config,
    pub(super) server: Server,
    pub(super) flights: Arc<Flights>,
    pub(super) replies: Arc<Replies>,
    pub(super) parked: Parked,
    pub(super) unclaimed: Unclaimed,
    pub(super) sealer: Sealer,
    pub(super) pages: Pages,
    pub(super) listeners: Listeners,
    pub(super) watched: Watched,
    pub(super) tasks: Arc<Tasks>,
    pub(super) tools: Tools,
    told_level: Mutex<Option<LogLevel>>,
    discover: RawJson,
    hearing: Mutex<Hearing>,
}

impl Session {
    /// Performs the handshake, best with `version`. `hearing` gets what the server sends outside of
    /// our requests.
    ///
    /// # Errors
    /// The server does not answer in time, refuses, or speaks no revision that we know.
    pub(crate) async fn open(
        name: Arc<str>,
        transport: Arc<dyn Transport>,
        mut hearing: Hearing,
        identity: &Identity,
        version: Version,
        config: Config,
    ) -> Result<Arc<Self>, Error> {
        let server =
            shake_hands(&name, &transport, &mut hearing, identity, version, &config).await?;
        let shared = Arc::new(Shared {
            discover: server.discover(),
            flights: Arc::default(),
            replies: Arc::new(Replies::new(transport.clone())),
            parked: Parked::new(config.parked, config.patience),
            unclaimed: Unclaimed::new(config.most_unclaimed, config.unclaimed),
            sealer: Sealer::new(StateKey::random()),
            pages: Pages::default(),
            listeners: Listeners::default(),
            watched: Watched::default(),
            tasks: Arc::default(),
            tools: Tools::default(),
            told_level: Mutex::default(),
            hearing: Mutex::new(hearing),
            name,
            transport,
            config,
            server,
        });
        let listening = tokio::spawn(hear_questions(shared.clone(), identity.can_be_asked()));
        let attending = tokio::spawn(attend(shared.clone()));
        let watching = tokio::spawn({
            let shared = shared.clone();
            async move {
                let Shared {
                    watched,
                    transport,
                    config,
                    ..
                } = &*shared;
                watched.keep_up(transport, config).await;
            }
        });
        let workers = [&listening, &attending, &watching].map(JoinHandle::abort_handle);
        let session = Arc::new(Self { shared, workers });
        // A server that is asked something before it can ask back may wait for an answer in vain.
        let _ = timeout(HEAD_START, listening).await;
        Ok(session)
    }

    /// The revision of the handshake.
    pub(crate) fn version(&self) -> Version {
        self.shared.server.version
    }

    /// Whether the connection or the session is gone for good.
    #[cfg(feature = "http-client")]
    pub(crate) fn is_over(&self) -> bool {
        self.shared.transport.is_over()
    }

    /// Whether calls wait here for their clients to come back.
    #[cfg(feature = "http-client")]
    pub(crate) fn has_parked_calls(&self) -> bool {
        !self.shared.parked.is_empty()
    }
}

impl Service for Session {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        match call.method.as_str() {
            method::SERVER_DISCOVER => {
                let discovered = Ok(Reply::Complete(self.shared.discover.clone()));
                Box::pin(std::future::ready(discovered))
            }
            method::SUBSCRIPTIONS_LISTEN => Box::pin(listen(&self.shared, call)),
            method::TASKS_GET | method::TASKS_UPDATE | method::TASKS_CANCEL => {
                Box::pin(self.shared.answer_about_task(call))
            }
            _ => Box::pin(self.shared.forward(call)),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        for worker in &self.workers {
            worker.abort();
        }
        self.shared.tasks.clear();
    }
}

impl Shared {
    /// Deals with everything that the server has said so far.
    pub(super) fn catch_up(&self) {
        let mut hearing = self.hearing();
        while let Ok(message) = hearing.try_recv() {
            self.hear(message, None);
        }
    }

    /// Deals with the next message that belongs to no call; `false` when there will be none.
    async fn hear_next(&self) -> bool {
        poll_fn(|cx| {
            // Held while the message is dealt with, so that messages stay in their order.
            let mut hearing = self.hearing();
            match hearing.poll_recv(cx) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(None) => Poll::Ready(false),
                Poll::Ready(Some(message)) => {
                    self.hear(message, None);
                    Poll::Ready(true)
                }
            }
        })
        .await
    }

    /// Whether nothing will be heard of the server any more.
    pub(super) fn is_deaf(&self) -> bool {
        self.hearing().is_closed() || self.transport.is_over()
    }

    /// The level of log messages that the server was last told.
    pub(super) fn told_level(&self) -> MutexGuard<'_, Option<LogLevel>> {
        self.told_level
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn hearing(&self) -> MutexGuard<'_, Hearing> {
        self.hearing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets the server ask questions outside of calls, if it may ask any.
async fn hear_questions(shared: Arc<Shared>, can_be_asked: bool) {
    if can_be_asked && let Err(error) = shared.transport.listen().await {
        tracing::debug!(server = %shared.name, %error, "the server asks within calls only");
    }
}

/// Listens to the server, and gives up what nobody came back for.
async fn attend(shared: Arc<Shared>) {
    let mut is_connected = true;
    loop {
        tokio::select! {
            more = shared.hear_next(), if is_connected => {
                if !more {
                    is_connected = false;
                    shared.listeners.close();
                }
            }
            exchange = shared.parked.abandoned() => {
                tokio::spawn(exchange.abandon());
            }
            question = shared.unclaimed.expired() => {
                let outcome = question.unanswered();
                shared.replies.post(question.id, outcome);
            }
        }
    }
}
