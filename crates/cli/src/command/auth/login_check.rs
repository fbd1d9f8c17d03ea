//! Result of the check that ends a login: the error, if the server does not accept the new token.

use anyhow::anyhow;
use callgate_oauth::token_source::{LoginCheck, LoginRefusal, LoginStatus};

use crate::error::{CHECK_THE_SERVER, CommandError, Exit};
use crate::logins::Account;
use crate::output::argument;

/// Success if the server accepts the login.
pub(super) fn outcome(
    check: LoginCheck,
    account: &Account,
    status: &LoginStatus,
) -> Result<(), CommandError> {
    match check {
        LoginCheck::Accepted { .. } => Ok(()),
        LoginCheck::Refused(refusal) => Err(refused(&refusal, account, status)),
        LoginCheck::Unknown(error) => Err(untried(error, account)),
        _ => Ok(()),
    }
}

fn untried(error: callgate_mcp::Error, account: &Account) -> CommandError {
    let error = anyhow!(error).context("the login was made and is kept, but it could not be tried");
    let list = format!("callgate list {}", account.arguments());
    CommandError::new(Exit::Unreachable, error)
        .hint(CHECK_THE_SERVER)
        .hint(format!("to try the login, run `{list}`"))
}

fn refused(refusal: &LoginRefusal, account: &Account, status: &LoginStatus) -> CommandError {
    let error = anyhow!("the login was made, but the server refuses its token: {refusal}");
    let error = CommandError::new(Exit::LoginRequired, error);
    let again = format!("callgate auth {} --again", account.arguments());
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
