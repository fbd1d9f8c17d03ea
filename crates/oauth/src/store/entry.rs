use callgate_wire::{RawJson, Splice};

use super::checksum;
use super::login::{ClientInfo, Login, Tokens};
use crate::secret::Secret;

/// Reads an entry of the file. What is missing or of the wrong type is not there.
pub(super) fn decode(entry: &RawJson) -> Login {
    Login {
        server_url: text(entry, &["serverUrl"]),
        issuer: text(entry, &["issuer"]),
        tokens: secret(entry, ACCESS_TOKEN).map(|access_token| Tokens {
            access_token,
            token_type: text(entry, TOKEN_TYPE),
            refresh_token: secret(entry, REFRESH_TOKEN),
            expires_at: number(entry, EXPIRES_AT),
            scope: text(entry, SCOPE),
            dpop_key: secret(entry, DPOP_KEY),
        }),
        client: text(entry, CLIENT_ID).map(|client_id| ClientInfo {
            client_id,
            client_secret: secret(entry, CLIENT_SECRET),
            client_id_issued_at: number(entry, ISSUED_AT),
            client_secret_expires_at: number(entry, SECRET_EXPIRES_AT),
        }),
        code_verifier: secret(entry, &["codeVerifier"]),
        oauth_state: secret(entry, &["oauthState"]),
    }
}

/// Writes `new` over `entry`, which was read as `old`, and seals it. Members that did not change or
/// are not known keep their bytes.
pub(super) fn update(entry: &RawJson, old: &Login, new: &Login) -> RawJson {
    let mut replaced = Splice::new(entry);
    if old.tokens.is_none() || new.tokens.is_none() {
        replaced = replaced.remove(&["tokens"]);
    }
    if old.client.is_none() || new.client.is_none() {
        replaced = replaced.remove(&["clientInfo"]);
    }
    let replaced = replaced.finish().expect("an entry is an object");

    let mut edit = Splice::new(&replaced);
    for ((path, before), (_, after)) in members(old).into_iter().zip(members(new)) {
        match after {
            Some(value) if before.as_ref() != Some(&value) => edit = edit.set(path, &value),
            None if before.is_some() && replaced.at(path).is_some() => edit = edit.remove(path),
            _ => {}
        }
    }
    let edited = edit
        .finish()
        .expect("groups that are not objects were replaced");
    checksum::seal(&edited)
}

type Path = &'static [&'static str];

const ACCESS_TOKEN: Path = &["tokens", "accessToken"];
const REFRESH_TOKEN: Path = &["tokens", "refreshToken"];
const EXPIRES_AT: Path = &["tokens", "expiresAt"];
const SCOPE: Path = &["tokens", "scope"];
const TOKEN_TYPE: Path = &["tokens", "tokenType"];
const DPOP_KEY: Path = &["tokens", "dpopKey"];
const CLIENT_ID: Path = &["clientInfo", "clientId"];
const CLIENT_SECRET: Path = &["clientInfo", "clientSecret"];
const ISSUED_AT: Path = &["clientInfo", "clientIdIssuedAt"];
const SECRET_EXPIRES_AT: Path = &["clientInfo", "clientSecretExpiresAt"];

/// Every member that a login has in the file, always in this order.
fn members(login: &Login) -> [(Path, Option<RawJson>); 14] {
    let tokens = login.tokens.as_ref();
    let client = login.client.as_ref();
    let string = |text: Option<&String>| text.map(|text| RawJson::string(text));
    let secret = |secret: Option<&Secret>| secret.map(|secret| RawJson::string(secret.expose()));
    [
        (ACCESS_TOKEN, secret(tokens.map(|it| &it.access_token))),
        (
            REFRESH_TOKEN,
            secret(tokens.and_then(|it| it.refresh_token.as_ref())),
        ),
        (
            EXPIRES_AT,
            encode_number(tokens.and_then(|it| it.expires_at)),
        ),
        (SCOPE, string(tokens.and_then(|it| it.scope.as_ref()))),
        (
            TOKEN_TYPE,
            string(tokens.and_then(|it| it.token_type.as_ref())),
        ),
        (DPOP_KEY, secret(tokens.and_then(|it| it.dpop_key.as_ref()))),
        (CLIENT_ID, string(client.map(|it| &it.client_id))),
        (
            CLIENT_SECRET,
            secret(client.and_then(|it| it.client_secret.as_ref())),
        ),
        (
            ISSUED_AT,
            encode_number(client.and_then(|it| it.client_id_issued_at)),
        ),
        (
            SECRET_EXPIRES_AT,
            encode_number(client.and_then(|it| it.client_secret_expires_at)),
        ),
        (&["codeVerifier"], secret(login.code_verifier.as_ref())),
        (&["oauthState"], secret(login.oauth_state.as_ref())),
        (&["serverUrl"], string(login.server_url.as_ref())),
        (&["issuer"], string(login.issuer.as_ref())),
    ]
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

/// Writes a number as JavaScript does: whole ones without a point. No JSON stands for infinity.
fn encode_number(number: Option<f64>) -> Option<RawJson> {
    let number = number.filter(|number| number.is_finite())?;
    let text = number.to_string();
    RawJson::parse(text.into(), &callgate_wire::Limits::default()).ok()
}

#[cfg(test)]
mod tests {
    use callgate_wire::{Limits, RawJson, Splice};

    use super::{decode, update};
    use crate::secret::Secret;
    use crate::store::login::{ClientInfo, Login, Tokens};

    fn json(text: &str) -> RawJson {
        RawJson::parse_strict(text.to_owned().into(), &Limits::default()).expect("JSON")
    }

    fn full() -> Login {
        Login {
            server_url: Some("https://s/mcp".to_owned()),
            issuer: Some("https://i".to_owned()),
            tokens: Some(Tokens {
                access_token: Secret::new("at"),
                refresh_token: Some(Secret::new("rt")),
                expires_at: Some(1_763_260_000.25),
                scope: Some("a b".to_owned()),
                token_type: Some("DPoP".to_owned()),
                dpop_key: Some(Secret::new("k")),
            }),
            client: Some(ClientInfo {
                client_id: "id".to_owned(),
                client_secret: Some(Secret::new("cs")),
                client_id_issued_at: Some(1_763_000_000.0),
                client_secret_expires_at: Some(0.0),
            }),
            code_verifier: Some(Secret::new("cv")),
            oauth_state: Some(Secret::new("st")),
        }
    }

    const FULL: &str = r#"{"tokens":{"accessToken":"at","refreshToken":"rt","expiresAt":1763260000.25,"scope":"a b","tokenType":"DPoP","dpopKey":"k"},"clientInfo":{"clientId":"id","clientSecret":"cs","clientIdIssuedAt":1763000000,"clientSecretExpiresAt":0},"codeVerifier":"cv","oauthState":"st","serverUrl":"https://s/mcp","issuer":"https://i"}"#;

    /// What `edit` makes of `entry`, without the checksum.
    fn edited(entry: &str, edit: impl FnOnce(&mut Login)) -> String {
        let entry = json(entry);
        let old = decode(&entry);
        let mut new = old.clone();
        edit(&mut new);
        let updated = update(&entry, &old, &new);
        assert_eq!(decode(&updated), new);
        let bare = Splice::new(&updated).remove(&["checksum"]).finish();
        bare.expect("an object").as_str().to_owned()
    }

    #[test]
    fn a_login_is_written_in_the_layout_of_opencode() {
        assert_eq!(edited("{}", |login| *login = full()), FULL);
        assert_eq!(decode(&json(FULL)), full());
        assert_eq!(edited(FULL, |login| *login = Login::default()), "{}");
    }

    #[test]
    fn what_does_not_change_keeps_its_bytes() {
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
    fn what_has_the_wrong_type_is_not_there_and_can_be_replaced() {
        let tokens = Tokens {
            access_token: Secret::new("b"),
            refresh_token: None,
            expires_at: None,
            scope: None,
            token_type: None,
            dpop_key: None,
        };
        for entry in [
            "{}",
            r#"{"tokens":3}"#,
            r#"{"tokens":null,"serverUrl":7}"#,
            r#"{"tokens":{"accessToken":7},"clientInfo":[]}"#,
            r#"{"tokens":{"refreshToken":"x"},"codeVerifier":{}}"#,
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
