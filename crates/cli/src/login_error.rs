use std::error::Error as StdError;
use std::sync::Arc;

use anyhow::anyhow;
use callgate_mcp::transport::http::connect::is_unknown_issuer;
use callgate_mcp::{Error, Origin};
use callgate_oauth::ProviderError;
use callgate_oauth::consent::ConsentError;
use callgate_oauth::fetch::FetchError;
use callgate_oauth::flow::{CallbackError, FlowError, TokenEndpointError};
use callgate_oauth::guard::{GuardRefusal, Network};
use callgate_oauth::metadata::MetadataError;
use callgate_oauth::registration::{NeedsClientRegistration, RegistrationError};
use callgate_oauth::store::StoreError;
use callgate_oauth::store::keychain::KeychainError;
use callgate_oauth::token_source::{LoginReason, NeedsLogin, TokenError};

use crate::error::{CHECK_THE_SERVER, CommandError, Exit, TRUST_THE_ISSUER};
use crate::logins::{self, Account, http_url};
use crate::output::argument;
use crate::server::RefusedCredentials;

/// The error of a request that failed because it had no token or other credentials that count; `None` for other failures.
pub(crate) fn of_request(error: &Error) -> Option<CommandError> {
    let source = error.source()?;
    if let Some(refused) = source.downcast_ref::<RefusedCredentials>() {
        return Some(refused.command_error(error));
    }
    if let Some(needed) = source.downcast_ref::<NeedsLogin>() {
        let error = CommandError::new(Exit::LoginRequired, needed.clone());
        return Some(
            error
                .hint(log_in(needed))
                .hint(format!("or {SEND_A_TOKEN}")),
        );
    }
    let server = match error.origin() {
        Origin::Upstream(name) => {
            let (server, account) = logins::split_name(name);
            logins::arguments(server, account)
        }
        _ => "URL".to_owned(),
    };
    if let Some(needed) = source.downcast_ref::<NeedsClientRegistration>() {
        return Some(register(needed, &server));
    }
    let error = source.downcast_ref::<Arc<TokenError>>()?;
    Some(failed(error.clone(), &server))
}

impl CommandError {
    /// A login or a logout of `account` that failed.
    pub(crate) fn of_login(error: impl Into<Arc<TokenError>>, account: &Account) -> Self {
        failed(error.into(), &account.arguments())
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        let hints = store_hints(&error);
        hints
            .into_iter()
            .fold(Self::new(Exit::Unexpected, anyhow!(error)), Self::hint)
    }
}

/// The next step if a login is not possible.
pub(crate) const SEND_A_TOKEN: &str = "send a token: pass --token-file FILE, or put it in the variable CALLGATE_TOKEN and the URL of the server in CALLGATE_TOKEN_FOR; `callgate token` prints that of `callgate serve`";

const CHECK_THE_PROXY: &str = "check the proxy in the variables HTTPS_PROXY, HTTP_PROXY and ALL_PROXY, or name the host in NO_PROXY";

const NEW_IDENTITY: &str =
    "if the identity token has expired, write a new one to its file; the file is read each time";

/// Error with its hints. `server` is as it stands in a command.
fn failed(error: Arc<TokenError>, server: &str) -> CommandError {
    let exit = match &*error {
        TokenError::Server(error) => Exit::of(error.kind()),
        TokenError::Store(_) | TokenError::Random(_) => Exit::Unexpected,
        TokenError::Fetch(FetchError::Proxy { .. }) => Exit::Unreachable,
        error if error.is_transient() => Exit::Unreachable,
        _ => Exit::LoginRequired,
    };
    let hints = match &*error {
        TokenError::NeedsClientRegistration(needed) => return register(needed, server),
        TokenError::NeedsLogin(needed) => vec![log_in(needed)],
        TokenError::Server(error) if is_unknown_issuer(error) => {
            vec![TRUST_THE_ISSUER.to_owned()]
        }
        TokenError::Fetch(error) if is_unknown_issuer(error) => vec![TRUST_THE_ISSUER.to_owned()],
        TokenError::Fetch(FetchError::Proxy { .. }) => vec![CHECK_THE_PROXY.to_owned()],
        TokenError::Server(_) => vec![CHECK_THE_SERVER.to_owned()],
        TokenError::Store(error) => store_hints(error),
        error if error.is_transient() => vec!["no login is lost; try again later".to_owned()],
        TokenError::Consent(ConsentError::Wait(_) | ConsentError::TimedOut(_)) => {
            vec![
                format!(
                    "run `callgate auth {server}` again, with --no-browser if the browser is on another machine"
                ),
                format!(
                    "if the page said that the client is unknown, run `callgate auth {server} --again`, which registers a new one"
                ),
                format!(
                    "if the page said that the redirect URI does not match, run `callgate auth {server} --redirect-uri URI` with the one that the client is registered with"
                ),
            ]
        }
        TokenError::Assertion { .. } | TokenError::AssertionRefused => {
            vec![NEW_IDENTITY.to_owned()]
        }
        TokenError::InitialAccessToken { .. } => vec![
            "write the token that the provider gave you into it, or name another file with --initial-access-token-file FILE".to_owned(),
        ],
        TokenError::Flow(error) => flow_hints(error, server),
        TokenError::Fetch(FetchError::Refused(GuardRefusal::Network {
            network: Network::Loopback | Network::Private,
            ..
        })) => vec![
            format!(
                "if you trust that address, run `callgate auth {server} --allow-private-addresses`"
            ),
            without_login(),
        ],
        TokenError::Fetch(FetchError::Refused(_)) => vec![without_login()],
        _ => vec![try_again(server)],
    };
    let error = CommandError::new(exit, error);
    hints.into_iter().fold(error, CommandError::hint)
}

fn flow_hints(error: &FlowError, server: &str) -> Vec<String> {
    let run = |options: &str| format!("`callgate auth {server} {options}`");
    match error {
        FlowError::Metadata(error) => metadata_hints(error, server),
        FlowError::NoMetadata(_) => vec![endpoints_by_hand(server), without_login()],
        FlowError::Registration(error) => registration_hints(error, server),
        FlowError::Identity(_) => vec![format!(
            "run `callgate logout {server}`, then log in as a client of the authorization server that it has now"
        )],
        FlowError::Callback(CallbackError::Denied(refusal)) => refusal_hints(refusal, server),
        FlowError::Callback(CallbackError::Issuer { .. }) => vec![
            "the page may have been another one than the provider's, so its answer was not used; log in again only if you trust the server".to_owned(),
            try_again(server),
        ],
        FlowError::Token(error) if error.is_invalid_client() => vec![format!(
            "check the id of the client and its secret or key, and run `callgate auth {server}` with them"
        )],
        FlowError::Token(error) if error.is_invalid_grant() => {
            vec![try_again(server), NEW_IDENTITY.to_owned()]
        }
        FlowError::Token(TokenEndpointError::Refused(refusal))
            if refusal.error == "invalid_request" =>
        {
            vec![
                format!("if the provider needs another parameter, run {}", run("--token-param NAME=VALUE")),
                format!("if it wants the client to authenticate in another way, run {}", run("--client-auth-method METHOD")),
                format!("if it refuses the parameter `resource`, run {}", run("--no-resource")),
            ]
        }
        FlowError::Token(TokenEndpointError::Refused(refusal)) => refusal_hints(refusal, server),
        // Another login would end in the same way.
        FlowError::NoDpop { .. } | FlowError::Token(TokenEndpointError::Type(_)) => vec![
            "no option changes that: ask the operator of the provider".to_owned(),
            without_login(),
        ],
        FlowError::IdentityProvider(error) if error.is_invalid_client() => vec![format!(
            "check the client at the identity provider and its secret, and run `callgate auth {server}` with them"
        )],
        FlowError::IdentityProvider(_) => vec![try_again(server), NEW_IDENTITY.to_owned()],
        FlowError::Device(_) => vec![without_code(server)],
        FlowError::NoCredentials | FlowError::NoClient { .. } => vec![format!(
            "register a client there, and run {}",
            run("--client-id ID --client-secret-file FILE")
        )],
        _ => vec![try_again(server)],
    }
}

fn metadata_hints(error: &MetadataError, server: &str) -> Vec<String> {
    match error {
        MetadataError::Resource { resource, .. } => match http_url(resource) {
            Some(url) => vec![format!(
                "if that is the same server, log in by the address that it has in its metadata: run `callgate auth {}`",
                argument(url.as_str())
            )],
            None => vec![endpoints_by_hand(server), without_login()],
        },
        MetadataError::NoEndpoint("device_authorization_endpoint") => vec![without_code(server)],
        MetadataError::PkceNotListed { .. } => vec![format!(
            "if the provider documents that it supports PKCE, run `callgate auth {server} --allow-missing-pkce-metadata`"
        )],
        // A code without PKCE can be stolen by other programs of this machine.
        MetadataError::NoPkce { .. } => vec![
            "no option allows a login without PKCE: ask the operator of the provider to enable S256".to_owned(),
            without_login(),
        ],
        _ => vec![endpoints_by_hand(server), without_login()],
    }
}

fn registration_hints(error: &RegistrationError, server: &str) -> Vec<String> {
    let by_hand = format!(
        "with a client that was registered by hand, run `callgate auth {server} --client-id ID`"
    );
    match error {
        RegistrationError::Rejected(_) | RegistrationError::Malformed(400..404) => vec![
            by_hand,
            "if the provider registers only clients that it knows, add --client-name NAME with such a name".to_owned(),
            "if the provider gave you a token to register with, add --initial-access-token-file FILE".to_owned(),
        ],
        _ => vec![by_hand, without_login()],
    }
}

/// Hints for an error code of the authorization server.
fn refusal_hints(refusal: &ProviderError, server: &str) -> Vec<String> {
    let add = |options: &str| format!("run `callgate auth {server} {options}`");
    let description = refusal.error_description.as_deref().unwrap_or_default();
    // Entra reports a resource that it does not like as another error.
    let is_about_resource = refusal.error == "invalid_target" || description.contains("AADSTS901");
    let is_about_redirect = refusal.error == "redirect_uri_mismatch"
        || description.contains("redirect_uri")
        || description.contains("redirect URI");
    match refusal.error.as_str() {
        _ if description.contains("AADSTS50011") => vec![format!(
            "register the redirect URI http://localhost there, for the platform \"Mobile and desktop applications\", and {}",
            add("--redirect-uri http://localhost")
        )],
        _ if is_about_redirect => vec![format!(
            "register the redirect URI of this login there, or name the one that is registered: {}",
            add("--redirect-uri URI")
        )],
        _ if is_about_resource => vec![format!(
            "the provider does not accept the address of the server as a resource: {}",
            add("--no-resource")
        )],
        "invalid_scope" => vec![format!(
            "the provider does not have these scopes: {}, with the scopes that it documents",
            add("--scope SCOPE")
        )],
        "invalid_client" | "unauthorized_client" => vec![format!(
            "the provider does not let this client log in: {}, or with a client that was registered by hand, {}",
            add("--again"),
            add("--client-id ID")
        )],
        "invalid_request" | "unsupported_response_type" => vec![
            format!(
                "if the provider needs another parameter, {}",
                add("--auth-param NAME=VALUE")
            ),
            format!(
                "if it refuses the parameter `resource`, {}",
                add("--no-resource")
            ),
        ],
        _ => vec![try_again(server)],
    }
}

fn endpoints_by_hand(server: &str) -> String {
    format!(
        "if the provider documents its endpoints, run `callgate auth {server} --authorization-endpoint URL --token-endpoint URL --client-id ID`"
    )
}

fn without_code(server: &str) -> String {
    format!("log in without a code: run `callgate auth {server} --no-browser`")
}

/// Hint for a server that seems to have no login.
fn without_login() -> String {
    format!("if the server accepts tokens but has no login, {SEND_A_TOKEN}")
}

fn try_again(server: &str) -> String {
    format!("to try again, run `callgate auth {server}`")
}

fn log_in(needed: &NeedsLogin) -> String {
    let target = logins::arguments(needed.server.as_str(), needed.account.as_deref());
    let mut command = format!("callgate auth {target}");
    if let LoginReason::Scopes { scopes } = &needed.reason {
        for scope in scopes.to_string().split_whitespace() {
            command.push_str(" --scope ");
            command.push_str(&argument(scope));
        }
    }
    format!("log in: run `{command}`")
}

fn register(needed: &NeedsClientRegistration, server: &str) -> CommandError {
    let NeedsClientRegistration {
        issuer,
        redirect_uri,
        accepts_metadata_document,
        ..
    } = needed;
    let error = anyhow!("{issuer} does not register clients by itself");
    // The usual one is used without an option.
    let option = match redirect_uri.starts_with("http://localhost") {
        true => format!(" --redirect-uri {}", argument(redirect_uri)),
        false => String::new(),
    };
    let error = CommandError::new(Exit::LoginRequired, error)
        .hint(format!(
            "register a client there, with the redirect URI {redirect_uri}"
        ))
        .hint(format!(
            "then run `callgate auth {server} --client-id ID{option}`, with the secret of the client, if it has one, \
             in the variable CALLGATE_CLIENT_SECRET"
        ));
    if !accepts_metadata_document {
        return error;
    }
    error.hint(format!(
        "or publish a client id metadata document, which docs/login.md describes, and run \
         `callgate auth {server} --client-metadata-url URL`"
    ))
}

fn store_hints(error: &StoreError) -> Vec<String> {
    let hint = match error {
        StoreError::Exposed { path, .. } => {
            let path = argument(&path.to_string_lossy());
            format!("run `chmod 600 {path}`")
        }
        StoreError::ExposedDirectory { path, .. } => {
            let path = argument(&path.to_string_lossy());
            format!("run `chmod 700 {path}`")
        }
        StoreError::Busy { .. } => "try again when the other process is done".to_owned(),
        StoreError::Io { .. } | StoreError::ForeignOwner { .. } | StoreError::NotAFile { .. } => {
            "correct that, or store logins elsewhere with --data-dir DIR".to_owned()
        }
        StoreError::TooLarge { .. } => {
            "log out where you need no login: `callgate auth list` shows them all".to_owned()
        }
        StoreError::SealedSource { .. } => {
            "run `callgate auth store file` with the --data-dir of that file first".to_owned()
        }
        StoreError::UnknownSeal { .. } => "use the version of Callgate that sealed them".to_owned(),
        StoreError::Keychain { action, source, .. } => return keychain_hints(action, source),
        StoreError::KeyMissing { path } | StoreError::WrongKey { path } => {
            let path = argument(&path.to_string_lossy());
            return vec![
                "no login was deleted: restore the key in the keychain of your system, and they work again".to_owned(),
                format!("if the key is lost, the logins are too: run `mv {path} {path}.lost`, and log in again"),
            ];
        }
        // The caller, which got the name of the file from the user, adds the hint.
        _ => return Vec::new(),
    };
    vec![hint]
}

fn keychain_hints(action: &str, error: &KeychainError) -> Vec<String> {
    let next = match error {
        KeychainError::Locked => {
            "unlock the keychain: `callgate auth list` opens its dialog if there is a desktop; without one, run \
             `gnome-keyring-daemon --replace --unlock --daemonize`, which reads the password from standard input"
        }
        KeychainError::Missing(_) => {
            "on Linux a keychain is a program such as GNOME Keyring, KWallet or KeePassXC, which is found by the \
             variable DBUS_SESSION_BUS_ADDRESS: start it, or log in to the session in which it runs"
        }
        _ => "correct that in the settings of your keychain",
    };
    let without = match action {
        "seal" => "nothing has changed: the logins are in the file, and work without a keychain",
        _ => {
            "no login is lost; to do without a keychain, run `callgate auth store file` once it is open again"
        }
    };
    vec![next.to_owned(), without.to_owned()]
}
