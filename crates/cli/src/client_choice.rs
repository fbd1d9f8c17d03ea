//! The client that the user chose: from the command line into the store, and from there into logins.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use callgate_oauth::Secret;
use callgate_oauth::jwt::SigningKey;
use callgate_oauth::keeper::{Config, Grant};
use callgate_oauth::registration::{Client, ClientIdUrl, ConfiguredClient};
use callgate_oauth::store::{ChosenClient, ChosenKind};

use crate::args;
use crate::error::CommandError;

const SECRET_VARIABLE: &str = "CALLGATE_CLIENT_SECRET";

/// The client that is named on the command line, if one is.
pub(crate) fn from_args(args: &args::Client) -> Result<Option<ChosenClient>, CommandError> {
    if let Some(url) = &args.client_metadata_url {
        described(url)?;
        return Ok(Some(ChosenClient {
            client_id: url.clone(),
            client_secret: None,
            key_file: None,
            kind: ChosenKind::Described,
        }));
    }
    let Some(id) = &args.client_id else {
        return Ok(None);
    };
    let chosen = ChosenClient {
        client_id: id.clone(),
        client_secret: secret(args.client_secret_file.as_deref())?,
        key_file: args.private_key.as_deref().map(absolute).transpose()?,
        kind: match args.client_credentials {
            true => ChosenKind::Itself,
            false => ChosenKind::Registered,
        },
    };
    if args.client_credentials && chosen.client_secret.is_none() && chosen.key_file.is_none() {
        return Err(
            CommandError::usage("the client has nothing to prove itself with")
                .hint("put its secret in the variable CALLGATE_CLIENT_SECRET, or pass --client-secret-file FILE or --private-key FILE"),
        );
    }
    Ok(Some(chosen))
}

/// Has tokens got by the client that the user chose, which only `issuer` is told about, if it is known.
pub(crate) fn apply(
    chosen: &ChosenClient,
    issuer: Option<&str>,
    config: &mut Config,
) -> Result<(), CommandError> {
    if chosen.kind == ChosenKind::Described {
        config.metadata_document = Some(described(&chosen.client_id)?);
        return Ok(());
    }
    let mut client = Client::public(&chosen.client_id);
    client.secret.clone_from(&chosen.client_secret);
    client.key = chosen.key_file.as_deref().map(key).transpose()?;
    config.client = Some(ConfiguredClient {
        client,
        issuer: issuer.map(str::to_owned),
    });
    if chosen.kind == ChosenKind::Itself {
        config.grant = Grant::ClientCredentials;
    }
    Ok(())
}

fn described(url: &str) -> Result<ClientIdUrl, CommandError> {
    let parsed =
        ClientIdUrl::parse(url).with_context(|| format!("`{url}` does not describe a client"));
    parsed.map_err(|error| CommandError::from(error).hint("docs/login.md says what to put there"))
}

fn secret(file: Option<&Path>) -> Result<Option<Secret>, CommandError> {
    let text = match file {
        Some(path) => Some(
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?,
        ),
        None => env::var(SECRET_VARIABLE).ok(),
    };
    let text = text.map(|text| text.trim().to_owned());
    Ok(text.filter(|text| !text.is_empty()).map(Secret::new))
}

fn key(path: &str) -> Result<SigningKey, CommandError> {
    let pem = fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    let key = SigningKey::from_pem(&Secret::new(pem), None)
        .with_context(|| format!("{path} holds no key to sign with"));
    key.map_err(|error| {
        CommandError::from(error)
            .hint("it must be a private key in PKCS#8 PEM, for ES256, RS256 or EdDSA")
    })
}

/// The path as it is found from any directory.
fn absolute(path: &Path) -> Result<String, CommandError> {
    let found: PathBuf =
        fs::canonicalize(path).with_context(|| format!("cannot read {}", path.display()))?;
    let text = found.into_os_string().into_string();
    text.map_err(|path| CommandError::usage(format!("{} is not UTF-8", path.display())))
}
