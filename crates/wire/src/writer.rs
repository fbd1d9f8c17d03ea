use std::borrow::Borrow;
use std::fmt;

use bytes::Bytes;

use crate::raw::RawJson;

/// Writes a JSON array of values that are JSON already.
///
/// The items are copied byte by byte and not validated again, which makes merging the lists of many
/// servers as cheap as copying them. [`Limits`](crate::Limits) are not applied: an array of items
/// that are nested as deeply as allowed is one level deeper, and a peer may refuse it.
///
/// ```
/// # use callgate_wire::{ArrayWriter, Limits, RawJson};
/// let page = RawJson::parse(r#"[{"name":"a", "x":1e2},{"name":"b"}]"#.into(), &Limits::default())?;
/// let mut tools = ArrayWriter::with_capacity(page.as_bytes().len());
/// for tool in page.elements() {
///     tools.push(&tool);
/// }
/// assert_eq!(tools.finish().as_str(), r#"[{"name":"a", "x":1e2},{"name":"b"}]"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ArrayWriter {
    out: Vec<u8>,
}

/// Writes a JSON object whose values are JSON already.
///
/// The values are copied byte by byte and not validated again; [`Limits`](crate::Limits) are not
/// applied, as in [`ArrayWriter`]. The caller must not write the same key twice: the object would
/// have both members, and strict readers refuse it. Debug builds panic instead.
///
/// ```
/// # use callgate_wire::{ObjectWriter, RawJson};
/// let tools = [RawJson::empty_object()];
/// let result = ObjectWriter::new()
///     .array("tools", &tools)
///     .member("nextCursor", &RawJson::string("2"))
///     .finish();
/// assert_eq!(result.as_str(), r#"{"tools":[{}],"nextCursor":"2"}"#);
/// ```
#[must_use]
pub struct ObjectWriter {
    out: Vec<u8>,
    #[cfg(debug_assertions)]
    keys: std::collections::HashSet<String>,
}

impl ArrayWriter {
    /// Starts an array.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(0)
    }

    /// Starts an array in a buffer for `bytes` bytes of items and the commas between them.
    #[must_use]
    pub fn with_capacity(bytes: usize) -> Self {
        let mut out = Vec::with_capacity(bytes.saturating_add(BRACKETS));
        out.push(b'[');
        Self { out }
    }

    /// Appends an item.
    pub fn push(&mut self, item: &RawJson) {
        separate(&mut self.out);
        self.out.extend_from_slice(item.as_bytes());
    }

    /// Number of bytes written so far, for callers that limit the size of the whole.
    #[must_use]
    pub fn bytes_written(&self) -> usize {
        self.out.len()
    }

    /// Ends the array.
    #[must_use]
    pub fn finish(mut self) -> RawJson {
        self.out.push(b']');
        RawJson::trusted(Bytes::from(self.out))
    }
}

impl ObjectWriter {
    /// Starts an object.
    pub fn new() -> Self {
        Self::with_capacity(0)
    }

    /// Starts an object in a buffer for `bytes` bytes of keys, values and the characters between
    /// them.
    pub fn with_capacity(bytes: usize) -> Self {
        let mut out = Vec::with_capacity(bytes.saturating_add(BRACKETS));
        out.push(b'{');
        Self {
            out,
            #[cfg(debug_assertions)]
            keys: std::collections::HashSet::new(),
        }
    }

    /// Appends a member.
    pub fn member(mut self, key: &str, value: &RawJson) -> Self {
        self.key(key);
        self.out.extend_from_slice(value.as_bytes());
        self
    }

    /// Appends a member whose value is an array of `items`, without building that array first.
    pub fn array<I>(mut self, key: &str, items: I) -> Self
    where
        I: IntoIterator<Item: Borrow<RawJson>>,
    {
        self.key(key);
        self.out.push(b'[');
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            self.out.extend_from_slice(item.borrow().as_bytes());
        }
        self.out.push(b']');
        self
    }

    /// Ends the object.
    #[must_use]
    pub fn finish(mut self) -> RawJson {
        self.out.push(b'}');
        RawJson::trusted(Bytes::from(self.out))
    }

    fn key(&mut self, key: &str) {
        #[cfg(debug_assertions)]
        assert!(
            self.keys.insert(key.to_owned()),
            "the key `{key}` is written twice"
        );
        separate(&mut self.out);
        serde_json::to_writer(&mut self.out, key).expect("a string is always JSON");
        self.out.push(b':');
    }
}

/// The opening and the closing bracket.
const BRACKETS: usize = 2;

/// Appends a comma unless only the opening bracket has been written.
fn separate(out: &mut Vec<u8>) {
    if out.len() > 1 {
        out.push(b',');
    }
}

impl Default for ArrayWriter {
    fn default() -> Self {
        Self::new()
    }
}

impl Default for ObjectWriter {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ArrayWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.out))
    }
}

impl fmt::Debug for ObjectWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, Limits};
    use proptest::prelude::*;

    fn raw(text: &str) -> RawJson {
        RawJson::parse(Bytes::copy_from_slice(text.as_bytes()), &Limits::default()).unwrap()
    }

    fn array(items: &[RawJson]) -> RawJson {
        let mut writer = ArrayWriter::new();
        for item in items {
            writer.push(item);
        }
        writer.finish()
    }

    #[test]
    fn items_are_copied_as_they_are() {
        for (items, expect) in [
            (&[][..], "[]"),
            (&["1e2"][..], "[1e2]"),
            (
                &["[]", "{ \"a\" :-0}", "\"\\u0061\""][..],
                "[[],{ \"a\" :-0},\"\\u0061\"]",
            ),
        ] {
            let items: Vec<RawJson> = items.iter().map(|item| raw(item)).collect();
            assert_eq!(array(&items).as_str(), expect);
            let nested = ObjectWriter::new().array("items", &items).finish();
            assert_eq!(nested.as_str(), format!("{{\"items\":{expect}}}"));
        }
    }

    #[test]
    fn members_follow_each_other_in_the_order_of_the_calls() {
        assert_eq!(ObjectWriter::new().finish().as_str(), "{}");
        let object = ObjectWriter::with_capacity(64)
            .member("z", &raw("12345678901234567890123"))
            .array("none", [] as [RawJson; 0])
            .member("a", &raw("{}"))
            .finish();
        assert_eq!(
            object.as_str(),
            r#"{"z":12345678901234567890123,"none":[],"a":{}}"#
        );
    }

    #[test]
    fn a_capacity_that_suffices_is_all_that_is_allocated() {
        let item = raw(r#"{"name":"tool"}"#);
        let bytes = 1000 * (item.as_bytes().len() + 1);
        let mut writer = ArrayWriter::with_capacity(bytes);
        let buffer = writer.out.as_ptr();
        for _ in 0..1000 {
            writer.push(&item);
        }
        assert_eq!(writer.out.as_ptr(), buffer);
        assert_eq!(writer.bytes_written(), bytes);
        assert_eq!(writer.finish().elements().len(), 1000);
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "the key `a` is written twice")]
    fn a_key_written_twice_is_found_in_debug_builds() {
        let _ = ObjectWriter::new()
            .member("a", &RawJson::null())
            .array("a", [RawJson::null()]);
    }

    fn item() -> impl Strategy<Value = RawJson> {
        let text = prop_oneof![
            Just("12345678901234567890123".to_owned()),
            Just("49E-31".to_owned()),
            Just(r#""\u0061\ud800\"}],""#.to_owned()),
            Just("[1 ,\n{\"k\":[]}]".to_owned()),
            Just("{ \"k\" :1e2,\t\"unknown\":null}".to_owned()),
            any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap()),
            any::<i64>().prop_map(|number| number.to_string()),
        ];
        text.prop_map(|text| raw(&text))
    }

    proptest! {
        #[test]
        fn written_items_parse_strictly_to_the_same_items(
            items in prop::collection::vec(item(), 0..20),
            members in prop::collection::btree_map(any::<String>(), item(), 0..10),
        ) {
            let parse = |value: RawJson| RawJson::parse_strict(value.into_bytes(), &Limits::default());
            let written = parse(array(&items)).unwrap();
            prop_assert_eq!(written.kind(), Kind::Array);
            prop_assert_eq!(written.elements(), items.clone());

            let mut writer = ObjectWriter::new();
            // Longer than every other key, so it is none of them.
            let last = members.keys().map(String::as_str).collect::<String>() + "items";
            for (key, value) in &members {
                writer = writer.member(key, value);
            }
            let written = parse(writer.array(&last, &items).finish()).unwrap();
            let mut found = written.members();
            for (key, value) in &members {
                let member = found.next().unwrap();
                prop_assert_eq!(member.key().unwrap().into_owned(), key.as_str());
                prop_assert_eq!(&written.value_of(&member), value);
            }
            prop_assert_eq!(written.get(&last).unwrap().elements(), items);
        }
    }
}
