use std::env;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use callgate_oauth::keeper::Keeper;
use url::Url;

use crate::args::Reach;
use crate::error::CommandError;
use crate::logins::Logins;

const TOKEN_VARIABLE: &str = "CALLGATE_TOKEN";

/// What proves to a server who asks.
pub(crate) enum Credentials {
    /// What the command line says, and nothing else.
    Given,
    /// A token that the user keeps.
    Token(String),
    /// The login at the server, or the news that there is none.
    Login(Arc<Keeper>),
}

impl Credentials {
    /// What is said about this very command comes first, then what is known about the server.
    pub(crate) fn find(
        reach: &Reach,
        server: &Url,
        data_dir: Option<&Path>,
    ) -> Result<Self, CommandError> {
        if reach.header.iter().any(|header| is_authorization(header)) {
            return Ok(Self::Given);
        }
        if let Some(path) = &reach.token_file {
            let token = fs::read_to_string(path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            return Ok(Self::Token(token.trim().to_owned()));
        }
        let token = env::var(TOKEN_VARIABLE).unwrap_or_default();
        let token = token.trim();
        let token = (!token.is_empty()).then(|| Self::Token(token.to_owned()));
        // Where there is no place to keep logins, there are none.
        let Ok(logins) = Logins::open(data_dir) else {
            return Ok(token.unwrap_or(Self::Given));
        };
        let account = logins.account_at(server)?;
        // The variable is for any server, the login for this one alone.
        if let Some(token) = token
            && !logins.has_tokens(&account)?
        {
            return Ok(token);
        }
        Ok(Self::Login(Keeper::new(logins.keeper(&account, None)?)))
    }
}

fn is_authorization(header: &str) -> bool {
    let name = header.split(':').next().unwrap_or_default();
    name.trim().eq_ignore_ascii_case("authorization")
}
