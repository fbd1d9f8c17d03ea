use std::borrow::Cow;

/// A string holds half of a surrogate pair and so has no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("string has a lone surrogate")]
pub struct LoneSurrogate;

/// Decodes what stands between the quotes of a valid JSON string.
pub(crate) fn decode(raw: &str) -> Result<Cow<'_, str>, LoneSurrogate> {
    let Some(first) = memchr::memchr(b'\\', raw.as_bytes()) else {
        return Ok(Cow::Borrowed(raw));
    };
    let (plain, mut rest) = raw.split_at(first);
    let mut text = String::with_capacity(raw.len());
    text.push_str(plain);
    while let Some(escape) = rest.strip_prefix('\\') {
        let (decoded, after) = decode_escape(escape)?;
        text.push(decoded);
        let length = memchr::memchr(b'\\', after.as_bytes()).unwrap_or(after.len());
        let (plain, next) = after.split_at(length);
        text.push_str(plain);
        rest = next;
    }
    Ok(Cow::Owned(text))
}

/// How many bytes at the start of `bytes` stand for themselves inside a JSON string: the next one,
/// if there is one, is a quote, a backslash or a control character.
pub(crate) fn plain_length(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let special = special_bytes(u64::from_le_bytes(*word));
        if special != 0 {
            return index * 8 + special.trailing_zeros() as usize / 8;
        }
    }
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    words.len() * 8 + rest.iter().position(is_special).unwrap_or(rest.len())
}

/// Sets the high bit of every byte that cannot stand for itself inside a JSON string.
///
/// Bytes above the lowest such byte may be marked wrongly: only the lowest mark counts.
fn special_bytes(word: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let below = |word: u64, limit: u8| word.wrapping_sub(EACH * u64::from(limit)) & !word;
    let equal = |byte: u8| below(word ^ (EACH * u64::from(byte)), 1);
    (equal(b'"') | equal(b'\\') | below(word, 0x20)) & (EACH * 0x80)
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

/// Decodes the escape whose backslash has just been passed, and returns what follows it.
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
    fn the_plain_part_of_a_string_ends_at_the_first_byte_that_needs_care() {
        for special in (0..=u8::MAX).filter(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)) {
            for length in 0..20 {
                let mut bytes = vec![0xc3; length];
                bytes.extend([special, b'"', 0, b'!', b' ', 0x7f, 0xff, b'\\', b'a']);
                assert_eq!(plain_length(&bytes), length, "{special:#x} at {length}");
            }
        }
    }

    #[test]
    fn every_other_byte_is_plain() {
        let plain: Vec<u8> = (0x20..=u8::MAX)
            .filter(|byte| !b"\"\\".contains(byte))
            .collect();
        for start in 0..9 {
            assert_eq!(plain_length(&plain[start..]), plain.len() - start);
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
}
