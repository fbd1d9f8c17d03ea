//! The request that a person answers in a browser (OAuth 2.1, section 4.1.1; RFC 7636; RFC 8707).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use url::Url;

use crate::metadata::{AuthorizationServer, MetadataError, ProtectedResource};
use crate::{Challenge, Scopes, Secret};

/// Refresh tokens are asked for with this scope where it exists.
const OFFLINE_ACCESS: &str = "offline_access";

/// What makes one login different from all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nonces {
    /// Binds the code to whoever asked for it.
    pub verifier: Secret,
    /// Binds the redirect to the request.
    pub state: Secret,
}

/// What to ask for.
#[derive(Clone, Copy, Debug)]
pub struct AuthorizationRequest<'a> {
    /// Whom to ask.
    pub server: &'a AuthorizationServer,
    /// Who asks.
    pub client_id: &'a str,
    /// Where the answer goes.
    pub redirect_uri: &'a str,
    /// The server that the token is for.
    pub resource: &'a str,
    /// What the token is for; empty leaves it to the authorization server.
    pub scopes: &'a Scopes,
    /// The name of the key that the token will be bound to, if it will be.
    pub dpop_jkt: Option<&'a str>,
    /// What makes this request unique.
    pub nonces: &'a Nonces,
}

impl Nonces {
    /// Makes both of 32 bytes of randomness each.
    pub fn new(verifier: [u8; 32], state: [u8; 32]) -> Self {
        Self {
            verifier: Secret::new(URL_SAFE_NO_PAD.encode(verifier)),
            state: Secret::new(URL_SAFE_NO_PAD.encode(state)),
        }
    }

    /// Takes the randomness from the system.
    pub fn random() -> Result<Self, getrandom::Error> {
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
    /// The address to open.
    pub fn url(&self) -> Result<Url, MetadataError> {
        let mut url = self.server.authorization_endpoint()?.clone();
        let mut query = url.query_pairs_mut();
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", self.client_id)
            .append_pair("redirect_uri", self.redirect_uri)
            .append_pair("code_challenge", &self.nonces.code_challenge())
            .append_pair("code_challenge_method", "S256")
            .append_pair("state", self.nonces.state.expose())
            .append_pair("resource", self.resource);
        if !self.scopes.is_empty() {
            query.append_pair("scope", &self.scopes.to_string());
        }
        if let Some(thumbprint) = self.dpop_jkt {
            query.append_pair("dpop_jkt", thumbprint);
        }
        if self.scopes.contains(OFFLINE_ACCESS) {
            // OpenID Connect ignores the scope of whoever does not ask for consent.
            query.append_pair("prompt", "consent");
        }
        drop(query);
        Ok(url)
    }
}

/// Selects what to ask for: what the challenge says, else what the user configured, else what the resource lists.
///
/// Asking for nothing leaves it to the authorization server.
/// `offline_access` joins if the authorization server offers it, but not alone, since that would replace its defaults.
pub fn select_scopes(
    challenge: Option<&Challenge>,
    configured: Option<&Scopes>,
    resource: Option<&ProtectedResource>,
    server: &AuthorizationServer,
) -> Scopes {
    let challenged = challenge.and_then(|challenge| challenge.scope.as_ref());
    let listed = resource.map(|resource| &resource.scopes_supported);
    let selected = challenged.or(configured).or(listed);
    match selected.filter(|scopes| !scopes.is_empty()) {
        None => Scopes::default(),
        Some(scopes) => with_offline_access(scopes, server),
    }
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
        let request = |scopes: &str| {
            let request = AuthorizationRequest {
                server: &server,
                client_id: "me & you",
                redirect_uri: "http://127.0.0.1:1/cb",
                resource: "https://a.example/mcp",
                scopes: &Scopes::parse(scopes),
                dpop_jkt: None,
                nonces: &Nonces::new([1; 32], [2; 32]),
            };
            String::from(request.url().unwrap())
        };
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
    }

    #[test]
    fn scopes_are_selected_by_who_knows_best() {
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
