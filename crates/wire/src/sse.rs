//! Server-sent events: an incremental parser and a writer.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use memchr::memchr2;

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Event {
    /// The value of `event:`, if any.
    pub event: Option<String>,
    /// The value of `id:`, if any.
    pub id: Option<String>,
    /// The value of `retry:` in milliseconds, if any.
    pub retry: Option<u64>,
    /// The values of `data:`, joined by line feeds; empty where there are none.
    pub data: Bytes,
}

/// An event or a line is larger than the parser may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("event is larger than {limit} bytes")]
#[non_exhaustive]
pub struct TooLarge {
    /// The limit in bytes.
    pub limit: usize,
}

/// Finds events in a stream of bytes, however it is cut.
///
/// Comments and unknown fields are passed over. Once an event is too large, the parser stays failed.
#[derive(Debug)]
pub struct Parser {
    limit: usize,
    /// The beginning of a line whose end has not come yet.
    line: BytesMut,
    data: BytesMut,
    has_data: bool,
    event: Event,
    touched: bool,
    started: bool,
    after_return: bool,
    failed: bool,
}

impl Parser {
    /// A parser that holds at most `limit` bytes of an event.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: BytesMut::new(),
            data: BytesMut::new(),
            has_data: false,
            event: Event::default(),
            touched: false,
            started: false,
            after_return: false,
            failed: false,
        }
    }

    /// Takes the next bytes and appends every event they complete to `events`.
    ///
    /// # Errors
    /// An event or a line is larger than the limit.
    pub fn push(&mut self, mut chunk: &[u8], events: &mut Vec<Event>) -> Result<(), TooLarge> {
        while !chunk.is_empty() {
            // Lines end in LF, CR or CRLF. Waiting for an LF after a CR would hold back the last event
            // of a stream, so the line ends at the CR and a following LF is dropped.
            if std::mem::take(&mut self.after_return)
                && let [b'\n', rest @ ..] = chunk
            {
                chunk = rest;
                continue;
            }
            let Some(end) = memchr2(b'\n', b'\r', chunk) else {
                self.check_line(chunk)?;
                self.line.put_slice(chunk);
                return Ok(());
            };
            let (line, rest) = chunk.split_at(end);
            self.after_return = rest.first() == Some(&b'\r');
            chunk = rest.get(1..).unwrap_or_default();
            self.check_line(line)?;
            let line = if self.line.is_empty() {
                Line::InChunk(line)
            } else {
                self.line.put_slice(line);
                Line::Kept(self.line.split())
            };
            self.end_line(line, events);
        }
        Ok(())
    }

    /// Checks that there is room for another part of a line.
    fn check_line(&mut self, part: &[u8]) -> Result<(), TooLarge> {
        self.check(self.line.len() + self.data.len() + part.len())
    }

    fn check(&mut self, size: usize) -> Result<(), TooLarge> {
        self.failed |= size > self.limit;
        if self.failed {
            Err(TooLarge { limit: self.limit })
        } else {
            Ok(())
        }
    }

    fn end_line(&mut self, mut line: Line<'_>, events: &mut Vec<Event>) {
        // A byte order mark may open the stream.
        if !std::mem::replace(&mut self.started, true) && line.bytes().starts_with(BYTE_ORDER_MARK)
        {
            line.skip(BYTE_ORDER_MARK.len());
        }
        if line.bytes().is_empty() {
            // The standard drops events without data; here they carry the `id` and `retry` by which
            // older revisions resume a stream.
            if std::mem::take(&mut self.touched) {
                let mut event = std::mem::take(&mut self.event);
                event.data = self.data.split().freeze();
                self.has_data = false;
                events.push(event);
            }
            return;
        }
        let colon = memchr::memchr(b':', line.bytes());
        let (field, value) = match colon {
            Some(colon) => {
                let (field, value) = line.bytes().split_at(colon);
                let value = value.get(1..).unwrap_or_default();
                (field, value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line.bytes(), &[][..]),
        };
        if field == b"data" {
            let start = line.bytes().len() - value.len();
            line.skip(start);
            self.add_data(line);
        } else {
            self.field(field, value);
        }
    }

    fn add_data(&mut self, value: Line<'_>) {
        self.touched = true;
        match value {
            // The buffer that was kept to find the end of the line becomes the data without a copy.
            Line::Kept(value) if !self.has_data => self.data = value,
            value => {
                if self.has_data {
                    self.data.put_u8(b'\n');
                }
                self.data.put_slice(value.bytes());
            }
        }
        self.has_data = true;
    }

    fn field(&mut self, field: &[u8], value: &[u8]) {
        let text = || String::from_utf8_lossy(value).into_owned();
        match field {
            b"event" => self.event.event = Some(text()),
            // The standard ignores an id with NUL, which no header could send back.
            b"id" if !value.contains(&0) => self.event.id = Some(text()),
            b"retry" => match text().parse() {
                Ok(retry) => self.event.retry = Some(retry),
                Err(_) => return,
            },
            _ => return,
        }
        self.touched = true;
    }
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A line without its end.
enum Line<'a> {
    /// It came whole.
    InChunk(&'a [u8]),
    /// It came in parts, which were kept.
    Kept(BytesMut),
}

impl Line<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::InChunk(line) => line,
            Self::Kept(line) => line,
        }
    }

    fn skip(&mut self, length: usize) {
        match self {
            Self::InChunk(line) => *line = line.get(length..).unwrap_or_default(),
            Self::Kept(line) => line.advance(length),
        }
    }
}

/// Bytes before the message in an event: with [`MESSAGE_SUFFIX`] a message on one line can be
/// sent without copying it.
pub const MESSAGE_PREFIX: &[u8] = b"event: message\ndata: ";

/// Bytes after the message in an event.
pub const MESSAGE_SUFFIX: &[u8] = b"\n\n";

/// Appends an event that carries one message; `write` puts the message on one line.
pub fn message(out: &mut BytesMut, write: impl FnOnce(&mut BytesMut)) {
    out.put_slice(MESSAGE_PREFIX);
    write(out);
    out.put_slice(MESSAGE_SUFFIX);
}

/// A comment, which readers pass over: it keeps an idle stream alive.
pub const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(chunks: &[&[u8]]) -> Vec<Event> {
        let mut parser = Parser::new(1024);
        let mut events = Vec::new();
        for chunk in chunks {
            parser.push(chunk, &mut events).unwrap();
        }
        events
    }

    fn data(text: &'static str) -> Event {
        Event {
            data: Bytes::from_static(text.as_bytes()),
            ..Event::default()
        }
    }

    #[test]
    fn fields_make_events() {
        assert_eq!(
            parse(&[b"data: a\n\ndata:b\r\n\r\ndata:  c\r\rdata\n\n"]),
            [data("a"), data("b"), data(" c"), data(""),]
        );
        assert_eq!(parse(&[b"data: a\ndata:\ndata: b\n\n"]), [data("a\n\nb")]);
        assert_eq!(
            parse(&[b"\xef\xbb\xbfevent: message\nid: 7\nretry: 500\nunknown: x\ndata: {}\n\n"]),
            [Event {
                event: Some("message".to_owned()),
                id: Some("7".to_owned()),
                retry: Some(500),
                data: Bytes::from_static(b"{}"),
            }]
        );
    }

    #[test]
    fn comments_and_unfinished_events_are_not_events() {
        assert_eq!(
            parse(&[b": keep-alive\n\n\n\nretry: soon\n\ndata: never ended\n"]),
            []
        );
        assert_eq!(parse(&[KEEP_ALIVE]), []);
    }

    #[test]
    fn written_events_read_back() {
        let mut out = BytesMut::new();
        message(&mut out, |out| out.put_slice(b"{\"a\":1}"));
        let event = Event {
            event: Some("message".to_owned()),
            ..data("{\"a\":1}")
        };
        assert_eq!(parse(&[&out]), [event]);
    }

    #[test]
    fn an_event_over_the_limit_fails_for_good() {
        let mut parser = Parser::new(16);
        let mut events = Vec::new();
        assert_eq!(parser.push(b"data: 12345\n", &mut events), Ok(()));
        assert_eq!(
            parser.push(b"data: 123456\n", &mut events),
            Err(TooLarge { limit: 16 })
        );
        assert_eq!(parser.push(b"\n", &mut events), Err(TooLarge { limit: 16 }));
        assert_eq!(events, []);
    }

    proptest! {
        #[test]
        fn how_the_stream_is_cut_does_not_matter(
            stream in "(data|event|id|retry|:| |\n|\r|\r\n|[a-c]|:){0,40}",
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let bytes = stream.as_bytes();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(parse(&chunks), parse(&[bytes]));
        }
    }
}
