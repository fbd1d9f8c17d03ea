use std::path::Path;

use anyhow::anyhow;
use callgate_oauth::Scopes;
use callgate_oauth::keeper::{Config, Grant, Keeper, LogIn as When, ShowCode, Status};
use callgate_oauth::store::ChosenClient;

use super::status;
use crate::args::LogIn;
use crate::error::CommandError;
use crate::logins::Logins;
use crate::{client_choice, consent};

/// Makes sure that there is a login at a server.
pub(super) async fn run(
    args: &LogIn,
    data_dir: Option<&Path>,
    json: bool,
) -> Result<(), CommandError> {
    let logins = Logins::open(data_dir)?;
    let account = logins.account(args.server.as_deref().unwrap_or_default())?;
    let chosen = client_choice::from_args(&args.client)?;
    let mut config = logins.keeper(&account, chosen.as_ref())?;
    config.scopes = scopes(&args.scope)?;
    ask_the_person(args, &mut config).await?;
    let wanted = config.scopes.clone();
    let keeper = Keeper::new(config);
    let known = keeper.status().await;
    let known = known.map_err(|error| CommandError::of_login(error, &account.server))?;
    let when = match args.again || !is_enough(&known, wanted.as_ref(), chosen.as_ref()) {
        true => When::Again,
        false => When::IfNeeded,
    };
    let status = keeper.log_in(when).await;
    let status = status.map_err(|error| CommandError::of_login(error, &account.server))?;
    if let Some(chosen) = &chosen {
        logins.remember(&account, chosen)?;
    }
    status::print_one(&account.name, &status, json)
}

/// Sets up how the person is asked, if it takes one.
async fn ask_the_person(args: &LogIn, config: &mut Config) -> Result<(), CommandError> {
    if args.device {
        config.grant = Grant::DeviceCode(ShowCode::new(consent::show_code));
    }
    if matches!(config.grant, Grant::AuthorizationCode) {
        let is_registered = config.client.is_some();
        config.consent = Some(consent::of_terminal(args, is_registered).await?);
    }
    Ok(())
}

/// Whether a login that works would be the one that is asked for.
fn is_enough(known: &Status, wanted: Option<&Scopes>, chosen: Option<&ChosenClient>) -> bool {
    let has_scopes = wanted.is_none_or(|wanted| {
        let granted = known.scopes.clone().unwrap_or_default();
        granted.union(wanted) == granted
    });
    has_scopes && chosen.is_none_or(|it| known.client_id.as_ref() == Some(&it.client_id))
}

fn scopes(words: &[String]) -> Result<Option<Scopes>, CommandError> {
    let words = words.iter().flat_map(|word| word.split_whitespace());
    let words: Vec<&str> = words.collect();
    let scopes: Scopes = words.iter().collect();
    match words.iter().find(|word| !scopes.contains(word)) {
        Some(word) => Err(CommandError::from(anyhow!("`{word}` cannot be a scope"))
            .hint("write each scope as the server names it, without quotes")),
        None => Ok((!scopes.is_empty()).then_some(scopes)),
    }
}
