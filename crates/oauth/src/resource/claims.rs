//! What a token must say (RFC 7519, section 4.1; RFC 9068, section 2.2).

use serde::Deserialize;
use serde_json::Value;

use super::flaw::Flaw;
use super::token::is_present;
use crate::Scopes;

/// The claims of a token that matter.
#[derive(Debug, Deserialize)]
pub(super) struct Claims {
    iss: String,
    aud: Value,
    exp: f64,
    nbf: Option<f64>,
    sub: String,
    scope: Option<Value>,
    /// What some issuers call `scope`.
    scp: Option<Value>,
    #[serde(default, deserialize_with = "is_present")]
    cnf: bool,
}

/// Whom a token stands for, and what it allows.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Grant {
    pub(super) subject: String,
    pub(super) scopes: Scopes,
}

/// How far the clocks of the issuer and of this machine may be apart, in seconds.
const LEEWAY: f64 = 60.0;

impl Claims {
    /// Checks everything that holds for the token as a whole, at `now` in seconds since 1970.
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
        if self.cnf {
            return Err(Flaw::Bound);
        }
        let now = now as f64;
        if self.exp + LEEWAY <= now {
            return Err(Flaw::Expired);
        }
        if self.nbf.is_some_and(|nbf| nbf > now + LEEWAY) {
            return Err(Flaw::NotYetValid);
        }
        // The subject is written to logs.
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
        })
    }
}

/// One text, or a list of them.
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

    /// Checks good claims with some members changed; `null` removes one.
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
            (json!({"cnf": {"jkt": "x"}}), Some(Flaw::Bound)),
            (json!({"cnf": {}}), Some(Flaw::Bound)),
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
            };
            assert_eq!(check(&changes), Ok(expected), "{changes}");
        }
    }
}
