//! Messages of D-Bus, as far as the Secret Service needs them.

/// Maximum bytes of a message from the bus. Ours have a few hundred. A longer one ends the connection.
pub(super) const MAX_MESSAGE: usize = 256 * 1024;
/// Bytes at the start of a message, which tell its length.
pub(super) const HEAD: usize = 16;

const METHOD_CALL: u8 = 1;
const PATH: u8 = 1;
const INTERFACE: u8 = 2;
const MEMBER: u8 = 3;
const ERROR_NAME: u8 = 4;
const REPLY_SERIAL: u8 = 5;
const DESTINATION: u8 = 6;
const SIGNATURE: u8 = 8;

/// Method call.
#[derive(Debug, Clone, Copy)]
pub(super) struct MethodCall<'a> {
    pub(super) destination: &'a str,
    pub(super) path: &'a str,
    pub(super) interface: &'a str,
    pub(super) member: &'a str,
}

impl MethodCall<'_> {
    /// Message with these arguments, which `signature` describes.
    pub(super) fn encode(&self, serial: u32, signature: &str, arguments: &Writer) -> Vec<u8> {
        let mut writer = Writer(vec![b'l', METHOD_CALL, 0, 1]);
        writer.u32(arguments.bytes_so_far());
        writer.u32(serial);
        writer.array(8, |writer| {
            for (code, kind, value) in [
                (PATH, "o", self.path),
                (INTERFACE, "s", self.interface),
                (MEMBER, "s", self.member),
                (DESTINATION, "s", self.destination),
            ] {
                writer.field(code, kind).text(value);
            }
            if !signature.is_empty() {
                writer.field(SIGNATURE, "g").signature(signature);
            }
        });
        writer.followed_by(arguments)
    }
}

/// Values in the wire format, with the padding that each of them needs.
#[derive(Debug, Clone, Default)]
pub(super) struct Writer(Vec<u8>);

impl Writer {
    pub(super) fn u32(&mut self, number: u32) {
        self.align(4);
        self.0.extend(number.to_le_bytes());
    }

    /// Begins a field of the head of a message; its value follows.
    pub(super) fn field(&mut self, code: u8, kind: &str) -> &mut Self {
        self.align(8);
        self.0.push(code);
        self.signature(kind);
        self
    }

    /// Head of a message, and its arguments.
    pub(super) fn followed_by(mut self, arguments: &Self) -> Vec<u8> {
        self.align(8);
        self.0.extend(&arguments.0);
        self.0
    }

    pub(super) fn bytes_so_far(&self) -> u32 {
        length(&self.0)
    }

    pub(super) fn bool(&mut self, is_set: bool) {
        self.u32(u32::from(is_set));
    }

    /// Text or object path.
    pub(super) fn text(&mut self, text: &str) {
        self.u32(length(text.as_bytes()));
        self.0.extend(text.as_bytes());
        self.0.push(0);
    }

    pub(super) fn signature(&mut self, signature: &str) {
        let length = u8::try_from(signature.len()).expect("signatures here are short");
        self.0.push(length);
        self.0.extend(signature.as_bytes());
        self.0.push(0);
    }

    /// Array of values that `alignment` fits, which `write` writes.
    pub(super) fn array(&mut self, alignment: usize, write: impl FnOnce(&mut Self)) {
        self.u32(0);
        let place = self.0.len() - 4;
        self.align(alignment);
        // The length does not count the padding before the first value.
        let start = self.0.len();
        write(self);
        let written = length(self.0.get(start..).unwrap_or_default());
        if let Some(place) = self.0.get_mut(place..place + 4) {
            place.copy_from_slice(&written.to_le_bytes());
        }
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.array(1, |writer| writer.0.extend(bytes));
    }

    /// Dictionary of texts.
    pub(super) fn texts(&mut self, pairs: &[(&str, &str)]) {
        self.array(8, |writer| {
            for (name, value) in pairs {
                writer.align(8);
                writer.text(name);
                writer.text(value);
            }
        });
    }

    pub(super) fn align(&mut self, to: usize) {
        self.0.resize(self.0.len().next_multiple_of(to), 0);
    }
}

/// Message from the bus.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) kind: Kind,
    /// Serial of the call that this is the reply to.
    pub(super) reply_serial: Option<u32>,
    pub(super) path: String,
    pub(super) member: String,
    pub(super) error_name: String,
    signature: String,
    body: Vec<u8>,
    is_big_endian: bool,
}

/// Kind of a [`Message`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Kind {
    Return,
    Error,
    Signal,
    #[default]
    Other,
}

impl Message {
    /// Length of the message that begins with `head`; `None` if it is too long or malformed.
    pub(super) fn length(head: &[u8; HEAD]) -> Option<usize> {
        let mut reader = Reader::new(head)?;
        reader.skip(3)?;
        let body = reader.u32()?;
        reader.u32()?;
        let fields = usize::try_from(reader.u32()?).ok()?;
        let fields = fields.checked_next_multiple_of(8)?;
        let length = fields.checked_add(usize::try_from(body).ok()?)?;
        let length = length.checked_add(HEAD)?;
        (length <= MAX_MESSAGE).then_some(length)
    }

    /// Reads a whole message; `None` if it is malformed.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes)?;
        let mut message = Self {
            is_big_endian: reader.is_big_endian,
            kind: match reader.byte()? {
                2 => Kind::Return,
                3 => Kind::Error,
                4 => Kind::Signal,
                _ => Kind::Other,
            },
            ..Self::default()
        };
        reader.skip(2)?;
        let body = usize::try_from(reader.u32()?).ok()?;
        reader.u32()?;
        let end = usize::try_from(reader.u32()?).ok()?.checked_add(HEAD)?;
        while reader.at < end {
            reader.align(8)?;
            let code = reader.byte()?;
            let kind = reader.signature()?;
            match kind {
                "u" => {
                    let number = reader.u32()?;
                    if code == REPLY_SERIAL {
                        message.reply_serial = Some(number);
                    }
                }
                "s" | "o" => message.set_text(code, reader.text()?.to_owned()),
                "g" => message.signature = reader.signature()?.to_owned(),
                _ => return None,
            }
        }
        reader.align(8)?;
        let rest = bytes.get(reader.at..)?;
        message.body = (rest.len() == body).then(|| rest.to_vec())?;
        Some(message)
    }

    fn set_text(&mut self, code: u8, text: String) {
        match code {
            PATH => self.path = text,
            MEMBER => self.member = text,
            ERROR_NAME => self.error_name = text,
            _ => {}
        }
    }

    /// Arguments, if they have this signature or begin with it.
    pub(super) fn arguments(&self, signature: &str) -> Option<Reader<'_>> {
        self.signature.starts_with(signature).then_some(Reader {
            bytes: &self.body,
            at: 0,
            is_big_endian: self.is_big_endian,
        })
    }
}

/// Reads values in the wire format; each function returns `None` if there is no such value.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    is_big_endian: bool,
}

impl<'a> Reader<'a> {
    /// Reader after the first byte of a message, which tells the order of bytes.
    fn new(bytes: &'a [u8]) -> Option<Self> {
        let is_big_endian = match bytes.first()? {
            b'l' => false,
            b'B' => true,
            _ => return None,
        };
        Some(Self {
            bytes,
            at: 1,
            is_big_endian,
        })
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.align(4)?;
        let bytes = self.take(4)?.try_into().ok()?;
        Some(match self.is_big_endian {
            true => u32::from_be_bytes(bytes),
            false => u32::from_le_bytes(bytes),
        })
    }

    pub(super) fn bool(&mut self) -> Option<bool> {
        Some(self.u32()? != 0)
    }

    /// Text or object path.
    pub(super) fn text(&mut self) -> Option<&'a str> {
        let text = self.bytes()?;
        self.skip(1)?;
        str::from_utf8(text).ok()
    }

    pub(super) fn signature(&mut self) -> Option<&'a str> {
        let length = self.byte()?;
        let text = self.take(usize::from(length))?;
        self.skip(1)?;
        str::from_utf8(text).ok()
    }

    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.u32()?;
        self.take(usize::try_from(length).ok()?)
    }

    /// Array of object paths.
    pub(super) fn paths(&mut self) -> Option<Vec<String>> {
        let length = usize::try_from(self.u32()?).ok()?;
        let end = self.at.checked_add(length)?;
        let mut paths = Vec::new();
        while self.at < end {
            paths.push(self.text()?.to_owned());
        }
        Some(paths)
    }

    pub(super) fn align(&mut self, to: usize) -> Option<()> {
        let at = self.at.checked_next_multiple_of(to)?;
        self.at = (at <= self.bytes.len()).then_some(at)?;
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn skip(&mut self, count: usize) -> Option<()> {
        self.take(count).map(drop)
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(count)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }
}

/// Reads a message, and all kinds of values from its arguments. For tests and fuzz targets.
pub(in crate::store) fn read_any(bytes: &[u8]) {
    if let Some(head) = bytes.first_chunk() {
        let _ = Message::length(head);
    }
    let Some(message) = Message::parse(bytes) else {
        return;
    };
    let readers: [fn(&mut Reader<'_>) -> bool; 5] = [
        |reader| reader.paths().is_some(),
        |reader| reader.text().is_some(),
        |reader| reader.bytes().is_some(),
        |reader| reader.signature().is_some(),
        |reader| reader.bool().is_some(),
    ];
    for read in readers {
        let mut reader = message.arguments("").expect("any signature begins so");
        while read(&mut reader) {}
    }
}

fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).expect("our messages are short")
}

#[cfg(test)]
mod tests {
    use proptest::proptest;

    use super::{HEAD, Kind, Message, MethodCall, Writer, read_any};

    const CALL: MethodCall<'static> = MethodCall {
        destination: "a.b",
        path: "/c",
        interface: "d.e",
        member: "F",
    };

    /// A message as another program sends it.
    fn message(kind: u8) -> Vec<u8> {
        let mut arguments = Writer::default();
        arguments.text("text");
        arguments.bytes(b"bytes");
        arguments.array(4, |writer| {
            writer.text("/x");
            writer.text("/yz");
        });
        arguments.bool(true);
        let mut bytes = CALL.encode(7, "sayaob", &arguments);
        bytes[1] = kind;
        bytes
    }

    #[test]
    fn a_call_has_the_wire_format() {
        let mut arguments = Writer::default();
        arguments.texts(&[("k", "v")]);
        let expected = b"l\x01\0\x01\x16\0\0\0\x01\0\0\0K\0\0\0\
            \x01\x01o\0\x02\0\0\0/c\0\0\0\0\0\0\
            \x02\x01s\0\x03\0\0\0d.e\0\0\0\0\0\
            \x03\x01s\0\x01\0\0\0F\0\0\0\0\0\0\0\
            \x06\x01s\0\x03\0\0\0a.b\0\0\0\0\0\
            \x08\x01g\0\x05a{ss}\0\0\0\0\0\0\
            \x0e\0\0\0\0\0\0\0\x01\0\0\0k\0\0\0\
            \x01\0\0\0v\0";
        assert_eq!(CALL.encode(1, "a{ss}", &arguments), expected);
    }

    #[test]
    fn messages_are_read_as_they_were_written() {
        for (kind, expected) in [(2, Kind::Return), (3, Kind::Error), (4, Kind::Signal)] {
            let bytes = message(kind);
            let head: &[u8; HEAD] = bytes.first_chunk().unwrap();
            assert_eq!(Message::length(head), Some(bytes.len()));
            let message = Message::parse(&bytes).unwrap();
            let names = (message.path.as_str(), message.member.as_str());
            assert_eq!((message.kind, names), (expected, ("/c", "F")));
            assert!(message.arguments("u").is_none());
            let mut reader = message.arguments("say").unwrap();
            assert_eq!(reader.text(), Some("text"));
            assert_eq!(reader.bytes(), Some(&b"bytes"[..]));
            assert_eq!(
                reader.paths(),
                Some(vec!["/x".to_owned(), "/yz".to_owned()])
            );
            assert_eq!(reader.bool(), Some(true));
            assert_eq!(reader.u32(), None);
        }
    }

    #[test]
    fn messages_that_are_too_long_or_cut_are_refused() {
        let bytes = message(2);
        for length in 0..bytes.len() {
            assert_eq!(Message::parse(&bytes[..length]), None, "{length}");
        }
        for at in [4, 12] {
            let mut head: [u8; HEAD] = *bytes.first_chunk().unwrap();
            head[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
            assert_eq!(Message::length(&head), None);
            head[at..at + 4].copy_from_slice(&300_000_u32.to_le_bytes());
            assert_eq!(Message::length(&head), None);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(at: usize, byte: u8, noise: Vec<u8>) {
            let mut bytes = message(2);
            let at = at % bytes.len();
            bytes[at] = byte;
            read_any(&bytes);
            read_any(&noise);
        }
    }
}
