use std::path::PathBuf;
use std::sync::Arc;

use callgate_mcp::transport::child::{CloseBy, InheritEnv};
use callgate_oauth::Scopes;
use callgate_oauth::options::ProviderOptions;
use callgate_oauth::store::ChosenClient;
use url::Url;

use crate::config::definition::UrlTransport;
use crate::config::resolve::HeadersHelper;

/// A server with everything that is needed to connect to it. It may hold secrets, so it has no `Debug`.
#[derive(Clone)]
pub(crate) enum ServerSpec {
    /// A program that is started.
    Process(ProcessSpec),
    /// A server at a URL.
    Remote(Box<RemoteSpec>),
}

/// A program with its arguments and variables.
#[derive(Clone)]
pub(crate) struct ProcessSpec {
    /// Name of the server in errors and logs.
    pub(crate) name: Arc<str>,
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
    /// Variables besides those that are inherited.
    pub(crate) env: Vec<(String, String)>,
    /// Contents of files in the arguments and variables, which are never shown.
    pub(crate) file_values: Vec<String>,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) inherit_env: InheritEnv,
    pub(crate) close_by: CloseBy,
}

/// A URL with everything that its requests need.
#[derive(Clone)]
pub(crate) struct RemoteSpec {
    /// Name of the server in errors and logs.
    pub(crate) name: Arc<str>,
    pub(crate) url: Url,
    pub(crate) transport: UrlTransport,
    pub(crate) headers: Vec<(String, String)>,
    /// Command that prints more headers.
    pub(crate) headers_helper: Option<HeadersHelper>,
    /// Contents of files in the URL, the headers and the command, which are never shown.
    pub(crate) file_values: Vec<String>,
    pub(crate) login: LoginSpec,
    /// File with further certificate authorities; comes before that of the login.
    pub(crate) ca_file: Option<PathBuf>,
}

/// Way in which a server is logged in to.
#[derive(Clone, Default)]
pub(crate) struct LoginSpec {
    /// True if no login is used (`oauth: false`).
    pub(crate) is_off: bool,
    /// File with a token to send instead of a login.
    pub(crate) token_file: Option<PathBuf>,
    pub(crate) account: Option<String>,
    /// Client that was registered by hand.
    pub(crate) client: Option<ChosenClient>,
    pub(crate) scopes: Option<Scopes>,
    /// Port of the redirect.
    pub(crate) callback_port: Option<u16>,
    /// Options that come before those of the stored login.
    pub(crate) options: ProviderOptions,
    /// True if the token in the environment is sent to any server on this machine. A configured server gets it
    /// only if the user names it: the token is most often that of our own `serve`.
    pub(crate) uses_local_token: bool,
}

impl ServerSpec {
    /// Name of the server in errors and logs.
    pub(crate) fn name(&self) -> &Arc<str> {
        match self {
            Self::Process(process) => &process.name,
            Self::Remote(remote) => &remote.name,
        }
    }
}
