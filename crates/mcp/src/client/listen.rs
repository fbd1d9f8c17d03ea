use std::time::Duration;

use callgate_wire::subscription::{
    SubscriptionFilter, SubscriptionsAcknowledgedParams, SubscriptionsListenParams,
};
use callgate_wire::{RawJson, code, method};
use tokio::time::{Instant, sleep_until};

use super::ask::encode;
use super::backoff::Backoff;
use super::event::Event;
use super::exchange::LONGEST;
use super::handle::Client;
use super::stream::{Stream, Told};
use crate::error::{Error, Kind};

/// A subscription to changes at the server. Dropping it ends it.
///
/// Events are heard, and what the client keeps of what changed is forgotten, while
/// [`Subscription::next`] is awaited.
#[derive(Debug)]
pub struct Subscription {
    client: Client,
    options: ListenOptions,
    params: RawJson,
    accepted: SubscriptionFilter,
    state: State,
    /// How often in a row the subscription was lost or could not be made again.
    losses: u32,
}

/// How a [`Subscription`] goes on when the server or the connection ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenOptions {
    /// What happens after the server has ended the subscription in good order.
    pub after_end: AfterEnd,
    /// How long to wait before listening again.
    pub backoff: Backoff,
    /// How often in a row to listen again before giving up.
    ///
    /// A subscription that lasts longer than the longest wait makes the count start anew.
    pub retries: u32,
}

/// What happens after the server has ended a subscription in good order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterEnd {
    /// The subscription is over.
    Stop,
    /// Another one takes its place, as if the connection had been lost.
    ListenAgain,
}

#[derive(Debug)]
enum State {
    /// The server was asked and has not acknowledged yet.
    Asking {
        stream: Stream,
        until: Instant,
    },
    Live {
        stream: Stream,
        since: Instant,
    },
    Lost {
        retry_at: Instant,
    },
    Over,
}

impl Default for ListenOptions {
    fn default() -> Self {
        Self {
            after_end: AfterEnd::Stop,
            backoff: Backoff {
                first: Duration::from_millis(500),
                cap: Duration::from_secs(30),
            },
            retries: 10,
        }
    }
}

impl Client {
    /// Subscribes to what `filter` names, and again when the connection is lost.
    ///
    /// # Errors
    /// The server did not acknowledge the subscription. One that has no subscriptions answers with
    /// the code of an unknown method: what it allows to keep, and for how long, is then all there
    /// is to go by.
    pub async fn listen(&self, filter: &SubscriptionFilter) -> Result<Subscription, Error> {
        self.listen_with(filter, ListenOptions::default()).await
    }

    /// Subscribes to what `filter` names, with these options.
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
            params: encode(&SubscriptionsListenParams {
                meta: None,
                notifications: filter.clone(),
            })?,
            accepted: SubscriptionFilter::default(),
            state: State::Over,
            losses: 0,
        };
        match subscription.ask().await {
            Err(error) if error.code() == code::UNSUPPORTED_PROTOCOL_VERSION => {
                self.choose_version_after(error)?;
                subscription.ask().await?;
            }
            outcome => outcome?,
        }
        Ok(subscription)
    }
}

impl Subscription {
    /// The part of the filter that the server honors.
    ///
    /// It may change when the subscription is made again.
    #[must_use]
    pub fn accepted(&self) -> &SubscriptionFilter {
        &self.accepted
    }

    /// Waits for the next event; `None` when the subscription is over.
    ///
    /// Dropping the future loses nothing.
    ///
    /// # Errors
    /// Why the subscription ended and could not be made again. Nothing comes after that.
    pub async fn next(&mut self) -> Option<Result<Event, Error>> {
        loop {
            let heard = match &mut self.state {
                State::Live { stream, .. } => {
                    let told = stream.next().await;
                    self.hear(told)
                }
                State::Lost { retry_at } => {
                    sleep_until(*retry_at).await;
                    self.open().err().map(Err)
                }
                State::Asking { .. } => match self.acknowledged().await {
                    Ok(()) => Some(Ok(Event::Gap)),
                    Err(error) => self.lose(error).err().map(Err),
                },
                State::Over => return None,
            };
            match &heard {
                Some(Ok(event)) => self.forget(event),
                Some(Err(_)) => self.state = State::Over,
                None => continue,
            }
            return heard;
        }
    }

    fn hear(&mut self, told: Told) -> Option<Result<Event, Error>> {
        match told {
            Told::Notification(notification) => Some(Ok(Event::of(notification))),
            Told::Missed => Some(Ok(Event::Gap)),
            Told::Ended(Err(error)) => self.lose(error).err().map(Err),
            Told::Ended(Ok(())) => match self.options.after_end {
                AfterEnd::Stop => {
                    self.state = State::Over;
                    None
                }
                AfterEnd::ListenAgain => {
                    let ended = Error::new(Kind::Closed, "the server ended the subscription");
                    self.lose(self.client.of_server(ended)).err().map(Err)
                }
            },
        }
    }

    /// Asks for the subscription and waits until it is acknowledged.
    async fn ask(&mut self) -> Result<(), Error> {
        self.open()?;
        self.acknowledged().await
    }

    fn open(&mut self) -> Result<(), Error> {
        let patience = self.client.options.timeouts.idle.min(LONGEST);
        self.state = State::Asking {
            stream: Stream::open(&self.client, &self.params)?,
            until: Instant::now() + patience,
        };
        Ok(())
    }

    /// Waits until the server has acknowledged the subscription it was asked for.
    async fn acknowledged(&mut self) -> Result<(), Error> {
        let client = self.client.clone();
        let refuse = |kind, message: String| Err(client.of_server(Error::new(kind, message)));
        let State::Asking { stream, until } = &mut self.state else {
            return Ok(());
        };
        loop {
            let told = tokio::select! {
                biased;
                told = stream.next() => told,
                () = sleep_until(*until) => {
                    let patience = client.options.timeouts.idle;
                    let message = format!("the subscription was not acknowledged for {patience:?}");
                    return refuse(Kind::Timeout, message);
                }
            };
            match told {
                Told::Notification(notification)
                    if notification.method.as_str()
                        == method::NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED =>
                {
                    let params: SubscriptionsAcknowledgedParams =
                        client.decode(method::SUBSCRIPTIONS_LISTEN, &notification.params)?;
                    self.accepted = params.notifications;
                    break;
                }
                // Nothing counts before the acknowledgment.
                Told::Notification(_) | Told::Missed => {}
                Told::Ended(Err(error)) => return Err(error),
                Told::Ended(Ok(())) => {
                    let message = "the subscription ended before it was acknowledged";
                    return refuse(Kind::Protocol, message.to_owned());
                }
            }
        }
        if let State::Asking { stream, .. } = std::mem::replace(&mut self.state, State::Over) {
            let since = Instant::now();
            self.state = State::Live { stream, since };
        }
        Ok(())
    }

    /// Plans to listen again after `error`, or gives it back if that would not help.
    fn lose(&mut self, error: Error) -> Result<(), Error> {
        let ListenOptions {
            backoff, retries, ..
        } = self.options;
        if let State::Live { since, .. } = &self.state
            && since.elapsed() >= backoff.cap
        {
            self.losses = 0;
        }
        if self.losses >= retries {
            return Err(error);
        }
        match error.kind() {
            Kind::Closed | Kind::Connect | Kind::Timeout | Kind::Busy => {}
            _ if error.code() == code::UNSUPPORTED_PROTOCOL_VERSION => {
                self.client.choose_version_after(error)?;
            }
            _ => return Err(error),
        }
        let retry_at = Instant::now() + backoff.delay(self.losses).min(LONGEST);
        self.losses += 1;
        self.state = State::Lost { retry_at };
        Ok(())
    }

    fn forget(&self, event: &Event) {
        if let Some(stale) = event.stale() {
            self.client.shared.cache.forget(stale);
        }
    }
}
