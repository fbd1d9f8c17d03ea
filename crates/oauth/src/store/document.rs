use bytes::Bytes;
use callgate_wire::{Limits, RawJson, Splice};

use super::login::Login;
use super::{checksum, entry};

/// Content of the file: an object with one entry for each server.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Document(RawJson);

/// Result of reading a file.
pub(super) struct Reading {
    /// Entries that are intact.
    pub(super) document: Document,
    /// Damage that was found.
    pub(super) damage: Option<Damage>,
}

/// Damage of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Damage {
    /// The file is not a JSON object with unique keys.
    File,
    /// These entries have wrong checksums.
    Logins(Vec<String>),
}

impl Document {
    /// File without logins.
    pub(super) const fn empty() -> Self {
        Self(RawJson::empty_object())
    }

    pub(super) fn read(bytes: Bytes) -> Reading {
        let limits = Limits {
            bytes: bytes.len(),
            ..Limits::default()
        };
        match RawJson::parse_strict(bytes, &limits) {
            Ok(object) if object.is_object() => Self::without_damaged(&object),
            _ => Reading {
                document: Self::empty(),
                damage: Some(Damage::File),
            },
        }
    }

    fn without_damaged(object: &RawJson) -> Reading {
        let mut document = Self(object.clone());
        let mut damaged = Vec::new();
        for (name, entry) in document.clone().entries() {
            if entry.is_object() && !checksum::is_intact(&entry) {
                document = document.without(&name);
                damaged.push(name);
            }
        }
        Reading {
            document,
            damage: (!damaged.is_empty()).then_some(Damage::Logins(damaged)),
        }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.0.as_bytes().to_vec();
        bytes.push(b'\n');
        bytes
    }

    /// Entries in the order of the file.
    pub(super) fn entries(&self) -> impl Iterator<Item = (String, RawJson)> {
        self.0.members().filter_map(|member| {
            let name = member.key().ok()?.into_owned();
            Some((name, self.0.value_of(&member)))
        })
    }

    /// Login of the server `name`.
    pub(super) fn login(&self, name: &str) -> Option<Login> {
        self.entry(name).as_ref().map(entry::decode)
    }

    /// Copy with the login `new` of the server `name`.
    pub(super) fn with_login(&self, name: &str, new: &Login) -> Self {
        let entry = self.entry(name).unwrap_or(RawJson::empty_object());
        let updated = entry::update(&entry, &entry::decode(&entry), new);
        self.with_entry(name, &updated)
    }

    /// Copy with the object `entry` for the server `name`.
    pub(super) fn with_entry(&self, name: &str, entry: &RawJson) -> Self {
        let edited = Splice::new(&self.0).set(&[name], entry).finish();
        Self(edited.expect("a document is an object"))
    }

    /// Copy without the server `name`.
    pub(super) fn without(&self, name: &str) -> Self {
        let edited = Splice::new(&self.0).remove(&[name]).finish();
        Self(edited.expect("a document is an object"))
    }

    /// Returns true if there is an entry for `name`.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some()
    }

    fn entry(&self, name: &str) -> Option<RawJson> {
        self.0.get(name).filter(RawJson::is_object)
    }
}

#[cfg(test)]
mod tests {
    use super::{Damage, Document};
    use crate::store::login::Login;

    fn check(text: &str, damage: Option<&Damage>, document: &str) {
        let reading = Document::read(text.to_owned().into());
        assert_eq!(reading.damage.as_ref(), damage, "{text}");
        let bytes = reading.document.to_bytes();
        assert_eq!(
            String::from_utf8(bytes).expect("text"),
            format!("{document}\n")
        );
    }

    #[test]
    fn a_file_that_is_no_object_is_damaged() {
        for text in [
            "",
            " ",
            "[]",
            "null",
            "{",
            r#"{"a":{}"#,
            r#"{"a":1,"a":2}"#,
            "{}{}",
            "\0\0",
        ] {
            check(text, Some(&Damage::File), "{}");
        }
    }

    #[test]
    fn what_is_not_a_login_is_left_alone() {
        let text = r#"{ "a":3, "b" : {"c":1e2} ,"\u00e9":null }"#;
        check(text, None, text);
    }

    #[test]
    fn a_damaged_login_does_not_take_the_others_with_it() {
        let login = Login {
            server_url: Some("https://s".to_owned()),
            ..Login::default()
        };
        let mut document = Document::empty();
        for name in ["a", "b", "c"] {
            document = document.with_login(name, &login);
        }
        let text = String::from_utf8(document.to_bytes()).expect("text");
        check(&text, None, text.trim_end());

        let start = text.find("\"b\"").expect("the second");
        let (before, after) = text.split_at(start);
        let damaged = format!("{before}{}", after.replacen("https://s", "https://t", 1));
        let names = vec!["b".to_owned()];
        let rest = document.without("b");
        let rest = String::from_utf8(rest.to_bytes()).expect("text");
        check(&damaged, Some(&Damage::Logins(names)), rest.trim_end());
    }
}
