use std::env;
use std::path::Path;
use std::sync::Arc;

use callgate_oauth::is_loopback;
use callgate_oauth::options::ProviderOptions;
use callgate_oauth::token_source::TokenSource;
use url::Url;

use crate::args::ServerArgs;
use crate::client_choice::secret_in;
use crate::data_dir::DataDir;
use crate::error::CommandError;
use crate::logins::{Logins, http_url};
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
    /// Finds the credentials: options of this command come first, then those that are stored for the server.
    pub(crate) fn find(
        args: &ServerArgs,
        server: &Url,
        data_dir: Option<&Path>,
        options: &ProviderOptions,
    ) -> Result<Self, CommandError> {
        if args.header.iter().any(|header| is_authorization(header)) {
            return Ok(Self::Given);
        }
        if let Some(path) = &args.token_file {
            let Some(token) = secret_in(path)? else {
                let message = format!("{} holds no token", path.display());
                return Err(CommandError::usage(message).hint("write the token into it"));
            };
            return Ok(Self::Token(token.expose().to_owned()));
        }
        // Without a data directory there are no logins.
        let Ok(logins) = Logins::open(data_dir) else {
            return Ok(variable(server, data_dir)?.map_or(Self::Given, Self::Token));
        };
        let account = logins.account_at(server, args.account.as_deref())?;
        // The login is for this server alone, and tokens of it are refreshed.
        if args.account.is_none()
            && !logins.has_tokens(&account)?
            && let Some(token) = variable(server, data_dir)?
        {
            return Ok(Self::Token(token));
        }
        Ok(Self::Login(TokenSource::new(
            logins.token_source_config(&account, None, options)?,
        )))
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

fn is_authorization(header: &str) -> bool {
    let name = header.split(':').next().unwrap_or_default();
    name.trim().eq_ignore_ascii_case("authorization")
}
