//! However a stream is cut, it holds the same events, and none is larger than the limit.
//!
//! The first byte of the input sizes the pieces; the rest is the stream.

#![no_main]

use callgate_wire::sse::{Event, Parser, TooLarge};
use libfuzzer_sys::fuzz_target;

const LIMIT: usize = 64;

fuzz_target!(|data: &[u8]| {
    let Some((size, stream)) = data.split_first() else {
        return;
    };
    let whole = parse(std::iter::once(stream));
    let pieces = parse(stream.chunks(1 + usize::from(size % 16)));
    assert_eq!(whole, pieces);
    for event in &whole.0 {
        assert!(event.data.len() <= LIMIT);
    }
});

/// What a stream holds, and how it ended.
fn parse<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<Event>, Result<(), TooLarge>) {
    let mut parser = Parser::new(LIMIT);
    let mut events = Vec::new();
    for piece in pieces {
        if let Err(error) = parser.push(piece, &mut events) {
            let found = events.len();
            assert_eq!(
                parser.push(b"data: x\n\n", &mut events),
                Err(error),
                "stays failed"
            );
            assert_eq!(events.len(), found);
            return (events, Err(error));
        }
    }
    (events, Ok(()))
}
