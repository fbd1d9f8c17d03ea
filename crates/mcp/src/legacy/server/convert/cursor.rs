//! Cursors that old clients do not mistake for the end of a list: none of them is empty.
//!
//! A cursor that is empty or begins with the mark gets the mark before it; all others pass as they
//! are, so that nothing is lost and nothing grows.

use callgate_wire::{ObjectEdit, RawJson};

const MARK: &str = "~";

/// Cursor for an old client, if it has to differ from that of the server.
pub(super) fn encode(cursor: &RawJson) -> Option<RawJson> {
    let text = cursor.text()?;
    let ambiguous = text.is_empty() || text.starts_with(MARK);
    ambiguous.then(|| RawJson::string(&format!("{MARK}{text}")))
}

/// Puts the cursor of the server into the params of an old client.
pub(crate) fn decode_in(params: &mut ObjectEdit<'_>) {
    let cursor = params.get("cursor");
    let text = cursor.as_ref().and_then(RawJson::text);
    if let Some(original) = text.as_deref().and_then(|text| text.strip_prefix(MARK)) {
        params.set("cursor", RawJson::string(original));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_come_back_as_the_server_gave_them() {
        for (given, sent) in [
            ("", "~"),
            ("~", "~~"),
            ("~x", "~~x"),
            ("x~", "x~"),
            ("p2", "p2"),
        ] {
            let given = RawJson::string(given);
            let shown = encode(&given).unwrap_or_else(|| given.clone());
            assert_eq!(shown, RawJson::string(sent));
            let empty = RawJson::empty_object();
            let mut params = ObjectEdit::new(&empty);
            params.set("cursor", shown);
            let params = params.finish();
            let mut params = ObjectEdit::new(&params);
            decode_in(&mut params);
            assert_eq!(params.finish().get("cursor"), Some(given));
        }
    }
}
