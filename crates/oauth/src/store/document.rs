use bytes::Bytes;
use callgate_wire::{Limits, RawJson, Splice};

use super::entry;
use super::login::Login;
use super::seal;

/// Content of the file: an object with one entry for each server.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Document(RawJson);

impl Document {
    /// File without logins.
    pub(super) const fn empty() -> Self {
        Self(RawJson::empty_object())
    }

    /// Reads a file; `None` if it is not a JSON object with unique keys.
    pub(super) fn read(bytes: Bytes) -> Option<Self> {
        let limits = Limits::default().with_bytes(bytes.len());
        let object = RawJson::parse_strict(bytes, &limits).ok()?;
        object.is_object().then_some(Self(object))
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
            (name != seal::HEADER).then(|| (name, self.0.value_of(&member)))
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

    /// Copy with these entries in the places of those of the same names.
    pub(super) fn with_entries(&self, entries: &[(String, RawJson)]) -> Self {
        let paths: Vec<[&str; 1]> = entries.iter().map(|(name, _)| [name.as_str()]).collect();
        let edits = paths.iter().zip(entries);
        let edit = edits.fold(Splice::new(&self.0), |edit, (path, (_, entry))| {
            edit.set(path, entry)
        });
        Self(edit.finish().expect("a document is an object"))
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

    /// Member of the file.
    pub(super) fn member(&self, name: &str) -> Option<RawJson> {
        self.0.get(name)
    }

    fn entry(&self, name: &str) -> Option<RawJson> {
        let is_entry = |value: &RawJson| value.is_object() && name != seal::HEADER;
        self.member(name).filter(is_entry)
    }
}

#[cfg(test)]
mod tests {
    use super::Document;

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
            assert!(Document::read(text.to_owned().into()).is_none(), "{text}");
        }
    }

    #[test]
    fn entries_that_are_not_logins_stay() {
        let text = r#"{ "a":3, "b" : {"c":1e2} ,"\u00e9":null }"#;
        let document = Document::read(text.to_owned().into()).expect("an object");
        assert_eq!(document.to_bytes(), format!("{text}\n").into_bytes());
    }
}
