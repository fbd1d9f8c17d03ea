use std::time::Duration;

use callgate_wire::resource::ResourceUpdatedParams;
use callgate_wire::subscription::{
    SubscriptionFilter, SubscriptionsAcknowledgedParams, SubscriptionsListenParams,
};
use callgate_wire::task::{DetailedTask, TaskNotificationParams};
use callgate_wire::{Notification, RawJson, code, method};
use tokio::time::{Instant, sleep_until};

use super::backoff::Backoff;
use super::request::encode;
use super::result_cache::{Invalidation, ResultCache};
use super::subscription_stream::{StreamItem, SubscriptionStream};
use super::typed_client::Client;
use crate::error::{Error, Kind};
use crate::layer::LONGEST;

/// Subscription to changes at the server. Dropping it unsubscribes.
///
/// Events are read, and cached results that they make stale are removed, only while
/// [`Subscription::next`] is awaited.
#[derive(Debug)]
pub struct Subscription {
    client: Client,
    options: ListenOptions,
    params: RawJson,
    accepted: SubscriptionFilter,
    state: SubscriptionState,
    /// Number of losses in a row, failed attempts to subscribe again included.
    losses: u32,
}

/// Event of a [`Subscription`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SubscriptionEvent {
    /// The list of tools changed.
    ToolsListChanged,
    /// The list of prompts changed.
    PromptsListChanged,
    /// The lists of resources and templates changed.
    ResourcesListChanged,
    /// A resource changed: the one subscribed to, or one below it.
    ResourceUpdated {
        /// The resource that changed.
        uri: String,
    },
    /// A task changed.
    Task(DetailedTask),
    /// Events may have been lost: fetch again all that matters.
    Gap,
    /// A notification that this crate does not know.
    Other(Notification),
}

/// Reconnection of a [`Subscription`] after the server or the connection has ended it.
///
/// ```
/// # use callgate_mcp::client::{ListenOptions, ResubscribePolicy};
/// let options = ListenOptions::default()
///     .with_resubscribe(ResubscribePolicy::Always)
///     .with_retries(3);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListenOptions {
    /// Ends after which to subscribe again.
    pub resubscribe: ResubscribePolicy,
    /// Delays before subscribing again.
    pub backoff: Backoff,
    /// Maximum attempts in a row to subscribe again.
    ///
    /// A subscription that lasts longer than the longest delay resets the count.
    pub retries: u32,
}

/// Ends of a subscription after which the client subscribes again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResubscribePolicy {
    /// After the loss of the connection only. If the server ends the subscription in good order, it
    /// is over.
    #[default]
    AfterLoss,
    /// Also after the server has ended the subscription in good order.
    Always,
}

#[derive(Debug)]
enum SubscriptionState {
    /// The request was sent and the server has not acknowledged it yet.
    Opening {
        stream: SubscriptionStream,
        until: Instant,
    },
    Live {
        stream: SubscriptionStream,
        since: Instant,
    },
    Lost {
        retry_at: Instant,
    },
    Ended,
}

impl Default for ListenOptions {
    /// Subscribes again after a loss, up to 10 times in a row, 0.5 to 30 seconds later.
    fn default() -> Self {
        Self {
            resubscribe: ResubscribePolicy::default(),
            backoff: Backoff::new(Duration::from_millis(500), Duration::from_secs(30)),
            retries: 10,
        }
    }
}

impl ListenOptions {
    /// Sets the ends after which to subscribe again.
    #[must_use]
    pub fn with_resubscribe(mut self, resubscribe: ResubscribePolicy) -> Self {
        self.resubscribe = resubscribe;
        self
    }

    /// Sets the delays before subscribing again.
    #[must_use]
    pub fn with_backoff(mut self, backoff: Backoff) -> Self {
        self.backoff = backoff;
        self
    }

    /// Sets the maximum attempts in a row to subscribe again.
    #[must_use]
    pub fn with_retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }
}

impl Client {
    /// Subscribes to the changes in `filter`, and again when the connection is lost.
    ///
    /// # Errors
    /// The server did not acknowledge the subscription. A server without subscriptions answers with
    /// the code of an unknown method; its changes show only when cached results expire.
    pub async fn listen(&self, filter: &SubscriptionFilter) -> Result<Subscription, Error> {
        self.listen_with(filter, ListenOptions::default()).await
    }

    /// Subscribes to the changes in `filter`, with these options.
    ///
    /// # Errors
    /// See [`Client::listen`].
    pub async fn listen_with(
        &self,
        filter: &SubscriptionFilter,
        options: ListenOptions,
    ) -> Result<Subscription, Error> {
        let mut subscription = Subscription {
            client: self.clone(),
            options,
            params: encode(&SubscriptionsListenParams::new(filter.clone()))?,
            accepted: SubscriptionFilter::default(),
            state: SubscriptionState::Ended,
            losses: 0,
        };
        subscription.open()?;
        match subscription.wait_acknowledged().await {
            Err(error) if error.code() == code::UNSUPPORTED_PROTOCOL_VERSION => {
                self.choose_version_after(error)?;
                subscription.open()?;
                subscription.wait_acknowledged().await?;
            }
            outcome => outcome?,
        }
        Ok(subscription)
    }
}

impl Subscription {
    /// Returns the part of the filter that the server accepted.
    ///
    /// It may change when the client subscribes again.
    #[must_use]
    pub fn accepted(&self) -> &SubscriptionFilter {
        &self.accepted
    }

    /// Waits for the next event; `None` when the subscription is over.
    ///
    /// Dropping the future loses nothing.
    ///
    /// # Errors
    /// The subscription ended and the client could not subscribe again. Nothing comes after that.
    pub async fn next(&mut self) -> Option<Result<SubscriptionEvent, Error>> {
        loop {
            let event = match &mut self.state {
                SubscriptionState::Live { stream, .. } => {
                    let item = stream.next().await;
                    self.receive(item)
                }
                SubscriptionState::Lost { retry_at } => {
                    sleep_until(*retry_at).await;
                    self.open().err().map(Err)
                }
                // Changes between the loss and this acknowledgment were not announced.
                SubscriptionState::Opening { .. } => match self.wait_acknowledged().await {
                    Ok(()) => Some(Ok(SubscriptionEvent::Gap)),
                    Err(error) => self.plan_retry(error).err().map(Err),
                },
                SubscriptionState::Ended => return None,
            };
            match &event {
                // Before the caller sees the event: it may fetch at once what changed.
                Some(Ok(event)) => event.invalidate(&self.client.shared.cache),
                Some(Err(_)) => self.state = SubscriptionState::Ended,
                None => continue,
            }
            return event;
        }
    }

    fn receive(&mut self, item: StreamItem) -> Option<Result<SubscriptionEvent, Error>> {
        match item {
            StreamItem::Notification(notification) => {
                Some(Ok(SubscriptionEvent::new(notification)))
            }
            StreamItem::Missed => Some(Ok(SubscriptionEvent::Gap)),
            StreamItem::Ended(Err(error)) => self.plan_retry(error).err().map(Err),
            StreamItem::Ended(Ok(())) => match self.options.resubscribe {
                ResubscribePolicy::AfterLoss => {
                    self.state = SubscriptionState::Ended;
                    None
                }
                ResubscribePolicy::Always => {
                    let ended = Error::new(Kind::Closed, "the server ended the subscription");
                    let ended = self.client.server_error(ended);
                    self.plan_retry(ended).err().map(Err)
                }
            },
        }
    }

    fn open(&mut self) -> Result<(), Error> {
        let timeout = self.client.options.time_limits.idle.min(LONGEST);
        self.state = SubscriptionState::Opening {
            stream: SubscriptionStream::open(&self.client, &self.params)?,
            until: Instant::now() + timeout,
        };
        Ok(())
    }

    /// Waits until the server has acknowledged the subscription.
    async fn wait_acknowledged(&mut self) -> Result<(), Error> {
        let client = self.client.clone();
        let refuse = |kind, message: String| Err(client.server_error(Error::new(kind, message)));
        let SubscriptionState::Opening { stream, until } = &mut self.state else {
            return Ok(());
        };
        loop {
            let item = tokio::select! {
                // An acknowledgment that has come counts, even if the time has run out since.
                biased;
                item = stream.next() => item,
                () = sleep_until(*until) => {
                    let timeout = client.options.time_limits.idle;
                    let message = format!("the subscription was not acknowledged for {timeout:?}");
                    return refuse(Kind::Timeout, message);
                }
            };
            match item {
                StreamItem::Notification(notification)
                    if notification.method.as_str()
                        == method::NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED =>
                {
                    let params: SubscriptionsAcknowledgedParams =
                        client.decode(method::SUBSCRIPTIONS_LISTEN, &notification.params)?;
                    self.accepted = params.notifications;
                    break;
                }
                // The acknowledgment must come first; earlier notifications do not count.
                StreamItem::Notification(_) | StreamItem::Missed => {}
                StreamItem::Ended(Err(error)) => return Err(error),
                StreamItem::Ended(Ok(())) => {
                    let message = "the subscription ended before it was acknowledged";
                    return refuse(Kind::Protocol, message.to_owned());
                }
            }
        }
        let opening = std::mem::replace(&mut self.state, SubscriptionState::Ended);
        if let SubscriptionState::Opening { stream, .. } = opening {
            let since = Instant::now();
            self.state = SubscriptionState::Live { stream, since };
        }
        Ok(())
    }

    /// Plans to subscribe again after `error`, or returns it if that would not help.
    fn plan_retry(&mut self, error: Error) -> Result<(), Error> {
        let ListenOptions {
            backoff, retries, ..
        } = self.options;
        if let SubscriptionState::Live { since, .. } = &self.state
            && since.elapsed() >= backoff.cap
        {
            self.losses = 0;
        }
        if self.losses >= retries {
            return Err(error);
        }
        match error.kind() {
            Kind::Closed | Kind::Connect | Kind::Timeout | Kind::Busy => {}
            // The server may have been replaced by one of another revision.
            _ if error.code() == code::UNSUPPORTED_PROTOCOL_VERSION => {
                self.client.choose_version_after(error)?;
            }
            _ => return Err(error),
        }
        let retry_at = Instant::now() + backoff.delay(self.losses).min(LONGEST);
        self.losses += 1;
        self.state = SubscriptionState::Lost { retry_at };
        Ok(())
    }
}

impl SubscriptionEvent {
    /// Decodes a notification. A malformed one is a gap, since something did change.
    fn new(notification: Notification) -> Self {
        let params = &notification.params;
        match notification.method.as_str() {
            method::NOTIFICATIONS_TOOLS_LIST_CHANGED => Self::ToolsListChanged,
            method::NOTIFICATIONS_PROMPTS_LIST_CHANGED => Self::PromptsListChanged,
            method::NOTIFICATIONS_RESOURCES_LIST_CHANGED => Self::ResourcesListChanged,
            method::NOTIFICATIONS_RESOURCES_UPDATED => params
                .decode()
                .map_or(Self::Gap, |updated: ResourceUpdatedParams| {
                    Self::ResourceUpdated { uri: updated.uri }
                }),
            method::NOTIFICATIONS_TASKS => params
                .decode()
                .map_or(Self::Gap, |changed: TaskNotificationParams| {
                    Self::Task(changed.task)
                }),
            _ => Self::Other(notification),
        }
    }

    /// Removes the cached results that the event makes stale.
    fn invalidate(&self, cache: &ResultCache) {
        cache.invalidate(match self {
            Self::ToolsListChanged => Invalidation::Tools,
            Self::PromptsListChanged => Invalidation::Prompts,
            Self::ResourcesListChanged => Invalidation::Resources,
            Self::ResourceUpdated { uri } => Invalidation::Resource(uri),
            Self::Gap => Invalidation::All,
            Self::Task(_) | Self::Other(_) => return,
        });
    }
}
