use std::collections::BTreeSet;
use std::env;
use std::sync::{Arc, Mutex, PoisonError};

use url::Url;

use crate::config::definition::{Connection, ServerDefinition};
use crate::config::secret_text::looks_random;
use crate::config::template::Template;
use crate::server::ServerSpec;

/// Values that are never shown. Clones share them: credentials come while the connection is in use.
#[derive(Debug, Clone, Default)]
pub(crate) struct Secrets(Arc<Mutex<BTreeSet<String>>>);

/// Shortest value that is hidden; shorter ones occur in texts by chance.
const SHORTEST: usize = 6;

/// Maximum number of values; a connection has a few, and new ones only when a token is refreshed.
const MOST: usize = 4096;

/// Variables that are no secrets, although a configuration may name them.
const PLAIN_VARIABLES: [&str; 8] = [
    "HOME", "USER", "PATH", "PWD", "SHELL", "LANG", "TERM", "TMPDIR",
];

impl Secrets {
    /// Adds a value, and the credentials in it if it has a scheme such as `Bearer` in front.
    pub(crate) fn add(&self, value: &str) {
        let value = value.trim();
        let credentials = value.split_once(' ').map_or(value, |(_, rest)| rest);
        let mut values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for secret in [value, credentials.trim()] {
            if secret.len() >= SHORTEST && values.len() < MOST {
                values.insert(secret.to_owned());
            }
        }
    }

    /// Adds a value as a URL writes it, in its path and in its query.
    fn add_as_in_url(&self, value: &str) {
        for start in ["http://host/", "http://host/?"] {
            let url = Url::parse(&format!("{start}{value}"));
            if let Some(written) = url
                .as_ref()
                .ok()
                .and_then(|it| it.as_str().strip_prefix(start))
            {
                self.add(written);
            }
        }
    }

    /// The text with `mask` in place of each value, the longest first.
    pub(super) fn hide(&self, text: &str, mask: &str) -> String {
        let values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found: Vec<&str> = values
            .iter()
            .map(String::as_str)
            .filter(|value| text.contains(value))
            .collect();
        found.sort_by_key(|value| std::cmp::Reverse(value.len()));
        found
            .iter()
            .fold(text.to_owned(), |text, value| text.replace(value, mask))
    }
}

/// Adds the values that a connection is made with: variables, headers, contents of files, and of the URL the password,
/// the query and what looks like a secret in its path.
pub(crate) fn secrets_of_spec(spec: &ServerSpec, secrets: &Secrets) {
    match spec {
        ServerSpec::Process(process) => {
            process.file_values.iter().for_each(|it| secrets.add(it));
            let variables = process.env.iter();
            variables
                .filter(|(name, _)| !PLAIN_VARIABLES.contains(&name.as_str()))
                .for_each(|(_, value)| secrets.add(value));
        }
        ServerSpec::Remote(remote) => {
            remote
                .headers
                .iter()
                .for_each(|(_, value)| secrets.add(value));
            if let Some(password) = remote.url.password() {
                secrets.add(password);
            }
            for (_, value) in remote.url.query_pairs() {
                secrets.add(&value);
            }
            let parts = remote.url.path().split('/');
            parts
                .filter(|part| looks_random(part))
                .for_each(|part| secrets.add(part));
            for value in &remote.file_values {
                secrets.add(value);
                secrets.add_as_in_url(value);
            }
            let client = remote.login.client.as_ref();
            if let Some(secret) = client.and_then(|it| it.client_secret.as_ref()) {
                secrets.add(secret.expose());
            }
        }
    }
}

/// The values that a configured server is connected with.
pub(crate) fn secrets_of_configured(definition: &ServerDefinition, spec: &ServerSpec) -> Secrets {
    let secrets = Secrets::default();
    secrets_of_spec(spec, &secrets);
    secrets_of_definition(definition, &secrets);
    secrets
}

/// Adds the values of the variables that a definition names.
pub(crate) fn secrets_of_definition(definition: &ServerDefinition, secrets: &Secrets) {
    let mut templates: Vec<&Template> = Vec::new();
    match &definition.connection {
        Connection::Command(command) => {
            templates.extend(&command.args);
            templates.extend(command.env.iter().map(|(_, value)| value));
        }
        Connection::Url(url) => {
            templates.push(&url.url);
            templates.extend(url.headers.iter().map(|(_, value)| value));
            templates.extend(&url.headers_helper);
        }
    }
    let names = templates.iter().flat_map(|it| it.variable_names());
    for name in names.filter(|name| !PLAIN_VARIABLES.contains(name)) {
        if let Ok(value) = env::var(name) {
            secrets.add(&value);
            if matches!(definition.connection, Connection::Url(_)) {
                secrets.add_as_in_url(&value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Secrets;

    #[test]
    fn the_longest_value_is_hidden_first_and_short_ones_stay() {
        let secrets = Secrets::default();
        for value in ["Bearer canary", "canary-and-more", "on", " spaced-out\n"] {
            secrets.add(value);
        }
        assert_eq!(
            secrets.hide("on Bearer canary, canary-and-more: spaced-out", "***"),
            "on ***, ***: ***"
        );
        assert_eq!(secrets.hide("a canary", "***"), "a ***");
    }

    #[test]
    fn the_number_of_values_is_limited() {
        let secrets = Secrets::default();
        for number in 0..=super::MOST {
            secrets.add(&format!("secret-{number:06}"));
        }
        let shown = |number: usize| secrets.hide(&format!("secret-{number:06}"), "***");
        assert_eq!(
            (shown(0).as_str(), shown(super::MOST)),
            ("***", "secret-004096".to_owned())
        );
    }
}
