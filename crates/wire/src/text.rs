use std::borrow::Cow;

use bytes::BufMut;
use memchr::memchr2;

/// A string holds half of a surrogate pair and so has no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("string has a lone surrogate")]
#[non_exhaustive]
pub struct LoneSurrogate;

/// Bytes between the quotes of a valid JSON string, not decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawText<'a> {
    pub(crate) bytes: &'a [u8],
    /// True if there are escapes, so that it must be decoded to be read.
    pub(crate) escaped: bool,
}

impl<'a> RawText<'a> {
    /// The bytes between the quotes, escapes included.
    #[must_use]
    pub fn as_bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// True if there are escapes, so that the bytes are not the text.
    #[must_use]
    pub fn escaped(self) -> bool {
        self.escaped
    }

    /// The text, copied only where it must be decoded.
    ///
    /// # Errors
    /// A string with half of a surrogate pair has no text.
    pub fn decode(self) -> Result<Cow<'a, str>, LoneSurrogate> {
        let raw = std::str::from_utf8(self.bytes).expect("a scanned string is UTF-8");
        if self.escaped {
            unescape(raw).map(Cow::Owned)
        } else {
            Ok(Cow::Borrowed(raw))
        }
    }

    /// Compares the text with `name`.
    #[must_use]
    pub fn is(self, name: &str) -> bool {
        self.is_raw(name.as_bytes())
    }

    /// Compares the text with `name`, which is UTF-8.
    #[inline]
    pub(crate) fn is_raw(self, name: &[u8]) -> bool {
        if self.escaped {
            return self.decode().is_ok_and(|text| text.as_bytes() == name);
        }
        self.bytes == name
    }
}

/// Number of bytes before the first quote, backslash or control character.
///
/// Most strings of a message are short, so one word of eight bytes is looked at first; the bytes of
/// a longer text are then compared in blocks, which the compiler turns into vector instructions.
pub(crate) fn plain_length(bytes: &[u8]) -> usize {
    let (mut length, mut rest) = (0, bytes);
    if let Some((word, after)) = rest.split_first_chunk() {
        // Little-endian on all machines: then the lowest bit, which alone is reliable, belongs to the first
        // byte.
        let special = special_bytes(u64::from_le_bytes(*word));
        if special != 0 {
            return special.trailing_zeros() as usize / 8;
        }
        (length, rest) = (word.len(), after);
    }
    while let Some((block, after)) = rest.split_first_chunk()
        && is_plain(block)
    {
        (length, rest) = (length + block.len(), after);
    }
    length + plain_words(rest)
}

/// The same in a text without control characters.
pub(crate) fn plain_length_without_controls(bytes: &[u8]) -> usize {
    let (length, rest) = match bytes.split_first_chunk() {
        None => (0, bytes),
        Some((word, rest)) => {
            let special = special_bytes(u64::from_le_bytes(*word));
            if special != 0 {
                return special.trailing_zeros() as usize / 8;
            }
            (word.len(), rest)
        }
    };
    length + memchr2(b'"', b'\\', rest).unwrap_or(rest.len())
}

/// True if there is a control character, such as a line break. No part of it is skipped, so that
/// the compiler turns it into vector instructions.
pub(crate) fn has_controls(bytes: &[u8]) -> bool {
    bytes.iter().fold(u8::MAX, |least, byte| least.min(*byte)) < 0x20
}

/// Length of the valid JSON string at the start of `bytes`, quotes included.
///
/// Escapes are not stopped at: only a quote can end it, unless a backslash escapes it.
pub(crate) fn string_length(bytes: &[u8]) -> usize {
    let text = bytes.get(1..).unwrap_or_default();
    let mut at = first_quote(text.get(..SHORT).unwrap_or(text));
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let Some(length) = (match rest.first() {
            Some(b'"') => Some(0),
            _ => memchr::memchr(b'"', rest),
        }) else {
            return bytes.len();
        };
        at += length;
        let before = text.get(..at).unwrap_or_default();
        // In pairs they escape each other. An odd one escapes the quote.
        let backslashes = before.iter().rev().take_while(|byte| **byte == b'\\');
        at += 1;
        if backslashes.count() % 2 == 0 {
            return at + 1;
        }
    }
}

/// Length up to which the end of a string is searched eight bytes at a time.
const SHORT: usize = 32;
/// Length of the blocks in which a long text is searched: the lines of a text file, each of which
/// ends in an escape, have more than one.
const BLOCK: usize = 32;

fn is_plain(block: &[u8; BLOCK]) -> bool {
    let mut special = 0;
    // Without an early end, and in a plain loop, so that all bytes are compared at once in every
    // kind of build.
    for byte in block {
        special |= u8::from(*byte == b'"') | u8::from(*byte == b'\\') | u8::from(*byte < 0x20);
    }
    special == 0
}

fn is_special(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | ..0x20)
}

/// The same as [`plain_length`], by words of eight bytes.
#[inline]
pub(crate) fn plain_words(bytes: &[u8]) -> usize {
    let (words, tail) = bytes.as_chunks();
    for (index, word) in words.iter().enumerate() {
        let special = special_bytes(u64::from_le_bytes(*word));
        if special != 0 {
            return index * 8 + special.trailing_zeros() as usize / 8;
        }
    }
    let end = tail.iter().position(|byte| is_special(*byte));
    words.len() * 8 + end.unwrap_or(tail.len())
}

/// Position of the first quote, or the end; by words of eight bytes.
fn first_quote(bytes: &[u8]) -> usize {
    let (words, tail) = bytes.as_chunks();
    for (index, word) in words.iter().enumerate() {
        let quotes = equal_bytes(u64::from_le_bytes(*word), b'"') & HIGHS;
        if quotes != 0 {
            return index * 8 + quotes.trailing_zeros() as usize / 8;
        }
    }
    let quote = tail.iter().position(|byte| *byte == b'"');
    words.len() * 8 + quote.unwrap_or(tail.len())
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// Sets the high bit of the lowest byte that does not stand for itself; higher bits may lie.
fn special_bytes(word: u64) -> u64 {
    let controls = word.wrapping_sub(ONES * 0x20) & !word;
    (equal_bytes(word, b'"') | equal_bytes(word, b'\\') | controls) & HIGHS
}

/// Sets the high bit of the lowest byte that equals `byte`; other bits may lie.
fn equal_bytes(word: u64, byte: u8) -> u64 {
    let zeros = word ^ (ONES * u64::from(byte));
    zeros.wrapping_sub(ONES) & !zeros
}

/// Appends `text` as a JSON string, as `serde_json` writes it.
pub(crate) fn write_string(out: &mut impl BufMut, text: &str) {
    out.put_u8(b'"');
    let mut rest = text.as_bytes();
    loop {
        let (plain, special) = rest.split_at(plain_length(rest));
        out.put_slice(plain);
        let Some((byte, after)) = special.split_first() else {
            break;
        };
        match byte {
            b'"' => out.put_slice(b"\\\""),
            b'\\' => out.put_slice(b"\\\\"),
            b'\n' => out.put_slice(b"\\n"),
            b'\r' => out.put_slice(b"\\r"),
            b'\t' => out.put_slice(b"\\t"),
            0x08 => out.put_slice(b"\\b"),
            0x0c => out.put_slice(b"\\f"),
            _ => out.put_slice(format!("\\u{byte:04x}").as_bytes()),
        }
        rest = after;
    }
    out.put_u8(b'"');
}

/// Maximum length of `text` as [`write_string`] writes it; the exact one if nothing is escaped.
pub(crate) fn max_written_length(text: &str) -> usize {
    let plain = plain_length(text.as_bytes());
    // Any of the other characters may be written as six.
    plain + 6 * (text.len() - plain) + 2
}

fn unescape(raw: &str) -> Result<String, LoneSurrogate> {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    loop {
        let length = memchr::memchr(b'\\', rest.as_bytes()).unwrap_or(rest.len());
        let (plain, escape) = rest.split_at(length);
        text.push_str(plain);
        let Some(escape) = escape.strip_prefix('\\') else {
            return Ok(text);
        };
        let (decoded, after) = decode_escape(escape)?;
        text.push(decoded);
        rest = after;
    }
}

/// The length of the valid escape at the start of `bytes`, backslash included.
pub(crate) fn escape_length(bytes: &[u8]) -> Option<usize> {
    match bytes.get(1)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(2),
        b'u' => bytes
            .get(2..6)?
            .iter()
            .all(u8::is_ascii_hexdigit)
            .then_some(6),
        _ => None,
    }
}

/// Decodes the escape after a backslash, and returns the text after it.
fn decode_escape(escape: &str) -> Result<(char, &str), LoneSurrogate> {
    let mut chars = escape.chars();
    let decoded = match chars.next() {
        Some('b') => '\u{8}',
        Some('f') => '\u{c}',
        Some('n') => '\n',
        Some('r') => '\r',
        Some('t') => '\t',
        Some('u') => return decode_unicode(chars.as_str()),
        Some(other) => other,
        None => return Err(LoneSurrogate),
    };
    Ok((decoded, chars.as_str()))
}

fn decode_unicode(digits: &str) -> Result<(char, &str), LoneSurrogate> {
    let (high, rest) = code_unit(digits)?;
    if let Some(decoded) = char::from_u32(high) {
        return Ok((decoded, rest));
    }
    let (low, rest) = code_unit(rest.strip_prefix("\\u").ok_or(LoneSurrogate)?)?;
    match (high, low) {
        (0xd800..=0xdbff, 0xdc00..=0xdfff) => {
            let scalar = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
            char::from_u32(scalar)
                .map(|decoded| (decoded, rest))
                .ok_or(LoneSurrogate)
        }
        _ => Err(LoneSurrogate),
    }
}

fn code_unit(digits: &str) -> Result<(u32, &str), LoneSurrogate> {
    let (unit, rest) = digits.split_at_checked(4).ok_or(LoneSurrogate)?;
    let unit = u32::from_str_radix(unit, 16).map_err(|_| LoneSurrogate)?;
    Ok((unit, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode(raw: &str) -> Result<Cow<'_, str>, LoneSurrogate> {
        RawText {
            bytes: raw.as_bytes(),
            escaped: raw.contains('\\'),
        }
        .decode()
    }

    #[test]
    fn escapes_decode_to_their_characters() {
        for (raw, text) in [
            ("plain", "plain"),
            (r#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{c}\n\r\t"),
            (r"\u0041b\u00e9", "Ab\u{e9}"),
            (r"x\ud83d\ude00y", "x\u{1f600}y"),
        ] {
            assert_eq!(decode(raw).as_deref(), Ok(text), "{raw}");
        }
    }

    #[test]
    fn half_a_pair_has_no_text() {
        for raw in [
            r"\ud800",
            r"\udc00",
            r"\ud800x",
            r"\ud800\u0041",
            r"\ud800\ud800",
        ] {
            assert_eq!(decode(raw), Err(LoneSurrogate), "{raw}");
        }
    }

    proptest! {
        #[test]
        fn plain_bytes_end_at_the_first_special_one(
            bytes: Vec<u8>,
            text in "[ -~\u{80}-\u{ffff}]{0,40}",
            prefix in 0_usize..300,
        ) {
            for bytes in [bytes.as_slice(), text.as_bytes()] {
                let bytes = [&vec![b'x'; prefix], bytes].concat();
                let expect = bytes.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20));
                prop_assert_eq!(plain_length(&bytes), expect.unwrap_or(bytes.len()));
                let controls = bytes.iter().any(|byte| *byte < 0x20);
                prop_assert_eq!(has_controls(&bytes), controls);
                if !controls {
                    let plain = plain_length_without_controls(&bytes);
                    prop_assert_eq!(plain, expect.unwrap_or(bytes.len()));
                }
            }
        }

        #[test]
        fn a_string_is_written_as_serde_writes_it(text: String, controls in "[\0-\u{7f}]{0,80}") {
            for text in [text, controls] {
                let mut written = Vec::new();
                write_string(&mut written, &text);
                prop_assert_eq!(String::from_utf8(written).unwrap(), serde_json::to_string(&text).unwrap());
            }
        }

        #[test]
        fn a_string_ends_at_its_last_quote(text in r#"[ab"\\\n]{0,80}"#, prefix in 0_usize..50) {
            let string = serde_json::to_string(&format!("{}{text}", "x".repeat(prefix))).unwrap();
            for after in ["", "\"", ",\"b\":1}"] {
                let bytes = format!("{string}{after}");
                prop_assert_eq!(string_length(bytes.as_bytes()), string.len());
            }
        }
    }
}
