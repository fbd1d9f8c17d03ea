use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use callgate_wire::resource::ResourceContents;
use callgate_wire::skill::{Digest, Frontmatter, Skill, SkillResource, SkillResources};
use serde_json::Value;

use super::files::{digest, is_path, is_skill_name};
use super::frontmatter::{self, FrontmatterError};

/// Difference between a skill and its entry. Nothing of what differs is returned.
///
/// The entry may be outdated: [`Client::get_skill`](crate::client::Client::get_skill) gets the
/// current one, which a user who approved the old one has to approve again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SkillMismatch {
    /// The entry breaks a rule of the extension.
    #[error("the entry of skill {uri} is invalid: {rule}")]
    Entry {
        /// URI of the skill.
        uri: String,
        /// The rule.
        rule: &'static str,
    },
    /// The skill is larger than this client supports.
    #[error(
        "skill {0} has more than {files} files or {bytes} bytes",
        files = Skill::MAX_FILES,
        bytes = Skill::MAX_BYTES
    )]
    TooLarge(String),
    /// The entry does not have the file.
    #[error("the entry of the skill does not list {0}")]
    Unlisted(String),
    /// The server did not return exactly one file with the URI of the request.
    #[error("the server did not return {0} as one text or as base64")]
    Contents(String),
    /// The number of bytes differs.
    #[error("{uri} has {found} bytes, but its entry says {expected}")]
    Size {
        /// URI of the file.
        uri: String,
        /// Size in the entry.
        expected: u64,
        /// Size of the file.
        found: u64,
    },
    /// The bytes differ.
    #[error("{uri} has the digest {found}, but its entry says {expected}")]
    Digest {
        /// URI of the file.
        uri: String,
        /// Digest in the entry.
        expected: Digest,
        /// Digest of the file.
        found: Digest,
    },
    /// The `SKILL.md` has no frontmatter that can be compared.
    #[error("SKILL.md cannot be compared with its entry")]
    Unreadable(#[from] FrontmatterError),
    /// The frontmatter differs.
    #[error("the frontmatter of SKILL.md and its entry differ in the field `{field}`")]
    Frontmatter {
        /// The first field that differs.
        field: String,
    },
}

/// Checks an entry by itself, before any file is read.
pub(crate) fn check_entry(skill: &Skill) -> Result<(), SkillMismatch> {
    let uri = &skill.uri;
    let invalid = |rule| {
        let uri = uri.clone();
        SkillMismatch::Entry { uri, rule }
    };
    let folder = skill
        .folder()
        .ok_or_else(|| invalid("its URI must end in `/SKILL.md`"))?;
    let name = skill.frontmatter.name();
    if !is_skill_name(name) || folder.rsplit('/').next() != Some(name) {
        return Err(invalid("its folder must have the name of the skill"));
    }
    let SkillResources::Files(files) = &skill.resources else {
        return Ok(());
    };
    let bytes = files
        .iter()
        .try_fold(0_u64, |sum, file| sum.checked_add(file.size));
    let fits = bytes.is_some_and(|bytes| bytes <= Skill::MAX_BYTES);
    if files.len() > Skill::MAX_FILES || !fits {
        return Err(SkillMismatch::TooLarge(uri.clone()));
    }
    let mut seen = HashSet::new();
    for file in files {
        let inside = file.uri.strip_prefix(folder);
        let path = inside.and_then(|path| path.strip_prefix('/'));
        if !path.is_some_and(is_path) {
            return Err(invalid("a file is outside of the folder of the skill"));
        }
        if !seen.insert(&*file.uri) {
            return Err(invalid("a file is listed twice"));
        }
    }
    match seen.contains(&**uri) {
        true => Ok(()),
        false => Err(invalid("SKILL.md is not among its files")),
    }
}

/// Returns the bytes of the file `uri`, if they are what `expected` says; a generated file has no
/// digest and no size to compare.
pub(crate) fn check_contents(
    uri: &str,
    expected: Option<&SkillResource>,
    contents: Vec<ResourceContents>,
) -> Result<Vec<u8>, SkillMismatch> {
    let bytes = match <[ResourceContents; 1]>::try_from(contents) {
        Ok([contents]) if contents.uri() != uri => None,
        Ok([ResourceContents::Text(contents)]) => Some(contents.text.into_bytes()),
        Ok([ResourceContents::Blob(contents)]) => STANDARD.decode(contents.blob).ok(),
        _ => None,
    };
    let bytes = bytes.ok_or_else(|| SkillMismatch::Contents(uri.to_owned()))?;
    let Some(expected) = expected else {
        return Ok(bytes);
    };
    let uri = uri.to_owned();
    let found = bytes.len() as u64;
    // Before the digest, which costs more.
    if found != expected.size {
        let expected = expected.size;
        return Err(SkillMismatch::Size {
            uri,
            expected,
            found,
        });
    }
    let (expected, found) = (expected.digest, digest(&bytes));
    match found == expected {
        true => Ok(bytes),
        false => Err(SkillMismatch::Digest {
            uri,
            expected,
            found,
        }),
    }
}

/// Compares the frontmatter of a `SKILL.md` with that of its entry, field by field.
pub(crate) fn check_frontmatter(skill_md: &[u8], entry: &Frontmatter) -> Result<(), SkillMismatch> {
    let fields = frontmatter::fields(skill_md)?;
    let listed: Value = entry.as_json().decode().unwrap_or_default();
    let (Some(fields), Some(listed)) = (fields.as_object(), listed.as_object()) else {
        return Err(FrontmatterError::Fields.into());
    };
    let keys = fields.keys().chain(listed.keys());
    let differs = |key: &&String| match (fields.get(*key), listed.get(*key)) {
        (Some(field), Some(listed)) => !is_same(field, listed),
        _ => true,
    };
    match keys.into_iter().find(differs) {
        None => Ok(()),
        Some(field) => Err(SkillMismatch::Frontmatter {
            field: field.clone(),
        }),
    }
}

/// True if two values are equal. Numbers are compared by value, since YAML and JSON of the same
/// frontmatter may differ in their spelling, such as `1.0` and `1`.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64() == other.as_f64() && (one.is_f64() || other.is_f64())
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let same = |(key, value)| other.get(key).is_some_and(|other| is_same(value, other));
            one.len() == other.len() && one.iter().all(same)
        }
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const URI: &str = "skill://a/pdf/SKILL.md";

    fn entry(uri: &str, resources: &Value) -> Skill {
        let frontmatter = json!({"name": "pdf", "description": "d"});
        let entry = json!({"uri": uri, "frontmatter": frontmatter, "resources": resources});
        serde_json::from_value(entry).unwrap()
    }

    fn file(uri: &str, size: u64) -> Value {
        json!({"uri": uri, "digest": digest(b"abc").to_string(), "size": size})
    }

    #[test]
    fn an_entry_is_checked_before_any_file_is_read() {
        let check = |uri: &str, resources: Value| check_entry(&entry(uri, &resources));
        let invalid = |uri: &str, rule| {
            let uri = uri.to_owned();
            Err(SkillMismatch::Entry { uri, rule })
        };
        let other = "skill://a/pdf/b.md";
        assert_eq!(check(URI, json!([file(other, 1), file(URI, 3)])), Ok(()));
        assert_eq!(check(URI, json!("dynamic")), Ok(()));
        for (uri, resources, rule) in [
            (
                "skill://a/pdf",
                json!([]),
                "its URI must end in `/SKILL.md`",
            ),
            (
                "skill://a/doc/SKILL.md",
                json!("dynamic"),
                "its folder must have the name of the skill",
            ),
            (
                URI,
                json!([file(other, 1)]),
                "SKILL.md is not among its files",
            ),
            (
                URI,
                json!([file(URI, 3), file(URI, 3)]),
                "a file is listed twice",
            ),
        ] {
            assert_eq!(check(uri, resources), invalid(uri, rule));
        }
        for outside in [
            "skill://a/pdf",
            "skill://a/pdfs/x",
            "skill://a/pdf/../x",
            "skill://a/pdf/",
            "x",
        ] {
            assert_eq!(
                check(URI, json!([file(URI, 3), file(outside, 1)])),
                invalid(URI, "a file is outside of the folder of the skill"),
                "{outside}"
            );
        }
    }

    #[test]
    fn a_skill_beyond_the_limits_is_refused() {
        let many = |count: usize, size: u64| {
            let others = (1..count).map(|number| file(&format!("skill://a/pdf/{number}"), 0));
            let files: Vec<_> = std::iter::once(file(URI, size)).chain(others).collect();
            check_entry(&entry(URI, &files.into()))
        };
        let too_large = Err(SkillMismatch::TooLarge(URI.to_owned()));
        assert_eq!(many(512, Skill::MAX_BYTES), Ok(()));
        assert_eq!(many(513, 0), too_large);
        assert_eq!(many(1, Skill::MAX_BYTES + 1), too_large);
        let overflow = json!([file(URI, u64::MAX), file("skill://a/pdf/x", u64::MAX)]);
        assert_eq!(check_entry(&entry(URI, &overflow)), too_large);
    }

    #[test]
    fn contents_must_have_the_size_and_the_digest_of_the_entry() {
        let expected = SkillResource::new(URI, digest(b"abc"), 3);
        let check = |contents| check_contents(URI, Some(&expected), contents);
        let text = |text: &str| vec![ResourceContents::text(URI, text)];
        assert_eq!(check(text("abc")), Ok(b"abc".to_vec()));
        assert_eq!(
            check(vec![ResourceContents::blob(URI, b"abc")]),
            Ok(b"abc".to_vec())
        );
        let uri = URI.to_owned();
        assert_eq!(
            check(text("abcd")),
            Err(SkillMismatch::Size {
                uri: uri.clone(),
                expected: 3,
                found: 4
            })
        );
        let (expected_digest, found) = (digest(b"abc"), digest(b"abd"));
        assert_eq!(
            check(text("abd")),
            Err(SkillMismatch::Digest {
                uri: uri.clone(),
                expected: expected_digest,
                found
            })
        );
        for wrong in [
            vec![],
            vec![ResourceContents::text("skill://other", "abc")],
            [text("abc"), text("abc")].concat(),
            serde_json::from_value(json!([{"uri": URI, "blob": "?"}])).unwrap(),
        ] {
            assert_eq!(check(wrong), Err(SkillMismatch::Contents(uri.clone())));
        }
        assert_eq!(check_contents(URI, None, text("any")), Ok(b"any".to_vec()));
    }

    #[test]
    fn frontmatter_is_compared_field_by_field() {
        let check = |yaml: &str, listed: Value| {
            let listed = serde_json::from_value(listed).unwrap();
            check_frontmatter(format!("---\n{yaml}\n---\n").as_bytes(), &listed)
        };
        let differs = |field: &str| {
            Err(SkillMismatch::Frontmatter {
                field: field.to_owned(),
            })
        };
        let yaml = "name: pdf\ndescription: d\nmetadata: {v: 1.0, t: [a]}";
        let listed = json!({"description": "d", "metadata": {"t": ["a"], "v": 1}, "name": "pdf"});
        assert_eq!(check(yaml, listed.clone()), Ok(()));
        for (key, value) in [
            ("description", json!("other")),
            ("metadata", json!({"v": 1})),
            ("metadata", json!({"v": 2, "t": ["a"]})),
            ("metadata", json!({"v": 1, "t": ["a", "b"]})),
            ("license", json!("MIT")),
        ] {
            let mut listed = listed.clone();
            listed[key] = value;
            assert_eq!(check(yaml, listed), differs(key));
        }
        assert_eq!(
            check(&format!("{yaml}\nallowed-tools: Bash"), listed.clone()),
            differs("allowed-tools")
        );
        assert!(matches!(
            check("name: [", listed),
            Err(SkillMismatch::Unreadable(_))
        ));
    }
}
