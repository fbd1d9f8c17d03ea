//! The options that the user chose for a provider: from the command line into the store and into logins.

use std::env;

use callgate_oauth::Secret;
use callgate_oauth::options::{
    EndpointUrl, ExtraParams, ProviderOptions, RedirectUri, ScopeSeparator,
};
use callgate_oauth::registration::AuthMethod;

use crate::client_choice::absolute;
use crate::error::CommandError;
use crate::login_args;

const INITIAL_TOKEN_VARIABLE: &str = "CALLGATE_INITIAL_ACCESS_TOKEN";

/// The options that are named on the command line.
pub(crate) fn from_args(args: &login_args::Provider) -> Result<ProviderOptions, CommandError> {
    let endpoint = |url: &Option<String>| {
        let url = url.as_deref().map(EndpointUrl::parse);
        url.transpose().map_err(CommandError::usage)
    };
    let mut options = ProviderOptions::default();
    options.auth_params = params(&args.auth_param)?;
    options.token_params = params(&args.token_param)?;
    options.send_resource = args.no_resource.map(|is_left_out| !is_left_out);
    let redirect_uri = args.redirect_uri.as_deref().map(RedirectUri::parse);
    options.redirect_uri = redirect_uri.transpose().map_err(CommandError::usage)?;
    options.authorization_endpoint = endpoint(&args.authorization_endpoint)?;
    options.token_endpoint = endpoint(&args.token_endpoint)?;
    options.client_name.clone_from(&args.client_name);
    let method = args.client_auth_method.clone().map(AuthMethod::try_from);
    options.client_auth_method = method.transpose().map_err(CommandError::usage)?;
    let file = args.initial_access_token_file.as_deref().map(absolute);
    options.initial_access_token_file = file.transpose()?.map(Into::into);
    options.allow_missing_pkce_metadata = args.allow_missing_pkce_metadata;
    let separator = args.scope_separator.as_deref().map(ScopeSeparator::parse);
    options.scope_separator = separator.transpose().map_err(CommandError::usage)?;
    options.allow_private_addresses = args.allow_private_addresses;
    let ca_file = args.ca_file.as_deref().map(absolute).transpose()?;
    options.ca_file = ca_file.map(Into::into);
    Ok(options)
}

/// The token for a registration that is in the environment.
pub(crate) fn initial_access_token() -> Option<Secret> {
    let text = env::var(INITIAL_TOKEN_VARIABLE).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| Secret::new(text))
}

fn params(words: &[String]) -> Result<ExtraParams, CommandError> {
    let mut params = ExtraParams::default();
    for word in words {
        params.parse(word).map_err(CommandError::usage)?;
    }
    Ok(params)
}
