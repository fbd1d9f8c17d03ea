use callgate_wire::{RawJson, Splice};

use super::login::{
    ChosenClient, ChosenIdentity, ChosenKind, ChosenProvider, Login, TokenEndpoint, Tokens,
};
use crate::Scopes;
use crate::options::ProviderOptions;
use crate::registration::{AuthMethod, ClientInfo};
use crate::secret::Secret;

/// Decodes an entry of the file. A member of the wrong type counts as absent, because other
/// programs edit the file too.
pub(super) fn decode(entry: &RawJson) -> Login {
    Login {
        server_url: text(entry, SERVER_URL),
        account: text(entry, &["account"]),
        issuer: text(entry, ISSUER),
        token_endpoint: token_endpoint(entry),
        tokens: secret(entry, ACCESS_TOKEN).map(|access_token| Tokens {
            access_token,
            refresh_token: secret(entry, REFRESH_TOKEN),
            expires_at: number(entry, EXPIRES_AT),
            scope: text(entry, SCOPE),
            issued_at: number(entry, ISSUED_AT),
            client_id: text(entry, ISSUED_TO),
            requested_scope: text(entry, REQUESTED_SCOPE),
            token_type: text(entry, TOKEN_TYPE),
            dpop_key: secret(entry, DPOP_KEY),
        }),
        client: text(entry, CLIENT_ID).map(|id| ClientInfo {
            secret: secret(entry, CLIENT_SECRET),
            issued_at: number(entry, CLIENT_ISSUED_AT),
            secret_expires_at: number(entry, SECRET_EXPIRES_AT),
            auth_method: text(entry, AUTH_METHOD).and_then(|name| AuthMethod::parse(&name)),
            redirect_uri: text(entry, REDIRECT_URI),
            scopes: text(entry, CLIENT_SCOPE).map(|text| Scopes::parse(&text)),
            ..ClientInfo::public(id)
        }),
        chosen: text(entry, CHOSEN_ID).map(|client_id| ChosenClient {
            client_id,
            client_secret: secret(entry, CHOSEN_SECRET),
            key_file: text(entry, CHOSEN_KEY_FILE),
            kind: ChosenKind::parse(text(entry, CHOSEN_KIND).as_deref()),
            identity: identity(entry),
        }),
        callback_port: port(entry),
        options: options(entry),
        resource_metadata: text(entry, RESOURCE_METADATA),
        code_verifier: secret(entry, CODE_VERIFIER),
        oauth_state: secret(entry, OAUTH_STATE),
    }
}

fn identity(entry: &RawJson) -> Option<ChosenIdentity> {
    let provider = text(entry, PROVIDER_ENDPOINT).zip(text(entry, PROVIDER_CLIENT_ID));
    Some(ChosenIdentity {
        token_file: text(entry, IDENTITY_FILE)?,
        provider: provider.map(|(token_endpoint, client_id)| ChosenProvider {
            token_endpoint,
            client_id,
            client_secret_file: text(entry, PROVIDER_SECRET_FILE),
        }),
    })
}

fn token_endpoint(entry: &RawJson) -> Option<TokenEndpoint> {
    Some(TokenEndpoint {
        url: text(entry, ENDPOINT_URL)?,
        auth_method: text(entry, ENDPOINT_AUTH_METHOD).and_then(|name| AuthMethod::parse(&name)),
        resource: text(entry, ENDPOINT_RESOURCE)?,
    })
}

fn port(entry: &RawJson) -> Option<u16> {
    entry.at(CALLBACK_PORT)?.decode().ok()
}

fn options(entry: &RawJson) -> ProviderOptions {
    let found = entry.at(OPTIONS).and_then(|it| it.decode().ok());
    found.unwrap_or_default()
}

/// Writes `new` over `entry`, which was decoded as `old`.
///
/// Unchanged and unknown members keep their bytes, so that OpenCode finds its own data again.
pub(super) fn update(entry: &RawJson, old: &Login, new: &Login) -> RawJson {
    let mut replaced = Splice::new(entry);
    // A group that begins or ends is written anew, so that no unknown member of an earlier login stays in it.
    if old.tokens.is_none() || new.tokens.is_none() {
        replaced = replaced.remove(&["tokens"]);
    }
    if old.client.is_none() || new.client.is_none() {
        replaced = replaced.remove(&["clientInfo"]);
    }
    if old.chosen.is_none() || new.chosen.is_none() {
        replaced = replaced.remove(&["chosenClient"]);
    }
    if old.token_endpoint.is_none() || new.token_endpoint.is_none() {
        replaced = replaced.remove(&["tokenEndpoint"]);
    }
    let replaced = replaced.finish().expect("an entry is an object");

    let mut edit = Splice::new(&replaced);
    for ((path, before), (_, after)) in members(old).zip(members(new)) {
        match after {
            Some(value) if before.as_ref() != Some(&value) => edit = edit.set(path, &value),
            None if before.is_some() && replaced.at(path).is_some() => edit = edit.remove(path),
            _ => {}
        }
    }
    if replaced.get(OLD_CHECKSUM).is_some() {
        edit = edit.remove(&[OLD_CHECKSUM]);
    }
    edit.finish()
        .expect("groups that are not objects were replaced")
}

/// Member that earlier versions wrote, and that an edit makes wrong. They would refuse the entry.
const OLD_CHECKSUM: &str = "checksum";

type Path = &'static [&'static str];

const SERVER_URL: Path = &["serverUrl"];
const ISSUER: Path = &["issuer"];
const CODE_VERIFIER: Path = &["codeVerifier"];
const OAUTH_STATE: Path = &["oauthState"];
const ACCESS_TOKEN: Path = &["tokens", "accessToken"];
const REFRESH_TOKEN: Path = &["tokens", "refreshToken"];
const EXPIRES_AT: Path = &["tokens", "expiresAt"];
const SCOPE: Path = &["tokens", "scope"];
const ISSUED_AT: Path = &["tokens", "issuedAt"];
const ISSUED_TO: Path = &["tokens", "clientId"];
const TOKEN_TYPE: Path = &["tokens", "tokenType"];
const DPOP_KEY: Path = &["tokens", "dpopKey"];
const REQUESTED_SCOPE: Path = &["tokens", "requestedScope"];
const CLIENT_ID: Path = &["clientInfo", "clientId"];
const CLIENT_SECRET: Path = &["clientInfo", "clientSecret"];
const CLIENT_ISSUED_AT: Path = &["clientInfo", "clientIdIssuedAt"];
const SECRET_EXPIRES_AT: Path = &["clientInfo", "clientSecretExpiresAt"];
const AUTH_METHOD: Path = &["clientInfo", "tokenEndpointAuthMethod"];
const REDIRECT_URI: Path = &["clientInfo", "redirectUri"];
const CLIENT_SCOPE: Path = &["clientInfo", "scope"];
const CHOSEN_ID: Path = &["chosenClient", "clientId"];
const CHOSEN_SECRET: Path = &["chosenClient", "clientSecret"];
const CHOSEN_KEY_FILE: Path = &["chosenClient", "privateKeyFile"];
const CHOSEN_KIND: Path = &["chosenClient", "kind"];
const IDENTITY_FILE: Path = &["chosenClient", "identityTokenFile"];
const PROVIDER_ENDPOINT: Path = &["chosenClient", "providerTokenEndpoint"];
const PROVIDER_CLIENT_ID: Path = &["chosenClient", "providerClientId"];
const PROVIDER_SECRET_FILE: Path = &["chosenClient", "providerClientSecretFile"];
const ENDPOINT_URL: Path = &["tokenEndpoint", "url"];
const ENDPOINT_AUTH_METHOD: Path = &["tokenEndpoint", "authMethod"];
const ENDPOINT_RESOURCE: Path = &["tokenEndpoint", "resource"];
const CALLBACK_PORT: Path = &["callbackPort"];
const OPTIONS: Path = &["options"];
const RESOURCE_METADATA: Path = &["resourceMetadata"];

/// All secrets.
pub(super) const SECRETS: [Path; 7] = [
    ACCESS_TOKEN,
    REFRESH_TOKEN,
    DPOP_KEY,
    CLIENT_SECRET,
    CHOSEN_SECRET,
    CODE_VERIFIER,
    OAUTH_STATE,
];

/// Members that decide where a secret is sent.
pub(super) const RECIPIENTS: [Path; 4] = [
    SERVER_URL,
    ISSUER,
    ENDPOINT_URL,
    &["options", "tokenEndpoint"],
];

/// Members of a login in the file, in a fixed order.
fn members(login: &Login) -> impl Iterator<Item = (Path, Option<RawJson>)> {
    let own = [
        (CODE_VERIFIER, hidden(login.code_verifier.as_ref())),
        (OAUTH_STATE, hidden(login.oauth_state.as_ref())),
        (SERVER_URL, string(login.server_url.as_deref())),
        (&["account"], string(login.account.as_deref())),
        (ISSUER, string(login.issuer.as_deref())),
        (
            RESOURCE_METADATA,
            string(login.resource_metadata.as_deref()),
        ),
        (
            CALLBACK_PORT,
            encode_number(login.callback_port.map(f64::from)),
        ),
        (OPTIONS, encode_options(&login.options)),
    ];
    let tokens = members_of_tokens(login.tokens.as_ref());
    let client = members_of_client(login.client.as_ref());
    let chosen = members_of_chosen(login.chosen.as_ref());
    let endpoint = members_of_endpoint(login.token_endpoint.as_ref());
    let groups = tokens.into_iter().chain(client).chain(chosen);
    groups.chain(own).chain(endpoint)
}

fn members_of_tokens(tokens: Option<&Tokens>) -> [(Path, Option<RawJson>); 9] {
    let get = |member: fn(&Tokens) -> Option<RawJson>| tokens.and_then(member);
    [
        (ACCESS_TOKEN, get(|it| hidden(Some(&it.access_token)))),
        (REFRESH_TOKEN, get(|it| hidden(it.refresh_token.as_ref()))),
        (EXPIRES_AT, get(|it| encode_number(it.expires_at))),
        (SCOPE, get(|it| string(it.scope.as_deref()))),
        (ISSUED_AT, get(|it| encode_number(it.issued_at))),
        (ISSUED_TO, get(|it| string(it.client_id.as_deref()))),
        (
            REQUESTED_SCOPE,
            get(|it| string(it.requested_scope.as_deref())),
        ),
        (TOKEN_TYPE, get(|it| string(it.token_type.as_deref()))),
        (DPOP_KEY, get(|it| hidden(it.dpop_key.as_ref()))),
    ]
}

fn members_of_client(client: Option<&ClientInfo>) -> [(Path, Option<RawJson>); 7] {
    let get = |member: fn(&ClientInfo) -> Option<RawJson>| client.and_then(member);
    let scopes = client
        .and_then(|it| it.scopes.as_ref())
        .map(ToString::to_string);
    [
        (CLIENT_ID, get(|it| string(Some(&it.id)))),
        (CLIENT_SECRET, get(|it| hidden(it.secret.as_ref()))),
        (CLIENT_ISSUED_AT, get(|it| encode_number(it.issued_at))),
        (
            SECRET_EXPIRES_AT,
            get(|it| encode_number(it.secret_expires_at)),
        ),
        (
            AUTH_METHOD,
            get(|it| string(it.auth_method.map(AuthMethod::name))),
        ),
        (REDIRECT_URI, get(|it| string(it.redirect_uri.as_deref()))),
        (CLIENT_SCOPE, string(scopes.as_deref())),
    ]
}

fn members_of_chosen(chosen: Option<&ChosenClient>) -> [(Path, Option<RawJson>); 8] {
    let identity = chosen.and_then(|it| it.identity.as_ref());
    let provider = identity.and_then(|it| it.provider.as_ref());
    let get = |member: fn(&ChosenClient) -> Option<RawJson>| chosen.and_then(member);
    let at = |member: fn(&ChosenProvider) -> Option<RawJson>| provider.and_then(member);
    [
        (CHOSEN_ID, get(|it| string(Some(&it.client_id)))),
        (CHOSEN_SECRET, get(|it| hidden(it.client_secret.as_ref()))),
        (CHOSEN_KEY_FILE, get(|it| string(it.key_file.as_deref()))),
        (CHOSEN_KIND, get(|it| string(Some(it.kind.name())))),
        (
            IDENTITY_FILE,
            string(identity.map(|it| it.token_file.as_str())),
        ),
        (PROVIDER_ENDPOINT, at(|it| string(Some(&it.token_endpoint)))),
        (PROVIDER_CLIENT_ID, at(|it| string(Some(&it.client_id)))),
        (
            PROVIDER_SECRET_FILE,
            at(|it| string(it.client_secret_file.as_deref())),
        ),
    ]
}

/// Options as one object; none are absent.
fn encode_options(options: &ProviderOptions) -> Option<RawJson> {
    let set = (!options.is_empty()).then_some(options)?;
    RawJson::encode(set).ok()
}

fn members_of_endpoint(endpoint: Option<&TokenEndpoint>) -> [(Path, Option<RawJson>); 3] {
    let method = endpoint.and_then(|it| it.auth_method);
    [
        (ENDPOINT_URL, string(endpoint.map(|it| it.url.as_str()))),
        (ENDPOINT_AUTH_METHOD, string(method.map(AuthMethod::name))),
        (
            ENDPOINT_RESOURCE,
            string(endpoint.map(|it| it.resource.as_str())),
        ),
    ]
}

fn string(text: Option<&str>) -> Option<RawJson> {
    text.map(RawJson::string)
}

fn hidden(secret: Option<&Secret>) -> Option<RawJson> {
    string(secret.map(Secret::expose))
}

fn text(entry: &RawJson, path: Path) -> Option<String> {
    Some(entry.at(path)?.text()?.into_owned())
}

fn secret(entry: &RawJson, path: Path) -> Option<Secret> {
    text(entry, path).map(Secret::new)
}

fn number(entry: &RawJson, path: Path) -> Option<f64> {
    entry.at(path)?.decode().ok()
}

/// Writes a number as JavaScript does: integers without a point. JSON has no infinity.
fn encode_number(number: Option<f64>) -> Option<RawJson> {
    let number = number.filter(|number| number.is_finite())?;
    let text = number.to_string();
    RawJson::parse(text.into(), &callgate_wire::Limits::default()).ok()
}

#[cfg(test)]
mod tests {
    use callgate_wire::{Limits, RawJson};

    use super::{decode, update};
    use crate::Scopes;
    use crate::options::ProviderOptions;
    use crate::registration::{AuthMethod, ClientInfo};
    use crate::secret::Secret;
    use crate::store::login::{
        ChosenClient, ChosenIdentity, ChosenKind, ChosenProvider, Login, TokenEndpoint, Tokens,
    };

    fn json(text: &str) -> RawJson {
        RawJson::parse_strict(text.to_owned().into(), &Limits::default()).expect("JSON")
    }

    fn full() -> Login {
        Login {
            server_url: Some("https://s/mcp".to_owned()),
            account: Some("work".to_owned()),
            issuer: Some("https://i".to_owned()),
            token_endpoint: Some(TokenEndpoint {
                url: "https://i/token".to_owned(),
                auth_method: Some(AuthMethod::ClientSecretPost),
                resource: "https://s/mcp".to_owned(),
            }),
            tokens: Some(Tokens {
                access_token: Secret::new("at"),
                refresh_token: Some(Secret::new("rt")),
                expires_at: Some(1_763_260_000.25),
                scope: Some("a b".to_owned()),
                issued_at: Some(1_763_256_400.0),
                client_id: Some("id".to_owned()),
                requested_scope: Some("a b c".to_owned()),
                token_type: Some("DPoP".to_owned()),
                dpop_key: Some(Secret::new("k")),
            }),
            client: Some(ClientInfo {
                secret: Some(Secret::new("cs")),
                issued_at: Some(1_763_000_000.0),
                secret_expires_at: Some(0.0),
                auth_method: Some(AuthMethod::ClientSecretPost),
                redirect_uri: Some("http://127.0.0.1:9/cb".to_owned()),
                scopes: Some(Scopes::parse("a b c")),
                ..ClientInfo::public("id")
            }),
            chosen: Some(ChosenClient {
                client_id: "chosen".to_owned(),
                client_secret: Some(Secret::new("ccs")),
                key_file: Some("/k.pem".to_owned()),
                kind: ChosenKind::Itself,
                identity: Some(ChosenIdentity {
                    token_file: "/id".to_owned(),
                    provider: Some(ChosenProvider {
                        token_endpoint: "https://idp/token".to_owned(),
                        client_id: "employee".to_owned(),
                        client_secret_file: Some("/s".to_owned()),
                    }),
                }),
            }),
            callback_port: Some(8765),
            options: options(),
            resource_metadata: Some("https://s/meta".to_owned()),
            code_verifier: Some(Secret::new("cv")),
            oauth_state: Some(Secret::new("st")),
        }
    }

    fn options() -> ProviderOptions {
        let text = r#"{"authParams":{"prompt":"consent"},"sendResource":false}"#;
        json(text).decode().expect("options")
    }

    const FULL: &str = r#"{"tokens":{"accessToken":"at","refreshToken":"rt","expiresAt":1763260000.25,"scope":"a b","issuedAt":1763256400,"clientId":"id","requestedScope":"a b c","tokenType":"DPoP","dpopKey":"k"},"clientInfo":{"clientId":"id","clientSecret":"cs","clientIdIssuedAt":1763000000,"clientSecretExpiresAt":0,"tokenEndpointAuthMethod":"client_secret_post","redirectUri":"http://127.0.0.1:9/cb","scope":"a b c"},"chosenClient":{"clientId":"chosen","clientSecret":"ccs","privateKeyFile":"/k.pem","kind":"itself","identityTokenFile":"/id","providerTokenEndpoint":"https://idp/token","providerClientId":"employee","providerClientSecretFile":"/s"},"codeVerifier":"cv","oauthState":"st","serverUrl":"https://s/mcp","account":"work","issuer":"https://i","resourceMetadata":"https://s/meta","callbackPort":8765,"options":{"authParams":{"prompt":"consent"},"sendResource":false},"tokenEndpoint":{"url":"https://i/token","authMethod":"client_secret_post","resource":"https://s/mcp"}}"#;

    /// Result of `edit` on `entry`.
    fn edited(entry: &str, edit: impl FnOnce(&mut Login)) -> String {
        let entry = json(entry);
        let old = decode(&entry);
        let mut new = old.clone();
        edit(&mut new);
        let updated = update(&entry, &old, &new);
        assert_eq!(decode(&updated), new);
        updated.as_str().to_owned()
    }

    #[test]
    fn a_login_is_written_in_the_layout_of_opencode() {
        assert_eq!(edited("{}", |login| *login = full()), FULL);
        assert_eq!(decode(&json(FULL)), full());
        assert_eq!(edited(FULL, |login| *login = Login::default()), "{}");
    }

    #[test]
    fn unchanged_members_keep_their_bytes() {
        let entry = r#"{ "x" : [1e2, "\u00e9"],"tokens": {"y":1.50, "accessToken":"\u0061", "expiresAt":1.76e9 } ,"clientInfo":{"clientId":"i", "z":null}}"#;
        assert_eq!(edited(entry, |_| {}), entry);
        let renewed = edited(entry, |login| {
            login.tokens.as_mut().expect("tokens").access_token = Secret::new("b");
        });
        assert_eq!(renewed, entry.replace(r#""\u0061""#, r#""b""#));
        let with_state = edited(entry, |login| login.oauth_state = Some(Secret::new("s")));
        let expect = entry.replace(r#""z":null}}"#, r#""z":null},"oauthState":"s"}"#);
        assert_eq!(with_state, expect);
    }

    #[test]
    fn the_checksum_of_an_earlier_version_goes_with_the_first_edit() {
        let entry = r#"{"serverUrl":"https://s","checksum":"sha256-x"}"#;
        let after = edited(entry, |login| login.issuer = Some("https://i".to_owned()));
        assert_eq!(after, r#"{"serverUrl":"https://s","issuer":"https://i"}"#);
    }

    #[test]
    fn members_of_the_wrong_type_count_as_missing_and_can_be_replaced() {
        let tokens = Tokens::new(Secret::new("b"));
        for entry in [
            "{}",
            r#"{"tokens":3}"#,
            r#"{"tokens":null,"serverUrl":7}"#,
            r#"{"tokens":{"accessToken":7},"clientInfo":[]}"#,
            r#"{"tokens":{"refreshToken":"x"},"codeVerifier":{}}"#,
            r#"{"options":{"authParams":{"state":"x"}}}"#,
            r#"{"options":7}"#,
        ] {
            assert_eq!(decode(&json(entry)), Login::default(), "{entry}");
            let replaced = edited(entry, |login| login.tokens = Some(tokens.clone()));
            assert!(
                replaced.contains(r#""tokens":{"accessToken":"b"}"#),
                "{replaced}"
            );
        }
        let null = r#"{"tokens":{"accessToken":"a","refreshToken":null,"expiresAt":"soon"}}"#;
        let expect = Tokens {
            access_token: Secret::new("a"),
            ..tokens
        };
        assert_eq!(decode(&json(null)).tokens, Some(expect));
    }
}
