//! Result of the check that ends a login: the error, if the server does not accept the new token.

use anyhow::anyhow;
use callgate_oauth::token_source::{LoginCheck, LoginRefusal, LoginStatus};
use url::Url;

use crate::error::{CHECK_THE_SERVER, CommandError, Exit};
use crate::output::argument;

/// Success if the server accepts the login.
pub(super) fn outcome(
    check: LoginCheck,
    server: &Url,
    status: &LoginStatus,
) -> Result<(), CommandError> {
    match check {
        LoginCheck::Accepted { .. } => Ok(()),
        LoginCheck::Refused(refusal) => Err(refused(&refusal, server, status)),
        LoginCheck::Unknown(error) => Err(untried(error, server)),
        _ => Ok(()),
    }
}

fn untried(error: callgate_mcp::Error, server: &Url) -> CommandError {
    let error = anyhow!(error).context("the login was made and is kept, but it could not be tried");
    let list = format!("callgate list {}", argument(server.as_str()));
    CommandError::new(Exit::Unreachable, error)
        .hint(CHECK_THE_SERVER)
        .hint(format!("to try the login, run `{list}`"))
}

fn refused(refusal: &LoginRefusal, server: &Url, status: &LoginStatus) -> CommandError {
    let error = anyhow!("the login was made, but the server refuses its token: {refusal}");
    let error = CommandError::new(Exit::LoginRequired, error);
    let again = format!("callgate auth {} --again", argument(server.as_str()));
    hints(refusal, status, &again)
        .into_iter()
        .fold(error, CommandError::hint)
}

/// The options that are most likely to lead to another token.
fn hints(refusal: &LoginRefusal, status: &LoginStatus, again: &str) -> Vec<String> {
    let granted = status.scopes.clone().unwrap_or_default();
    if let Some(scopes) = &refusal.scopes
        && granted.union(scopes) != granted
    {
        let scopes = scopes.to_string();
        let options = scopes
            .split_whitespace()
            .map(|scope| format!(" --scope {}", argument(scope)));
        let options: String = options.collect();
        return vec![format!(
            "log in with the scopes that the server names: run `{again}{options}`"
        )];
    }
    vec![
        format!(
            "if the provider wants to know the API that a token is for, as Auth0 does, run `{again} --auth-param audience=API`"
        ),
        format!("if the account has no access there, log in with another one: run `{again}`"),
    ]
}
