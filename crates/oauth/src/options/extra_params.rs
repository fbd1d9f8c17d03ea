use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Parameters that the user adds to the requests of a login.
///
/// An empty value leaves a parameter out that Callgate would add for a known provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    try_from = "BTreeMap<String, String>",
    into = "BTreeMap<String, String>"
)]
pub struct ExtraParams(BTreeMap<String, String>);

/// The parameter cannot be added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExtraParamError {
    /// The text is not `name=value`.
    #[error("`{0}` is not a parameter: write it as name=value")]
    Syntax(String),
    /// Callgate sets this parameter itself: another value would break the login or its protection.
    #[error("the parameter `{0}` is set by Callgate itself; {help}", help = instead_of(.0))]
    Reserved(String),
}

/// Parameters that make up a login. `response_mode` is one of them because the callback listener sees a
/// query only.
const RESERVED: [&str; 24] = [
    "actor_token",
    "assertion",
    "client_assertion",
    "client_assertion_type",
    "client_id",
    "client_secret",
    "code",
    "code_challenge",
    "code_challenge_method",
    "code_verifier",
    "device_code",
    "dpop_jkt",
    "error",
    "grant_type",
    "iss",
    "redirect_uri",
    "refresh_token",
    "request",
    "request_uri",
    "resource",
    "response_mode",
    "response_type",
    "scope",
    "state",
];

impl ExtraParams {
    /// Parses `name=value` and adds it; a later value replaces an earlier one.
    ///
    /// # Errors
    /// The text has no name, or the name is reserved.
    pub fn parse(&mut self, text: &str) -> Result<(), ExtraParamError> {
        let syntax = || ExtraParamError::Syntax(text.to_owned());
        let (name, value) = text.split_once('=').ok_or_else(syntax)?;
        self.insert(name, value)
    }

    /// Adds a parameter; a later value replaces an earlier one.
    ///
    /// # Errors
    /// The name is empty or reserved.
    pub fn insert(
        &mut self,
        name: impl Into<String>,
        value: impl Into<String>,
    ) -> Result<(), ExtraParamError> {
        let (name, value) = (name.into(), value.into());
        if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(ExtraParamError::Syntax(format!("{name}={value}")));
        }
        if RESERVED.contains(&name.as_str()) {
            return Err(ExtraParamError::Reserved(name));
        }
        self.0.insert(name, value);
        Ok(())
    }

    /// Returns true if there is no parameter.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Parameters to send.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self
            .0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()));
        all.filter(|(_, value)| !value.is_empty())
    }

    /// Returns true if the user decided about this parameter, even to leave it out.
    pub(crate) fn decides(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Adds the parameters of `base` that are absent here.
    pub(super) fn over(mut self, base: &Self) -> Self {
        for (name, value) in &base.0 {
            self.0.entry(name.clone()).or_insert_with(|| value.clone());
        }
        self
    }
}

impl TryFrom<BTreeMap<String, String>> for ExtraParams {
    type Error = ExtraParamError;

    fn try_from(params: BTreeMap<String, String>) -> Result<Self, ExtraParamError> {
        let mut checked = Self::default();
        for (name, value) in params {
            checked.insert(name, value)?;
        }
        Ok(checked)
    }
}

impl From<ExtraParams> for BTreeMap<String, String> {
    fn from(params: ExtraParams) -> Self {
        params.0
    }
}

/// Option that does what a reserved parameter was meant for.
fn instead_of(name: &str) -> &'static str {
    match name {
        "scope" => "use --scope",
        "redirect_uri" => "use --redirect-uri",
        "client_id" => "use --client-id",
        "client_secret" => "use --client-secret-file",
        "resource" => "to leave it out, use --no-resource",
        _ => "it cannot be changed",
    }
}

#[cfg(test)]
mod tests {
    use super::{ExtraParamError, ExtraParams, RESERVED};

    #[test]
    fn parameters_are_a_name_and_a_value() {
        let mut params = ExtraParams::default();
        for text in [
            "audience=https://a.example/?x=1",
            "prompt=login",
            "prompt=consent",
            "x=",
        ] {
            params.parse(text).unwrap();
        }
        let found: Vec<_> = params.iter().collect();
        let expected = [
            ("audience", "https://a.example/?x=1"),
            ("prompt", "consent"),
        ];
        assert_eq!(found, expected);
        assert!(params.decides("x") && !params.decides("y"));
        for text in ["", "audience", "=x", "a b=c", "a\n=c"] {
            let error = params.parse(text).unwrap_err();
            assert!(matches!(error, ExtraParamError::Syntax(_)), "{text}");
        }
    }

    #[test]
    fn what_makes_up_a_login_cannot_be_replaced() {
        for name in RESERVED {
            let error = ExtraParams::default().insert(name, "x").unwrap_err();
            assert_eq!(error, ExtraParamError::Reserved(name.to_owned()));
        }
        let error = ExtraParams::default().insert("scope", "x").unwrap_err();
        let expected = "the parameter `scope` is set by Callgate itself; use --scope";
        assert_eq!(error.to_string(), expected);
    }
}
