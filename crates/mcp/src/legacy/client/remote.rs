use std::fmt;
use std::sync::Arc;

use callgate_wire::{RawJson, Version, meta};

use super::config::Config;
use super::detect;
use super::epochs::{Epoch, Epochs};
use super::era::Era;
use super::http::{Background, Streamable, TwoEndpoints};
use super::identity::Identity;
use super::patience;
use super::session::Session;
use super::sessions::{Carrier, Key, Opened, Sessions};
use super::transport::{Heard, Hearing, Transport};
use crate::error::{Error, Kind, Retry};
use crate::service::{BoxFuture, Call, Reply, Service};
use crate::transport::http::client::{self, HttpClient, Site};

/// A server at a URL, whatever revision it speaks.
///
/// Which one that is, is found out with the first call and again when the server contradicts it. A
/// modern server is spoken to as by [`HttpClient`]. With an old one there is a session for each caller
/// and each set of capabilities; one that the server has forgotten is opened again, and what was
/// refused for its sake is sent again, once.
///
/// ```
/// # use callgate_mcp::transport::http::client::Config;
/// # use callgate_mcp::upstream::Remote;
/// let server = Remote::new("https://example.com/mcp", Config::new("example"))?;
/// # Ok::<(), callgate_mcp::Error>(())
/// ```
pub struct Remote {
    site: Arc<Site>,
    modern: HttpClient,
    epochs: Epochs,
    sessions: Sessions,
    background: Background,
    config: Config,
}

impl Remote {
    /// The server at `url`, an `http` or `https` URL. Nothing is sent yet.
    ///
    /// # Errors
    /// The URL cannot be used, or TLS cannot be set up.
    pub fn new(url: &str, config: client::Config) -> Result<Self, Error> {
        let site = Arc::new(Site::new(url, config)?);
        Ok(Self {
            modern: HttpClient::over(site.clone()),
            site,
            epochs: Epochs::new(None),
            sessions: Sessions::default(),
            background: Background::new(),
            config: Config::default(),
        })
    }

    /// The same server, of which the era is known already.
    #[must_use]
    pub fn assume(mut self, era: Era) -> Self {
        self.epochs = Epochs::new(Some(era));
        self
    }

    /// The same server, which is known to speak HTTP+SSE at this URL.
    #[must_use]
    pub fn assume_sse(mut self) -> Self {
        self.epochs = Epochs::new(Some(Era::OLD));
        self.epochs.current().learn_two_endpoints();
        self
    }

    /// The same server; so much is held for it if it is an old one.
    #[must_use]
    pub fn holding(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// The era that the server was found to be of; `None` before the first call.
    #[must_use]
    pub fn era(&self) -> Option<Era> {
        self.epochs.current().known()
    }

    /// Ends all sessions, and waits a short time until the server knows.
    ///
    /// Calls to an old server fail from now on. Dropping the value without this ends its sessions
    /// too, as far as the runtime still runs.
    pub async fn close(&self) {
        self.sessions.close();
        self.background.idle().await;
    }

    async fn answer(&self, call: Call) -> Result<Reply, Error> {
        let epoch = self.epochs.current();
        let era = self.find_era(&epoch, &call).await?;
        let error = match self.attempt(era, &epoch, call.clone()).await {
            Err(Failed::Contradicted(error)) => error,
            Err(Failed::Finally(error)) => return Err(error),
            Ok(reply) => {
                epoch.prove();
                return Ok(reply);
            }
        };
        let Some(next) = self.epochs.after(&epoch) else {
            return Err(error);
        };
        match self.find_era(&next, &call).await {
            Ok(found) if found.is_modern() != era.is_modern() => {
                let name = &self.site.config().name;
                tracing::info!(server = %name, ?found, "a server speaks otherwise than before");
                if found.is_modern() {
                    self.sessions.clear();
                }
                let outcome = self.attempt(found, &next, call).await;
                outcome
                    .inspect(|_| next.prove())
                    .map_err(Failed::into_error)
            }
            _ => Err(error),
        }
    }

    async fn find_era(&self, epoch: &Arc<Epoch>, call: &Call) -> Result<Era, Error> {
        let asking = async {
            // Boxed, so that calls after the first do not carry it.
            let probe = Box::pin(detect::probe(&self.site, &call.params));
            let held_up = || self.site.held_up_until();
            let answer = patience::wait(self.config.handshake, held_up, probe).await;
            answer.unwrap_or_else(|_| Err(self.too_late()))
        };
        self.epochs.era(epoch, asking).await
    }

    async fn attempt(&self, era: Era, epoch: &Epoch, call: Call) -> Result<Reply, Failed> {
        match era {
            Era::Modern => {
                let method = call.method.clone();
                self.modern.call(call).await.map_err(|error| {
                    if detect::contradicts_modern(&method, &error) {
                        Failed::Contradicted(error)
                    } else {
                        Failed::Finally(error)
                    }
                })
            }
            Era::Old(version) => self.call_old(version, epoch, call).await,
        }
    }

    /// Makes a call in its session, and once more in the next if the server has forgotten this one.
    async fn call_old(&self, version: Version, epoch: &Epoch, call: Call) -> Result<Reply, Failed> {
        let outcome = self.call_in_session(version, epoch, call.clone()).await;
        match outcome {
            Err(Failed::Finally(error))
                if error.kind() == Kind::Closed && error.retry() == Retry::Safe =>
            {
                self.call_in_session(version, epoch, call).await
            }
            outcome => outcome,
        }
    }

    async fn call_in_session(
        &self,
        version: Version,
        epoch: &Epoch,
        call: Call,
    ) -> Result<Reply, Failed> {
        let key = Key {
            caller: call.cx.caller.clone(),
            capabilities: of_meta(&call, meta::CLIENT_CAPABILITIES)
                .unwrap_or_else(RawJson::empty_object),
        };
        let client_info = of_meta(&call, meta::CLIENT_INFO);
        let hello = Hello {
            version,
            identity: Identity {
                capabilities: key.capabilities.clone(),
                client_info: client_info.unwrap_or_else(|| Identity::of_everybody().client_info),
            },
        };
        // Held until the call is over: a session in use does not make way for another.
        let place = self.sessions.place(key).map_err(Failed::Finally)?;
        let opening = place.session(self.open(epoch, &hello));
        let session = opening.await.map_err(|error| {
            if detect::contradicts_old(&error) {
                Failed::Contradicted(error)
            } else {
                Failed::Finally(error)
            }
        })?;
        session.call(call).await.map_err(Failed::Finally)
    }

    /// Opens a session over the transport that the server has.
    async fn open(&self, epoch: &Epoch, hello: &Hello) -> Result<Opened, Error> {
        if epoch.has_two_endpoints() {
            return self.open_two_endpoints(hello).await;
        }
        let refusal = match self.open_streamable(hello).await {
            Err(error) if detect::may_have_two_endpoints(&error) => error,
            outcome => return outcome,
        };
        match self.open_two_endpoints(hello).await {
            Ok(opened) => {
                epoch.learn_two_endpoints();
                Ok(opened)
            }
            Err(error) if error.kind() == Kind::Unauthorized => Err(error),
            Err(error) => {
                let text = format!("{refusal}; and as a server of HTTP+SSE: {error}");
                let combined = Error::new(Kind::Connect, text);
                Err(combined
                    .from_upstream(&self.site.config().name)
                    .with_source(refusal))
            }
        }
    }

    async fn open_streamable(&self, hello: &Hello) -> Result<Opened, Error> {
        let (heard, hearing) = Heard::channel(self.config.heard);
        let transport = Streamable::new(self.site.clone(), heard, self.background.clone());
        let transport = Arc::new(transport);
        Ok(Opened {
            session: self.greet(transport.clone(), hearing, hello).await?,
            carrier: Carrier::Streamable(transport),
        })
    }

    async fn open_two_endpoints(&self, hello: &Hello) -> Result<Opened, Error> {
        let (heard, hearing) = Heard::channel(self.config.heard);
        let background = self.background.clone();
        let transport = TwoEndpoints::open(self.site.clone(), heard, background).await?;
        let transport = Arc::new(transport);
        Ok(Opened {
            session: self.greet(transport.clone(), hearing, hello).await?,
            carrier: Carrier::TwoEndpoints(transport),
        })
    }

    async fn greet(
        &self,
        transport: Arc<dyn Transport>,
        hearing: Hearing,
        hello: &Hello,
    ) -> Result<Arc<Session>, Error> {
        let name = self.site.config().name.clone();
        let Hello { version, identity } = hello;
        Session::open(name, transport, hearing, identity, *version, self.config).await
    }

    fn too_late(&self) -> Error {
        let (name, time) = (&self.site.config().name, self.config.handshake);
        let text = format!("server `{name}` did not say within {time:?} what it speaks");
        Error::new(Kind::Timeout, text)
            .from_upstream(name)
            .retry_safe()
    }
}

impl Service for Remote {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        Box::pin(self.answer(call))
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote")
            .field("site", &self.site)
            .finish_non_exhaustive()
    }
}

/// What a handshake begins with.
struct Hello {
    version: Version,
    identity: Identity,
}

/// How an attempt failed.
enum Failed {
    /// As the server of this era may fail.
    Finally(Error),
    /// As no server of this era fails; the request was not carried out.
    Contradicted(Error),
}

impl Failed {
    fn into_error(self) -> Error {
        match self {
            Self::Finally(error) | Self::Contradicted(error) => error,
        }
    }
}

fn of_meta(call: &Call, key: &str) -> Option<RawJson> {
    call.params.at(&["_meta", key]).filter(RawJson::is_object)
}
