use bytes::Bytes;
use callgate_wire::{Id, Limits, RawJson};

/// Finds the id of the call that a malformed line answers.
///
/// The id of a request of the server names none of our calls, even if they are equal.
pub(super) fn answered_id(line: &[u8]) -> Option<Id> {
    let mut finder = IdFinder::default();
    let mut id = None;
    for byte in line {
        id = id.or(finder.step(*byte));
    }
    id.filter(|_| !finder.has_method)
}

/// Finds the id of a message over the size limit while its bytes are skipped.
///
/// Best-effort: it follows nesting and strings, and checks nothing else.
#[derive(Debug, Default)]
pub(super) struct IdFinder {
    depth: usize,
    text: StringState,
    /// Token at the top level since the last separator.
    token: Vec<u8>,
    after_id_key: bool,
    /// True if a key at the top level was `method`.
    has_method: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum StringState {
    #[default]
    Outside,
    Inside,
    Escaped,
}

/// Longest token that is recorded; no id of ours is longer.
const LONGEST_TOKEN: usize = 256;

impl IdFinder {
    /// Reads on, up to the id if it is there.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Option<Id> {
        bytes.iter().find_map(|byte| self.step(*byte))
    }

    fn step(&mut self, byte: u8) -> Option<Id> {
        let before = self.text;
        self.text = match (self.text, byte) {
            (StringState::Outside, b'"') => StringState::Inside,
            (StringState::Inside, b'"') => StringState::Outside,
            (StringState::Inside, b'\\') => StringState::Escaped,
            (StringState::Escaped, _) => StringState::Inside,
            (state, _) => state,
        };
        if before != StringState::Outside || self.text != StringState::Outside {
            self.record(byte);
            return None;
        }
        match byte {
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                let ended = self.depth == 1;
                // A malformed line may close more than it has opened.
                self.depth = self.depth.saturating_sub(1);
                return ended.then(|| self.end_value()).flatten();
            }
            b':' if self.depth == 1 => {
                self.after_id_key = self.token == b"\"id\"";
                self.has_method |= self.token == b"\"method\"";
                self.token.clear();
            }
            b',' if self.depth == 1 => return self.end_value(),
            b' ' | b'\t' | b'\r' => {}
            _ => self.record(byte),
        }
        None
    }

    fn record(&mut self, byte: u8) {
        if self.depth == 1 && self.token.len() < LONGEST_TOKEN {
            self.token.push(byte);
        }
    }

    /// The value that has just ended, if it is the id.
    fn end_value(&mut self) -> Option<Id> {
        let token = std::mem::take(&mut self.token);
        if !std::mem::take(&mut self.after_id_key) {
            return None;
        }
        let id = RawJson::parse(Bytes::from(token), &Limits::default()).ok()?;
        Id::try_from(id).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Option<&str>) {
        for size in [1, 3, text.len()] {
            let mut finder = IdFinder::default();
            let mut pieces = text.as_bytes().chunks(size);
            let seen = pieces.find_map(|piece| finder.feed(piece));
            let seen = seen.map(|id| id.to_string());
            assert_eq!(seen.as_deref(), expect, "{text}");
        }
    }

    #[test]
    fn the_id_of_the_message_is_found_wherever_it_stands() {
        check(r#"{"jsonrpc":"2.0","id":17,"result":{"#, Some("17"));
        check(
            r#"{"result":{"id":3,"t":"\"id\":4,"},"id" : "a\"b" }"#,
            Some(r#""a\"b""#),
        );
        check(
            r#"{"result":[{"id":3}],"jsonrpc":"2.0","id":-5}"#,
            Some("-5"),
        );
    }

    #[test]
    fn only_ids_are_found() {
        check(r#"{"method":"m","params":{"id":1}}"#, None);
        check(r#"{"id":1.5}"#, None);
        check(r#"{"id":{"id":1}}"#, None);
        check(r#"{"id":17"#, None);
        check("[[[", None);
        check("id: 5, garbage }}} \"", None);
        check(
            &format!(r#"{{"id":"{}"}}"#, "x".repeat(LONGEST_TOKEN)),
            None,
        );
    }

    #[test]
    fn the_call_of_a_malformed_answer_is_found() {
        for (line, expect) in [
            (&b"{\"id\":7,\"result\":\"\xff\"}"[..], Some("7")),
            (b"{\"result\":\"\xff\",\"id\":7}", Some("7")),
            (b"{\"id\":7,\"result\":tru", Some("7")),
            (b"{\"id\":7,\"method\":\"\xff\"}", None),
            (b"{\"method\":\"\xff\",\"id\":7}", None),
            (b"\xff\xfe", None),
        ] {
            let found = answered_id(line).map(|id| id.to_string());
            let line = line.escape_ascii();
            assert_eq!(found.as_deref(), expect, "{line}");
        }
    }
}
