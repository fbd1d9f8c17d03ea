use callgate_mcp::Caller;
use callgate_mcp::transport::http::server::{Presented, TokenVerifier};
use callgate_oauth::resource::Verifier;
use ring::hmac;
use serde_json::{Value, json};

use crate::issuer::{Issuer, KEYS, Key, encode};
use crate::verifying::{OWN, claims, now, verifier, verify};

const MALFORMED: &str = "the token is not a signed JWT";
const ALGORITHM: &str = "the signing algorithm of the token is not accepted";
const TYPE: &str = "the token is not an access token";
const CRITICAL: &str = "the token needs an extension that is not known here";
const CLAIMS: &str = "a claim of the token is missing or malformed";
const ISSUER: &str = "the token was issued by another issuer";
const AUDIENCE: &str = "the token is for another resource";
const EXPIRED: &str = "the token has expired";
const NOT_YET: &str = "the token is not valid yet";
const BOUND: &str = "the token is bound to a key and cannot be used as a bearer token";
const KEY: &str = "the key that signed the token is not known";
const SIGNATURE: &str = "the signature of the token is wrong";
const TOO_LONG: &str = "the token is too long";
const SCOPE: &str = "the token lacks a scope";

/// Name, token, and the answer to it.
type Row = (&'static str, String, &'static str);

/// Issuer with one key, a server that trusts it, and an attacker with a key of the same id.
struct Scene {
    issuer: Issuer,
    key: Key,
    stranger: Key,
    verifier: Verifier,
}

impl Scene {
    async fn new() -> Self {
        let key = Key::new("k");
        let issuer = Issuer::start(&[&key]).await;
        Self {
            verifier: verifier(&issuer),
            stranger: Key::new("k"),
            issuer,
            key,
        }
    }

    fn claims(&self, changes: Value) -> Value {
        claims(&self.issuer, changes)
    }

    /// A token that the issuer itself signed.
    fn with_claims(&self, changes: Value) -> String {
        self.key.token(&self.claims(changes))
    }

    /// A token that the issuer itself signed, with another header.
    fn with_header(&self, header: &Value) -> String {
        let claims = self.claims(json!({}));
        self.key.sign(&header.to_string(), &claims.to_string())
    }

    /// A token with claims that are text, which the issuer signed.
    fn with_text(&self, text: &str) -> String {
        self.key.sign(r#"{"alg":"ES256","kid":"k"}"#, text)
    }

    /// Token without a signature of the issuer.
    fn unsigned(&self, header: &Value, signature: impl AsRef<[u8]>) -> String {
        let (header, claims) = (header.to_string(), self.claims(json!({})).to_string());
        format!(
            "{}.{}.{}",
            encode(header),
            encode(claims),
            encode(signature)
        )
    }

    /// Token that is signed with public text as the secret.
    fn symmetric(&self, secret: impl AsRef<[u8]>) -> String {
        let unsigned = self.unsigned(&json!({"alg": "HS256", "kid": "k"}), "");
        let message = unsigned.strip_suffix('.').unwrap();
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_ref());
        format!("{message}.{}", encode(hmac::sign(&key, message.as_bytes())))
    }

    async fn check(&self, rows: Vec<Row>) -> usize {
        let count = rows.len();
        for (name, token, expected) in rows {
            let found = verify(&self.verifier, token).await;
            assert_eq!(found, Err(expected.to_owned()), "{name}");
        }
        count
    }
}

#[tokio::test]
async fn good_tokens_are_accepted() {
    let scene = Scene::new().await;
    let header = |header: Value| scene.with_header(&header);
    for token in [
        scene.with_claims(json!({})),
        scene.with_claims(json!({"aud": ["https://other.example", OWN]})),
        scene.with_claims(json!({"scope": null, "scp": ["read"]})),
        scene.with_claims(json!({"exp": now() - 30, "nbf": now() + 30})),
        header(json!({"alg": "ES256", "kid": "k", "typ": "JWT"})),
        header(json!({"alg": "ES256", "kid": "k", "typ": "application/at+jwt"})),
        header(json!({"alg": "ES256", "kid": "k"})),
        header(json!({"alg": "ES256"})),
    ] {
        assert_eq!(
            verify(&scene.verifier, &token).await,
            Ok("alice".to_owned())
        );
    }
    assert_eq!(scene.issuer.count(KEYS), 1);
}

#[tokio::test]
async fn a_caller_is_a_subject_of_the_issuer() {
    let scene = Scene::new().await;
    for subject in ["alice", "operator", "a#b", "\u{e9}"] {
        let token = scene.with_claims(json!({"sub": subject}));
        let found = scene
            .verifier
            .verify(Some(Presented::Bearer(token.as_bytes())))
            .await;
        let name = format!("{}#{subject}", scene.issuer.url);
        assert_eq!(found, Ok(Caller::named(&name)));
    }
}

#[tokio::test]
async fn hostile_tokens_are_refused() {
    let scene = Scene::new().await;
    let mut count = 0;
    count += scene.check(algorithms(&scene)).await;
    count += scene.check(keys(&scene)).await;
    count += scene.check(signatures(&scene)).await;
    count += scene.check(headers(&scene)).await;
    count += scene.check(issuers_and_audiences(&scene)).await;
    count += scene.check(subjects_and_scopes(&scene)).await;
    count += scene.check(times(&scene)).await;
    count += scene.check(encodings(&scene)).await;
    assert!(count >= 100, "{count}");
    // The first token with an unknown key caused a fetch, and no other did.
    assert_eq!(scene.issuer.count(KEYS), 2);
}

fn algorithms(scene: &Scene) -> Vec<Row> {
    let none =
        |alg: &str, signature: &str| scene.unsigned(&json!({"alg": alg, "kid": "k"}), signature);
    let relabeled = |alg: &str| scene.with_header(&json!({"alg": alg, "kid": "k"}));
    let jwk = scene.key.jwk().to_string();
    vec![
        ("none", none("none", ""), ALGORITHM),
        ("none with a signature", none("none", "x"), ALGORITHM),
        ("None", none("None", ""), ALGORITHM),
        ("NONE", none("NONE", ""), ALGORITHM),
        ("nOnE", none("nOnE", ""), ALGORITHM),
        ("no name", none("", ""), ALGORITHM),
        ("a space", none(" ES256", ""), ALGORITHM),
        (
            "HS256 with the point",
            scene.symmetric(scene.key.point()),
            ALGORITHM,
        ),
        (
            "HS256 with the key as JSON",
            scene.symmetric(jwk),
            ALGORITHM,
        ),
        ("HS256 with nothing", scene.symmetric(""), ALGORITHM),
        ("HS256 with the id", scene.symmetric("k"), ALGORITHM),
        ("HS384", relabeled("HS384"), ALGORITHM),
        ("HS512", relabeled("HS512"), ALGORITHM),
        ("ES512", relabeled("ES512"), ALGORITHM),
        ("ES256K", relabeled("ES256K"), ALGORITHM),
        ("es256", relabeled("es256"), ALGORITHM),
        ("RS1", relabeled("RS1"), ALGORITHM),
        ("an encryption", relabeled("ECDH-ES"), ALGORITHM),
        ("relabeled RS256", relabeled("RS256"), KEY),
        ("relabeled PS256", relabeled("PS256"), KEY),
        ("relabeled ES384", relabeled("ES384"), KEY),
        ("relabeled EdDSA", relabeled("EdDSA"), KEY),
        (
            "a list",
            scene.with_header(&json!({"alg": ["ES256"]})),
            MALFORMED,
        ),
        ("null", scene.with_header(&json!({"alg": null})), MALFORMED),
        (
            "missing",
            scene.with_header(&json!({"kid": "k"})),
            MALFORMED,
        ),
    ]
}

fn keys(scene: &Scene) -> Vec<Row> {
    let stranger = |header: Value| {
        let claims = scene.claims(json!({}));
        scene
            .stranger
            .sign(&header.to_string(), &claims.to_string())
    };
    let with = |name: &str, value: Value| {
        let mut header = json!({"alg": "ES256", "kid": "k"});
        header[name] = value;
        stranger(header)
    };
    let named = |kid: Value| stranger(json!({"alg": "ES256", "kid": kid}));
    let jwk = scene.stranger.jwk();
    vec![
        ("a stranger's key", named(json!("k")), SIGNATURE),
        ("a key in the header", with("jwk", jwk.clone()), SIGNATURE),
        (
            "keys elsewhere",
            with("jku", json!("http://127.0.0.1:1/keys")),
            SIGNATURE,
        ),
        (
            "a certificate elsewhere",
            with("x5u", json!("http://127.0.0.1:1/")),
            SIGNATURE,
        ),
        ("a certificate", with("x5c", json!(["AAAA"])), SIGNATURE),
        (
            "an unnamed key in the header",
            stranger(json!({"alg": "ES256", "jwk": jwk})),
            SIGNATURE,
        ),
        ("an unknown id", named(json!("other")), KEY),
        ("no id", named(json!("")), KEY),
        ("a path", named(json!("../../../../dev/null")), KEY),
        ("a query", named(json!("k' OR '1'='1")), KEY),
        ("a command", named(json!("k;curl http://127.0.0.1:1/")), KEY),
        ("a URL", named(json!("http://127.0.0.1:1/keys#k")), KEY),
        ("a zero byte", named(json!("k\u{0}")), KEY),
        ("another case", named(json!("K")), KEY),
        ("a long id", named(json!("k".repeat(8000))), KEY),
        ("a number", named(json!(0)), MALFORMED),
        ("an object", named(json!({})), MALFORMED),
    ]
}

fn signatures(scene: &Scene) -> Vec<Row> {
    let good = scene.with_claims(json!({}));
    let (message, signature) = good.rsplit_once('.').unwrap();
    let header = message.split('.').next().unwrap();
    let with = |signature: &[u8]| format!("{message}.{}", encode(signature));
    let bob = encode(scene.claims(json!({"sub": "bob"})).to_string());
    let none = encode(r#"{"alg":"none"}"#);
    let claims = message.split('.').nth(1).unwrap();
    vec![
        ("nothing", with(b""), SIGNATURE),
        ("zeros", with(&[0; 64]), SIGNATURE),
        ("ones", with(&[0xff; 64]), SIGNATURE),
        ("too short", with(&[1; 63]), SIGNATURE),
        ("too long", format!("{good}AAAA"), SIGNATURE),
        ("half", with(&[1; 32]), SIGNATURE),
        (
            "a DER sequence",
            with(b"\x30\x06\x02\x01\x01\x02\x01\x01"),
            SIGNATURE,
        ),
        (
            "of other claims",
            format!("{header}.{bob}.{signature}"),
            SIGNATURE,
        ),
        (
            "of another header",
            format!("{none}.{claims}.{signature}"),
            ALGORITHM,
        ),
        (
            "of no header",
            format!("{}.{claims}.{signature}", encode("{}")),
            MALFORMED,
        ),
    ]
}

fn headers(scene: &Scene) -> Vec<Row> {
    let with = |name: &str, value: Value| {
        let mut header = json!({"alg": "ES256", "kid": "k"});
        header[name] = value;
        scene.with_header(&header)
    };
    let text = |text: &str| scene.key.sign(text, &scene.claims(json!({})).to_string());
    vec![
        ("a proof", with("typ", json!("dpop+jwt")), TYPE),
        (
            "a grant of an enterprise",
            with("typ", json!("oauth-id-jag+jwt")),
            TYPE,
        ),
        ("a logout", with("typ", json!("logout+jwt")), TYPE),
        ("an event", with("typ", json!("secevent+jwt")), TYPE),
        ("an encrypted token", with("typ", json!("JWE")), TYPE),
        ("no type", with("typ", json!("")), TYPE),
        ("an image", with("typ", json!("image/at+jwt")), TYPE),
        ("a list of types", with("typ", json!(["JWT"])), MALFORMED),
        ("an extension", with("crit", json!(["exp"])), CRITICAL),
        ("no extension", with("crit", json!([])), CRITICAL),
        ("null", with("crit", json!(null)), CRITICAL),
        (
            "an unencoded payload",
            with("crit", json!(["b64"])),
            CRITICAL,
        ),
        (
            "two algorithms",
            text(r#"{"alg":"none","alg":"ES256"}"#),
            MALFORMED,
        ),
        (
            "two spellings",
            text(r#"{"\u0061lg":"none","alg":"ES256"}"#),
            MALFORMED,
        ),
        (
            "two ids",
            text(r#"{"alg":"ES256","kid":"x","kid":"k"}"#),
            MALFORMED,
        ),
        ("a list", text(r#"["ES256","k"]"#), MALFORMED),
        ("a text", text(r#""ES256""#), MALFORMED),
        ("nothing", text(""), MALFORMED),
        ("more than one", text(r#"{"alg":"ES256"}{}"#), MALFORMED),
        ("a comment", text(r#"{"alg":"ES256"/**/}"#), MALFORMED),
    ]
}

fn issuers_and_audiences(scene: &Scene) -> Vec<Row> {
    let with = |changes: Value| scene.with_claims(changes);
    let issuer = &scene.issuer.url;
    vec![
        (
            "another issuer",
            with(json!({"iss": "https://evil.example"})),
            ISSUER,
        ),
        (
            "a slash more",
            with(json!({"iss": format!("{issuer}/")})),
            ISSUER,
        ),
        (
            "a path more",
            with(json!({"iss": format!("{issuer}/tenant")})),
            ISSUER,
        ),
        (
            "a zero byte more",
            with(json!({"iss": format!("{issuer}\u{0}")})),
            ISSUER,
        ),
        ("several issuers", with(json!({"iss": [issuer]})), CLAIMS),
        ("no issuer", with(json!({"iss": null})), CLAIMS),
        (
            "another server",
            with(json!({"aud": "https://other.example/mcp"})),
            AUDIENCE,
        ),
        (
            "the whole origin",
            with(json!({"aud": "https://gate.example"})),
            AUDIENCE,
        ),
        (
            "a longer name",
            with(json!({"aud": format!("{OWN}/x")})),
            AUDIENCE,
        ),
        (
            "a shorter name",
            with(json!({"aud": "https://gate.example/mc"})),
            AUDIENCE,
        ),
        (
            "another case",
            with(json!({"aud": "https://gate.example/MCP"})),
            AUDIENCE,
        ),
        ("a client", with(json!({"aud": "robot"})), AUDIENCE),
        ("a wildcard", with(json!({"aud": "*"})), AUDIENCE),
        ("nobody", with(json!({"aud": []})), AUDIENCE),
        ("a mixed list", with(json!({"aud": [OWN, 1]})), CLAIMS),
        ("no audience", with(json!({"aud": null})), CLAIMS),
    ]
}

fn subjects_and_scopes(scene: &Scene) -> Vec<Row> {
    let with = |changes: Value| scene.with_claims(changes);
    let twice = |member: &str| {
        let claims = scene.claims(json!({})).to_string();
        scene.with_text(&format!("{{{member},{}", claims.strip_prefix('{').unwrap()))
    };
    vec![
        ("nobody's", with(json!({"sub": null})), CLAIMS),
        ("an empty subject", with(json!({"sub": ""})), CLAIMS),
        ("two lines", with(json!({"sub": "a\nb"})), CLAIMS),
        ("a number as subject", with(json!({"sub": 0})), CLAIMS),
        (
            "bound to a proof",
            with(json!({"cnf": {"jkt": "x"}})),
            BOUND,
        ),
        (
            "bound to a certificate",
            with(json!({"cnf": {"x5t#S256": "x"}})),
            BOUND,
        ),
        ("no scope", with(json!({"scope": null})), SCOPE),
        (
            "another scope",
            with(json!({"scope": "write readx READ"})),
            SCOPE,
        ),
        ("a number as scope", with(json!({"scope": 1})), CLAIMS),
        ("two subjects", twice(r#""sub":"root""#), MALFORMED),
        ("two audiences", twice(r#""aud":"x""#), MALFORMED),
        ("two spellings", twice(r#""\u0065xp":1"#), MALFORMED),
        ("no object", scene.with_text("[]"), CLAIMS),
        (
            "another token",
            scene.with_text(&with(json!({}))),
            MALFORMED,
        ),
        ("half an object", scene.with_text(r#"{"iss":"#), MALFORMED),
    ]
}

fn times(scene: &Scene) -> Vec<Row> {
    let with = |changes: Value| scene.with_claims(changes);
    let huge = scene.claims(json!({"exp": 12345})).to_string();
    let huge = scene.with_text(&huge.replace("12345", "1e999"));
    vec![
        ("over", with(json!({"exp": now() - 61})), EXPIRED),
        ("long over", with(json!({"exp": 0})), EXPIRED),
        ("negative", with(json!({"exp": -1e300})), EXPIRED),
        ("never", with(json!({"exp": null})), CLAIMS),
        ("text", with(json!({"exp": "9999999999"})), CLAIMS),
        ("a list", with(json!({"exp": [9_999_999_999_u64]})), CLAIMS),
        ("true", with(json!({"exp": true})), CLAIMS),
        ("beyond all numbers", huge, CLAIMS),
        ("tomorrow", with(json!({"nbf": now() + 86_400})), NOT_YET),
        ("text for a start", with(json!({"nbf": "0"})), CLAIMS),
    ]
}

fn encodings(scene: &Scene) -> Vec<Row> {
    let good = scene.with_claims(json!({}));
    let (message, signature) = good.rsplit_once('.').unwrap();
    let (header, payload) = message.split_once('.').unwrap();
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    let json = json!({"payload": payload, "protected": header, "signature": signature});
    vec![
        ("nothing", String::new(), MALFORMED),
        ("dots", "..".to_owned(), MALFORMED),
        ("no signature", message.to_owned(), MALFORMED),
        ("four parts", format!("{good}."), MALFORMED),
        ("five parts", format!("{good}.AAAA.AAAA"), MALFORMED),
        ("a space before", format!(" {good}"), MALFORMED),
        ("a space after", format!("{good} "), MALFORMED),
        (
            "a line break",
            format!("{message}.\n{signature}"),
            MALFORMED,
        ),
        ("a zero byte", format!("{good}\u{0}"), MALFORMED),
        ("padding", format!("{good}=="), MALFORMED),
        (
            "the other alphabet",
            format!("{message}.+/{}", &signature[2..]),
            MALFORMED,
        ),
        ("percent signs", good.replace('.', "%2e"), MALFORMED),
        (
            "letters of other scripts",
            good.replace('A', "\u{410}").replace('e', "\u{435}"),
            MALFORMED,
        ),
        ("JSON", json.to_string(), MALFORMED),
        ("two tokens", format!("{good},{good}"), MALFORMED),
        ("a random text", "c2VjcmV0LXRva2Vu".to_owned(), MALFORMED),
        ("deep claims", scene.with_text(&deep), MALFORMED),
        (
            "a long token",
            scene.with_claims(json!({"x": "x".repeat(20_000)})),
            TOO_LONG,
        ),
    ]
}
