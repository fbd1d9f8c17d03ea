use std::ops::Range;

use bytes::{BufMut, Bytes};

use crate::members::Member;
use crate::raw::RawJson;
use crate::text::{max_written_length, write_string};

/// Reads and edits the members of one object: found in one pass, written in one copy.
///
/// Unlike a [`Splice`](crate::Splice), it can be asked for members between the edits, and edits no
/// members of members.
///
/// ```
/// # use callgate_wire::{Limits, ObjectEdit, RawJson};
/// let raw = RawJson::parse(r#"{"a":1e2, "b":[2],"c":3}"#.into(), &Limits::default())?;
/// let mut edit = ObjectEdit::new(&raw);
/// let b = edit.get("b");
/// edit.remove("b");
/// edit.set("c", RawJson::string("x"));
/// edit.set("d", b.unwrap_or_else(RawJson::empty_object));
/// assert_eq!(edit.finish().as_str(), r#"{"a":1e2,"c":"x","d":[2]}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct ObjectEdit<'a> {
    /// Value that the object is, or is a part of.
    source: &'a RawJson,
    /// Position of the object.
    span: Range<usize>,
    members: Vec<(Member<'a>, MemberChange)>,
    /// Position of a value in the source that counts as another one.
    replaced: Option<(&'a Range<usize>, &'a RawJson)>,
    /// Members that the source does not have.
    more: Vec<(&'a str, RawJson)>,
}

#[derive(Debug, Clone)]
enum MemberChange {
    Keep,
    Remove,
    Replace(RawJson),
}

impl<'a> ObjectEdit<'a> {
    /// Finds the members of `source`; anything but an object counts as one without members.
    #[must_use]
    pub fn new(source: &'a RawJson) -> Self {
        Self::of_members(source, 0..source.as_bytes().len(), source.members())
    }

    /// Finds the members of `source` as [`ObjectEdit::new`] does, and removes the member `key` if its
    /// value is the object `known`, byte for byte, which is then not read.
    #[must_use]
    pub fn without(source: &'a RawJson, key: &str, known: &RawJson) -> Self {
        let mut edit = Self::of_members(source, 0..source.as_bytes().len(), std::iter::empty());
        let mut members = source.members();
        while let Some((raw_key, key_span)) = members.next_key() {
            let removed = match raw_key.is(key) && known.is_object() {
                true => members.pass(known.as_bytes()),
                false => None,
            };
            let (value_span, change) = match removed {
                Some(span) => (span, MemberChange::Remove),
                None => (members.skip_value(), MemberChange::Keep),
            };
            let member = Member {
                raw_key,
                key_span,
                value_span,
            };
            edit.members.push((member, change));
        }
        edit
    }

    /// True if the member `key` of the source is removed.
    #[must_use]
    pub fn has_removed(&self, key: &str) -> bool {
        let mut members = self.members.iter();
        members.any(|(member, change)| matches!(change, MemberChange::Remove) && member.is(key))
    }

    /// Edits the object at `span` in `source`, whose members have been found before.
    pub(crate) fn of_members(
        source: &'a RawJson,
        span: Range<usize>,
        members: impl Iterator<Item = Member<'a>>,
    ) -> Self {
        Self {
            source,
            span,
            members: members.map(|member| (member, MemberChange::Keep)).collect(),
            replaced: None,
            more: Vec::new(),
        }
    }

    /// Reads `value` in place of the one at `span` of the source.
    pub(crate) fn of_replaced(mut self, span: &'a Range<usize>, value: &'a RawJson) -> Self {
        self.replaced = Some((span, value));
        self
    }

    /// The value of the member `key` of the source, whatever the edits.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<RawJson> {
        let (member, _) = self.members.iter().find(|(member, _)| member.is(key))?;
        Some(match self.replaced_value(member) {
            Some(value) => value.clone(),
            None => self.source.value_of(member),
        })
    }

    /// Removes the member `key`, if it is there.
    pub fn remove(&mut self, key: &str) {
        if let Some(change) = self.change(key) {
            *change = MemberChange::Remove;
        }
    }

    /// Replaces the member `key`, or appends it.
    pub fn set(&mut self, key: &'a str, value: RawJson) {
        match self.change(key) {
            Some(change) => *change = MemberChange::Replace(value),
            None => self.more.push((key, value)),
        }
    }

    /// Replaces the member `key`, or appends it; without a value, removes it.
    pub fn set_or_remove(&mut self, key: &'a str, value: Option<RawJson>) {
        match value {
            Some(value) => self.set(key, value),
            None => self.remove(key),
        }
    }

    /// Writes the object; the source itself, if nothing was changed.
    #[must_use]
    pub fn finish(self) -> RawJson {
        if self.is_unchanged() {
            return self.source.slice(self.span);
        }
        let mut out = Vec::with_capacity(self.max_len());
        self.write(&mut out);
        RawJson::trusted(Bytes::from(out))
    }

    /// Maximum length of the written object. It is the exact one if no new key has a character to
    /// escape.
    pub(crate) fn max_len(&self) -> usize {
        if self.is_unchanged() {
            return self.span.len();
        }
        let members = self.members.iter().map(|(member, change)| {
            let length = match change {
                MemberChange::Remove => return 0,
                MemberChange::Keep => match self.replaced_value(member) {
                    Some(value) => member.value_span.start + value.as_bytes().len(),
                    None => member.value_span.end,
                },
                MemberChange::Replace(value) => member.value_span.start + value.as_bytes().len(),
            };
            length - member.key_span.start + 1
        });
        let more = self.more.iter();
        let more = more.map(|(key, value)| max_written_length(key) + value.as_bytes().len() + 2);
        // A brace more than there are commas, unless there are no members.
        (1 + members.sum::<usize>() + more.sum::<usize>()).max(2)
    }

    /// Appends the object.
    pub(crate) fn write(&self, out: &mut impl BufMut) {
        let text = self.source.as_bytes();
        if self.is_unchanged() {
            return out.put_slice(text.get(self.span.clone()).unwrap_or_default());
        }
        // The bracket or comma before the next member.
        let mut before: &[u8] = b"{";
        for (member, change) in &self.members {
            let (end, value) = match change {
                MemberChange::Remove => continue,
                MemberChange::Keep => match self.replaced_value(member) {
                    Some(value) => (member.value_span.start, value.as_bytes()),
                    None => (member.value_span.end, &[][..]),
                },
                MemberChange::Replace(value) => (member.value_span.start, value.as_bytes()),
            };
            let kept = text.get(member.key_span.start..end);
            for part in [before, kept.unwrap_or_default(), value] {
                out.put_slice(part);
            }
            before = b",";
        }
        for (key, value) in &self.more {
            out.put_slice(before);
            write_string(out, key);
            out.put_slice(b":");
            out.put_slice(value.as_bytes());
            before = b",";
        }
        out.put_slice(if before == b"{" { b"{}" } else { b"}" });
    }

    fn is_unchanged(&self) -> bool {
        let is_kept = |change: &MemberChange| matches!(change, MemberChange::Keep);
        self.replaced.is_none()
            && self.more.is_empty()
            && self.members.iter().all(|(_, change)| is_kept(change))
    }

    /// The value that counts as that of a member of the source, if it is not in the source.
    fn replaced_value(&self, member: &Member<'_>) -> Option<&'a RawJson> {
        let (span, value) = self.replaced?;
        (*span == member.value_span).then_some(value)
    }

    fn change(&mut self, key: &str) -> Option<&mut MemberChange> {
        let mut members = self.members.iter_mut();
        let (_, change) = members.find(|(member, _)| member.is(key))?;
        Some(change)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    fn raw(text: &str) -> RawJson {
        RawJson::parse(text.to_owned().into(), &Limits::default()).unwrap()
    }

    fn check(source: &str, edit: impl FnOnce(&mut ObjectEdit<'_>), expect: &str) {
        let source = raw(source);
        let mut edits = ObjectEdit::new(&source);
        edit(&mut edits);
        let edited = edits.finish();
        assert_eq!(edited.as_str(), expect);
        raw(edited.as_str());
    }

    #[test]
    fn a_known_member_is_removed_without_being_read() {
        let known = raw(r#"{"a":1}"#);
        for text in [
            r#"{"b":1,"m":{"a":1},"c":2}"#,
            r#"{ "m" : {"a":1} }"#,
            r#"{"m":{"a":1,"b":2}}"#,
            r#"{"n":{"a":1},"m":7}"#,
            "{}",
            "[]",
        ] {
            let source = raw(text);
            let edit = ObjectEdit::without(&source, "m", &known);
            let mut expect = ObjectEdit::new(&source);
            let is_known = expect.get("m").is_some_and(|value| value == known);
            if is_known {
                expect.remove("m");
            }
            assert_eq!(edit.has_removed("m"), is_known, "{text}");
            assert_eq!(edit.finish(), expect.finish(), "{text}");
        }
        let source = raw(r#"{"m":12}"#);
        let edit = ObjectEdit::without(&source, "m", &raw("1"));
        assert_eq!(edit.finish(), source);
    }

    #[test]
    fn unknown_members_keep_their_order_and_bytes() {
        let source = r#"{ "a" : 1.00 , "\u0062":[ 2 ],"c":{"d":10000000000000000001}}"#;
        check(source, |_| {}, source);
        check(
            source,
            |edit| edit.remove("a"),
            r#"{"\u0062":[ 2 ],"c":{"d":10000000000000000001}}"#,
        );
        check(
            source,
            |edit| edit.set("b", RawJson::string("x")),
            r#"{"a" : 1.00,"\u0062":"x","c":{"d":10000000000000000001}}"#,
        );
    }

    #[test]
    fn missing_members_are_appended_and_not_removed() {
        check("{}", |edit| edit.remove("a"), "{}");
        check(
            "{}",
            |edit| {
                edit.set("a", RawJson::string("1"));
                edit.set_or_remove("\"", Some(RawJson::empty_object()));
                edit.set_or_remove("b", None);
            },
            r#"{"a":"1","\"":{}}"#,
        );
        check(r#"{"a":1}"#, |edit| edit.remove("a"), "{}");
    }

    #[test]
    fn a_member_can_be_read_after_it_was_removed() {
        let source = raw(r#"{"a":1,"b":2}"#);
        let mut edit = ObjectEdit::new(&source);
        edit.remove("a");
        assert_eq!(edit.get("a"), Some(raw("1")));
        assert_eq!(edit.get("c"), None);
    }
}
