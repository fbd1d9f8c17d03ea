use std::path::Path;

use callgate_mcp::wire::RawJson;
use callgate_oauth::token_source::{Revocation, TokenSource};
use serde::Serialize;

use crate::configured_login;
use crate::error::CommandError;
use crate::login_args::Logout;
use crate::logins::Logins;
use crate::output;

/// Revokes the tokens of a login and removes it from the store.
pub(crate) async fn run(
    args: &Logout,
    config: Option<&Path>,
    data_dir: Option<&Path>,
    json: bool,
) -> Result<(), CommandError> {
    let configured = configured_login::find(&args.server, config, data_dir)?;
    let logins = Logins::unlock(data_dir)?;
    let label = args.account.as_deref();
    let account = match &configured {
        Some(it) => logins.account_at(&it.url, label.or(it.login.account.as_deref()))?,
        None => logins.account(&args.server, label)?,
    };
    let token_source = {
        let options = logins.options(&account)?;
        TokenSource::new(logins.token_source_config(&account, None, &options)?)
    };
    let revocation = token_source
        .log_out()
        .await
        .map_err(|error| CommandError::of_login(error, &account))?;
    if json {
        let report = Report {
            name: &account.name,
            revocation: word(revocation),
        };
        return Ok(output::json(
            &RawJson::encode(&report).map_err(anyhow::Error::from)?,
        )?);
    }
    Ok(output::text(&sentence(&account.name, revocation))?)
}

#[derive(Serialize)]
struct Report<'a> {
    name: &'a str,
    revocation: &'static str,
}

fn word(revocation: Revocation) -> &'static str {
    match revocation {
        Revocation::Revoked => "revoked",
        Revocation::Unsupported => "unsupported",
        Revocation::Failed => "failed",
        Revocation::NoLogin => "no_login",
        _ => "unknown",
    }
}

fn sentence(name: &str, revocation: Revocation) -> String {
    match revocation {
        Revocation::Revoked => format!("logged out of {name}; its tokens are revoked"),
        Revocation::Unsupported => format!(
            "logged out of {name}; its authorization server cannot revoke tokens, so they stay valid until they expire"
        ),
        Revocation::Failed => format!(
            "logged out of {name}; its authorization server did not revoke the tokens, so they stay valid until they expire"
        ),
        Revocation::NoLogin => format!("there was no login at {name}"),
        _ => format!("logged out of {name}"),
    }
}
