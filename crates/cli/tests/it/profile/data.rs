use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};
use url::Url;

use super::rule::Rule;

/// A provider as its public documentation describes it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Profile {
    pub(super) name: String,
    /// Options of `callgate auth`.
    #[serde(default)]
    pub(super) options: Vec<String>,
    /// The user registers the client by hand, with this secret if it has one.
    #[serde(default)]
    pub(super) secret: Option<String>,
    /// Reason for the options, or the peculiarity that needs none.
    pub(super) note: String,
    /// URL of the MCP server.
    pub(super) server: String,
    /// The challenge of a request without a token.
    pub(super) challenge: Option<String>,
    /// Old servers know no `server/discover`.
    #[serde(default)]
    pub(super) is_new: bool,
    /// Documents, and the status of paths that are neither found nor missing, by URL.
    pub(super) documents: BTreeMap<String, Value>,
    pub(super) registration: Option<Registration>,
    pub(super) authorization: Authorization,
    /// Endpoint for codes that are entered on another device.
    pub(super) device: Option<Device>,
    pub(super) token: Token,
    /// Demands of the MCP server on the authorization request that led to a token.
    #[serde(default)]
    pub(super) accepts: Vec<Rule>,
}

/// Registration endpoint.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Registration {
    pub(super) url: String,
    /// Demands on the members of the registration; lists are joined by spaces.
    #[serde(default)]
    pub(super) rules: Vec<Rule>,
    /// Members that the response has beside those of the request.
    #[serde(default)]
    pub(super) adds: Map<String, Value>,
    /// Members of the request that the response leaves out.
    #[serde(default)]
    pub(super) drops: Vec<String>,
    /// The initial access token that a registration needs.
    pub(super) initial_access_token: Option<String>,
}

/// Authorization endpoint.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Authorization {
    pub(super) url: String,
    #[serde(default)]
    pub(super) rules: Vec<Rule>,
    /// Rule for the redirect URI of a client that was registered by hand; without one, any is accepted.
    pub(super) redirect: Option<Redirect>,
    /// Parameters of the redirect, beside the usual ones.
    #[serde(default)]
    pub(super) adds: BTreeMap<String, String>,
}

/// Comparison of redirect URIs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Redirect {
    compares: Comparison,
    /// The redirect URI that the user registered.
    #[serde(default)]
    pub(super) registered: String,
    pub(super) error: String,
    pub(super) description: String,
}

#[derive(Debug, Clone, Copy, Deserialize)]
enum Comparison {
    #[serde(rename = "everything")]
    Everything,
    #[serde(rename = "all but the port")]
    AllButThePort,
    /// Any port and path of this machine, without a registration.
    #[serde(rename = "loopback")]
    Loopback,
}

impl Redirect {
    pub(super) fn accepts(&self, uri: &str) -> bool {
        let without_port = |text: &str| {
            let mut url = Url::parse(text).unwrap();
            url.set_port(None).unwrap();
            url
        };
        match self.compares {
            Comparison::Everything => uri == self.registered,
            Comparison::AllButThePort => without_port(uri) == without_port(&self.registered),
            Comparison::Loopback => {
                let url = Url::parse(uri).unwrap();
                let hosts = [Some("localhost"), Some("127.0.0.1"), Some("[::1]")];
                url.scheme() == "http" && hosts.contains(&url.host_str())
            }
        }
    }
}

/// Endpoint for device codes.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Device {
    pub(super) url: String,
    /// The page on which the code is entered.
    pub(super) verification: String,
}

/// Token endpoint.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Token {
    pub(super) url: String,
    /// Way in which a client with a secret proves itself: `none`, `basic`, `post` or `any`.
    pub(super) client: String,
    #[serde(default)]
    pub(super) rules: Vec<Rule>,
    /// Status of a refusal.
    #[serde(default = "bad_request")]
    pub(super) refusal_status: u16,
    #[serde(default = "bearer")]
    pub(super) token_type: Option<String>,
    /// Lifetime as the response writes it.
    pub(super) expires_in: Option<Value>,
    /// Separator of the granted scopes; `list` for a list, `none` if they are missing.
    #[serde(default = "space")]
    pub(super) scope: String,
    /// Refresh tokens: `rotated`, `kept`, `repeated` or `none`.
    pub(super) refresh: String,
    /// Demands on the authorization request without which there is no refresh token.
    #[serde(default)]
    pub(super) refresh_rules: Vec<Rule>,
    /// Further members of the response.
    #[serde(default)]
    pub(super) adds: Map<String, Value>,
}

fn bad_request() -> u16 {
    400
}

fn bearer() -> Option<String> {
    Some("Bearer".to_owned())
}

fn space() -> String {
    " ".to_owned()
}

/// All profiles, in the order of their names.
pub(super) fn all() -> Vec<Profile> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/profile/data");
    let mut profiles: Vec<Profile> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"))
        })
        .collect();
    profiles.sort_by_key(|it| it.name.to_lowercase());
    profiles
}

/// The client that the user registered by hand.
pub(super) const BY_HAND: &str = "client-by-hand";

impl Profile {
    /// Hosts of the provider and of the server.
    pub(super) fn hosts(&self) -> Vec<String> {
        let registration = self.registration.as_ref().map(|it| &it.url);
        let device = self.device.as_ref().map(|it| &it.url);
        let urls = self.documents.keys().chain(registration).chain(device);
        let urls = urls.chain([&self.server, &self.authorization.url, &self.token.url]);
        let host = |url: &String| Url::parse(url).unwrap().host_str().unwrap().to_owned();
        let hosts: BTreeSet<_> = urls.map(host).collect();
        hosts.into_iter().collect()
    }
}
