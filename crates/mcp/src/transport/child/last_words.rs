use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt};

/// The end of what a child wrote to its standard error.
#[derive(Debug, Default)]
pub(super) struct LastWords(Mutex<VecDeque<u8>>);

/// How much is kept.
const KEPT: usize = 64 * 1024;

/// How much of it an error shows.
const SHOWN: usize = 2 * 1024;

impl LastWords {
    /// Reads until the end, so that the child never waits for a reader.
    pub(super) async fn listen(&self, mut stream: impl AsyncRead + Unpin) {
        let mut buffer = vec![0; 8 * 1024];
        while let Ok(length @ 1..) = stream.read(&mut buffer).await {
            self.push(buffer.get(..length).unwrap_or_default());
        }
    }

    /// All that is kept, as text.
    pub(super) fn text(&self) -> String {
        let mut words = self.words();
        String::from_utf8_lossy(words.make_contiguous()).into_owned()
    }

    /// The last lines, few enough for an error.
    pub(super) fn tail(&self) -> String {
        let text = self.text();
        let text = text.trim_end();
        let mut start = text.len().saturating_sub(SHOWN);
        while !text.is_char_boundary(start) {
            start += 1;
        }
        let (cut, shown) = text.split_at(start);
        match shown.split_once('\n') {
            Some((_broken, whole)) if !cut.is_empty() => whole.to_owned(),
            _ => shown.to_owned(),
        }
    }

    fn push(&self, bytes: &[u8]) {
        let mut words = self.words();
        let bytes = bytes
            .get(bytes.len().saturating_sub(KEPT)..)
            .unwrap_or_default();
        let over = (words.len() + bytes.len()).saturating_sub(KEPT);
        words.drain(..over);
        words.extend(bytes);
    }

    fn words(&self) -> MutexGuard<'_, VecDeque<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_end_is_kept_and_only_whole_lines_are_shown() {
        let words = LastWords::default();
        words.listen(&b"one\ntwo\xff\n"[..]).await;
        assert_eq!(words.tail(), "one\ntwo\u{fffd}");

        let lines: String = (0..20_000)
            .map(|number| format!("line {number}\n"))
            .collect();
        words.listen(lines.as_bytes()).await;
        assert_eq!(words.text().len(), KEPT);
        assert!(words.text().ends_with("line 19998\nline 19999\n"));
        let tail = words.tail();
        assert!(
            tail.len() <= SHOWN && tail.len() > SHOWN - 20,
            "{}",
            tail.len()
        );
        assert!(tail.starts_with("line ") && tail.ends_with("\nline 19999"));
    }

    #[test]
    fn a_long_last_line_is_cut_between_characters() {
        let words = LastWords::default();
        words.push("é".repeat(SHOWN).as_bytes());
        assert_eq!(words.tail(), "é".repeat(SHOWN / 2));
    }
}
