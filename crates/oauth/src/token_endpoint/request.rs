use crate::http_message::Request;
use crate::jwt::SignError;
use crate::metadata::AuthorizationServer;
use crate::options::ProviderOptions;
use crate::registration::ClientInfo;
use crate::{Scopes, Secret};

use super::authentication::Authentication;

/// Grant type of the device code (RFC 8628).
pub(crate) const DEVICE_CODE: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// Grant type of an assertion (RFC 7523).
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// Grant of a token request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum GrantForm<'a> {
    /// Code of a redirect.
    AuthorizationCode {
        code: &'a Secret,
        verifier: &'a Secret,
        /// Redirect URI of the authorization request, which must be repeated.
        redirect_uri: &'a str,
    },
    RefreshToken(&'a Secret),
    /// Client credentials: no user is involved.
    ClientCredentials,
    /// Assertion that an issuer signed whom the authorization server trusts.
    JwtBearer(&'a Secret),
    DeviceCode(&'a Secret),
}

/// Token request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenRequest<'a> {
    pub server: &'a AuthorizationServer,
    pub client: &'a ClientInfo,
    pub grant: GrantForm<'a>,
    /// Resource that the token is for (RFC 8707), unless the provider refuses it.
    pub resource: Option<&'a str>,
    /// Scopes, for grants that have not named them before.
    pub scopes: &'a Scopes,
    pub provider: &'a ProviderOptions,
}

impl TokenRequest<'_> {
    /// HTTP request at the time `now`, in Unix seconds.
    pub(crate) fn request(&self, now: u64) -> Result<Request, SignError> {
        let mut fields = self.grant.fields();
        fields.extend(self.resource.map(|resource| ("resource", resource)));
        let scope = self.provider.scope(self.scopes);
        if self.grant.needs_scope() && !scope.is_empty() {
            fields.push(("scope", &scope));
        }
        fields.extend(self.provider.token_params.iter());
        let endpoint = self.server.token_endpoint.clone();
        Authentication::at(self.server, self.client).form(endpoint, &fields, now)
    }
}

impl<'a> GrantForm<'a> {
    fn fields(&self) -> Vec<(&'a str, &'a str)> {
        match *self {
            Self::AuthorizationCode {
                code,
                verifier,
                redirect_uri,
            } => vec![
                ("grant_type", "authorization_code"),
                ("code", code.expose()),
                ("code_verifier", verifier.expose()),
                ("redirect_uri", redirect_uri),
            ],
            Self::RefreshToken(token) => vec![
                ("grant_type", "refresh_token"),
                ("refresh_token", token.expose()),
            ],
            Self::ClientCredentials => vec![("grant_type", "client_credentials")],
            Self::JwtBearer(assertion) => vec![
                ("grant_type", JWT_BEARER),
                ("assertion", assertion.expose()),
            ],
            Self::DeviceCode(code) => {
                vec![("grant_type", DEVICE_CODE), ("device_code", code.expose())]
            }
        }
    }

    /// Returns true if no earlier request has named the scopes.
    fn needs_scope(&self) -> bool {
        matches!(self, Self::ClientCredentials | Self::JwtBearer(_))
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::{GrantForm, TokenRequest};
    use crate::metadata::AuthorizationServer;
    use crate::options::{ProviderOptions, ScopeSeparator};
    use crate::registration::{AuthMethod, ClientInfo};
    use crate::{Scopes, Secret};

    fn check(grant: GrantForm<'_>, method: AuthMethod, body: &str, authorization: Option<&str>) {
        let server: Url = "https://as.example".parse().unwrap();
        let client = ClientInfo {
            secret: (method != AuthMethod::None).then(|| Secret::new("s:%")),
            auth_method: Some(method),
            ..ClientInfo::public("a b")
        };
        let request = TokenRequest {
            server: &AuthorizationServer::assumed(&server),
            client: &client,
            grant,
            resource: Some("https://a.example/mcp"),
            scopes: &Scopes::parse("x y"),
            provider: &ProviderOptions::default(),
        }
        .request(7)
        .unwrap();
        assert_eq!(request.url.as_str(), "https://as.example/token");
        assert_eq!(request.body.as_ref().map(Secret::expose), Some(body));
        let headers: Vec<_> = request
            .headers
            .iter()
            .map(|(name, value)| (*name, value.expose()))
            .collect();
        let mut expected = vec![
            ("accept", "application/json"),
            ("content-type", "application/x-www-form-urlencoded"),
        ];
        expected.extend(authorization.map(|value| ("authorization", value)));
        assert_eq!(headers, expected);
    }

    #[test]
    fn every_grant_names_the_resource() {
        let (code, verifier) = (Secret::new("c"), Secret::new("v"));
        let grant = GrantForm::AuthorizationCode {
            code: &code,
            verifier: &verifier,
            redirect_uri: "http://127.0.0.1:1/cb",
        };
        check(
            grant,
            AuthMethod::None,
            "grant_type=authorization_code&code=c&code_verifier=v&redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fcb\
             &resource=https%3A%2F%2Fa.example%2Fmcp&client_id=a+b",
            None,
        );
        check(
            GrantForm::RefreshToken(&Secret::new("r")),
            AuthMethod::None,
            "grant_type=refresh_token&refresh_token=r&resource=https%3A%2F%2Fa.example%2Fmcp&client_id=a+b",
            None,
        );
        check(
            GrantForm::DeviceCode(&Secret::new("d")),
            AuthMethod::None,
            "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code&device_code=d\
             &resource=https%3A%2F%2Fa.example%2Fmcp&client_id=a+b",
            None,
        );
        check(
            GrantForm::JwtBearer(&Secret::new("j")),
            AuthMethod::None,
            "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=j\
             &resource=https%3A%2F%2Fa.example%2Fmcp&scope=x+y&client_id=a+b",
            None,
        );
    }

    #[test]
    fn a_provider_may_want_more_or_less() {
        let server: Url = "https://as.example".parse().unwrap();
        let mut provider = ProviderOptions::default();
        provider.token_params.parse("audience=a").unwrap();
        provider.scope_separator = ScopeSeparator::parse(",").ok();
        let request = TokenRequest {
            server: &AuthorizationServer::assumed(&server),
            client: &ClientInfo::public("me"),
            grant: GrantForm::ClientCredentials,
            resource: None,
            scopes: &Scopes::parse("x y"),
            provider: &provider,
        };
        let body = request.request(7).unwrap().body.unwrap();
        let expected = "grant_type=client_credentials&scope=x%2Cy&audience=a&client_id=me";
        assert_eq!(body.expose(), expected);
    }

    #[test]
    fn a_client_proves_itself_in_one_way() {
        let fields =
            "grant_type=client_credentials&resource=https%3A%2F%2Fa.example%2Fmcp&scope=x+y";
        let grant = GrantForm::ClientCredentials;
        check(
            grant,
            AuthMethod::ClientSecretPost,
            &format!("{fields}&client_id=a+b&client_secret=s%3A%25"),
            None,
        );
        check(
            grant,
            AuthMethod::ClientSecretBasic,
            &format!("{fields}&client_id=a+b"),
            // `a%20b:s%3A%25`
            Some("Basic YSUyMGI6cyUzQSUyNQ=="),
        );
    }
}
