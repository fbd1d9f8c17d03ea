use memchr::{memchr, memrchr};

/// Scans the bytes of an HTTP/1 connection for heads that two parsers could read differently.
///
/// It follows where messages begin and end, accepts only heads in the strict form, and leaves all
/// other errors in them to the parser behind it.
#[derive(Debug)]
pub(in super::super) struct HeadScanner {
    state: ScanState,
    /// Framing of the head that is being read.
    framing: FramingFields,
    /// Beginning of an unfinished line.
    line: Vec<u8>,
    limit: usize,
}

/// Verdict on the bytes so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScanResult {
    /// The next byte begins a message or belongs to a body.
    Whole,
    /// A head has begun and not ended.
    PartOfHead,
    /// A head was ambiguous.
    Ambiguous,
}

#[derive(Debug, Clone, Copy)]
enum ScanState {
    /// Before the request line.
    Start,
    /// After the request line.
    Fields,
    /// In a body with so many bytes left.
    Body(u64),
    /// In the last message that the connection will carry.
    Last,
    Ambiguous,
}

/// The fields of a head that say where its body ends.
#[derive(Debug, Default)]
struct FramingFields {
    content_length: Option<u64>,
    transfer_encoding: bool,
}

impl HeadScanner {
    /// Expects heads with lines of at most `limit` bytes.
    pub(in super::super) fn new(limit: usize) -> Self {
        Self {
            state: ScanState::Start,
            framing: FramingFields::default(),
            line: Vec::new(),
            limit,
        }
    }

    /// Takes the next bytes of the connection.
    pub(super) fn push(&mut self, bytes: &[u8]) -> ScanResult {
        let mut at = 0;
        loop {
            match self.state {
                ScanState::Ambiguous => return ScanResult::Ambiguous,
                ScanState::Last => return ScanResult::Whole,
                ScanState::Body(left) => {
                    let here = bytes.len() - at;
                    let here = usize::try_from(left).map_or(here, |left| left.min(here));
                    at += here;
                    self.state = ScanState::after_body(left - here as u64);
                    if at == bytes.len() {
                        return ScanResult::Whole;
                    }
                }
                ScanState::Start | ScanState::Fields => {
                    let rest = bytes.get(at..).unwrap_or_default();
                    at += self.take_lines(rest);
                    if matches!(self.state, ScanState::Start | ScanState::Fields) {
                        return self.keep(bytes.get(at..).unwrap_or_default());
                    }
                }
            }
        }
    }

    fn keep(&mut self, part: &[u8]) -> ScanResult {
        if self.line.len() + part.len() > self.limit {
            self.state = ScanState::Ambiguous;
            return ScanResult::Ambiguous;
        }
        self.line.extend_from_slice(part);
        match self.state {
            ScanState::Start if self.line.is_empty() => ScanResult::Whole,
            _ => ScanResult::PartOfHead,
        }
    }

    /// Takes the whole lines at the start of `bytes`, up to a body, and returns their length.
    fn take_lines(&mut self, bytes: &[u8]) -> usize {
        let mut taken = 0;
        // Position of the first field here whose name has not been searched.
        let mut fields = 0;
        while let Some(line) = bytes.get(taken..).and_then(first_line) {
            let is_field = matches!(self.state, ScanState::Fields);
            let is_whole = self.line.is_empty();
            if is_whole {
                self.take_line(line);
            } else {
                self.end_line(line);
            }
            taken += line.len() + 1;
            // The end of a line that began earlier was searched with its beginning: on its own it has no
            // colon before the underscores of its value.
            if !(is_field && is_whole) {
                fields = taken;
            }
            if is_field && !matches!(self.state, ScanState::Fields) {
                // The next head may be in the same bytes, and its request line may have underscores.
                self.search(bytes.get(fields..taken));
                fields = taken;
            }
            if !matches!(self.state, ScanState::Start | ScanState::Fields) {
                return taken;
            }
        }
        self.search(bytes.get(fields..taken));
        taken
    }

    /// Searches the names of whole fields for underscores. Few heads have one at all, so all names of a
    /// head are searched at once.
    fn search(&mut self, fields: Option<&[u8]>) {
        if has_underscore_in_name(fields.unwrap_or_default()) {
            self.state = ScanState::Ambiguous;
        }
    }

    /// Takes a line whose beginning came earlier.
    fn end_line(&mut self, end: &[u8]) {
        let mut line = std::mem::take(&mut self.line);
        line.extend_from_slice(end);
        let is_field = matches!(self.state, ScanState::Fields);
        self.take_line(&line);
        if is_field {
            self.search(Some(&line));
        }
        line.clear();
        self.line = line;
    }

    /// Takes a line of a head, without its line feed. Underscores are not searched for.
    fn take_line(&mut self, line: &[u8]) {
        // RFC 9112, section 2.2, lets a parser take a lone line feed for the end of a line, and not all do.
        let Some(line) = line.strip_suffix(b"\r") else {
            self.state = ScanState::Ambiguous;
            return;
        };
        match (self.state, line) {
            // RFC 9112, section 2.2, allows empty lines before a request line.
            (ScanState::Start, []) => {}
            (ScanState::Start, _) => {
                self.framing = FramingFields::default();
                self.state = ScanState::Fields;
            }
            (_, []) => self.state = self.framing.end(),
            _ => {
                if !self.framing.add(line) {
                    self.state = ScanState::Ambiguous;
                }
            }
        }
    }
}

impl ScanState {
    fn after_body(left: u64) -> Self {
        if left == 0 {
            Self::Start
        } else {
            Self::Body(left)
        }
    }
}

impl FramingFields {
    /// Adds a field, if it is one of framing; `false` if it is ambiguous.
    fn add(&mut self, line: &[u8]) -> bool {
        // The first byte rules out most lines.
        match line.first() {
            Some(b'c' | b'C') => match value_of(line, b"content-length:") {
                None => true,
                // Neither a sign nor a list of equal lengths: parsers differ about both.
                Some(value) => match decimal(value.trim_ascii()) {
                    None => false,
                    length => std::mem::replace(&mut self.content_length, length).is_none(),
                },
            },
            Some(b't' | b'T') => match value_of(line, b"transfer-encoding:") {
                None => true,
                Some(value) => {
                    let is_chunked = value.trim_ascii().eq_ignore_ascii_case(b"chunked");
                    let again = std::mem::replace(&mut self.transfer_encoding, true);
                    // Parsers differ about other codings, and about a second field.
                    is_chunked && !again
                }
            },
            _ => true,
        }
    }

    /// The state after the empty line.
    fn end(&self) -> ScanState {
        match (self.content_length, self.transfer_encoding) {
            // RFC 9112, section 6.3: such a message may be an attempt at request smuggling.
            (Some(_), true) => ScanState::Ambiguous,
            // The end of a chunked body is not followed: the connection is closed after it.
            (None, true) => ScanState::Last,
            (length, false) => ScanState::after_body(length.unwrap_or(0)),
        }
    }
}

/// The line at the start of `bytes`, without its line feed; `None` if it has not ended. Lines are
/// short, so that words of eight bytes take less than the setup of a vector search.
fn first_line(bytes: &[u8]) -> Option<&[u8]> {
    let (words, tail) = bytes.as_chunks();
    for (index, word) in words.iter().enumerate() {
        let feeds = feeds(u64::from_le_bytes(*word));
        if feeds != 0 {
            return bytes.get(..index * 8 + feeds.trailing_zeros() as usize / 8);
        }
    }
    let feed = tail.iter().position(|byte| *byte == b'\n')?;
    bytes.get(..words.len() * 8 + feed)
}

/// Sets the high bit of the lowest byte that is a line feed; those of higher bytes may lie.
fn feeds(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let zeros = word ^ (ONES * u64::from(b'\n'));
    zeros.wrapping_sub(ONES) & !zeros & (ONES << 7)
}

/// True if the name of a field in these lines has an underscore: some proxies and gateways take it for
/// a hyphen. Values may have some, such as the id of a session or the name of a tool.
fn has_underscore_in_name(lines: &[u8]) -> bool {
    let mut rest = lines;
    while let Some(at) = memchr(b'_', rest) {
        let (before, after) = rest.split_at(at);
        let line = memrchr(b'\n', before).map_or(0, |feed| feed + 1);
        if !before.iter().skip(line).any(|byte| *byte == b':') {
            return true;
        }
        // The rest of this line is a value.
        let end = memchr(b'\n', after).unwrap_or(after.len());
        rest = after.get(end + 1..).unwrap_or_default();
    }
    false
}

/// The rest of a line that begins with `name`, which is given in lower case.
fn value_of<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (start, value) = line.split_at_checked(name.len())?;
    start.eq_ignore_ascii_case(name).then_some(value)
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

    /// Checks the last verdict, however the bytes are cut.
    fn check(bytes: &str, expect: ScanResult) {
        let mut whole = HeadScanner::new(1000);
        assert_eq!(whole.push(bytes.as_bytes()), expect, "{bytes:?}");
        let mut cut = HeadScanner::new(1000);
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
            check(bytes, ScanResult::Whole);
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
            check(bytes, ScanResult::PartOfHead);
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
            check(bytes, ScanResult::Ambiguous);
        }
    }

    #[test]
    fn an_underscore_is_noticed_in_names_of_fields_alone() {
        for bytes in [
            "POST /a_b HTTP/1.1\r\nHost: a_b\r\nA: _\r\n\r\nGET /a_b HTTP/1.1\r\n\r\n",
            "GET /a_b HTTP/1.1\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\na_b:cGET / HTTP/1.1\r\nA: b_\r\n\r\n",
        ] {
            check(bytes, ScanResult::Whole);
        }
        for bytes in [
            "GET / HTTP/1.1\r\nA: b_c\r\nA_B: c\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n_: c\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\n_GET /_ HTTP/1.1\r\nA_: b\r\n",
        ] {
            check(bytes, ScanResult::Ambiguous);
        }
    }

    /// The verdict on the last of these reads.
    fn verdict(reads: &[&[u8]]) -> ScanResult {
        let mut scanner = HeadScanner::new(1000);
        reads.iter().map(|read| scanner.push(read)).last().unwrap()
    }

    #[test]
    fn the_verdict_is_that_of_each_head_on_its_own_however_reads_are_cut() {
        let messages = [
            "GET /a_b HTTP/1.1\r\nHost: h\r\n\r\n",
            "POST / HTTP/1.1\r\nA: Bearer a_b_c\r\nB: _\r\nContent-Length: 3\r\n\r\n_:\n",
            "GET / HTTP/1.1\r\nHost: h_i\r\nContent_Length: 60\r\n\r\n",
            "POST / HTTP/1.1\r\n_A: b\r\nContent-Length: 1\r\n\r\n_",
            "GET / HTTP/1.1\r\nA: b_c\r\nno_colon\r\n\r\n",
        ];
        let verdicts = messages.map(|message| verdict(&[message.as_bytes()]));
        let (whole, ambiguous) = (ScanResult::Whole, ScanResult::Ambiguous);
        assert_eq!(verdicts, [whole, whole, ambiguous, ambiguous, ambiguous]);
        let pairs = messages.iter().zip(verdicts);
        for (first, of_first) in pairs.clone() {
            for (second, of_second) in pairs.clone() {
                let bytes = [first.as_bytes(), second.as_bytes()].concat();
                let expect = [of_first, of_second].contains(&ambiguous);
                let expect = if expect { ambiguous } else { whole };
                for cut in 0..=bytes.len() {
                    let (start, end) = bytes.split_at(cut);
                    let cuts = || (start.escape_ascii(), end.escape_ascii());
                    assert_eq!(verdict(&[start, end]), expect, "{:?}", cuts());
                    for length in 0..=end.len().min(12) {
                        let (middle, end) = end.split_at(length);
                        let seen = verdict(&[start, middle, end]);
                        assert_eq!(seen, expect, "{:?} {length}", cuts());
                    }
                }
            }
        }
    }

    #[test]
    fn a_line_is_bounded() {
        let mut scanner = HeadScanner::new(10);
        assert_eq!(scanner.push(&[b'a'; 10]), ScanResult::PartOfHead);
        assert_eq!(scanner.push(b"a"), ScanResult::Ambiguous);
    }
}
