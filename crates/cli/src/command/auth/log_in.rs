use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::Arc;

use anyhow::{Context, anyhow};
use callgate_oauth::Scopes;
use callgate_oauth::callback_listener;
use callgate_oauth::options::ProviderOptions;
use callgate_oauth::store::ChosenClient;
use callgate_oauth::token_source::{
    Config, Grant, LoginMode as When, LoginReason, LoginStatus, NeedsLogin, ShowCode, TokenError,
    TokenSource,
};
use tokio::time::timeout;

use super::{login_check, status};
use crate::client_choice;
use crate::configured_login;
use crate::consent::{self, CallbackMethod};
use crate::error::CommandError;
use crate::login_args::LogIn;
use crate::logins::Logins;
use crate::output;
use crate::provider_choice;
use crate::stop;

/// Logs in to a server, unless there is a login that works or the server needs none.
pub(super) async fn run(
    args: &LogIn,
    config: Option<&Path>,
    data_dir: Option<&Path>,
    json: bool,
) -> Result<(), CommandError> {
    let server = args.server.as_deref().unwrap_or_default();
    let configured = configured_login::find(server, config, data_dir)?;
    let logins = Logins::unlock(data_dir)?;
    let label = args.account.as_deref();
    let account = match &configured {
        Some(it) => logins.account_at(&it.url, label.or(it.login.account.as_deref()))?,
        None => logins.account(server, label)?,
    };
    let login = configured.map(|it| it.login).unwrap_or_default();
    let chosen = client_choice::from_args(&args.client)?;
    let chosen = match (chosen, &login.client) {
        (Some(chosen), _) => Some(chosen),
        (None, Some(client)) => {
            let stored = logins.with_stored_secret(&account, client)?;
            let stored = stored.map(|(client, _)| client);
            Some(stored.unwrap_or_else(|| client.clone()))
        }
        (None, None) => None,
    };
    let known_options = logins.options(&account)?;
    let options = provider_choice::from_args(&args.provider)?;
    let mut options = options.over(&login.options).over(&known_options);
    if args.callback_port.is_some() {
        options.redirect_uri = None;
    }
    let mut config = logins.token_source_config(&account, chosen.as_ref(), &options)?;
    config.scopes = scopes(&args.scope)?.or(login.scopes);
    config.registers_anew = args.again;
    config.initial_access_token = provider_choice::initial_access_token();
    let checked = config.clone();
    if args.device {
        config.grant = Grant::DeviceCode(ShowCode::new(consent::show_code));
    }
    let known_port = logins.callback_port(&account)?;
    let port = args.callback_port.or(login.callback_port).or(known_port);
    let mut stop = pin!(stop::signal().context("cannot listen for signals")?);
    let is_new = args.again || is_changed(&options, &known_options);
    let attempt = log_in_without_user(&config, chosen.as_ref(), is_new, stop.as_mut());
    let outcome = match attempt.await? {
        Err(error) => match needs_user(&error, &config) {
            Some(needed) => log_in_with_user(args, config, port, needed, stop.as_mut()).await?,
            None => Err(error),
        },
        outcome => outcome,
    };
    let mut status = match outcome {
        Err(error) if matches!(*error, TokenError::Unwanted) => {
            return status::print_unwanted(&account.name, &account.server, json);
        }
        outcome => outcome.map_err(|error| CommandError::of_login(error, &account))?,
    };
    if chosen.is_some() || port != known_port || !(options.is_empty() && known_options.is_empty()) {
        let remembered = logins.remember(&account, chosen.as_ref(), port, &options)?;
        status = LoginStatus::of(&remembered);
    }
    let checked = TokenSource::new(checked);
    let check = tokio::select! {
        check = checked.check_login() => check,
        () = stop => return Err(CommandError::interrupted()),
    };
    let check = check.map_err(|error| CommandError::of_login(error, &account))?;
    status::print_checked(&account.name, &status, &check, json)?;
    if let Some(hint) = status::refresh_hint(&status) {
        output::note(&format!("hint: {hint}"));
    }
    login_check::outcome(check, &account, &status)
}

type Outcome = Result<LoginStatus, Arc<TokenError>>;

/// Logs in as far as that is possible without a user at a browser.
///
/// On `stop` it ends soon, but not at once: a token that is issued at this moment would be lost.
async fn log_in_without_user(
    config: &Config,
    chosen: Option<&ChosenClient>,
    is_new: bool,
    stop: Pin<&mut impl Future<Output = ()>>,
) -> Result<Outcome, CommandError> {
    let token_source = TokenSource::new(config.clone());
    let work = async {
        let known = token_source.status().await?;
        let is_enough = !is_new && is_enough(&known, config.scopes.as_ref(), chosen);
        let when = if is_enough {
            When::IfNeeded
        } else {
            When::Again
        };
        let outcome = token_source.log_in(when).await;
        token_source.wait_idle().await;
        outcome
    };
    until(stop, &token_source, work).await
}

/// Waits for `work`. After a signal, a token that is being issued is still stored.
async fn until(
    stop: Pin<&mut impl Future<Output = ()>>,
    token_source: &TokenSource,
    work: impl Future<Output = Outcome>,
) -> Result<Outcome, CommandError> {
    tokio::select! {
        outcome = work => return Ok(outcome),
        () = stop => {}
    }
    let _ = timeout(stop::GRACE, token_source.wait_settled()).await;
    Err(CommandError::interrupted())
}

/// The login that only a user at a browser can give, if that is the error.
fn needs_user<'a>(error: &'a TokenError, config: &Config) -> Option<&'a NeedsLogin> {
    match (error, &config.grant) {
        (TokenError::NeedsLogin(needed), Grant::AuthorizationCode) => Some(needed),
        _ => None,
    }
}

/// Logs in with the consent of the user. The port is bound here and not earlier, since most logins need no consent.
async fn log_in_with_user(
    args: &LogIn,
    mut config: Config,
    port: Option<u16>,
    needed: &NeedsLogin,
    stop: Pin<&mut impl Future<Output = ()>>,
) -> Result<Outcome, CommandError> {
    let usual = callback_listener::Config::default().address.port();
    let method = CallbackMethod {
        port: port.unwrap_or(usual),
        is_registered: config.client.is_some(),
        is_pasted: args.no_browser,
        redirect_uri: config.options.redirect_uri.clone(),
    };
    config.consent = Some(consent::at_terminal(method).await?);
    if let LoginReason::Scopes { scopes } = &needed.reason {
        config.scopes = Some(scopes.clone());
    }
    let token_source = TokenSource::new(config);
    until(stop, &token_source, token_source.log_in(When::Again)).await
}

/// True if a login with the new options would differ from one with those that are known. The redirect
/// URI matters only while the user logs in, and the way to the provider changes nothing there.
fn is_changed(options: &ProviderOptions, known: &ProviderOptions) -> bool {
    let mut options = options.clone();
    options.redirect_uri.clone_from(&known.redirect_uri);
    options.allow_private_addresses = known.allow_private_addresses;
    options.ca_file.clone_from(&known.ca_file);
    options != *known
}

/// True if the stored login is the one that is asked for.
fn is_enough(known: &LoginStatus, wanted: Option<&Scopes>, chosen: Option<&ChosenClient>) -> bool {
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
