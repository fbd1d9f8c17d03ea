//! All keys of the configuration: the one table behind the reader and the JSON Schema.

use super::shape::{Key, Shape};

/// Names under which files hold their servers; the first is ours, the other that of VS Code.
pub(super) const SERVERS: [&str; 2] = ["mcpServers", "servers"];

/// Keys of a file.
pub(super) static FILE: &[Key] = &[
    Key::new(
        "$schema",
        Shape::Text,
        "Address of this schema, for editors.",
    ),
    Key::new(
        "mcpServers",
        Shape::Map(&Shape::Object(SERVER)),
        "Servers by name.",
    ),
    Key::new(
        "servers",
        Shape::Map(&Shape::Object(SERVER)),
        "The same as `mcpServers`, as VS Code writes it.",
    ),
    Key::new(
        "naming",
        Shape::OneOf(&["server_tool", "server__tool"]),
        "Form of the names of tools: the name of the server, `_` or `__`, and the name of the tool.",
    ),
    Key::new(
        "gateway",
        Shape::Object(GATEWAY),
        "Settings of `callgate serve`.",
    ),
    Key::new(
        "tools",
        Shape::Object(BUILT_IN_TOOLS),
        "Settings of the built-in tools.",
    ),
    Key::foreign("inputs"),
];

/// Keys of a server.
pub(super) static SERVER: &[Key] = &[
    Key::new(
        "type",
        TYPE,
        "Transport; without it, a `command` means `stdio` and a `url` means `http`.",
    ),
    Key::new(
        "transport",
        TYPE,
        "The same as `type`, as some clients write it.",
    ),
    Key::new(
        "transportType",
        TYPE,
        "The same as `type`, as some clients write it.",
    ),
    Key::new("command", Shape::Template, "Program to start."),
    Key::new(
        "args",
        Shape::List(&Shape::Template),
        "Arguments of the program.",
    ),
    Key::new(
        "env",
        Shape::Map(&Shape::Scalar),
        "Variables of the program, besides the few that it inherits.",
    ),
    Key::new(
        "envFile",
        Shape::Template,
        "File with more variables of the program, a `NAME=value` in each line; `env` is preferred to it.",
    ),
    Key::new(
        "cwd",
        Shape::Template,
        "Directory in which the program runs; relative ones start at the directory of the file.",
    ),
    Key::new(
        "inheritEnv",
        Shape::OneOf(&["default", "all"]),
        "`all` gives the program the whole environment instead of a few variables such as `PATH` and `HOME`.",
    ),
    Key::new("url", Shape::Template, "URL of the server."),
    Key::new(
        "serverUrl",
        Shape::Template,
        "The same as `url`, as Windsurf writes it.",
    ),
    Key::new(
        "httpUrl",
        Shape::Template,
        "The same as `url`, as Gemini writes it.",
    ),
    Key::new(
        "headers",
        Shape::Map(&Shape::Scalar),
        "Headers of every request.",
    ),
    Key::new(
        "headersHelper",
        Shape::Template,
        "Command that prints more headers, as a JSON object of texts.",
    ),
    Key::new(
        "oauth",
        Shape::Either(&[Shape::Bool, Shape::Object(OAUTH)]),
        "Settings of the login; `false` never logs in.",
    ),
    Key::new(
        "timeout",
        Shape::Either(&[Shape::Milliseconds, Shape::Object(TIMEOUT)]),
        "Milliseconds of a call without an answer or progress, or an object with each time limit.",
    ),
    Key::new("enabled", Shape::Bool, "`false` turns the server off."),
    Key::new(
        "disabled",
        Shape::Bool,
        "`true` turns the server off, as other clients write it.",
    ),
    Key::new(
        "allowedTools",
        Shape::List(&Shape::Text),
        "Names of the tools that are offered, where `*` stands for any characters; all if it is absent.",
    ),
    Key::new(
        "disabledTools",
        Shape::List(&Shape::Text),
        "Names of the tools that are not offered, even if they are allowed.",
    ),
    Key::new(
        "tools",
        Shape::Map(&Shape::Object(TOOL)),
        "Changes of single tools, by the name that the server gives them.",
    ),
    Key::new(
        "roots",
        Shape::List(&Shape::Template),
        "Directories or `file:` URIs that the server is told of as roots.",
    ),
    Key::new(
        "start",
        Shape::OneOf(&["eager", "lazy"]),
        "`lazy` connects when the server is first used instead of at once.",
    ),
    Key::new(
        "idleStop",
        Shape::Milliseconds,
        "Milliseconds without calls after which a server with `start: \"lazy\"` is stopped.",
    ),
    Key::foreign("alwaysAllow"),
    Key::foreign("author"),
    Key::foreign("autoApprove"),
    Key::foreign("category"),
    Key::foreign("comment"),
    Key::foreign("_comment"),
    Key::foreign("$comment"),
    Key::foreign("//"),
    Key::foreign("description"),
    Key::foreign("dev"),
    Key::foreign("disabledReason"),
    Key::foreign("displayName"),
    Key::foreign("gallery"),
    Key::foreign("icon"),
    Key::foreign("id"),
    Key::foreign("instructions"),
    Key::foreign("metadata"),
    Key::foreign("name"),
    Key::foreign("note"),
    Key::foreign("source"),
    Key::foreign("tags"),
    Key::foreign("title"),
    Key::foreign("trust"),
    Key::foreign("version"),
    Key::foreign("watchPaths"),
];

/// Words for a transport, in the order stdio, HTTP, HTTP+SSE; see [`super::read_server`].
const TYPE: Shape = Shape::OneOf(&[
    "stdio",
    "local",
    "http",
    "streamable-http",
    "streamableHttp",
    "streamable_http",
    "remote",
    "sse",
]);

static TIMEOUT: &[Key] = &[
    Key::new("connect", Shape::Milliseconds, "Milliseconds to connect."),
    Key::new(
        "call",
        Shape::Milliseconds,
        "Milliseconds of a call without an answer or progress.",
    ),
    Key::new(
        "max",
        Shape::Milliseconds,
        "Milliseconds of a call, with or without progress.",
    ),
];

static TOOL: &[Key] = &[
    Key::new("name", Shape::Text, "Name instead of the server's own."),
    Key::new(
        "description",
        Shape::Text,
        "Description instead of the server's own.",
    ),
    Key::new("hidden", Shape::Bool, "`true` does not offer the tool."),
    Key::new(
        "fixed",
        Shape::Map(&Shape::Any),
        "Arguments with fixed values, which agents neither see nor set.",
    ),
    Key::new(
        "defaults",
        Shape::Map(&Shape::Any),
        "Arguments with default values, which agents may set.",
    ),
];

/// Keys of `oauth`: those of this program, and the options for unusual providers.
pub(super) static OAUTH: &[Key] = &[
    Key::new(
        "account",
        Shape::Text,
        "Account, if you have several at this server.",
    ),
    Key::new(
        "clientId",
        Shape::Template,
        "Id of a client that was registered by hand.",
    ),
    Key::new(
        "clientSecret",
        Shape::Template,
        "Secret of that client; write it as a variable, such as `${MY_SECRET}`.",
    ),
    Key::new(
        "scope",
        Shape::Either(&[Shape::Text, Shape::List(&Shape::Text)]),
        "Scopes to ask for, separated by spaces or in a list.",
    ),
    Key::new(
        "scopes",
        Shape::Either(&[Shape::Text, Shape::List(&Shape::Text)]),
        "The same as `scope`.",
    ),
    Key::new(
        "callbackPort",
        Shape::Port,
        "Port that the browser is redirected to.",
    ),
    Key::new(
        "authParams",
        Shape::Map(&Shape::Text),
        "Parameters to add to the authorization page; an empty value leaves one out.",
    ),
    Key::new(
        "tokenParams",
        Shape::Map(&Shape::Text),
        "Parameters to add to token requests.",
    ),
    Key::new(
        "sendResource",
        Shape::Bool,
        "`false` leaves out the parameter `resource`.",
    ),
    Key::new(
        "redirectUri",
        Shape::Text,
        "Redirect URI that the client is registered with.",
    ),
    Key::new(
        "authorizationEndpoint",
        Shape::Text,
        "Authorization page instead of the one in the metadata.",
    ),
    Key::new(
        "tokenEndpoint",
        Shape::Text,
        "Token endpoint instead of the one in the metadata.",
    ),
    Key::new("clientName", Shape::Text, "Name in a registration."),
    Key::new(
        "clientAuthMethod",
        Shape::OneOf(&[
            "none",
            "client_secret_basic",
            "client_secret_post",
            "private_key_jwt",
        ]),
        "Authentication of the client at the token endpoint.",
    ),
    Key::new(
        "initialAccessTokenFile",
        Shape::Text,
        "File with the token that a registration needs.",
    ),
    Key::new(
        "allowMissingPkceMetadata",
        Shape::Bool,
        "`true` logs in although the metadata of the provider does not list PKCE.",
    ),
    Key::new(
        "scopeSeparator",
        Shape::Text,
        "Character between scopes instead of a space.",
    ),
    Key::new(
        "allowPrivateAddresses",
        Shape::Bool,
        "`true` lets the server name addresses on this machine and on private networks.",
    ),
    Key::new(
        "caFile",
        Shape::Text,
        "PEM file with certificate authorities to trust besides those of the system.",
    ),
    Key::foreign("authServerMetadataUrl"),
    Key::foreign("enabled"),
];

static GATEWAY: &[Key] = &[
    Key::new(
        "listen",
        Shape::Text,
        "Loopback address to listen on, for example `127.0.0.1:3000`.",
    ),
    Key::new(
        "maxText",
        Shape::Either(&[Shape::Number, Shape::Bool]),
        "Bytes of text in one result; longer text becomes a link that is read in pages. `false` lets all text pass.",
    ),
    Key::later(
        "rateLimit",
        Shape::Object(&[
            Key::later("rate", Shape::Number, "Calls per second."),
            Key::later("burst", Shape::Number, "Calls that may come at once."),
        ]),
        "Limit of calls; without effect in this version.",
    ),
    Key::later(
        "rules",
        Shape::List(&Shape::Any),
        "Rules; without effect in this version.",
    ),
    Key::later(
        "approvals",
        Shape::Map(&Shape::Any),
        "Approvals; without effect in this version.",
    ),
    Key::later(
        "redact",
        Shape::Map(&Shape::Any),
        "Redaction; without effect in this version.",
    ),
];

static BUILT_IN_TOOLS: &[Key] = &[
    Key::new(
        "workspace",
        Shape::Object(&[Key::new(
            "path",
            Shape::Text,
            "Directory that the workspace tools may use; relative ones start at the directory of the file.",
        )]),
        "The tools `workspace_read`, `workspace_write` and `workspace_list`.",
    ),
    Key::later("memory", Shape::Map(&Shape::Any), LATER_TOOL),
    Key::later("vault", Shape::Map(&Shape::Any), LATER_TOOL),
    Key::later("chat", Shape::Map(&Shape::Any), LATER_TOOL),
    Key::later("calendar", Shape::Map(&Shape::Any), LATER_TOOL),
    Key::later("github", Shape::Map(&Shape::Any), LATER_TOOL),
    Key::later("web", Shape::Map(&Shape::Any), LATER_TOOL),
    Key::later("scripts", Shape::Map(&Shape::Any), LATER_TOOL),
];

const LATER_TOOL: &str = "Reserved for built-in tools; without effect in this version.";
