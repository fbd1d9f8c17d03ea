use std::borrow::Cow;

/// A string holds half of a surrogate pair and so has no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("string has a lone surrogate")]
pub struct LoneSurrogate;

/// Bytes between the quotes of a valid JSON string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RawText<'a> {
    pub(crate) bytes: &'a [u8],
    /// True if there are escapes, so that it must be decoded to be read.
    pub(crate) escaped: bool,
}

impl<'a> RawText<'a> {
    /// The text, copied only where it must be decoded.
    pub(crate) fn decode(self) -> Result<Cow<'a, str>, LoneSurrogate> {
        let raw = std::str::from_utf8(self.bytes).expect("a scanned string is UTF-8");
        if self.escaped {
            unescape(raw).map(Cow::Owned)
        } else {
            Ok(Cow::Borrowed(raw))
        }
    }

    /// Compares the text with `name`.
    pub(crate) fn is(self, name: &str) -> bool {
        if self.escaped {
            return self.decode().is_ok_and(|text| text == name);
        }
        self.bytes == name.as_bytes()
    }
}

/// Number of bytes before the first quote, backslash or control character.
///
/// Looks at eight bytes at a time: most strings of a message are short, and this is where a scan
/// spends its time.
pub(crate) fn plain_length(bytes: &[u8]) -> usize {
    let (words, tail) = bytes.as_chunks();
    for (index, word) in words.iter().enumerate() {
        let special = special_bytes(u64::from_le_bytes(*word));
        if special != 0 {
            return index * 8 + special.trailing_zeros() as usize / 8;
        }
    }
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | ..0x20);
    words.len() * 8 + tail.iter().position(is_special).unwrap_or(tail.len())
}

/// Sets the high bit of the lowest byte that does not stand for itself; higher bits may lie.
fn special_bytes(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let zero_bytes = |word: u64| word.wrapping_sub(ONES) & !word;
    let quotes = zero_bytes(word ^ (ONES * b'"' as u64));
    let backslashes = zero_bytes(word ^ (ONES * b'\\' as u64));
    let controls = word.wrapping_sub(ONES * 0x20) & !word;
    (quotes | backslashes | controls) & HIGHS
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
        fn plain_bytes_end_at_the_first_special_one(bytes: Vec<u8>, text in "[ -~\u{80}-\u{ffff}]{0,40}") {
            for bytes in [bytes.as_slice(), text.as_bytes()] {
                let expect = bytes.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20));
                prop_assert_eq!(plain_length(bytes), expect.unwrap_or(bytes.len()));
            }
        }
    }
}
