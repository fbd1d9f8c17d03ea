/// Pattern of tool names: `*` stands for any characters, `?` for one.
///
/// ```
/// # use callgate_hub::ToolPattern;
/// assert!(ToolPattern::new("read_*").matches("read_file"));
/// assert!(!ToolPattern::new("read_*").matches("write_file"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolPattern(String);

impl ToolPattern {
    /// The pattern with this text; every text is one.
    #[must_use]
    pub fn new(pattern: impl Into<String>) -> Self {
        Self(pattern.into())
    }

    /// The pattern as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True if the whole name fits the pattern; upper and lower case differ.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let (mut pattern, mut rest) = (self.0.as_str(), name);
        // The pattern after the last `*`, and the text at which it is tried next. Only the last `*`
        // is ever tried again, so the time is at most the product of both lengths.
        let mut retry: Option<(&str, &str)> = None;
        loop {
            let mut after = pattern.chars();
            match (after.next(), rest.chars().next()) {
                (Some('*'), _) => {
                    pattern = after.as_str();
                    retry = Some((pattern, rest));
                    continue;
                }
                (None, None) => return true,
                (Some(wanted), Some(found)) if wanted == '?' || wanted == found => {
                    pattern = after.as_str();
                    rest = tail(rest);
                    continue;
                }
                _ => {}
            }
            let Some((star, at)) = retry.filter(|(_, at)| !at.is_empty()) else {
                return false;
            };
            let at = tail(at);
            (pattern, rest) = (star, at);
            retry = Some((star, at));
        }
    }
}

impl From<&str> for ToolPattern {
    fn from(pattern: &str) -> Self {
        Self::new(pattern)
    }
}

/// The text without its first character.
fn tail(text: &str) -> &str {
    let mut characters = text.chars();
    characters.next();
    characters.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_characters_and_question_marks_for_one() {
        for (pattern, fitting, others) in [
            ("read", &["read"][..], &["", "rea", "reads", "Read"][..]),
            ("read_*", &["read_", "read_file"], &["read", "a_read_"]),
            ("*", &["", "a", "größe"], &[]),
            ("*_file", &["_file", "a_file_file"], &["a_files", "file"]),
            ("a*b*c", &["abc", "axbxbxc", "abcbc"], &["acb", "ab"]),
            ("?", &["a", "ß"], &["", "ab"]),
            ("gr?ße*", &["größe", "größen"], &["grße"]),
            ("", &[""], &["a"]),
            ("**", &["", "x"], &[]),
            ("a.b", &["a.b"], &["axb"]),
        ] {
            let pattern = ToolPattern::new(pattern);
            for name in fitting {
                assert!(pattern.matches(name), "{pattern:?} {name}");
            }
            for name in others {
                assert!(!pattern.matches(name), "{pattern:?} {name}");
            }
        }
    }

    #[test]
    fn a_hostile_pattern_takes_little_time() {
        let pattern = ToolPattern::new(format!("{}b", "a*".repeat(500)));
        assert!(!pattern.matches(&"a".repeat(5_000)));
    }
}
