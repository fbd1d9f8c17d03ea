//! Authorization request, which the user answers in a browser (OAuth 2.1, section 4.1.1; RFC 7636;
//! RFC 8707).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use url::Url;

use crate::metadata::{AuthorizationServer, MetadataError, ProtectedResource};
use crate::options::ProviderOptions;
use crate::{Challenge, Scopes, Secret};

/// Scope that asks for a refresh token, where it exists.
const OFFLINE_ACCESS: &str = "offline_access";

/// Random values of one login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Nonces {
    /// PKCE verifier, which binds the code to this login.
    pub verifier: Secret,
    /// OAuth state, which binds the redirect to this login.
    pub state: Secret,
}

/// Authorization request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AuthorizationRequest<'a> {
    pub server: &'a AuthorizationServer,
    pub client_id: &'a str,
    pub redirect_uri: &'a str,
    /// Resource that the token is for, unless the provider refuses it.
    pub resource: Option<&'a str>,
    /// Requested scopes; empty means the default ones of the authorization server.
    pub scopes: &'a Scopes,
    /// Thumbprint of the DPoP key, if the token is to be bound.
    pub dpop_jkt: Option<&'a str>,
    pub provider: &'a ProviderOptions,
    pub nonces: &'a Nonces,
}

impl Nonces {
    /// Encodes 32 random bytes each.
    pub(crate) fn new(verifier: [u8; 32], state: [u8; 32]) -> Self {
        Self {
            verifier: Secret::new(URL_SAFE_NO_PAD.encode(verifier)),
            state: Secret::new(URL_SAFE_NO_PAD.encode(state)),
        }
    }

    /// Takes random bytes from the system.
    pub(crate) fn random() -> Result<Self, getrandom::Error> {
        let (mut verifier, mut state) = ([0; 32], [0; 32]);
        getrandom::fill(&mut verifier)?;
        getrandom::fill(&mut state)?;
        Ok(Self::new(verifier, state))
    }

    fn code_challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(Sha256::digest(self.verifier.expose()))
    }
}

impl AuthorizationRequest<'_> {
    /// URL of the authorization page.
    pub(crate) fn url(&self) -> Result<Url, MetadataError> {
        let mut url = self.server.authorization_endpoint()?.clone();
        let mut query = url.query_pairs_mut();
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", self.client_id)
            .append_pair("redirect_uri", self.redirect_uri)
            .append_pair("code_challenge", &self.nonces.code_challenge())
            .append_pair("code_challenge_method", "S256")
            .append_pair("state", self.nonces.state.expose());
        if let Some(resource) = self.resource {
            query.append_pair("resource", resource);
        }
        if !self.scopes.is_empty() {
            query.append_pair("scope", &self.provider.scope(self.scopes));
        }
        if let Some(thumbprint) = self.dpop_jkt {
            query.append_pair("dpop_jkt", thumbprint);
        }
        let params = &self.provider.auth_params;
        if self.scopes.contains(OFFLINE_ACCESS) && !params.decides("prompt") {
            // OpenID Connect providers ignore `offline_access` without an explicit consent.
            query.append_pair("prompt", "consent");
        }
        query.extend_pairs(params.iter());
        drop(query);
        Ok(url)
    }
}

/// Selects the scopes: those of the challenge, else those of the user, else those of the resource
/// metadata.
///
/// No scopes mean the default ones of the authorization server. `offline_access` is added if the
/// authorization server offers it, but not alone, because that would replace the defaults.
pub(crate) fn select_scopes(
    challenge: Option<&Challenge>,
    configured: Option<&Scopes>,
    resource: Option<&ProtectedResource>,
    server: &AuthorizationServer,
) -> Scopes {
    let named = named_scopes(challenge, configured, resource);
    if named.is_empty() {
        return named;
    }
    with_offline_access(&named, server)
}

/// Scopes without `offline_access`, for grants without a user: they need no refresh token.
pub(crate) fn named_scopes(
    challenge: Option<&Challenge>,
    configured: Option<&Scopes>,
    resource: Option<&ProtectedResource>,
) -> Scopes {
    let challenged = challenge.and_then(|challenge| challenge.scope.as_ref());
    let listed = resource.map(|resource| &resource.scopes_supported);
    let named = challenged.or(configured).or(listed);
    named.cloned().unwrap_or_default()
}

/// Adds `offline_access` if the authorization server offers it.
pub(crate) fn with_offline_access(scopes: &Scopes, server: &AuthorizationServer) -> Scopes {
    if server.scopes_supported.contains(OFFLINE_ACCESS) {
        scopes.union(&Scopes::parse(OFFLINE_ACCESS))
    } else {
        scopes.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use url::Url;

    use super::{AuthorizationRequest, Nonces, select_scopes};
    use crate::metadata::{AuthorizationServer, ProtectedResource};
    use crate::options::{ProviderOptions, ScopeSeparator};
    use crate::{Challenge, Scopes};

    fn server(scopes_supported: &str) -> AuthorizationServer {
        let server: Url = "https://as.example".parse().unwrap();
        AuthorizationServer {
            scopes_supported: Scopes::parse(scopes_supported),
            ..AuthorizationServer::assumed(&server)
        }
    }

    #[test]
    fn the_verifier_of_the_specification_has_its_challenge() {
        // RFC 7636, appendix B.
        let verifier = [
            116, 24, 223, 180, 151, 153, 224, 37, 79, 250, 96, 125, 216, 173, 187, 186, 22, 212,
            37, 77, 105, 214, 191, 240, 91, 88, 5, 88, 83, 132, 141, 121,
        ];
        let nonces = Nonces::new(verifier, [0; 32]);
        assert_eq!(
            nonces.verifier.expose(),
            "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        );
        assert_eq!(
            nonces.code_challenge(),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
    }

    #[test]
    fn no_two_logins_share_anything() {
        let made: Vec<Nonces> = (0..8).map(|_| Nonces::random().unwrap()).collect();
        let texts = made
            .iter()
            .flat_map(|it| [it.verifier.expose(), it.state.expose()]);
        assert_eq!(texts.collect::<HashSet<_>>().len(), 16);
    }

    #[test]
    fn the_request_says_all_that_the_specification_demands() {
        let mut server = server("");
        server.authorization_endpoint = Some("https://as.example/a?tenant=1".parse().unwrap());
        let mut provider = ProviderOptions::default();
        let request_with = |scopes: &str, resource, provider: &ProviderOptions| {
            let request = AuthorizationRequest {
                server: &server,
                client_id: "me & you",
                redirect_uri: "http://127.0.0.1:1/cb",
                resource,
                scopes: &Scopes::parse(scopes),
                dpop_jkt: None,
                provider,
                nonces: &Nonces::new([1; 32], [2; 32]),
            };
            String::from(request.url().unwrap())
        };
        let resource = Some("https://a.example/mcp");
        let request = |scopes: &str| request_with(scopes, resource, &ProviderOptions::default());
        let expected = "https://as.example/a?tenant=1&response_type=code&client_id=me+%26+you\
            &redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fcb\
            &code_challenge=VtX6czP210fbQsI5QH5dpMMvTHnzXQkrE0_TWkAtnFw&code_challenge_method=S256\
            &state=AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI&resource=https%3A%2F%2Fa.example%2Fmcp";
        assert_eq!(request(""), expected);
        assert_eq!(request("a b"), format!("{expected}&scope=a+b"));
        assert_eq!(
            request("a offline_access"),
            format!("{expected}&scope=a+offline_access&prompt=consent")
        );

        provider.auth_params.parse("prompt=login").unwrap();
        provider.auth_params.parse("audience=x y").unwrap();
        provider.scope_separator = ScopeSeparator::parse(",").ok();
        let bare = expected.split("&resource").next().unwrap();
        assert_eq!(
            request_with("a offline_access", None, &provider),
            format!("{bare}&scope=a%2Coffline_access&audience=x+y&prompt=login")
        );
        provider.auth_params.parse("prompt=").unwrap();
        assert_eq!(
            request_with("offline_access", None, &provider),
            format!("{bare}&scope=offline_access&audience=x+y")
        );
    }

    #[test]
    fn scopes_come_from_the_most_specific_source() {
        // Challenge, configuration, resource metadata, authorization server metadata, selection.
        let cases = [
            (Some("a"), None, Some("b c"), "a b c", "a"),
            (Some("a"), Some("d"), Some("b"), "", "a"),
            (None, Some("d"), Some("b c"), "", "d"),
            (None, None, Some("b c"), "x", "b c"),
            (None, None, Some(""), "x", ""),
            (None, None, None, "x", ""),
            (None, None, None, "offline_access", ""),
            (
                Some("a"),
                None,
                None,
                "a offline_access",
                "a offline_access",
            ),
            (
                None,
                None,
                Some("b"),
                "b offline_access",
                "b offline_access",
            ),
            (None, None, Some("b"), "b", "b"),
            (
                Some("offline_access a"),
                None,
                None,
                "offline_access",
                "offline_access a",
            ),
        ];
        for (challenge, configured, listed, offered, expected) in cases {
            let challenge = Challenge {
                scope: challenge.map(Scopes::parse),
                ..Challenge::default()
            };
            let resource = listed.map(|listed| ProtectedResource {
                resource: String::new(),
                authorization_servers: Vec::new(),
                scopes_supported: Scopes::parse(listed),
                dpop_bound_access_tokens_required: false,
            });
            let configured = configured.map(Scopes::parse);
            let selected = select_scopes(
                Some(&challenge),
                configured.as_ref(),
                resource.as_ref(),
                &server(offered),
            );
            assert_eq!(
                selected.to_string(),
                expected,
                "{challenge:?} {listed:?} {offered}"
            );
        }
    }
}
