use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use callgate_wire::logging::LogLevel;
use callgate_wire::{Notification, RawJson, Version, method};
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::timeout;

use super::call_table::CallTable;
use super::convert;
use super::handshake::initialize;
use super::listen::listen;
use super::listen_streams::ListenStreams;
use super::question::Question;
use super::reply_sender::ReplySender;
use super::resource_subscriptions::ResourceSubscriptions;
use super::running_call::RunningCall;
use super::server_info::ServerInfo;
use super::tasks::{TaskSupportCache, TaskTable};
use super::timeout_queue::TimeoutQueue;
use super::transport::{MessageReceiver, SessionTransport};
use super::url_elicitations::UrlElicitations;
use crate::error::Error;
use crate::mutex::Mutex;
use crate::seal::{StateKey, StateSealer, random};
use crate::service::{BoxFuture, Call, Reply, Service};
use crate::subscribers::Subscribers;
use crate::upstream::UpstreamConfig;
use crate::upstream::identity::ClientIdentity;

/// An old server after the handshake, as a service of the newest revision.
///
/// Dropping it cancels the suspended calls, and drops its transport.
pub(crate) struct Session {
    shared: Arc<SessionShared>,
    workers: [AbortHandle; 3],
}

/// Time that the first calls wait for the stream of messages outside of calls to open.
pub(super) const STREAM_HEAD_START: Duration = Duration::from_millis(500);

/// Parts of a session that its calls share with its background tasks.
pub(super) struct SessionShared {
    pub(super) name: Arc<str>,
    /// Random id, which sealed states name.
    pub(super) id: u64,
    pub(super) transport: Arc<dyn SessionTransport>,
    pub(super) config: UpstreamConfig,
    pub(super) server: ServerInfo,
    pub(super) calls: Arc<CallTable>,
    pub(super) reply_sender: ReplySender,
    /// Calls that wait for input of their clients.
    pub(super) suspended: TimeoutQueue<RunningCall>,
    /// Questions outside of any call, which wait for a call to carry them.
    pub(super) unassigned: TimeoutQueue<Question>,
    pub(super) sealer: StateSealer,
    pub(super) url_elicitations: UrlElicitations,
    pub(super) listeners: Subscribers,
    pub(super) listen_streams: ListenStreams,
    pub(super) resource_subscriptions: ResourceSubscriptions,
    pub(super) tasks: Arc<TaskTable>,
    pub(super) tools: TaskSupportCache,
    pub(super) server_log_level: Arc<tokio::sync::Mutex<ServerLogLevel>>,
    discover: RawJson,
    incoming: Mutex<MessageReceiver>,
}

/// Log level of a server, as far as it is known.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum ServerLogLevel {
    #[default]
    Unknown,
    /// The level that the server was last asked for, and has set or refused.
    Told(LogLevel),
    /// The server did not answer in time. It is not asked again, since each attempt delays a call.
    Silent,
}

impl Session {
    /// Performs the handshake, with `version` as the first choice. `incoming` receives the messages of
    /// the server that belong to none of our requests.
    ///
    /// # Errors
    /// The server does not answer in time, refuses, or speaks no revision that this client speaks.
    pub(crate) async fn open(
        name: Arc<str>,
        transport: Arc<dyn SessionTransport>,
        mut incoming: MessageReceiver,
        identity: &ClientIdentity,
        version: Version,
        config: UpstreamConfig,
    ) -> Result<Arc<Self>, Error> {
        let server =
            initialize(&name, &transport, &mut incoming, identity, version, &config).await?;
        let shared = Arc::new(SessionShared {
            id: u64::from_ne_bytes(random()),
            discover: server.discover(),
            calls: Arc::default(),
            reply_sender: ReplySender::new(transport.clone()),
            suspended: TimeoutQueue::new(config.suspended_calls, config.input_timeout),
            unassigned: TimeoutQueue::new(config.unassigned_questions, config.unassigned_timeout),
            sealer: StateSealer::new(config.state_key.clone().unwrap_or_else(StateKey::random)),
            url_elicitations: UrlElicitations::default(),
            listeners: Subscribers::default(),
            listen_streams: ListenStreams::default(),
            resource_subscriptions: ResourceSubscriptions::default(),
            tasks: Arc::default(),
            tools: TaskSupportCache::default(),
            server_log_level: Arc::default(),
            incoming: Mutex::new(incoming),
            name,
            transport,
            config,
            server,
        });
        let listening = tokio::spawn(open_message_stream(shared.clone(), can_be_asked(identity)));
        let attending = tokio::spawn(run_background(shared.clone()));
        let watched = shared.clone();
        let watching = tokio::spawn(async move {
            let (transport, config) = (&watched.transport, &watched.config);
            watched.resource_subscriptions.run(transport, config).await;
        });
        let workers = [&listening, &attending, &watching].map(JoinHandle::abort_handle);
        let session = Arc::new(Self { shared, workers });
        // A call that reaches the server before that stream is open may ask a question that this client
        // never receives. The wait is bounded: many servers have no such stream, and some are slow to
        // refuse it.
        let _ = timeout(STREAM_HEAD_START, listening).await;
        Ok(session)
    }

    /// Revision that was agreed on in the handshake.
    pub(crate) fn version(&self) -> Version {
        self.shared.server.version
    }

    /// True if the connection or the session has ended.
    #[cfg(feature = "http-client")]
    pub(crate) fn is_closed(&self) -> bool {
        self.shared.transport.is_closed()
    }

    /// Ends the subscriptions of clients: the session has ended, and no call may come that would notice it.
    #[cfg(feature = "http-client")]
    pub(crate) fn end_subscriptions(&self) {
        self.shared.listeners.close();
    }

    /// True if calls wait for input of their clients.
    #[cfg(feature = "http-client")]
    pub(crate) fn has_suspended_calls(&self) -> bool {
        !self.shared.suspended.is_empty()
    }

    /// True if the server works on tasks of clients.
    #[cfg(feature = "http-client")]
    pub(crate) fn has_running_tasks(&self) -> bool {
        self.shared.tasks.has_running()
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

    fn notify(&self, notification: Call) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let params = convert::old_notification_params(notification.params());
            let method = notification.method;
            let sending = self
                .shared
                .transport
                .notify(Notification { method, params });
            if let Err(error) = sending.await {
                tracing::debug!(server = %self.shared.name, %error, "cannot pass on a notification");
            }
        })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The workers, like the tasks below, hold the shared part of the session, which would stay for ever
        // otherwise.
        for worker in &self.workers {
            worker.abort();
        }
        self.shared.tasks.clear();
    }
}

impl SessionShared {
    /// Handles all messages that have come so far.
    pub(super) fn handle_waiting_messages(&self) {
        let mut incoming = self.incoming.lock();
        while let Ok(message) = incoming.try_recv() {
            self.handle_message(message, None);
        }
    }

    /// Handles the next message that belongs to no call; `false` if no more will come.
    async fn handle_next_message(&self) -> bool {
        poll_fn(|cx| {
            // The lock is held while the message is handled, so that messages keep their order.
            let mut incoming = self.incoming.lock();
            let handle = |message| self.handle_message(message, None);
            incoming
                .poll_recv(cx)
                .map(|next| next.map(handle).is_some())
        })
        .await
    }

    /// True if no more messages of the server will come.
    pub(super) fn is_disconnected(&self) -> bool {
        self.incoming.lock().is_closed() || self.transport.is_closed()
    }
}

/// Opens the stream of messages outside of calls, if the server may ask questions.
async fn open_message_stream(shared: Arc<SessionShared>, can_be_asked: bool) {
    if can_be_asked && let Err(error) = shared.transport.listen().await {
        tracing::debug!(server = %shared.name, %error, "the server has no stream for questions outside of calls");
    }
}

/// Handles messages outside of calls, and gives up calls and questions whose timeouts have passed.
async fn run_background(shared: Arc<SessionShared>) {
    let mut is_connected = true;
    loop {
        tokio::select! {
            more = shared.handle_next_message(), if is_connected => {
                if !more {
                    is_connected = false;
                    shared.listeners.close();
                }
            }
            running = shared.suspended.expired() => {
                // In a task of its own, because a slow server may take long to read the refusals.
                tokio::spawn(running.abandon());
            }
            question = shared.unassigned.expired() => {
                shared.reply_sender.post_unanswered(vec![question]);
            }
        }
    }
}

/// True if the client declares a capability that lets a server ask it something.
fn can_be_asked(identity: &ClientIdentity) -> bool {
    let kinds = identity
        .capabilities
        .pick(["elicitation", "roots", "sampling"]);
    kinds.iter().any(Option::is_some)
}
