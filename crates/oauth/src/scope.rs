use std::fmt;

/// Ordered set of scopes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scopes(Vec<String>);

impl Scopes {
    /// Parses a list that is separated by spaces; invalid scopes are dropped.
    pub fn parse(text: &str) -> Self {
        text.split(' ').collect()
    }

    /// Returns true if there is no scope.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if `scope` is in the set.
    pub fn contains(&self, scope: &str) -> bool {
        self.0.iter().any(|known| known == scope)
    }

    /// Scopes in their order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Returns true if all of `others` are in the set.
    pub(crate) fn include(&self, others: &Self) -> bool {
        others.0.iter().all(|scope| self.contains(scope))
    }

    /// Union, with the new scopes of `other` at the end.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.0.iter().chain(&other.0).collect()
    }
}

impl<S: AsRef<str>> FromIterator<S> for Scopes {
    fn from_iter<I: IntoIterator<Item = S>>(scopes: I) -> Self {
        let mut set = Self::default();
        for scope in scopes {
            let scope = scope.as_ref();
            if is_scope(scope) && !set.contains(scope) {
                set.0.push(scope.to_owned());
            }
        }
        set
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(" "))
    }
}

/// A scope-token of RFC 6749, section 3.3.
fn is_scope(text: &str) -> bool {
    let allowed = |byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e);
    !text.is_empty() && text.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::Scopes;

    #[test]
    fn scopes_are_a_set_that_keeps_its_order() {
        let cases = [
            ("", ""),
            ("b a b", "b a"),
            ("  a  b ", "a b"),
            ("a \"b c\" d\\e f\u{e9} g", "a g"),
        ];
        for (text, expected) in cases {
            assert_eq!(Scopes::parse(text).to_string(), expected, "{text}");
        }
    }

    #[test]
    fn a_set_includes_its_parts() {
        let set = Scopes::parse("a b");
        for (others, expected) in [("", true), ("b a", true), ("a c", false)] {
            assert_eq!(set.include(&Scopes::parse(others)), expected, "{others}");
        }
    }

    #[test]
    fn a_union_repeats_nothing() {
        let union = Scopes::parse("b a").union(&Scopes::parse("c a d"));
        assert_eq!(union, Scopes::parse("b a c d"));
    }
}
