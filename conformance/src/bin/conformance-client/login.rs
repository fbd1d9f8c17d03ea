use std::sync::Arc;

use anyhow::{Context, Result};
use callgate_mcp::wire::{RawJson, Version};
use callgate_oauth::Secret;
use callgate_oauth::fetch::{self, Fetcher};
use callgate_oauth::id_jag::IdentityProvider;
use callgate_oauth::jwt::{Algorithm, SigningKey};
use callgate_oauth::registration::{ClientIdUrl, ClientInfo, ConfiguredClient};
use callgate_oauth::token_source::{Assertion, Config, Grant, TokenSource};

use crate::consent::Agreement;

/// URL of the client metadata document that the suite expects as client id; it is never fetched.
const CLIENT_DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

/// Makes the token keeper for `url`, with the credentials that the suite has put in `context`.
pub(crate) fn keeper(
    scenario: &str,
    url: &str,
    version: Version,
    context: &RawJson,
) -> Result<Arc<TokenSource>> {
    let fetcher = Fetcher::new(fetch::Config::default())?;
    let mut config = Config::new("suite", url.parse()?, fetcher);
    config.protocol_version = version.as_str().to_owned();
    config.consent = Some(Arc::new(Agreement));
    config.metadata_document = Some(ClientIdUrl::parse(CLIENT_DOCUMENT)?);
    if context.get("client_id").is_some() {
        config.client = Some(registered_client(context)?);
    }
    config.grant = grant(scenario, context)?;
    Ok(TokenSource::new(config))
}

/// Client that the suite has registered for this scenario.
fn registered_client(context: &RawJson) -> Result<ConfiguredClient> {
    let mut client = ClientInfo::public(given(context, "client_id")?);
    client.secret = given(context, "client_secret").map(Secret::new).ok();
    if let Ok(pem) = given(context, "private_key_pem") {
        let algorithm = Algorithm::parse(&given(context, "signing_algorithm")?);
        client.key = Some(SigningKey::from_pem(&Secret::new(pem), algorithm)?);
    }
    let mut client = ConfiguredClient::new(client);
    client.issuer = given(context, "issuer").ok();
    Ok(client)
}

fn grant(scenario: &str, context: &RawJson) -> Result<Grant> {
    Ok(match scenario {
        "auth/client-credentials-basic" | "auth/client-credentials-jwt" => Grant::ClientCredentials,
        "auth/enterprise-managed-authorization" => {
            let id_token = Secret::new(given(context, "idp_id_token")?);
            let provider = Box::new(identity_provider(context)?);
            Grant::Enterprise(provider, Assertion::Text(id_token))
        }
        "auth/wif-jwt-bearer" => {
            let jwt = Secret::new(given(context, "valid_jwt")?);
            Grant::WorkloadIdentity(Assertion::Text(jwt))
        }
        _ => Grant::AuthorizationCode,
    })
}

fn identity_provider(context: &RawJson) -> Result<IdentityProvider> {
    let client = ClientInfo::public(given(context, "idp_client_id")?);
    let token_endpoint = given(context, "idp_token_endpoint")?.parse()?;
    let issuer = given(context, "idp_issuer")?;
    Ok(IdentityProvider::new(issuer, token_endpoint, client))
}

fn given(context: &RawJson, name: &str) -> Result<String> {
    let value = context.get(name);
    let text = value.as_ref().and_then(RawJson::text);
    let text = text.with_context(|| format!("the context has no `{name}`"))?;
    Ok(text.into_owned())
}
