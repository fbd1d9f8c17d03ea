use std::ops::Range;

use bytes::{Bytes, BytesMut};

use crate::members::{Member, Members};
use crate::raw::{Kind, RawJson};

/// Edits members of an object and keeps every other byte.
///
/// ```
/// # use callgate_wire::{Limits, RawJson, Splice};
/// let raw = RawJson::parse(r#"{"name":"a__b", "arguments":{"n":1e2}}"#.into(), &Limits::default())?;
/// let edited = Splice::new(&raw)
///     .set(&["name"], &RawJson::string("b"))
///     .set(&["_meta", "progressToken"], &RawJson::string("7"))
///     .finish()?;
/// assert_eq!(
///     edited.as_str(),
///     r#"{"name":"b", "arguments":{"n":1e2},"_meta":{"progressToken":"7"}}"#
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Splice<'a> {
    source: &'a RawJson,
    edits: Vec<Edit<'a>>,
}

/// A path leads through something that is not an object, or edits overlap.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpliceError {
    /// The value at this path is not an object.
    #[error("`{path}` is not an object")]
    NotAnObject {
        /// The keys from the root, joined by dots.
        path: String,
    },
    /// Two edits name the same member, or one lies inside the other.
    #[error("two edits overlap at `{path}`")]
    Overlap {
        /// The keys from the root, joined by dots.
        path: String,
    },
}

#[derive(Debug, Clone)]
struct Edit<'a> {
    path: &'a [&'a str],
    /// The new value; `None` removes the member.
    value: Option<RawJson>,
}

impl<'a> Splice<'a> {
    /// Starts editing `source`, an object.
    #[must_use]
    pub fn new(source: &'a RawJson) -> Self {
        Self {
            source,
            edits: Vec::new(),
        }
    }

    /// Replaces the member at `path`, or appends it, with the objects that lead to it.
    #[must_use]
    pub fn set(mut self, path: &'a [&'a str], value: &RawJson) -> Self {
        self.edits.push(Edit {
            path,
            value: Some(value.clone()),
        });
        self
    }

    /// Removes the member at `path`, if it is there.
    #[must_use]
    pub fn remove(mut self, path: &'a [&'a str]) -> Self {
        self.edits.push(Edit { path, value: None });
        self
    }

    /// Applies the edits in one copy.
    ///
    /// # Errors
    /// A path leads through something that is not an object, or two edits overlap.
    pub fn finish(mut self) -> Result<RawJson, SpliceError> {
        if self.edits.is_empty() {
            return Ok(self.source.clone());
        }
        gather(&mut self.edits);
        let mut patches = Vec::with_capacity(self.edits.len());
        let span = 0..self.source.as_bytes().len();
        edit_object(self.source.as_bytes(), span, 0, &self.edits, &mut patches)?;
        Ok(RawJson::trusted(apply(self.source.as_bytes(), patches)))
    }
}

/// Puts edits below the same member next to each other, in the order of the first of them.
fn gather(edits: &mut [Edit<'_>]) {
    // Two always stand together.
    if edits.len() <= 2 {
        return;
    }
    let paths: Vec<&[&str]> = edits.iter().map(|edit| edit.path).collect();
    edits.sort_by_cached_key(|edit| {
        let prefixes = (1..=edit.path.len()).filter_map(|length| edit.path.get(..length));
        let first = |prefix: &[&str]| paths.iter().position(|path| path.starts_with(prefix));
        prefixes.map(first).collect::<Vec<_>>()
    });
}

/// Bytes that take the place of a span of the source.
struct Patch {
    span: Range<usize>,
    with: Bytes,
}

/// Turns the edits below the object at `span` into patches, in the order of the source.
fn edit_object(
    text: &[u8],
    span: Range<usize>,
    depth: usize,
    edits: &[Edit<'_>],
    patches: &mut Vec<Patch>,
) -> Result<(), SpliceError> {
    if text.get(span.start) != Some(&b'{') {
        return Err(SpliceError::NotAnObject {
            path: parent_path(edits, depth),
        });
    }
    let members: Vec<Member<'_>> = Members::new(text, span.start).collect();
    let mut groups = group_by_key(edits, depth)?;
    // The end of the last member that stays, once one has been seen.
    let mut kept_end = None;
    let mut removal: Option<Range<usize>> = None;
    for (index, member) in members.iter().enumerate() {
        let group = groups
            .iter_mut()
            .find(|group| !group.done && member.is(group.key));
        if let Some(group) = group {
            group.done = true;
            if matches!(group.edits, [Edit { path, value: None }] if path.len() == depth + 1) {
                let start = kept_end.unwrap_or(member.key_span.start);
                let next = members
                    .get(index + 1)
                    .map_or(member.value_span.end, |m| m.key_span.start);
                // With nothing kept before, the comma after the member goes; else the one before it.
                let end = if kept_end.is_none() {
                    next
                } else {
                    member.value_span.end
                };
                removal = Some(removal.map_or(start, |open| open.start)..end);
                continue;
            }
            flush(&mut removal, patches);
            replace_member(text, member, depth, group.edits, patches)?;
        }
        flush(&mut removal, patches);
        kept_end = Some(member.value_span.end);
    }
    flush(&mut removal, patches);
    let at = members
        .last()
        .map_or(span.start + 1, |member| member.value_span.end);
    append_missing(&groups, depth, at, kept_end.is_some(), patches)
}

fn flush(removal: &mut Option<Range<usize>>, patches: &mut Vec<Patch>) {
    if let Some(span) = removal.take() {
        patches.push(Patch {
            span,
            with: Bytes::new(),
        });
    }
}

fn replace_member(
    text: &[u8],
    member: &Member<'_>,
    depth: usize,
    edits: &[Edit<'_>],
    patches: &mut Vec<Patch>,
) -> Result<(), SpliceError> {
    match edits {
        [
            Edit {
                path,
                value: Some(value),
            },
        ] if path.len() == depth + 1 => {
            let with = value.clone().into_bytes();
            patches.push(Patch {
                span: member.value_span.clone(),
                with,
            });
            Ok(())
        }
        _ if edits.iter().all(|edit| edit.value.is_none()) && !is_object(text, member) => Ok(()),
        _ => edit_object(text, member.value_span.clone(), depth + 1, edits, patches),
    }
}

fn is_object(text: &[u8], member: &Member<'_>) -> bool {
    text.get(member.value_span.start) == Some(&b'{')
}

fn append_missing(
    groups: &[Group<'_>],
    depth: usize,
    at: usize,
    mut needs_comma: bool,
    patches: &mut Vec<Patch>,
) -> Result<(), SpliceError> {
    let mut with = BytesMut::new();
    for group in groups.iter().filter(|group| !group.done) {
        let Some(value) = new_value(group.edits, depth + 1)? else {
            continue;
        };
        if needs_comma {
            with.extend_from_slice(b",");
        }
        needs_comma = true;
        with.extend_from_slice(RawJson::string(group.key).as_bytes());
        with.extend_from_slice(b":");
        with.extend_from_slice(value.as_bytes());
    }
    if !with.is_empty() {
        patches.push(Patch {
            span: at..at,
            with: with.freeze(),
        });
    }
    Ok(())
}

/// The value of a member that the source does not have.
fn new_value(edits: &[Edit<'_>], depth: usize) -> Result<Option<RawJson>, SpliceError> {
    if let [Edit { path, value }] = edits
        && path.len() == depth
    {
        return Ok(value.clone());
    }
    if edits.iter().all(|edit| edit.value.is_none()) {
        return Ok(None);
    }
    let empty = RawJson::empty_object();
    let mut patches = Vec::new();
    edit_object(empty.as_bytes(), 0..2, depth, edits, &mut patches)?;
    Ok(Some(RawJson::trusted(apply(empty.as_bytes(), patches))))
}

/// The edits that go through the same key.
struct Group<'e> {
    key: &'e str,
    edits: &'e [Edit<'e>],
    done: bool,
}

/// Groups edits by their key at `depth`; edits of one group stand together.
fn group_by_key<'e>(edits: &'e [Edit<'e>], depth: usize) -> Result<Vec<Group<'e>>, SpliceError> {
    let mut groups: Vec<Group<'e>> = Vec::new();
    for run in edits.chunk_by(|a, b| a.path.get(depth) == b.path.get(depth)) {
        let Some(key) = run.first().and_then(|edit| edit.path.get(depth)) else {
            return Err(SpliceError::Overlap {
                path: parent_path(edits, depth),
            });
        };
        let ends_here = run.iter().any(|edit| edit.path.len() == depth + 1);
        if run.len() > 1 && ends_here || groups.iter().any(|group| group.key == *key) {
            return Err(SpliceError::Overlap {
                path: parent_path(run, depth + 1),
            });
        }
        groups.push(Group {
            key,
            edits: run,
            done: false,
        });
    }
    Ok(groups)
}

fn parent_path(edits: &[Edit<'_>], depth: usize) -> String {
    let path = edits.first().map_or(&[][..], |edit| edit.path);
    path.get(..depth).unwrap_or(path).join(".")
}

fn apply(source: &[u8], patches: Vec<Patch>) -> Bytes {
    let added: usize = patches.iter().map(|patch| patch.with.len()).sum();
    let mut out = BytesMut::with_capacity(source.len() + added);
    let mut at = 0;
    for patch in patches {
        out.extend_from_slice(source.get(at..patch.span.start).unwrap_or_default());
        out.extend_from_slice(&patch.with);
        at = patch.span.end;
    }
    out.extend_from_slice(source.get(at..).unwrap_or_default());
    out.freeze()
}

impl RawJson {
    /// True if this is an object, and so can be edited.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.kind() == Kind::Object
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    fn raw(text: &str) -> RawJson {
        RawJson::parse(Bytes::copy_from_slice(text.as_bytes()), &Limits::default()).unwrap()
    }

    fn check(source: &str, edit: impl FnOnce(Splice<'_>) -> Splice<'_>, expect: &str) {
        let source = raw(source);
        let edited = edit(Splice::new(&source)).finish().unwrap();
        assert_eq!(edited.as_str(), expect);
        raw(edited.as_str());
    }

    #[test]
    fn edits_of_one_member_need_not_stand_together() {
        check(
            r#"{"x":{"a":1,"b":{"c":2}},"y":3}"#,
            |s| {
                s.remove(&["x", "a"])
                    .set(&["z"], &raw("4"))
                    .remove(&["x", "b", "c"])
                    .remove(&["y"])
                    .set(&["x", "e"], &raw("5"))
                    .set(&["x", "b", "d"], &raw("6"))
            },
            r#"{"x":{"b":{"d":6},"e":5},"z":4}"#,
        );
    }

    #[test]
    fn a_member_is_replaced_where_it_stands() {
        check(
            r#"{ "a" : 1 ,"b":49E-31}"#,
            |s| s.set(&["a"], &raw("[2]")),
            r#"{ "a" : [2] ,"b":49E-31}"#,
        );
        check(
            r#"{"x":{"a":1,"b":2}}"#,
            |s| s.set(&["x", "b"], &raw("3")),
            r#"{"x":{"a":1,"b":3}}"#,
        );
        check(
            r#"{"\u0061":1}"#,
            |s| s.set(&["a"], &raw("2")),
            r#"{"\u0061":2}"#,
        );
    }

    #[test]
    fn a_missing_member_is_appended_with_its_parents() {
        check("{}", |s| s.set(&["a"], &raw("1")), r#"{"a":1}"#);
        check(
            "{ }",
            |s| s.set(&["a"], &raw("1")).set(&["b"], &raw("2")),
            r#"{"a":1,"b":2 }"#,
        );
        check(
            r#"{"a":1 }"#,
            |s| s.set(&["m", "k"], &raw("2")),
            r#"{"a":1,"m":{"k":2} }"#,
        );
        check(
            r#"{"m":{}}"#,
            |s| {
                s.set(&["m", "k"], &raw("2"))
                    .set(&["m", "l", "n"], &raw("3"))
            },
            r#"{"m":{"k":2,"l":{"n":3}}}"#,
        );
    }

    #[test]
    fn a_removed_member_takes_one_comma_with_it() {
        let source = r#"{"a":1, "b":2 ,"c":3}"#;
        check(source, |s| s.remove(&["a"]), r#"{"b":2 ,"c":3}"#);
        check(source, |s| s.remove(&["b"]), r#"{"a":1 ,"c":3}"#);
        check(source, |s| s.remove(&["c"]), r#"{"a":1, "b":2}"#);
        check(source, |s| s.remove(&["a"]).remove(&["b"]), r#"{"c":3}"#);
        check(source, |s| s.remove(&["b"]).remove(&["c"]), r#"{"a":1}"#);
        check(source, |s| s.remove(&["a"]).remove(&["c"]), r#"{"b":2}"#);
        check(source, |s| s.remove(&["x"]).remove(&["y", "z"]), source);
        check(source, |s| s.remove(&["a", "deep"]), source);
        check(
            r#"{"a":1}"#,
            |s| s.remove(&["a"]).set(&["b"], &raw("2")),
            r#"{"b":2}"#,
        );
    }

    #[test]
    fn edits_that_make_no_sense_are_refused() {
        let source = raw(r#"{"a":1,"m":{}}"#);
        let one = raw("1");
        assert_eq!(
            Splice::new(&source).set(&["a", "b"], &one).finish(),
            Err(SpliceError::NotAnObject {
                path: "a".to_owned()
            })
        );
        assert_eq!(
            Splice::new(&one).set(&["a"], &one).finish(),
            Err(SpliceError::NotAnObject {
                path: String::new()
            })
        );
        for overlapping in [
            Splice::new(&source).set(&["m"], &one).set(&["m"], &one),
            Splice::new(&source)
                .set(&["m"], &one)
                .set(&["m", "x"], &one),
            Splice::new(&source)
                .set(&["m", "x"], &one)
                .set(&["a"], &one)
                .set(&["m"], &one),
        ] {
            assert_eq!(
                overlapping.finish(),
                Err(SpliceError::Overlap {
                    path: "m".to_owned()
                })
            );
        }
    }

    fn object() -> impl Strategy<Value = Map<String, Value>> {
        let leaf = prop_oneof![
            any::<i64>().prop_map(Value::from),
            "[a-z\"\\\\\n{},]{0,6}".prop_map(Value::from),
            Just(Value::Null),
        ];
        let value = leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-e]", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        });
        prop::collection::btree_map("[a-e]", value, 0..5).prop_map(|map| map.into_iter().collect())
    }

    const VALUES: [&str; 7] = [
        "12345678901234567890123",
        "49E-31",
        "-0",
        r#""\u0061\"},""#,
        r#"[1 , {"k0":[]}]"#,
        r#"{ "k0" :1e2}"#,
        "null",
    ];

    proptest! {
        #[test]
        fn every_byte_but_the_edited_span_stays(
            members in prop::collection::vec(
                ("[ \t\r\n]{0,2}", prop::sample::select(&VALUES[..]), "[ \t\r\n]{0,2}"),
                1..5,
            ),
            edited: prop::sample::Index,
        ) {
            let edited = edited.index(members.len());
            let new = raw("[ 0.50 ]");
            let text = |changed: Option<&str>, appended: &str| {
                let member = |(index, (before, value, after)): (usize, &(String, &str, String))| {
                    let value = changed.filter(|_| index == edited).unwrap_or(value);
                    let appended = if index + 1 == members.len() { appended } else { "" };
                    format!("{before}\"k{index}\"{after}:{before}{value}{appended}{after}")
                };
                let members: Vec<String> = members.iter().enumerate().map(member).collect();
                format!("{{{}}}", members.join(","))
            };
            let source = raw(&text(None, ""));
            let key = format!("k{edited}");

            let replaced = Splice::new(&source).set(&[&key], &new).finish().unwrap();
            prop_assert_eq!(replaced.as_str(), text(Some(new.as_str()), ""));

            let appended = Splice::new(&source).set(&["k"], &new).finish().unwrap();
            prop_assert_eq!(appended.as_str(), text(None, r#","k":[ 0.50 ]"#));

            let removed = Splice::new(&source).remove(&[&key]).finish().unwrap();
            raw(removed.as_str());
            let listed = |object: &RawJson| -> Vec<_> {
                let member = |member: Member<'_>| (member.key().unwrap().into_owned(), object.value_of(&member));
                object.members().map(member).collect()
            };
            let mut left = listed(&source);
            left.remove(edited);
            prop_assert_eq!(listed(&removed), left);
        }

        #[test]
        fn only_the_edited_members_change(object in object(), key in "[a-e]", other in "[a-e]", pretty: bool) {
            let write = if pretty { serde_json::to_string_pretty } else { serde_json::to_string };
            let source = raw(&write(&object).unwrap());
            let (set, removed) = ([key.as_str()], [other.as_str()]);
            let new = raw("[49E-31]");
            let mut splice = Splice::new(&source).set(&set, &new);
            if key != other {
                splice = splice.remove(&removed);
            }
            let edited = splice.finish().unwrap();
            let edited = RawJson::parse_strict(edited.into_bytes(), &Limits::default()).unwrap();

            prop_assert_eq!(edited.get(&key), Some(new));
            if key != other {
                prop_assert_eq!(edited.get(&other), None);
            }
            for member in source.members().filter(|member| !member.is(&key) && !member.is(&other)) {
                let name = member.key().unwrap();
                prop_assert_eq!(edited.get(&name), Some(source.value_of(&member)));
            }
        }
    }
}
