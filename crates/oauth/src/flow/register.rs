//! Dynamic registration of the client, once more with less if the server refuses a part of it.

use url::Url;

use super::config::Goal;
use super::error::FlowError;
use super::machine::Flow;
use super::state::{Discovered, FlowState, RegistrationAttempt, RequestContext};
use super::step::Step;
use crate::http_message::Response;
use crate::registration::{
    ClientRegistration, Remedy, registration_request, registration_response,
};

impl Flow {
    /// Requests the registration.
    pub(super) fn register(
        &mut self,
        discovered: Discovered,
        attempt: RegistrationAttempt,
    ) -> Result<Step, FlowError> {
        let provider = &discovered.provider;
        let registration = ClientRegistration {
            server: &discovered.server,
            client_name: provider
                .client_name
                .as_ref()
                .unwrap_or(&self.config.client_name),
            redirect_uri: &attempt.redirect_uri,
            scopes: &discovered.scopes,
            shows_codes: matches!(self.config.goal, Goal::DeviceCode),
            auth_method: provider.client_auth_method,
            initial_access_token: self.config.initial_access_token.as_ref(),
            is_minimal: attempt.is_minimal,
        };
        tracing::debug!(
            client_name = registration.client_name,
            redirect_uri = registration.redirect_uri,
            is_retry = attempt.is_retry,
            "client: none is known, so one is registered"
        );
        let request = registration_request(attempt.endpoint.clone(), &registration);
        self.state = FlowState::Registering(discovered, attempt);
        Ok(Step::Fetch(request))
    }

    /// Uses the registered client, or registers once more with less.
    pub(super) fn registered(
        &mut self,
        discovered: Discovered,
        attempt: RegistrationAttempt,
        response: &Response,
    ) -> Result<Step, FlowError> {
        let mut client = match registration_response(response) {
            Ok(client) => client,
            Err(error) => {
                let remedy = error.remedy().filter(|_| !attempt.is_retry);
                // The user's own redirect URI is the one to use or none.
                let is_fixed = discovered.provider.redirect_uri.is_some();
                return match remedy.and_then(|it| attempt.changed(it, is_fixed)) {
                    Some(attempt) => {
                        tracing::debug!(%error, "registration: refused, trying once more with less");
                        self.register(discovered, attempt)
                    }
                    None => Err(error.into()),
                };
            }
        };
        // Scopes that the registration did not grant will not be granted next time either.
        // They count as covered, so that no login registers again because of them.
        client.scopes = client.scopes.map(|it| it.union(&discovered.scopes));
        if attempt.redirect_uri != self.config.redirect_uri {
            client.redirect_uri = Some(attempt.redirect_uri);
        }
        let context = RequestContext {
            is_new_client: true,
            ..discovered.with_client(client)
        };
        self.ask_user(context)
    }
}

impl RegistrationAttempt {
    pub(super) fn first(endpoint: Url, redirect_uri: &str) -> Self {
        Self {
            endpoint,
            redirect_uri: redirect_uri.to_owned(),
            is_minimal: false,
            is_retry: false,
        }
    }

    /// Second attempt with a change, if there is anything to change.
    fn changed(self, remedy: Remedy, is_fixed: bool) -> Option<Self> {
        let (redirect_uri, is_minimal) = match remedy {
            Remedy::OtherHost if is_fixed => return None,
            Remedy::OtherHost => (other_host(&self.redirect_uri)?, self.is_minimal),
            Remedy::Less => (self.redirect_uri, true),
        };
        Some(Self {
            endpoint: self.endpoint,
            redirect_uri,
            is_minimal,
            is_retry: true,
        })
    }
}

/// The same redirect URI with the other name of this machine: providers accept the name only, or the
/// address only. The listener answers to both.
fn other_host(redirect_uri: &str) -> Option<String> {
    const NAMES: [&str; 2] = ["http://127.0.0.1:", "http://localhost:"];
    let [address, name] = NAMES;
    let swap = |from, to: &str| {
        let rest: Option<&str> = redirect_uri.strip_prefix(from);
        rest.map(|rest| format!("{to}{rest}"))
    };
    swap(address, name).or_else(|| swap(name, address))
}

#[cfg(test)]
mod tests {
    use super::other_host;

    #[test]
    fn this_machine_has_two_names() {
        let cases = [
            ("http://127.0.0.1:1/cb", Some("http://localhost:1/cb")),
            ("http://localhost:1/cb", Some("http://127.0.0.1:1/cb")),
            ("http://[::1]:1/cb", None),
            ("", None),
        ];
        for (uri, expected) in cases {
            assert_eq!(other_host(uri).as_deref(), expected);
        }
    }
}
