use std::collections::BTreeMap;
use std::time::Duration;

use callgate_mcp::wire::RawJson;
use callgate_oauth::options::ProviderOptions;

use super::template::Template;

/// A server as it is written in a configuration file, without its name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ServerDefinition {
    /// The program or the URL.
    pub(crate) connection: Connection,
    /// False if the server is turned off (`enabled: false`, or `disabled: true` of other clients).
    pub(crate) enabled: bool,
    /// Time limits; those that are not given have the defaults of the product.
    pub(crate) timeouts: Timeouts,
    /// Patterns of the tools that are offered; `None` offers all (`allowedTools`).
    pub(crate) allowed_tools: Option<Vec<String>>,
    /// Patterns of the tools that are not offered, even if they are allowed (`disabledTools`).
    pub(crate) disabled_tools: Vec<String>,
    /// Changes of single tools, by the server's own name of the tool (`tools`).
    pub(crate) tools: BTreeMap<String, ToolChange>,
    /// Directories or URIs that the server is told of as roots.
    pub(crate) roots: Vec<Template>,
    /// Time at which the server is connected to.
    pub(crate) start: StartTime,
    /// Time without calls after which a server that starts on first use is stopped (`idleStop`).
    pub(crate) idle_stop: Option<Duration>,
}

impl ServerDefinition {
    /// Transport, in the words of a configuration file.
    pub(crate) fn transport(&self) -> &'static str {
        match &self.connection {
            Connection::Command(_) => "stdio",
            Connection::Url(url) => match url.transport {
                UrlTransport::Http => "http",
                UrlTransport::Sse => "sse",
            },
        }
    }

    /// A server with the defaults of everything but the way to reach it.
    pub(crate) fn new(connection: Connection) -> Self {
        Self {
            connection,
            enabled: true,
            timeouts: Timeouts::default(),
            allowed_tools: None,
            disabled_tools: Vec::new(),
            tools: BTreeMap::new(),
            roots: Vec::new(),
            start: StartTime::default(),
            idle_stop: None,
        }
    }
}

/// Way to reach a server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Connection {
    /// A program that is started.
    Command(CommandDefinition),
    /// A server at a URL.
    Url(UrlDefinition),
}

/// A server that is a program (`type: "stdio"`, or a `command`).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CommandDefinition {
    pub(crate) command: Template,
    pub(crate) args: Vec<Template>,
    /// Variables of the program, in the order of the file.
    pub(crate) env: Vec<(String, Template)>,
    /// File with more variables, a `NAME=value` in each line (`envFile`).
    pub(crate) env_file: Option<Template>,
    /// Directory in which the program runs; relative ones start at the directory of the file.
    pub(crate) cwd: Option<Template>,
    /// True if the program gets our whole environment (`inheritEnv: "all"`).
    pub(crate) inherit_all: bool,
}

/// A server at a URL (`type: "http"` or `"sse"`, or a `url`).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct UrlDefinition {
    pub(crate) transport: UrlTransport,
    pub(crate) url: Template,
    /// Headers of every request, in the order of the file.
    pub(crate) headers: Vec<(String, Template)>,
    /// Command that prints more headers as a JSON object (`headersHelper`).
    pub(crate) headers_helper: Option<Template>,
    /// Login settings; `None` if the file has none.
    pub(crate) oauth: Option<OAuthDefinition>,
}

/// HTTP transport of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UrlTransport {
    /// Streamable HTTP; falls back to HTTP+SSE as the specification says.
    Http,
    /// HTTP+SSE, the transport of the oldest servers.
    Sse,
}

/// Login settings of a server (`oauth`); `false` turns logins off.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum OAuthDefinition {
    /// `oauth: false`: never log in.
    Off,
    /// Settings of the login.
    On(Box<OAuthSettings>),
}

/// Settings of the login at a server.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct OAuthSettings {
    /// Account, if the user has several at this server.
    pub(crate) account: Option<String>,
    /// Id of a client that was registered by hand (`clientId`).
    pub(crate) client_id: Option<Template>,
    /// Secret of that client (`clientSecret`).
    pub(crate) client_secret: Option<Template>,
    /// Scopes to ask for (`scope`, a text or a list).
    pub(crate) scopes: Vec<String>,
    /// Port of the redirect (`callbackPort`).
    pub(crate) callback_port: Option<u16>,
    /// Options for unusual providers, in the form of the login store.
    pub(crate) options: ProviderOptions,
}

/// Time limits of a server (`timeout`: milliseconds of a call, or an object with each limit).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Timeouts {
    /// Time to connect.
    pub(crate) connect: Option<Duration>,
    /// Time of a call without an answer or progress.
    pub(crate) call: Option<Duration>,
    /// Hard maximum of a call.
    pub(crate) max: Option<Duration>,
}

/// Change of one tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ToolChange {
    /// Name instead of the server's own, before the name of the server is put in front.
    pub(crate) name: Option<String>,
    /// Description instead of the server's own.
    pub(crate) description: Option<String>,
    /// True if the tool is not offered.
    pub(crate) hidden: bool,
    /// Arguments with fixed values: agents neither see nor set them.
    pub(crate) fixed: BTreeMap<String, RawJson>,
    /// Arguments with default values: agents may set them.
    pub(crate) defaults: BTreeMap<String, RawJson>,
}

/// Time at which a server is connected to (`start`: `"eager"` or `"lazy"`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum StartTime {
    /// At once.
    #[default]
    Eager,
    /// When it is first used.
    Lazy,
}
