use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use url::Url;

use super::{EndpointUrl, ExtraParams, RedirectUri, ScopeSeparator};
use crate::Scopes;
use crate::registration::AuthMethod;

/// Options of a login at a provider that does not follow the specification.
///
/// An absent option means the strict default, or the quirk of a known provider. The JSON form is that
/// of the login store and of the configuration of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ProviderOptions {
    /// Parameters to add to the authorization request.
    #[serde(skip_serializing_if = "ExtraParams::is_empty")]
    pub auth_params: ExtraParams,
    /// Parameters to add to each token request.
    #[serde(skip_serializing_if = "ExtraParams::is_empty")]
    pub token_params: ExtraParams,
    /// Set to false to leave out `resource` (RFC 8707).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_resource: Option<bool>,
    /// Redirect URI of a client that was registered by hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirect_uri: Option<RedirectUri>,
    /// Authorization page, instead of the one in the metadata.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorization_endpoint: Option<EndpointUrl>,
    /// Token endpoint, instead of the one in the metadata.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_endpoint: Option<EndpointUrl>,
    /// Client name in a registration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_name: Option<String>,
    /// Client authentication method at the token endpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_auth_method: Option<AuthMethod>,
    /// File with the token that a registration needs (RFC 7591, section 3).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_access_token_file: Option<PathBuf>,
    /// Set to true to accept an authorization server that does not list PKCE in its metadata. PKCE is
    /// used all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_missing_pkce_metadata: Option<bool>,
    /// Separator of scopes in requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope_separator: Option<ScopeSeparator>,
    /// Set to true to let the server name URLs on this machine and on private networks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_private_addresses: Option<bool>,
    /// File with certificates of authorities to trust besides those of the system, in PEM format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
}

impl ProviderOptions {
    /// Returns true if no option is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Takes the options that are absent here from `base`.
    #[must_use]
    pub fn over(self, base: &Self) -> Self {
        Self {
            auth_params: self.auth_params.over(&base.auth_params),
            token_params: self.token_params.over(&base.token_params),
            send_resource: self.send_resource.or(base.send_resource),
            redirect_uri: self.redirect_uri.or_else(|| base.redirect_uri.clone()),
            authorization_endpoint: self
                .authorization_endpoint
                .or_else(|| base.authorization_endpoint.clone()),
            token_endpoint: self.token_endpoint.or_else(|| base.token_endpoint.clone()),
            client_name: self.client_name.or_else(|| base.client_name.clone()),
            client_auth_method: self.client_auth_method.or(base.client_auth_method),
            initial_access_token_file: self
                .initial_access_token_file
                .or_else(|| base.initial_access_token_file.clone()),
            allow_missing_pkce_metadata: self
                .allow_missing_pkce_metadata
                .or(base.allow_missing_pkce_metadata),
            scope_separator: self.scope_separator.or(base.scope_separator),
            allow_private_addresses: self
                .allow_private_addresses
                .or(base.allow_private_addresses),
            ca_file: self.ca_file.or_else(|| base.ca_file.clone()),
        }
    }

    /// Returns true if requests name the resource.
    pub(crate) fn sends_resource(&self) -> bool {
        self.send_resource.unwrap_or(true)
    }

    /// Value of `scope` in requests.
    pub(crate) fn scope(&self, scopes: &Scopes) -> String {
        match self.scope_separator {
            None => scopes.to_string(),
            Some(separator) => {
                let scopes: Vec<&str> = scopes.iter().collect();
                scopes.join(&separator.character().to_string())
            }
        }
    }

    /// Endpoints that are named.
    pub(crate) fn endpoint_urls(&self) -> impl Iterator<Item = &Url> {
        let named = [&self.authorization_endpoint, &self.token_endpoint];
        named.into_iter().flatten().map(EndpointUrl::url)
    }

    /// Authorization page and token endpoint, if both are named.
    pub(crate) fn endpoints(&self) -> Option<(Url, Url)> {
        let authorization = self.authorization_endpoint.as_ref()?;
        let token = self.token_endpoint.as_ref()?;
        Some((authorization.url().clone(), token.url().clone()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::ProviderOptions;
    use crate::options::{EndpointUrl, RedirectUri};
    use crate::registration::AuthMethod;

    #[test]
    fn the_json_form_is_that_of_a_configuration() {
        let full = json!({
            "authParams": {"access_type": "offline", "prompt": "consent"},
            "tokenParams": {"audience": "https://a.example"},
            "sendResource": false,
            "redirectUri": "http://localhost:8123/cb",
            "authorizationEndpoint": "https://as.example/authorize",
            "tokenEndpoint": "https://as.example/token",
            "clientName": "Callgate",
            "clientAuthMethod": "client_secret_post",
            "initialAccessTokenFile": "/secrets/token",
            "allowMissingPkceMetadata": true,
            "scopeSeparator": ",",
            "allowPrivateAddresses": true,
            "caFile": "/etc/ca.pem",
        });
        let options: ProviderOptions = serde_json::from_value(full.clone()).unwrap();
        assert_eq!(
            options.client_auth_method,
            Some(AuthMethod::ClientSecretPost)
        );
        assert_eq!(serde_json::to_value(&options).unwrap(), full);

        let none = ProviderOptions::default();
        assert!(none.is_empty() && !options.is_empty());
        assert_eq!(serde_json::to_value(&none).unwrap(), json!({}));
        assert_eq!(none.over(&options), options);
    }

    #[test]
    fn values_that_no_login_could_use_are_refused() {
        for (member, value, expected) in [
            (
                "authParams",
                json!({"state": "x"}),
                "`state` is set by Callgate",
            ),
            ("redirectUri", json!("https://a.example/cb"), "loopback"),
            ("tokenEndpoint", json!("http://a.example"), "neither https"),
            ("scopeSeparator", json!("ab"), "one character"),
            (
                "clientAuthMethod",
                json!("mtls"),
                "is not an authentication method",
            ),
        ] {
            let error = serde_json::from_value::<ProviderOptions>(json!({ member: value }));
            let error = error.unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn an_option_is_preferred_to_the_one_below_it() {
        let of = |host: &str, prompt: &str, resource| {
            let mut options = ProviderOptions {
                redirect_uri: Some(RedirectUri::parse(host).unwrap()),
                send_resource: Some(resource),
                ..ProviderOptions::default()
            };
            options.auth_params.insert("prompt", prompt).unwrap();
            options
        };
        let mut base = of("http://localhost:1/b", "consent", false);
        base.token_endpoint = Some(EndpointUrl::parse("https://as.example/t").unwrap());
        base.auth_params.insert("audience", "a").unwrap();
        let found = of("http://localhost:2/a", "", true).over(&base);
        let mut expected = of("http://localhost:2/a", "", true);
        expected.auth_params.insert("audience", "a").unwrap();
        expected.token_endpoint.clone_from(&base.token_endpoint);
        assert_eq!(found, expected);
    }
}
