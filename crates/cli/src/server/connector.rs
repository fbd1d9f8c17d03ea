use std::error::Error as StdError;
use std::path::PathBuf;
use std::sync::Arc;

use callgate_hub::reconnect::{Failure, Lock};
use callgate_hub::{Connector, Upstream};
use callgate_mcp::layer::Roots;
use callgate_mcp::wire::RawJson;
use callgate_mcp::wire::capabilities::ClientCapabilities;
use callgate_mcp::wire::roots::Root;
use callgate_mcp::{BoxFuture, Call, Error, Kind, Reply, Service, Version};
use callgate_oauth::registration::NeedsClientRegistration;
use callgate_oauth::token_source::{NeedsLogin, TokenError};

use super::connection::Server;
use super::refused_credentials::RefusedCredentials;
use super::spec::ServerSpec;
use crate::debug::{Secrets, redact_text};
use crate::instance::EarlierProcess;

/// Connects one server for the hub. Each connection reads the stored login anew.
pub(crate) struct ServerConnector {
    pub(crate) spec: ServerSpec,
    pub(crate) data_dir: Option<PathBuf>,
    /// Capabilities that a program is told of; all where there are none.
    pub(crate) capabilities: Option<ClientCapabilities>,
    /// Roots that the server is told of, in place of those of clients.
    pub(crate) roots: Vec<Root>,
    /// An earlier process of the server, which may hold a file or a port that the next one needs.
    pub(crate) earlier: Option<EarlierProcess>,
    /// Values that are hidden in errors, which may quote the server's standard error.
    pub(crate) secrets: Secrets,
}

impl Connector for ServerConnector {
    fn connect(&self) -> BoxFuture<'_, Result<Arc<dyn Upstream>, Error>> {
        Box::pin(async {
            if let Some(earlier) = &self.earlier {
                earlier.exited().await;
            }
            let data_dir = self.data_dir.as_deref();
            let mut capabilities = self.capabilities.clone();
            if let Some(capabilities) = capabilities.as_mut().filter(|_| !self.roots.is_empty()) {
                capabilities.roots = Some(RawJson::empty_object());
            }
            let connected = Server::connect(&self.spec, data_dir, capabilities).await;
            let server = connected.map_err(|error| {
                hide_secrets(error.into_request_error(self.spec.name()), &self.secrets)
            })?;
            let service = match self.roots.is_empty() {
                true => server.service(),
                false => Arc::new(Roots::new(server.service(), self.roots.clone())),
            };
            Ok(Arc::new(Connection {
                server,
                service,
                secrets: self.secrets.clone(),
            }) as Arc<dyn Upstream>)
        })
    }

    fn failure(&self, error: &Error) -> Failure {
        if is_client_missing(error) {
            return Failure::Locked(Lock::NeedsClientRegistration);
        }
        if is_login_missing(error) {
            return Failure::Locked(Lock::NeedsAuth);
        }
        Failure::Transient {
            retry_after: error.retry_after(),
        }
    }
}

/// True if a person must register a client before there can be a login.
pub(crate) fn is_client_missing(error: &Error) -> bool {
    let Some(source) = error.source() else {
        return false;
    };
    let of_token = source.downcast_ref::<Arc<TokenError>>();
    source.is::<NeedsClientRegistration>()
        || of_token.is_some_and(|error| matches!(**error, TokenError::NeedsClientRegistration(_)))
}

/// True if a person must log in before the server can be used.
pub(crate) fn is_login_missing(error: &Error) -> bool {
    let source = error.source();
    let of_token = source.and_then(|source| source.downcast_ref::<Arc<TokenError>>());
    let is_needed = match of_token {
        // A failure that passes is tried again.
        Some(error) => !error.is_transient(),
        None => source.is_some_and(<dyn StdError>::is::<NeedsLogin>),
    };
    is_needed || (of_token.is_none() && error.kind() == Kind::Unauthorized && !is_of_helper(error))
}

/// True if the server refused headers that a command prints, which may print others next time.
fn is_of_helper(error: &Error) -> bool {
    let source = error.source();
    let refused = source.and_then(|source| source.downcast_ref::<RefusedCredentials>());
    refused == Some(&RefusedCredentials::OfHelper)
}

/// A connection of the hub, which ends in good order.
struct Connection {
    server: Server,
    /// The server, told of its roots.
    service: Arc<dyn Service>,
    secrets: Secrets,
}

impl Service for Connection {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        let running = self.service.call(call);
        Box::pin(async move {
            let answer = running.await;
            answer.map_err(|error| hide_secrets(error, &self.secrets))
        })
    }
}

/// The error without the secrets of the server. One that the server itself answered with stays as it is, as its
/// results do.
fn hide_secrets(error: Error, secrets: &Secrets) -> Error {
    if error.raw().is_some() {
        return error;
    }
    let text = error.to_string();
    let hidden = redact_text(&text, secrets);
    match (hidden == text, is_of_helper(&error)) {
        (true, _) => error,
        // It has nothing to hide.
        (false, true) => error
            .reworded(hidden)
            .with_source(RefusedCredentials::OfHelper),
        (false, false) => error.reworded(hidden),
    }
}

impl Upstream for Connection {
    fn closed(&self) -> BoxFuture<'_, Error> {
        Box::pin(async {
            let error = match &self.server {
                Server::Process(process) => process.closed().await.to_error(),
                // It is started again by itself, which the hub does better: not used there.
                Server::Restarting(_) => std::future::pending().await,
                Server::Remote { remote, .. } => remote.closed().await.to_error(),
            };
            hide_secrets(error, &self.secrets)
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.server.close())
    }

    fn settled(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            if let Server::Remote {
                token_source: Some(token_source),
                ..
            } = &self.server
            {
                token_source.wait_idle().await;
            }
        })
    }

    fn check(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async {
            let checked = match &self.server {
                Server::Remote { remote, .. } => remote.check().await,
                // The end of a process is told by `closed`.
                Server::Process(_) | Server::Restarting(_) => Ok(()),
            };
            checked.map_err(|error| hide_secrets(error, &self.secrets))
        })
    }

    fn version(&self) -> Option<Version> {
        self.server.version()
    }

    fn process_id(&self) -> Option<u32> {
        match &self.server {
            Server::Process(process) => process.process_id(),
            _ => None,
        }
    }
}
