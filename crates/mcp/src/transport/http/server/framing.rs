use memchr::{memchr, memchr2};

/// Follows the messages on a connection and finds heads that two readers could read differently.
///
/// The parser behind it forgives what RFC 9112 lets it forgive: it drops a `Content-Length` beside
/// a `Transfer-Encoding`, passes over codings it does not know and takes a bare line feed for the
/// end of a line. A proxy in front of us may forgive otherwise, so none of that is let through.
/// This reader believes only heads in the strict form; whatever else is wrong with them is left to
/// the parser.
#[derive(Debug)]
pub(super) struct Framing {
    state: State,
    /// The beginning of a line that is not finished.
    line: Vec<u8>,
    limit: usize,
}

/// What the bytes seen so far say of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// The next byte begins a message or belongs to a body.
    Whole,
    /// A head has begun and not ended.
    PartOfHead,
    /// A head was ambiguous.
    Ambiguous,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// Before the request line.
    Start,
    /// After the request line.
    Fields(Fields),
    /// In a body with so many bytes left.
    Body(u64),
    /// In the last message that the connection will carry.
    Last,
    Ambiguous,
}

/// The fields of a head that say where its body ends.
#[derive(Debug, Clone, Copy, Default)]
struct Fields {
    content_length: Option<u64>,
    transfer_encoding: bool,
}

impl Framing {
    /// Expects heads with lines of at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            state: State::Start,
            line: Vec::new(),
            limit,
        }
    }

    /// Takes the next bytes of the connection.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Seen {
        let find = |byte: u8, from: usize| {
            let rest = bytes.get(from..).unwrap_or_default();
            memchr(byte, rest).map(|found| from + found)
        };
        // Few heads have an underscore anywhere: asked once, this is not asked of each line.
        let mut underscore = find(b'_', 0);
        let mut at = 0;
        loop {
            match self.state {
                State::Ambiguous => return Seen::Ambiguous,
                State::Last => return Seen::Whole,
                State::Body(left) => {
                    let here = bytes.len() - at;
                    let here = usize::try_from(left).map_or(here, |left| left.min(here));
                    at += here;
                    self.state = State::after_body(left - here as u64);
                    if at == bytes.len() {
                        return Seen::Whole;
                    }
                }
                State::Start | State::Fields(_) => {
                    let Some(end) = find(b'\n', at) else {
                        return self.keep(bytes.get(at..).unwrap_or_default());
                    };
                    let suspicious = underscore.is_some_and(|underscore| underscore < end);
                    self.end_line(bytes.get(at..end).unwrap_or_default(), suspicious);
                    at = end + 1;
                    if suspicious {
                        underscore = find(b'_', at);
                    }
                }
            }
        }
    }

    fn keep(&mut self, part: &[u8]) -> Seen {
        if self.line.len() + part.len() > self.limit {
            self.state = State::Ambiguous;
            return Seen::Ambiguous;
        }
        self.line.extend_from_slice(part);
        match self.state {
            State::Start if self.line.is_empty() => Seen::Whole,
            _ => Seen::PartOfHead,
        }
    }

    fn end_line(&mut self, end: &[u8], suspicious: bool) {
        if self.line.is_empty() {
            self.state = after(self.state, end, suspicious);
            return;
        }
        self.line.extend_from_slice(end);
        self.state = after(self.state, &self.line, true);
        self.line.clear();
    }
}

impl State {
    fn after_body(left: u64) -> Self {
        if left == 0 {
            Self::Start
        } else {
            Self::Body(left)
        }
    }
}

/// The state after a line, given without its line feed; only in a `suspicious` one there may be an
/// underscore.
fn after(state: State, line: &[u8], suspicious: bool) -> State {
    let Some(line) = line.strip_suffix(b"\r") else {
        return State::Ambiguous;
    };
    match state {
        State::Start if line.is_empty() => State::Start,
        State::Start => State::Fields(Fields::default()),
        State::Fields(fields) if line.is_empty() => fields.end(),
        State::Fields(_) if suspicious && has_underscore_in_name(line) => State::Ambiguous,
        State::Fields(fields) => fields.field(line),
        other => other,
    }
}

impl Fields {
    fn field(mut self, line: &[u8]) -> State {
        let again = if let Some(value) = value_of(line, b"content-length:") {
            let Some(length) = decimal(value.trim_ascii()) else {
                return State::Ambiguous;
            };
            self.content_length.replace(length).is_some()
        } else if let Some(value) = value_of(line, b"transfer-encoding:") {
            if !value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                return State::Ambiguous;
            }
            std::mem::replace(&mut self.transfer_encoding, true)
        } else {
            false
        };
        if again {
            State::Ambiguous
        } else {
            State::Fields(self)
        }
    }

    /// The state after the empty line.
    fn end(self) -> State {
        match (self.content_length, self.transfer_encoding) {
            (Some(_), true) => State::Ambiguous,
            // Where a chunked body ends is not followed: the connection is closed after it.
            (None, true) => State::Last,
            (length, false) => State::after_body(length.unwrap_or(0)),
        }
    }
}

/// Whether a reader that takes underscores for hyphens would read another name.
fn has_underscore_in_name(line: &[u8]) -> bool {
    memchr2(b':', b'_', line).is_some_and(|at| line.get(at) == Some(&b'_'))
}

/// What follows `name`, given in lower case, where the line begins with it in any case.
fn value_of<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (start, value) = line.split_at_checked(name.len())?;
    // Most lines are told apart by their first byte.
    let first = start.first().map(u8::to_ascii_lowercase) == name.first().copied();
    (first && start.eq_ignore_ascii_case(name)).then_some(value)
}

fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is seen at the end, however the bytes are cut.
    fn check(bytes: &str, expect: Seen) {
        let mut whole = Framing::new(1000);
        assert_eq!(whole.push(bytes.as_bytes()), expect, "{bytes:?}");
        let mut cut = Framing::new(1000);
        let seen = bytes.bytes().map(|byte| cut.push(&[byte])).last().unwrap();
        assert_eq!(seen, expect, "{bytes:?} byte by byte");
    }

    #[test]
    fn messages_in_the_strict_form_pass() {
        for bytes in [
            "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
            "\r\n\r\nGET / HTTP/1.1\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
            "POST / HTTP/1.1\r\ncontent-length:3\r\n\r\n\nab",
            "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\nwhatever\n",
            "POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\n",
            "POST /a_b HTTP/1.1\r\nHost: a_b\r\nContent-Length: 3\r\n\r\na_b",
            "POST / HTTP/1.1\r\nContent-Lengths: 1\r\nContent-Length: 3\r\n\r\nabc",
        ] {
            check(bytes, Seen::Whole);
        }
    }

    #[test]
    fn an_unfinished_head_is_noticed() {
        for bytes in [
            "G",
            "GET / HTTP/1.1\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\n\r",
            "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcG",
        ] {
            check(bytes, Seen::PartOfHead);
        }
    }

    #[test]
    fn a_head_with_two_readings_is_noticed() {
        for bytes in [
            "POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
            "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 3, 3\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: +3\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length:\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            "POST / HTTP/1.1\r\nContent_Length: 3\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: a\r\nX_: b\r\n\r\n",
            "GET / HTTP/1.1\nHost: a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\n\n",
            "\nGET / HTTP/1.1\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\naGET / HTTP/1.1\n",
        ] {
            check(bytes, Seen::Ambiguous);
        }
    }

    #[test]
    fn a_line_is_bounded() {
        let mut framing = Framing::new(10);
        assert_eq!(framing.push(&[b'a'; 10]), Seen::PartOfHead);
        assert_eq!(framing.push(b"a"), Seen::Ambiguous);
    }
}
