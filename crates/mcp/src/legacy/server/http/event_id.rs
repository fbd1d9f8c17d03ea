use std::fmt;

/// The id of an event: the stream it belongs to, and its number there.
///
/// No two events of a session have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EventId {
    pub(super) stream: u64,
    /// The first event has 1; 0 is the beginning of the stream.
    pub(super) number: u64,
}

impl EventId {
    pub(super) fn parse(id: &[u8]) -> Option<Self> {
        let (stream, number) = std::str::from_utf8(id).ok()?.split_once('-')?;
        let number_of = |text: &str| {
            let plain = text.bytes().all(|byte| byte.is_ascii_digit());
            plain.then(|| text.parse().ok()).flatten()
        };
        Some(Self {
            stream: number_of(stream)?,
            number: number_of(number)?,
        })
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.stream, self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_names_its_stream_and_reads_back() {
        let id = EventId {
            stream: 3,
            number: 12,
        };
        assert_eq!(id.to_string(), "3-12");
        assert_eq!(EventId::parse(b"3-12"), Some(id));
        for other in [
            "",
            "3",
            "3-",
            "-12",
            "3-12-1",
            "+3-1",
            "3--1",
            "a-1",
            "3-99999999999999999999",
        ] {
            assert_eq!(EventId::parse(other.as_bytes()), None, "{other}");
        }
        assert_eq!(EventId::parse(b"\xff-1"), None);
    }
}
