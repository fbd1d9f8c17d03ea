use std::env;
use std::path::Path;
use std::sync::Arc;

use callgate_oauth::is_loopback;
use callgate_oauth::options::ProviderOptions;
use callgate_oauth::token_source::TokenSource;
use url::Url;

use crate::client_choice::secret_in;
use crate::data_dir::DataDir;
use crate::error::CommandError;
use crate::logins::{Logins, http_url};
use crate::server::LoginSpec;
use crate::token;

const TOKEN_VARIABLE: &str = "CALLGATE_TOKEN";
const TOKEN_FOR_VARIABLE: &str = "CALLGATE_TOKEN_FOR";

/// Credentials for a server.
pub(crate) enum Credentials {
    /// Only the headers of the command line.
    Given,
    /// A token of the user.
    Token(String),
    /// The login at the server, or the error that there is none.
    Login(Arc<TokenSource>),
}

impl Credentials {
    /// Finds the credentials: those that are given come first, then those that are stored for the server.
    ///
    /// `is_authorized` says that the headers of the server have credentials already.
    pub(crate) fn find(
        spec: &LoginSpec,
        is_authorized: bool,
        server: &Url,
        data_dir: Option<&Path>,
        options: &ProviderOptions,
    ) -> Result<Self, CommandError> {
        if is_authorized {
            return Ok(Self::Given);
        }
        if let Some(path) = &spec.token_file {
            let Some(token) = secret_in(path)? else {
                let message = format!("{} holds no token", path.display());
                return Err(CommandError::usage(message).hint("write the token into it"));
            };
            return Ok(Self::Token(token.expose().to_owned()));
        }
        let variable = || match spec.uses_local_token || is_named() {
            true => variable(server, data_dir),
            false => Ok(None),
        };
        // Without a data directory there are no logins.
        let Ok(logins) = Logins::open(data_dir) else {
            return Ok(variable()?.map_or(Self::Given, Self::Token));
        };
        if spec.is_off {
            return Ok(variable()?.map_or(Self::Given, Self::Token));
        }
        let account = logins.account_at(server, spec.account.as_deref())?;
        // The login is for this server alone, and tokens of it are refreshed.
        if spec.account.is_none()
            && !logins.has_tokens(&account)?
            && let Some(token) = variable()?
        {
            return Ok(Self::Token(token));
        }
        let stored = match &spec.client {
            Some(client) => logins.with_stored_secret(&account, client)?,
            None => None,
        };
        let client = stored.as_ref().map(|(client, _)| client);
        let client = client.or(spec.client.as_ref());
        let mut config = logins.token_source_config(&account, client, options)?;
        if let (Some((_, issuer)), Some(client)) = (stored, &mut config.client) {
            client.issuer = issuer;
        }
        if spec.scopes.is_some() {
            config.scopes.clone_from(&spec.scopes);
        }
        Ok(Self::Login(TokenSource::new(config)))
    }
}

/// The token in the variable, if it is for `server`: the user names its origin in another variable, and
/// without that it is for servers on this machine.
///
/// # Errors
/// The user has not said which server the token is for. It is not sent then, because the owner of any
/// other server could use it.
fn variable(server: &Url, data_dir: Option<&Path>) -> Result<Option<String>, CommandError> {
    let text = env::var(TOKEN_VARIABLE).unwrap_or_default();
    let token = text.trim();
    if token.is_empty() {
        return Ok(None);
    }
    let named = env::var(TOKEN_FOR_VARIABLE).unwrap_or_default();
    let is_for_server = match named.trim() {
        "" if is_loopback(server) => true,
        // The token of `callgate serve` may stay set: it is for this machine.
        "" if is_own(token, data_dir) => false,
        "" => {
            let origin = server.origin().ascii_serialization();
            let message = format!(
                "the token in {TOKEN_VARIABLE} was not sent, because {TOKEN_FOR_VARIABLE} does not say which server it is for"
            );
            return Err(CommandError::usage(message).hint(format!(
                "if it is for this server, set {TOKEN_FOR_VARIABLE}={origin}; otherwise unset {TOKEN_VARIABLE}"
            )));
        }
        named => {
            let url = http_url(named).ok_or_else(|| {
                let message = format!("`{named}` in {TOKEN_FOR_VARIABLE} is not an http(s) URL");
                CommandError::usage(message).hint(
                    "name the server that the token is for, for example https://mcp.example.com",
                )
            })?;
            url.origin() == server.origin()
        }
    };
    Ok(is_for_server.then(|| token.to_owned()))
}

fn is_own(token: &str, data_dir: Option<&Path>) -> bool {
    let data_dir = DataDir::locate(data_dir).ok();
    data_dir.and_then(|it| token::own(&it)).as_deref() == Some(token)
}

/// True if the user says which server the token in the variable is for.
fn is_named() -> bool {
    env::var(TOKEN_FOR_VARIABLE).is_ok_and(|named| !named.trim().is_empty())
}
