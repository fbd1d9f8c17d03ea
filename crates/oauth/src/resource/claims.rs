//! Claims of a token, and their checks (RFC 7519, section 4.1; RFC 9068, section 2.2).

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::flaw::Flaw;
use crate::Scopes;

/// Claims that are checked.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Claims {
    iss: String,
    aud: Value,
    exp: f64,
    nbf: Option<f64>,
    sub: String,
    scope: Option<Value>,
    /// Name of `scope` in the tokens of some issuers, such as Okta and Entra.
    scp: Option<Value>,
    jti: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    cnf: Option<Value>,
}

/// Subject and scopes of a token, and the id that its issuer gave it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Grant {
    pub(super) subject: String,
    pub(super) scopes: Scopes,
    /// `jti`, if it is text that fits into a log line.
    pub(super) token_id: Option<String>,
    /// Thumbprint of the key that the token is bound to.
    pub(super) key: Option<String>,
}

/// Response of the introspection endpoint about an active token (RFC 7662, section 2.2), whose claims
/// are optional.
#[derive(Debug, Deserialize)]
pub(super) struct Introspected {
    pub(super) active: bool,
    iss: Option<String>,
    aud: Option<Value>,
    pub(super) exp: Option<f64>,
    nbf: Option<f64>,
    sub: Option<String>,
    scope: Option<Value>,
    jti: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    cnf: Option<Value>,
}

impl Introspected {
    /// Claims with the meaning of an absent one: the issuer itself answered, and a token without an end
    /// is valid as long as the issuer calls it active. The audience and the subject have no such meaning.
    pub(super) fn claims(self, issuer: &str) -> Result<Claims, Flaw> {
        Ok(Claims {
            iss: self.iss.unwrap_or_else(|| issuer.to_owned()),
            aud: self.aud.ok_or(Flaw::Audience)?,
            exp: self.exp.unwrap_or(f64::INFINITY),
            nbf: self.nbf,
            sub: self.sub.ok_or(Flaw::Claims)?,
            scope: self.scope,
            scp: None,
            jti: self.jti,
            cnf: self.cnf,
        })
    }
}

/// Maximum bytes of a `jti` that is used as it is; those of issuers have 20 to 40.
const MAX_TOKEN_ID: usize = 256;

/// Maximum difference between the clocks of the issuer and of this machine, in seconds.
const LEEWAY: f64 = 60.0;

impl Claims {
    /// Checks the claims at `now`, in Unix seconds.
    ///
    /// The issuer and the audience come first: a token for another server gets that answer, even if
    /// it is expired too.
    pub(super) fn check(self, issuer: &str, audiences: &[String], now: u64) -> Result<Grant, Flaw> {
        if self.iss != issuer {
            return Err(Flaw::Issuer);
        }
        let named = texts(&self.aud).ok_or(Flaw::Claims)?;
        if !named
            .iter()
            .any(|name| audiences.iter().any(|own| own == name))
        {
            return Err(Flaw::Audience);
        }
        let key = self.cnf.as_ref().map(thumbprint).transpose()?;
        let now = now as f64;
        if self.exp + LEEWAY <= now {
            return Err(Flaw::Expired);
        }
        if self.nbf.is_some_and(|nbf| nbf > now + LEEWAY) {
            return Err(Flaw::NotYetValid);
        }
        // The subject is written to logs, where a control character could fake a line.
        if self.sub.is_empty() || self.sub.contains(char::is_control) {
            return Err(Flaw::Claims);
        }
        let scopes = match self.scope.or(self.scp) {
            None => Scopes::default(),
            Some(value) => Scopes::parse(&texts(&value).ok_or(Flaw::Claims)?.join(" ")),
        };
        Ok(Grant {
            subject: self.sub,
            scopes,
            token_id: self.jti.as_ref().and_then(token_id),
            key,
        })
    }
}

/// Reads a member even if it is `null`, which is not the same as absent.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Thumbprint of the key that a token is bound to. A token that is bound in any other way, even
/// besides, is refused: that proof would not be checked.
fn thumbprint(cnf: &Value) -> Result<String, Flaw> {
    let members = cnf.as_object().filter(|members| members.len() == 1);
    let jkt = members.and_then(|members| members.get("jkt")?.as_str());
    Ok(jkt.ok_or(Flaw::Bound)?.to_owned())
}

/// The id as text. An odd one is no reason to refuse a token: no decision depends on it.
fn token_id(value: &Value) -> Option<String> {
    let id = value.as_str()?;
    let is_usable = !id.is_empty() && id.len() <= MAX_TOKEN_ID && !id.contains(char::is_control);
    is_usable.then(|| id.to_owned())
}

/// One text, or a list of texts.
fn texts(value: &Value) -> Option<Vec<&str>> {
    match value {
        Value::String(text) => Some(vec![text]),
        Value::Array(values) => values.iter().map(Value::as_str).collect(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Claims, Flaw, Grant};
    use crate::Scopes;

    const ISSUER: &str = "https://as.example";
    const OWN: &str = "https://gate.example/mcp";
    const NOW: u64 = 1_000_000;

    /// Checks valid claims with some members changed; `null` removes one.
    fn check(changes: &Value) -> Result<Grant, Flaw> {
        let mut claims = json!({"iss": ISSUER, "aud": OWN, "exp": NOW + 600, "sub": "alice"});
        let members = claims.as_object_mut().unwrap();
        for (name, value) in changes.as_object().unwrap() {
            members.insert(name.clone(), value.clone());
        }
        members.retain(|_, value| !value.is_null());
        let claims: Claims = serde_json::from_value(claims).map_err(|_| Flaw::Claims)?;
        claims.check(ISSUER, &[OWN.to_owned()], NOW)
    }

    #[test]
    fn a_token_is_of_the_issuer_for_us_and_for_now() {
        let cases = [
            (json!({}), None),
            (json!({"iss": "https://as.example/"}), Some(Flaw::Issuer)),
            (json!({"iss": "https://AS.example"}), Some(Flaw::Issuer)),
            (json!({"iss": "https://evil.example"}), Some(Flaw::Issuer)),
            (json!({"iss": [ISSUER]}), Some(Flaw::Claims)),
            (json!({"iss": null}), Some(Flaw::Claims)),
            (json!({"aud": [OWN]}), None),
            (json!({"aud": ["https://other.example", OWN]}), None),
            (json!({"aud": []}), Some(Flaw::Audience)),
            (json!({"aud": "https://gate.example"}), Some(Flaw::Audience)),
            (
                json!({"aud": "https://gate.example/mcp/"}),
                Some(Flaw::Audience),
            ),
            (
                json!({"aud": "https://gate.example/mcp/x"}),
                Some(Flaw::Audience),
            ),
            (
                json!({"aud": "HTTPS://GATE.EXAMPLE/mcp"}),
                Some(Flaw::Audience),
            ),
            (json!({"aud": "*"}), Some(Flaw::Audience)),
            (json!({"aud": ""}), Some(Flaw::Audience)),
            (json!({"aud": format!("{OWN} {OWN}")}), Some(Flaw::Audience)),
            (json!({"aud": [OWN, 1]}), Some(Flaw::Claims)),
            (json!({"aud": [[OWN]]}), Some(Flaw::Claims)),
            (json!({"aud": {"a": OWN}}), Some(Flaw::Claims)),
            (json!({"aud": null}), Some(Flaw::Claims)),
            (json!({"exp": NOW - 59}), None),
            (json!({"exp": NOW - 60}), Some(Flaw::Expired)),
            (json!({"exp": NOW as f64 - 59.5}), None),
            (json!({"exp": 0}), Some(Flaw::Expired)),
            (json!({"exp": -1}), Some(Flaw::Expired)),
            (json!({"exp": NOW.to_string()}), Some(Flaw::Claims)),
            (json!({"exp": true}), Some(Flaw::Claims)),
            (json!({"exp": null}), Some(Flaw::Claims)),
            (json!({"nbf": NOW + 60}), None),
            (json!({"nbf": NOW + 61}), Some(Flaw::NotYetValid)),
            (json!({"nbf": "0"}), Some(Flaw::Claims)),
            (json!({"sub": ""}), Some(Flaw::Claims)),
            (json!({"sub": "alice\nroot"}), Some(Flaw::Claims)),
            (json!({"sub": 1}), Some(Flaw::Claims)),
            (
                json!({"sub": null, "client_id": "robot"}),
                Some(Flaw::Claims),
            ),
            (json!({"cnf": {"jkt": "x"}}), None),
            (json!({"cnf": {}}), Some(Flaw::Bound)),
            (json!({"cnf": {"jkt": 1}}), Some(Flaw::Bound)),
            (json!({"cnf": "x"}), Some(Flaw::Bound)),
            (json!({"cnf": {"x5t#S256": "x"}}), Some(Flaw::Bound)),
            (
                json!({"cnf": {"jkt": "x", "x5t#S256": "x"}}),
                Some(Flaw::Bound),
            ),
            (json!({"scope": 1}), Some(Flaw::Claims)),
            (json!({"scope": ["a", 1]}), Some(Flaw::Claims)),
        ];
        for (changes, expected) in cases {
            assert_eq!(check(&changes).err(), expected, "{changes}");
        }
    }

    #[test]
    fn a_grant_is_a_subject_and_scopes() {
        let cases = [
            (json!({}), ""),
            (json!({"scope": "a b"}), "a b"),
            (json!({"scope": ["a", "b"]}), "a b"),
            (json!({"scp": "a b"}), "a b"),
            (json!({"scp": ["a", "b"]}), "a b"),
            (json!({"scope": "a", "scp": ["b"]}), "a"),
            (json!({"scope": ""}), ""),
        ];
        for (changes, scopes) in cases {
            let expected = Grant {
                subject: "alice".to_owned(),
                scopes: Scopes::parse(scopes),
                token_id: None,
                key: None,
            };
            assert_eq!(check(&changes), Ok(expected), "{changes}");
        }
    }

    #[test]
    fn a_token_has_the_id_that_its_issuer_gave_it() {
        let longest = "x".repeat(super::MAX_TOKEN_ID);
        let cases = [
            (json!("a-1"), Some("a-1")),
            (json!(longest), Some(longest.as_str())),
            (json!(format!("{longest}x")), None),
            (json!(""), None),
            (json!("a\nb"), None),
            (json!(7), None),
            (json!(null), None),
        ];
        for (id, expected) in cases {
            let found = check(&json!({"jti": id})).map(|grant| grant.token_id);
            assert_eq!(found, Ok(expected.map(str::to_owned)), "{id}");
        }
    }
}
