//! Challenge of the `WWW-Authenticate` header (RFC 9110, section 11.6.1; RFC 6750, section 3; RFC
//! 9728, section 5.1; RFC 9449, section 7.1).

use crate::Scopes;
use crate::dpop::USE_DPOP_NONCE;

/// Challenge of a server that refused a request for want of a token or of a scope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Challenge {
    /// URL of the protected resource metadata.
    pub resource_metadata: Option<String>,
    /// Scopes that the request needs.
    pub scope: Option<Scopes>,
    /// Error code.
    pub error: Option<String>,
    /// Description of the error. The text is untrusted.
    pub error_description: Option<String>,
    /// Set if a challenge asks for a DPoP proof with an algorithm that we support.
    pub dpop: bool,
}

/// Maximum bytes of a header.
const MAX_HEADER: usize = 16 << 10;

impl Challenge {
    /// Finds the challenge for a token in the values of all `WWW-Authenticate` headers.
    ///
    /// Among several, the one with a metadata URL is preferred. A challenge for DPoP adds the
    /// fields that it lacks, because servers that accept both kinds of token send two challenges at
    /// once. Text after a syntax error is ignored.
    pub fn find<'a>(headers: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let mut best: Option<Self> = None;
        let mut bound: Option<Self> = None;
        let challenges = headers.into_iter().flat_map(parse);
        for challenge in challenges.filter(RawChallenge::asks_for_token) {
            let is_bound = challenge.is("dpop");
            let challenge = challenge.read();
            let better = |best: &Self| challenge.rank() > best.rank();
            if is_bound && bound.as_ref().is_none_or(better) {
                bound = Some(challenge.clone());
            }
            if best.as_ref().is_none_or(better) {
                best = Some(challenge);
            }
        }
        let best = best?;
        Some(bound.map_or(best.clone(), |bound| best.completed_by(bound)))
    }

    /// Adds the fields that only the DPoP challenge `bound` has.
    fn completed_by(self, bound: Self) -> Self {
        // The description belongs to its error.
        let (error, error_description) = match self.error {
            Some(error) if !bound.is_use_dpop_nonce() => (Some(error), self.error_description),
            _ => (bound.error, bound.error_description),
        };
        Self {
            resource_metadata: self.resource_metadata.or(bound.resource_metadata),
            scope: self.scope.or(bound.scope),
            error,
            error_description,
            dpop: self.dpop || bound.dpop,
        }
    }

    /// Returns true if the server only wants its nonce in the proof.
    pub(crate) fn is_use_dpop_nonce(&self) -> bool {
        self.error.as_deref() == Some(USE_DPOP_NONCE)
    }

    /// Returns true if the token lacks scopes.
    pub(crate) fn is_insufficient_scope(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }

    fn rank(&self) -> (bool, bool) {
        (self.resource_metadata.is_some(), self.error.is_some())
    }
}

struct RawChallenge<'a> {
    scheme: &'a str,
    parameters: Vec<(&'a str, String)>,
}

impl RawChallenge<'_> {
    fn asks_for_token(&self) -> bool {
        self.is("bearer") || self.is("dpop")
    }

    fn is(&self, scheme: &str) -> bool {
        self.scheme.eq_ignore_ascii_case(scheme)
    }

    /// A challenge without algorithms means those of the authorization server.
    fn takes_our_proofs(&self) -> bool {
        let algorithms = self.parameter("algs");
        self.is("dpop") && algorithms.is_none_or(|list| list.split(' ').any(|it| it == "ES256"))
    }

    fn read(&self) -> Challenge {
        Challenge {
            resource_metadata: self.parameter("resource_metadata").map(str::to_owned),
            scope: self
                .parameter("scope")
                .map(Scopes::parse)
                .filter(|scopes| !scopes.is_empty()),
            error: self.parameter("error").map(str::to_owned),
            error_description: self.parameter("error_description").map(str::to_owned),
            dpop: self.takes_our_proofs(),
        }
    }

    fn parameter(&self, name: &str) -> Option<&str> {
        let mut parameters = self.parameters.iter();
        let found = parameters.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

fn parse(header: &str) -> Vec<RawChallenge<'_>> {
    let mut challenges: Vec<RawChallenge<'_>> = Vec::new();
    if header.len() > MAX_HEADER {
        return challenges;
    }
    let mut scanner = Scanner { rest: header };
    loop {
        scanner.skip(&[' ', '\t', ',']);
        let parameter = scanner.parameter();
        match (parameter, challenges.last_mut()) {
            (Some(parameter), Some(challenge)) => challenge.parameters.push(parameter),
            (Some(_), None) => return challenges,
            (None, _) => {
                let Some(scheme) = scanner.token() else {
                    return challenges;
                };
                let parameters = Vec::new();
                challenges.push(RawChallenge { scheme, parameters });
                scanner.token68();
            }
        }
    }
}

struct Scanner<'a> {
    rest: &'a str,
}

impl<'a> Scanner<'a> {
    fn skip(&mut self, skipped: &[char]) {
        self.rest = self.rest.trim_start_matches(skipped);
    }

    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !accept(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn token(&mut self) -> Option<&'a str> {
        let token = self.take_while(is_token_char);
        (!token.is_empty()).then_some(token)
    }

    /// Parses a name, `=` and a value; consumes nothing otherwise.
    fn parameter(&mut self) -> Option<(&'a str, String)> {
        let mut ahead = Scanner { rest: self.rest };
        let name = ahead.token()?;
        ahead.skip(&[' ', '\t']);
        ahead.rest = ahead.rest.strip_prefix('=')?;
        ahead.skip(&[' ', '\t']);
        let value = ahead.value()?;
        self.rest = ahead.rest;
        Some((name, value))
    }

    /// Parses a quoted string, or text up to a comma, because many servers do not quote their URLs.
    fn value(&mut self) -> Option<String> {
        if let Some(rest) = self.rest.strip_prefix('"') {
            self.rest = rest;
            return self.quoted();
        }
        let bare = self.take_while(|c| !matches!(c, ' ' | '\t' | ',' | '"'));
        (!bare.is_empty() && !bare.starts_with('=')).then(|| bare.to_owned())
    }

    fn quoted(&mut self) -> Option<String> {
        let mut value = String::new();
        let mut chars = self.rest.chars();
        loop {
            match chars.next()? {
                '"' => break,
                '\\' => value.push(chars.next()?),
                c => value.push(c),
            }
        }
        self.rest = chars.as_str();
        Some(value)
    }

    /// Skips the opaque value that some schemes have instead of parameters.
    fn token68(&mut self) {
        let mut ahead = Scanner { rest: self.rest };
        ahead.skip(&[' ', '\t']);
        if ahead.parameter_follows() {
            return;
        }
        ahead.take_while(|c| is_token_char(c) || matches!(c, '/' | '='));
        ahead.skip(&[' ', '\t']);
        if ahead.rest.is_empty() || ahead.rest.starts_with(',') {
            self.rest = ahead.rest;
        }
    }

    fn parameter_follows(&self) -> bool {
        Scanner { rest: self.rest }.parameter().is_some()
    }
}

fn is_token_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

#[cfg(test)]
mod tests {
    use proptest::proptest;

    use super::{Challenge, MAX_HEADER};
    use crate::Scopes;

    const URL: &str = "https://a.example/.well-known/oauth-protected-resource";

    fn challenge(url: Option<&str>, scope: Option<&str>, error: Option<&str>) -> Challenge {
        Challenge {
            resource_metadata: url.map(str::to_owned),
            scope: scope.map(Scopes::parse),
            error: error.map(str::to_owned),
            ..Challenge::default()
        }
    }

    #[test]
    fn a_proof_is_asked_for_by_any_challenge_that_takes_ours() {
        let cases = [
            ("Bearer", false),
            ("DPoP", true),
            ("dpop error=x", true),
            ("DPoP algs=\"ES384 ES256\"", true),
            ("DPoP algs=\"ES384\"", false),
            ("DPoP algs=\"ES256K\"", false),
            ("Bearer resource_metadata=x, DPoP", true),
            ("Bearer algs=\"ES256\"", false),
        ];
        for (header, expected) in cases {
            let found = Challenge::find([header]).unwrap();
            assert_eq!(found.dpop, expected, "{header}");
        }
        let nonce = Challenge::find(["DPoP error=\"use_dpop_nonce\""]).unwrap();
        assert!(nonce.is_use_dpop_nonce());
    }

    #[test]
    fn servers_that_take_both_kinds_of_tokens_say_all_of_it() {
        let bearer = format!("Bearer resource_metadata=\"{URL}\"");
        let cases = [
            ("", "DPoP error=\"use_dpop_nonce\"", None, "use_dpop_nonce"),
            (
                ", error=\"invalid_token\"",
                "DPoP error=\"use_dpop_nonce\"",
                None,
                "use_dpop_nonce",
            ),
            (
                "",
                "DPoP error=\"insufficient_scope\", scope=\"a\"",
                Some("a"),
                "insufficient_scope",
            ),
            (
                ", error=\"insufficient_scope\", scope=\"a\"",
                "DPoP algs=\"ES256\"",
                Some("a"),
                "insufficient_scope",
            ),
        ];
        for (rest, dpop, scope, error) in cases {
            let expected = Challenge {
                dpop: true,
                ..challenge(Some(URL), scope, Some(error))
            };
            let bearer = format!("{bearer}{rest}");
            assert_eq!(
                Challenge::find([bearer.as_str(), dpop]),
                Some(expected.clone())
            );
            assert_eq!(Challenge::find([dpop, bearer.as_str()]), Some(expected));
        }
    }

    #[test]
    fn challenges_are_read() {
        let url = |rest: &str| format!("Bearer resource_metadata=\"{URL}\"{rest}");
        let cases = [
            ("Bearer".to_owned(), challenge(None, None, None)),
            ("bearer realm=x".to_owned(), challenge(None, None, None)),
            (url(""), challenge(Some(URL), None, None)),
            (
                url(", scope=\"a b\""),
                challenge(Some(URL), Some("a b"), None),
            ),
            (url(",scope=a"), challenge(Some(URL), Some("a"), None)),
            (url(", scope=\"\""), challenge(Some(URL), None, None)),
            (
                url(" , , ERROR = \"invalid_token\""),
                challenge(Some(URL), None, Some("invalid_token")),
            ),
            (
                format!("Bearer resource_metadata={URL}, scope=\"a\""),
                challenge(Some(URL), Some("a"), None),
            ),
            (
                "Bearer scope=\"a\\\"b, c=d\", error=x".to_owned(),
                challenge(None, Some("c=d"), Some("x")),
            ),
            (
                format!("Basic realm=\"Bearer scope=no\", {}", url("")),
                challenge(Some(URL), None, None),
            ),
            (
                format!("Negotiate YWJj/+==, Bearer error=x, {}", url("")),
                challenge(Some(URL), None, None),
            ),
            (
                format!("Negotiate, {}, Basic realm=x", url("")),
                challenge(Some(URL), None, None),
            ),
            (
                format!("DPoP algs=\"ES256\", resource_metadata=\"{URL}\""),
                Challenge {
                    dpop: true,
                    ..challenge(Some(URL), None, None)
                },
            ),
            (
                url(", scope=\"unterminated"),
                challenge(Some(URL), None, None),
            ),
        ];
        for (header, expected) in cases {
            let found = Challenge::find([header.as_str()]);
            assert_eq!(found, Some(expected), "{header}");
        }
    }

    #[test]
    fn other_schemes_are_no_challenge() {
        for header in [
            "",
            ",",
            "=",
            "scope=a",
            "Basic realm=\"x\"",
            "\"Bearer\"",
            "\u{e9}",
        ] {
            assert_eq!(Challenge::find([header]), None, "{header}");
        }
        assert_eq!(Challenge::find([]), None);
    }

    #[test]
    fn several_headers_are_one_list() {
        let second = format!("Bearer resource_metadata=\"{URL}\"");
        let found = Challenge::find(["Basic realm=x", "Bearer scope=a", &second]);
        assert_eq!(found, Some(challenge(Some(URL), None, None)));
    }

    #[test]
    fn long_headers_are_not_read() {
        let header = |len: usize| format!("Bearer{}", " ".repeat(len - "Bearer".len()));
        assert!(Challenge::find([header(MAX_HEADER).as_str()]).is_some());
        assert!(Challenge::find([header(MAX_HEADER + 1).as_str()]).is_none());
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text: String) {
            Challenge::find([text.as_str()]);
        }

        #[test]
        fn a_quoted_url_survives(url in "[ -~]{1,40}") {
            let quoted = url.replace('\\', "\\\\").replace('"', "\\\"");
            let header = format!("Basic a=b, Bearer x=y, resource_metadata=\"{quoted}\"");
            let found = Challenge::find([header.as_str()]);
            assert_eq!(found, Some(challenge(Some(&url), None, None)));
        }
    }
}
