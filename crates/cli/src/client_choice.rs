//! The client that the user chose: from the command line into the store, and from there into logins.

use std::env;
use std::fs;
use std::path::{self, Path};

use anyhow::Context;
use callgate_oauth::Secret;
use callgate_oauth::jwt::SigningKey;
use callgate_oauth::registration::{ClientIdUrl, ClientInfo, ConfiguredClient};
use callgate_oauth::store::{ChosenClient, ChosenKind};
use callgate_oauth::token_source::{Config, Grant};

use crate::error::CommandError;
use crate::{identity, login_args};

const SECRET_VARIABLE: &str = "CALLGATE_CLIENT_SECRET";

/// The client that is named on the command line, if one is.
pub(crate) fn from_args(args: &login_args::Client) -> Result<Option<ChosenClient>, CommandError> {
    if let Some(url) = &args.client_metadata_url {
        described(url)?;
        return Ok(Some(ChosenClient::new(url, ChosenKind::Described)));
    }
    let Some(id) = &args.client_id else {
        return Ok(None);
    };
    let identity = identity::from_args(args)?;
    let kind = if args.client_credentials || identity.is_some() {
        ChosenKind::Itself
    } else {
        ChosenKind::Registered
    };
    let mut chosen = ChosenClient::new(id, kind);
    chosen.client_secret = secret(args.client_secret_file.as_deref())?;
    chosen.key_file = args.private_key.as_deref().map(absolute).transpose()?;
    chosen.identity = identity;
    if args.client_credentials && chosen.client_secret.is_none() && chosen.key_file.is_none() {
        return Err(
            CommandError::usage("the client has neither a secret nor a key")
                .hint("put its secret in the variable CALLGATE_CLIENT_SECRET, or pass --client-secret-file FILE or --private-key FILE"),
        );
    }
    Ok(Some(chosen))
}

/// Configures the client that the user chose; if `issuer` is given, its id and secret are sent to no other.
pub(crate) fn apply(
    chosen: &ChosenClient,
    issuer: Option<&str>,
    config: &mut Config,
) -> Result<(), CommandError> {
    if chosen.kind == ChosenKind::Described {
        config.metadata_document = Some(described(&chosen.client_id)?);
        return Ok(());
    }
    let mut client = ClientInfo::public(&chosen.client_id);
    client.secret.clone_from(&chosen.client_secret);
    client.key = chosen.key_file.as_deref().map(key).transpose()?;
    let mut configured = ConfiguredClient::new(client);
    configured.issuer = issuer.map(str::to_owned);
    config.client = Some(configured);
    if let Some(identity) = &chosen.identity {
        config.grant = identity::grant(identity)?;
    } else if chosen.kind == ChosenKind::Itself {
        config.grant = Grant::ClientCredentials;
    }
    Ok(())
}

fn described(url: &str) -> Result<ClientIdUrl, CommandError> {
    let parsed =
        ClientIdUrl::parse(url).with_context(|| format!("`{url}` does not describe a client"));
    parsed.map_err(|error| {
        CommandError::from(error).hint("docs/login.md describes the document that belongs there")
    })
}

fn secret(file: Option<&Path>) -> Result<Option<Secret>, CommandError> {
    let text = match file {
        Some(path) => return secret_in(path),
        None => env::var(SECRET_VARIABLE).unwrap_or_default(),
    };
    Ok(trimmed(&text))
}

/// The secret in a file, if there is one in it.
pub(crate) fn secret_in(path: &Path) -> Result<Option<Secret>, CommandError> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(trimmed(&text))
}

fn trimmed(text: &str) -> Option<Secret> {
    let text = text.trim();
    (!text.is_empty()).then(|| Secret::new(text))
}

fn key(path: &str) -> Result<SigningKey, CommandError> {
    let pem = fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    let key = SigningKey::from_pem(&Secret::new(pem), None)
        .with_context(|| format!("{path} holds no key to sign with"));
    key.map_err(|error| {
        CommandError::from(error)
            .hint("it must be a private key in PKCS#8 PEM, for ES256, ES384, RS256 or EdDSA")
    })
}

/// The path as it is found from any directory. Links in it stay, since they may lead elsewhere tomorrow.
pub(crate) fn absolute(path: &Path) -> Result<String, CommandError> {
    let found = path::absolute(path).with_context(|| format!("cannot find {}", path.display()))?;
    let text = found.into_os_string().into_string();
    text.map_err(|path| CommandError::usage(format!("{} is not UTF-8", path.display())))
}
