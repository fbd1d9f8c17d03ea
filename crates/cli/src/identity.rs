//! Identity tokens that logins are made with: from the command line into the store, and from there into logins.

use std::path::Path;

use callgate_oauth::id_jag::IdentityProvider;
use callgate_oauth::registration::ClientInfo;
use callgate_oauth::store::{ChosenIdentity, ChosenProvider};
use callgate_oauth::token_source::{Assertion, Grant};
use url::Url;

use crate::client_choice::{absolute, secret_in};
use crate::error::CommandError;
use crate::login_args;
use crate::logins::http_url;

/// The identity token that the command line names, if any. Secrets stay in their files.
pub(crate) fn from_args(args: &login_args::Client) -> Result<Option<ChosenIdentity>, CommandError> {
    if let Some(file) = &args.workload_identity {
        return Ok(Some(ChosenIdentity::new(absolute(file)?)));
    }
    let login_args::Enterprise {
        enterprise_token: Some(file),
        enterprise_token_endpoint: Some(endpoint),
        enterprise_client_id: Some(client_id),
        enterprise_client_secret_file: secret_file,
    } = &args.enterprise
    else {
        return Ok(None);
    };
    let mut identity = ChosenIdentity::new(absolute(file)?);
    let mut provider = ChosenProvider::new(token_endpoint(endpoint)?, client_id);
    provider.client_secret_file = secret_file.as_deref().map(absolute).transpose()?;
    identity.provider = Some(provider);
    Ok(Some(identity))
}

/// Grant that gets access tokens for an identity token, which is read from its file each time.
pub(crate) fn grant(identity: &ChosenIdentity) -> Result<Grant, CommandError> {
    let token = Assertion::File(identity.token_file.clone().into());
    let Some(provider) = &identity.provider else {
        return Ok(Grant::WorkloadIdentity(token));
    };
    let secret_file = provider.client_secret_file.as_deref().map(Path::new);
    let mut client = ClientInfo::public(&provider.client_id);
    client.secret = secret_file.map(secret_in).transpose()?.flatten();
    // Only a client that authenticates by a key names the issuer.
    let issuer = &provider.token_endpoint;
    let provider = IdentityProvider::new(issuer, token_endpoint(issuer)?, client);
    Ok(Grant::Enterprise(Box::new(provider), token))
}

fn token_endpoint(text: &str) -> Result<Url, CommandError> {
    http_url(text).ok_or_else(|| {
        CommandError::usage(format!("`{text}` is not an http(s) URL"))
            .hint("it is the `token_endpoint` in the metadata of the identity provider")
    })
}
