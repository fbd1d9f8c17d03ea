//! The login settings of a configured server, for commands that name it.

use std::path::Path;

use url::Url;

use crate::config::{LoadOptions, load};
use crate::error::CommandError;
use crate::gateway::spec_of;
use crate::logins::http_url;
use crate::server::{LoginSpec, ServerSpec};

/// A configured server that can be logged in to.
pub(crate) struct ConfiguredLogin {
    pub(crate) url: Url,
    pub(crate) login: LoginSpec,
}

/// The configured server with this name; `None` if there is none, so that the text means something else.
///
/// # Errors
/// The server cannot have a login.
pub(crate) fn find(
    name: &str,
    config: Option<&Path>,
    data_dir: Option<&Path>,
) -> Result<Option<ConfiguredLogin>, CommandError> {
    // A URL needs no configuration, so that a mistake there does not stand in the way.
    if http_url(name).is_some() {
        return Ok(None);
    }
    let configuration = load(&LoadOptions::new(config, data_dir)?)?;
    let Some(server) = configuration.server(name) else {
        return match configuration.faulty(name) {
            Some(faulty) => Err(faulty.error()),
            None => Ok(None),
        };
    };
    match spec_of(server)? {
        ServerSpec::Remote(remote) if remote.login.is_off => {
            let message =
                format!("the configuration turns logins off for `{name}` (`oauth: false`)");
            Err(CommandError::usage(message).hint("remove that line to log in"))
        }
        ServerSpec::Remote(remote) => Ok(Some(ConfiguredLogin {
            url: remote.url,
            login: remote.login,
        })),
        ServerSpec::Process(_) => {
            let message = format!("`{name}` is a command, which has no login");
            Err(CommandError::usage(message)
                .hint("a program gets its credentials from `env` in its definition"))
        }
    }
}
