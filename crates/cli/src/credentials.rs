use std::env;
use std::path::Path;
use std::sync::Arc;

use callgate_oauth::is_loopback;
use callgate_oauth::token_source::TokenSource;
use url::Url;

use crate::args::ConnectionArgs;
use crate::client_choice::secret_in;
use crate::data_dir::DataDir;
use crate::error::CommandError;
use crate::logins::Logins;
use crate::token;

const TOKEN_VARIABLE: &str = "CALLGATE_TOKEN";

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
        connection: &ConnectionArgs,
        server: &Url,
        data_dir: Option<&Path>,
    ) -> Result<Self, CommandError> {
        if connection
            .header
            .iter()
            .any(|header| is_authorization(header))
        {
            return Ok(Self::Given);
        }
        if let Some(path) = &connection.token_file {
            let Some(token) = secret_in(path)? else {
                let message = format!("{} holds no token", path.display());
                return Err(CommandError::usage(message).hint("write the token into it"));
            };
            return Ok(Self::Token(token.expose().to_owned()));
        }
        let token = variable(server, data_dir).map(Self::Token);
        // Without a data directory there are no logins.
        let Ok(logins) = Logins::open(data_dir) else {
            return Ok(token.unwrap_or(Self::Given));
        };
        let account = logins.account_at(server, connection.account.as_deref())?;
        // The variable is for other servers too, the login for this one alone.
        if let Some(token) = token
            && connection.account.is_none()
            && !logins.has_tokens(&account)?
        {
            return Ok(token);
        }
        Ok(Self::Login(TokenSource::new(
            logins.token_source_config(&account, None)?,
        )))
    }
}

/// The token in the variable, if `server` may get it. The token of `callgate serve` is never sent to
/// another machine: its owner could use it through any process of this one.
fn variable(server: &Url, data_dir: Option<&Path>) -> Option<String> {
    let text = env::var(TOKEN_VARIABLE).ok()?;
    let token = text.trim();
    let own = || {
        DataDir::locate(data_dir)
            .ok()
            .and_then(|it| token::own(&it))
    };
    let may_be_sent = !token.is_empty() && (is_loopback(server) || own().as_deref() != Some(token));
    may_be_sent.then(|| token.to_owned())
}

fn is_authorization(header: &str) -> bool {
    let name = header.split(':').next().unwrap_or_default();
    name.trim().eq_ignore_ascii_case("authorization")
}
