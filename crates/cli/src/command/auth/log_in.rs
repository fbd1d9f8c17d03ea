use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::Arc;

use anyhow::{Context, anyhow};
use callgate_oauth::Scopes;
use callgate_oauth::callback_listener;
use callgate_oauth::keeper::{
    Config, Grant, Keeper, KeeperError, LogIn as When, NeedsLogin, Reason, ShowCode, Status,
};
use callgate_oauth::store::ChosenClient;
use tokio::time::timeout;

use super::status;
use crate::args::LogIn;
use crate::client_choice;
use crate::consent::{self, Way};
use crate::error::CommandError;
use crate::logins::Logins;
use crate::stop;

/// Makes sure that there is a login at a server, if it wants one.
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
    if args.device {
        config.grant = Grant::DeviceCode(ShowCode::new(consent::show_code));
    }
    let known_port = logins.callback_port(&account)?;
    let port = args.callback_port.or(known_port);
    let mut stop = pin!(stop::signal().context("cannot listen for signals")?);
    let alone = log_in_alone(args, &config, chosen.as_ref(), stop.as_mut());
    let outcome = match alone.await? {
        Err(error) => match needs_person(&error, &config) {
            Some(needed) => tokio::select! {
                outcome = ask_the_person(args, config, port, needed) => outcome?,
                () = stop => return Err(CommandError::interrupted()),
            },
            None => Err(error),
        },
        outcome => outcome,
    };
    let mut status = match outcome {
        Err(error) if matches!(*error, KeeperError::Unwanted) => {
            return status::print_unwanted(&account.name, &account.server, json);
        }
        outcome => outcome.map_err(|error| CommandError::of_login(error, &account.server))?,
    };
    if chosen.is_some() || port != known_port {
        status = Status::of(&logins.remember(&account, chosen.as_ref(), port)?);
    }
    status::print_one(&account.name, &status, json)
}

type Outcome = Result<Status, Arc<KeeperError>>;

/// Logs in as far as that takes nobody in front of a browser.
///
/// Who is told to `stop` meanwhile does so soon, but not at once: a token that is being renewed would be lost.
async fn log_in_alone(
    args: &LogIn,
    config: &Config,
    chosen: Option<&ChosenClient>,
    stop: Pin<&mut impl Future<Output = ()>>,
) -> Result<Outcome, CommandError> {
    let keeper = Keeper::new(config.clone());
    let work = async {
        let known = keeper.status().await?;
        let is_enough = !args.again && is_enough(&known, config.scopes.as_ref(), chosen);
        let when = if is_enough {
            When::IfNeeded
        } else {
            When::Again
        };
        let outcome = keeper.log_in(when).await;
        keeper.settle().await;
        outcome
    };
    let outcome = tokio::select! {
        outcome = work => Some(outcome),
        () = stop => None,
    };
    // With a code to enter there is nothing to lose until somebody has entered it.
    if outcome.is_none() && !args.device {
        let _ = timeout(stop::GRACE, keeper.settle()).await;
    }
    outcome.ok_or_else(CommandError::interrupted)
}

/// What only a person in front of a browser can help with.
fn needs_person<'a>(error: &'a KeeperError, config: &Config) -> Option<&'a NeedsLogin> {
    match (error, &config.grant) {
        (KeeperError::NeedsLogin(needed), Grant::AuthorizationCode) => Some(needed),
        _ => None,
    }
}

/// Logs in with the consent of a person. The port is taken now and not before: most often nobody has to be asked.
async fn ask_the_person(
    args: &LogIn,
    mut config: Config,
    port: Option<u16>,
    needed: &NeedsLogin,
) -> Result<Outcome, CommandError> {
    let usual = callback_listener::Config::default().address.port();
    let way = Way {
        port: port.unwrap_or(usual),
        is_registered: config.client.is_some(),
        is_pasted: args.no_browser,
    };
    config.consent = Some(consent::of_terminal(way).await?);
    if let Reason::Scopes { scopes } = &needed.reason {
        config.scopes = Some(scopes.clone());
    }
    Ok(Keeper::new(config).log_in(When::Again).await)
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
