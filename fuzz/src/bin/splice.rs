//! Setting or removing a member leaves every other member as it was, byte for byte.
//!
//! The first line of the input is the edit, `+a/b` or `-a/b`; the rest is the object to edit.

#![no_main]

use bytes::Bytes;
use callgate_fuzz::members;
use callgate_wire::{Limits, RawJson, Splice};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((edit, json)) = std::str::from_utf8(data)
        .ok()
        .and_then(|text| text.split_once('\n'))
    else {
        return;
    };
    let json = Bytes::copy_from_slice(json.as_bytes());
    let Ok(before) =
        RawJson::parse_strict(json, &Limits::default().with_bytes(4096).with_depth(32))
    else {
        return;
    };
    if let Some(path) = edit.strip_prefix('+') {
        let path: Vec<&str> = path.split('/').collect();
        let value = RawJson::string("new");
        let after = Splice::new(&before).set(&path, &value).finish();
        let expected = set(before.as_str(), &path, value.as_str());
        assert_eq!(
            after.ok().as_ref().map(RawJson::as_str),
            expected.as_deref()
        );
    } else if let Some(path) = edit.strip_prefix('-') {
        let path: Vec<&str> = path.split('/').collect();
        match Splice::new(&before).remove(&path).finish() {
            Ok(after) => check_removed(before.as_str(), after.as_str(), &path),
            Err(_) => assert!(!before.as_str().starts_with('{')),
        }
    }
});

/// `object` with the member at `path` replaced or appended, by way of `serde_json`.
fn set(object: &str, path: &[&str], value: &str) -> Option<String> {
    let (key, rest) = path.split_first()?;
    if !object.starts_with('{') {
        return None;
    }
    let members = members(object);
    if let Some((_, old)) = members.iter().find(|(name, _)| name == key) {
        let start = old.get().as_ptr() as usize - object.as_ptr() as usize;
        let (head, tail) = object.split_at(start);
        let tail = tail.get(old.get().len()..)?;
        let new = if rest.is_empty() {
            value.to_owned()
        } else {
            set(old.get(), rest, value)?
        };
        return Some(format!("{head}{new}{tail}"));
    }
    let new = rest.iter().rev().fold(value.to_owned(), |inner, key| {
        format!("{{{}:{inner}}}", quote(key))
    });
    let at = members.last().map_or(1, |(_, last)| {
        last.get().as_ptr() as usize - object.as_ptr() as usize + last.get().len()
    });
    let (head, tail) = object.split_at(at);
    let comma = if members.is_empty() { "" } else { "," };
    Some(format!("{head}{comma}{}:{new}{tail}", quote(key)))
}

/// Checks that `after` is `before` without the member at `path`.
fn check_removed(before: &str, after: &str, path: &[&str]) {
    let Some((key, rest)) = path.split_first().filter(|_| before.starts_with('{')) else {
        return assert_eq!(before, after);
    };
    let (old, new) = (members(before), members(after));
    let Some(index) = old.iter().position(|(name, _)| name == key) else {
        return assert_eq!(before, after);
    };
    let kept = |(at, member): (usize, &(String, &serde_json::value::RawValue))| {
        (at != index).then(|| (member.0.clone(), member.1.get().to_owned()))
    };
    let others: Vec<_> = old.iter().enumerate().filter_map(kept).collect();
    if rest.is_empty() {
        let left: Vec<_> = new
            .iter()
            .map(|(key, value)| (key.clone(), value.get().to_owned()))
            .collect();
        assert_eq!(left, others);
    } else {
        assert_eq!(
            new.iter().enumerate().filter_map(kept).collect::<Vec<_>>(),
            others
        );
        check_removed(old[index].1.get(), new[index].1.get(), rest);
    }
}

fn quote(key: &str) -> String {
    serde_json::to_string(key).expect("a string is always JSON")
}
