use std::path::Path;

use callgate_mcp::wire::RawJson;
use callgate_oauth::store::SecretPlace;
use serde::Serialize;

use crate::data_dir::DataDir;
use crate::error::CommandError;
use crate::login_args::StorePlace;
use crate::logins::{self, Logins};
use crate::output;

/// Moves the secrets of all logins to another place, and prints where they are.
pub(super) fn run(
    place: Option<StorePlace>,
    data_dir: Option<&Path>,
    json: bool,
) -> Result<(), CommandError> {
    let logins = Logins::open(data_dir)?;
    let store = logins.store();
    if let Some(place) = place {
        store.move_secrets(match place {
            StorePlace::File => SecretPlace::File,
            StorePlace::Keychain => SecretPlace::Keychain,
        })?;
    }
    let place = store.secret_place()?;
    let path = DataDir::locate(data_dir)?.file(logins::FILE);
    let path = path.display().to_string();
    if json {
        let report = Report {
            store: match place {
                SecretPlace::Keychain => "keychain",
                _ => "file",
            },
            path: &path,
        };
        let report = RawJson::encode(&report).map_err(anyhow::Error::from)?;
        return Ok(output::json(&report)?);
    }
    Ok(output::text(&match place {
        SecretPlace::Keychain => {
            format!("keychain: the secrets in {path} are sealed with a key in the keychain")
        }
        _ => format!("file: the secrets are in {path}, which only you can read"),
    })?)
}

#[derive(Serialize)]
struct Report<'a> {
    store: &'static str,
    path: &'a str,
}
