//! Cursors that old clients do not mistake for the end of a list: none of them is empty.
//!
//! A cursor that is empty or begins with the mark gets the mark before it; all others pass as they
//! are, so that nothing is lost and nothing grows.

use callgate_wire::{RawJson, Splice};

const MARK: &str = "~";

/// Cursor for an old client, if it has to differ from that of the server.
pub(super) fn encode(cursor: &RawJson) -> Option<RawJson> {
    let text = cursor.text()?;
    let ambiguous = text.is_empty() || text.starts_with(MARK);
    ambiguous.then(|| RawJson::string(&format!("{MARK}{text}")))
}

/// Params of an old client with the cursor of the server.
pub(crate) fn decode_in(params: &RawJson) -> RawJson {
    let cursor = params.get("cursor");
    let text = cursor.as_ref().and_then(RawJson::text);
    let Some(original) = text.as_deref().and_then(|text| text.strip_prefix(MARK)) else {
        return params.clone();
    };
    Splice::new(params)
        .set(&["cursor"], &RawJson::string(original))
        .finish()
        .expect("params that have a member are an object")
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
            let params = Splice::new(&RawJson::empty_object())
                .set(&["cursor"], &shown)
                .finish()
                .unwrap();
            assert_eq!(decode_in(&params).get("cursor"), Some(given));
        }
    }
}
