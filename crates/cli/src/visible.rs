//! Text of a peer in a form that cannot act on a terminal or deceive its reader.

/// The text without the means to move a cursor, recolor a screen, hide or reorder characters. Lines and
/// tabs stay.
pub(crate) fn visible(text: &str) -> String {
    escape(text, |c| is_harmful(c) && !matches!(c, '\n' | '\t'))
}

/// The same in one line: a line break of a peer could begin a line that looks like one of ours.
pub(crate) fn visible_line(text: &str) -> String {
    escape(text, is_harmful)
}

/// JSON that means the same, with escapes in place of the characters that act on a terminal.
pub(crate) fn visible_json(json: &str) -> String {
    let mut visible = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            // Between values: in a string they are escaped already.
            '\n' | '\r' | '\t' => visible.push(' '),
            c if is_harmful(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    visible.push_str(&format!("\\u{unit:04x}"));
                }
            }
            c => visible.push(c),
        }
    }
    visible
}

/// The first `limit` characters, with a mark if there are more.
pub(crate) fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

fn escape(text: &str, is_escaped: impl Fn(char) -> bool) -> String {
    let mut visible = String::with_capacity(text.len());
    for c in text.chars() {
        match is_escaped(c) {
            true => visible.extend(c.escape_unicode()),
            false => visible.push(c),
        }
    }
    visible
}

/// True for controls of C0 and C1, controls of the direction of text, and characters without width, which
/// make two different texts look the same. The two selectors that make an emoji of a sign are left alone.
fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0d}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_act_on_a_terminal_are_shown_by_their_numbers() {
        for (text, expect) in [
            ("a\tb\n\u{1b}[31mred\r", "a\tb\n\\u{1b}[31mred\\u{d}"),
            ("\u{9b}2J\u{7f}", "\\u{9b}2J\\u{7f}"),
            ("pay\u{202e}gpj", "pay\\u{202e}gpj"),
            ("a\u{200b}b\u{feff}", "a\\u{200b}b\\u{feff}"),
            ("\u{e0041}", "\\u{e0041}"),
            ("Grüße 漢字 ⚠\u{fe0f}", "Grüße 漢字 ⚠\u{fe0f}"),
        ] {
            assert_eq!(visible(text), expect);
        }
        assert_eq!(visible_line("a\nb\tc"), "a\\u{a}b\\u{9}c");
    }

    #[test]
    fn json_stays_the_same_value() {
        let json = "{\n\t\"a\u{202e}\": \"\u{9b}\u{7f}\u{e0041}é\\u001b\" }";
        let visible = visible_json(json);
        assert_eq!(
            visible,
            r#"{  "a\u202e": "\u009b\u007f\udb40\udc41é\u001b" }"#
        );
        let value = |text| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(&visible), value(json));
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöüß", 3), "äöü…");
    }
}
