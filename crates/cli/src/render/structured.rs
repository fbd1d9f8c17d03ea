use callgate_mcp::wire::{Kind, RawJson};

use super::line::{Color, Line, Style};
use super::table::{Table, draw};
use super::wrap::wrap;
use crate::visible::cut;

/// Maximum rows of a table, items of a list and members of an object.
const ROWS: usize = 50;
/// Maximum columns of a table before its width is looked at.
const COLUMNS: usize = 20;
/// Maximum lines of a cell.
const CELL_LINES: usize = 3;
/// Maximum characters of a value.
const VALUE: usize = 2000;
/// Maximum characters of a key.
const KEY: usize = 40;
/// Maximum depth of values that have lines of their own; deeper ones are JSON on one line.
const DEPTH: usize = 4;
/// Maximum lines of everything.
const LINES: usize = 400;

/// Draws JSON for reading: objects as keys and values, arrays of objects as tables.
///
/// The last line says if something was left out, and how to get it.
pub(crate) fn structured(value: &RawJson, width: usize) -> Vec<Line> {
    let mut drawing = Drawing::default();
    drawing.value(value, width, 0);
    let mut lines = drawing.lines;
    if lines.len() > LINES {
        lines.truncate(LINES);
        drawing.left_out.push("more lines".to_owned());
    }
    if !drawing.left_out.is_empty() {
        drawing.left_out.dedup();
        drawing.left_out.truncate(3);
        let note = format!(
            "left out: {}; use --json to get all",
            drawing.left_out.join(", ")
        );
        let note = Line::of(&note, Style::DIM);
        lines.extend(wrap(&note, width, &Line::new(), &Line::new()));
    }
    lines
}

#[derive(Default)]
struct Drawing {
    lines: Vec<Line>,
    left_out: Vec<String>,
}

impl Drawing {
    fn value(&mut self, value: &RawJson, width: usize, depth: usize) {
        if self.lines.len() > LINES {
            return;
        }
        match value.kind() {
            Kind::Object => self.object(value, width, depth),
            Kind::Array => self.array(value, width, depth),
            _ => {
                let text = self.scalar(value);
                self.lines
                    .extend(wrap(&text, width, &Line::new(), &Line::new()));
            }
        }
    }

    fn object(&mut self, value: &RawJson, width: usize, depth: usize) {
        let members = members(value);
        if members.is_empty() {
            self.lines.push(Line::of("{}", Style::DIM));
        }
        let keys = members.iter().take(ROWS);
        let keys: Vec<Line> = keys.map(|(key, _)| key_line(key)).collect();
        let column = keys
            .iter()
            .map(Line::width)
            .max()
            .unwrap_or(0)
            .min(width / 2);
        for (key, (_, value)) in keys.iter().zip(&members) {
            if is_nested(value) && depth < DEPTH {
                self.lines.push(key.clone());
                self.indented(value, width, depth);
                continue;
            }
            let first = key.clone().pad(column).add("  ", Style::PLAIN);
            let rest = Line::new().pad(column + 2);
            let text = self.scalar(value);
            self.lines.extend(wrap(&text, width, &first, &rest));
        }
        self.count_rest(members.len(), "members");
    }

    fn array(&mut self, value: &RawJson, width: usize, depth: usize) {
        let elements = value.elements();
        if elements.is_empty() {
            self.lines.push(Line::of("[]", Style::DIM));
        } else if elements
            .iter()
            .all(|element| element.kind() == Kind::Object)
        {
            self.table(&elements, width);
        } else {
            for element in elements.iter().take(ROWS) {
                if is_nested(element) && depth < DEPTH {
                    self.lines.push(Line::of("-", Style::DIM));
                    self.indented(element, width, depth);
                    continue;
                }
                let text = self.scalar(element);
                let first = Line::of("- ", Style::DIM);
                self.lines
                    .extend(wrap(&text, width, &first, &Line::new().pad(2)));
            }
            self.count_rest(elements.len(), "items");
        }
    }

    fn table(&mut self, rows: &[RawJson], width: usize) {
        let shown = rows.get(..ROWS).unwrap_or(rows);
        let mut columns: Vec<String> = Vec::new();
        for row in shown {
            for (key, _) in members(row) {
                if !columns.contains(&key) && columns.len() < KNOWN_COLUMNS {
                    columns.push(key);
                }
            }
        }
        if columns.is_empty() {
            self.lines
                .push(Line::of(&format!("{} × {{}}", rows.len()), Style::DIM));
            return;
        }
        let in_table = columns.get(..COLUMNS).unwrap_or(&columns);
        let mut table = Table {
            header: in_table.iter().map(|name| key_line(name)).collect(),
            rows: Vec::new(),
            cell_lines: CELL_LINES,
        };
        for row in shown {
            let members = members(row);
            let cell = |name: &String| {
                let member = members.iter().find(|(key, _)| key == name);
                member.map_or_else(Line::new, |(_, value)| self.scalar(value))
            };
            let cells = in_table.iter().map(cell).collect();
            table.rows.push(cells);
        }
        let drawn = draw(&table, width);
        self.lines.extend(drawn.lines);
        self.count_rest(rows.len(), "rows");
        if let Some(missing) = columns.get(drawn.columns..).filter(|rest| !rest.is_empty()) {
            let names = cut(&missing.join(", "), KEY);
            let number = missing.len();
            self.left_out.push(format!("{number} columns ({names})"));
        }
        if drawn.is_cut {
            self.left_out.push("the ends of long values".to_owned());
        }
    }

    fn indented(&mut self, value: &RawJson, width: usize, depth: usize) {
        let mut inner = Self::default();
        inner.value(value, width.saturating_sub(2), depth + 1);
        let lines = inner.lines.iter();
        let lines = lines.map(|line| Line::new().pad(2).join(line));
        self.lines.extend(lines.take(LINES + 1));
        self.left_out.extend(inner.left_out);
    }

    fn count_rest(&mut self, number: usize, name: &str) {
        if number > ROWS {
            self.left_out.push(format!("{} more {name}", number - ROWS));
        }
    }

    /// A value on one line: text without quotes, everything else as JSON.
    fn scalar(&mut self, value: &RawJson) -> Line {
        let style = match value.kind() {
            Kind::Number | Kind::Bool => Style::color(Color::Cyan),
            Kind::Null => Style::DIM,
            _ => Style::PLAIN,
        };
        let text = value.text();
        let text = text.as_deref().unwrap_or_else(|| value.as_str());
        let shown = cut(text, VALUE);
        if shown.len() < text.len() {
            self.left_out.push("the ends of long values".to_owned());
        }
        // The lines of a text become one: each of ours is a member, a row or an item.
        let words = shown.split('\n').map(str::trim_end);
        Line::of(&words.collect::<Vec<_>>().join(" ⏎ "), style)
    }
}

/// Columns that are named as left out.
const KNOWN_COLUMNS: usize = 200;

fn key_line(key: &str) -> Line {
    Line::of(&cut(key, KEY), Style::BOLD)
}

/// True if the value needs lines of its own: an object, or an array that holds one or is long.
fn is_nested(value: &RawJson) -> bool {
    match value.kind() {
        Kind::Object => value.members().next().is_some(),
        Kind::Array => {
            let elements = value.elements();
            let is_container = |value: &RawJson| matches!(value.kind(), Kind::Object | Kind::Array);
            elements.iter().any(is_container) || value.as_bytes().len() > SHORT_ARRAY
        }
        _ => false,
    }
}

/// Maximum bytes of an array that is shown on the line of its key.
const SHORT_ARRAY: usize = 60;

fn members(value: &RawJson) -> Vec<(String, RawJson)> {
    value.members_besides(&[])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(json: &str, width: usize) -> Vec<String> {
        let value: RawJson = serde_json::from_str(json).unwrap();
        let lines = structured(&value, width);
        assert!(
            lines.iter().all(|line| line.width() <= width.max(20)),
            "{lines:?}"
        );
        lines.iter().map(|line| line.paint(false)).collect()
    }

    fn text(json: &str, width: usize) -> String {
        lines(json, width).join("\n")
    }

    #[test]
    fn an_object_is_keys_and_values() {
        insta::assert_snapshot!(text(
            r#"{"name":"callgate","private":false,"description":"a text that is longer than the line it has to stand in","tags":["a","b"],
                "owner":{"login":"ada","id":12345678901234567890},"nothing":null,"empty":{},"none":[]}"#, 50), @r#"
        name         callgate
        private      false
        description  a text that is longer than the line
                     it has to stand in
        tags         ["a","b"]
        owner
          login  ada
          id     12345678901234567890
        nothing      null
        empty        {}
        none         []
        "#);
    }

    #[test]
    fn an_array_of_objects_is_a_table() {
        insta::assert_snapshot!(text(
            r#"{"total":2,"items":[{"number":1,"title":"First","labels":["bug"]},{"number":22,"state":"open","title":"Second\nline"}]}"#, 60), @r#"
        total  2
        items
          number  title          labels   state
          ──────  ─────────────  ───────  ─────
          1       First          ["bug"]
          22      Second ⏎ line           open
        "#);
    }

    #[test]
    fn other_values_are_lists_and_texts() {
        insta::assert_snapshot!(text(r#"[1,"two",[3,{"four":5}],{"six":7}]"#, 40), @r#"
        - 1
        - two
        -
          - 3
          -
            four  5
        -
          six  7
        "#);
        assert_eq!(lines("\"text\"", 40), ["text"]);
        assert_eq!(lines("[]", 40), ["[]"]);
        assert_eq!(lines("[{},{}]", 40), ["2 × {}"]);
    }

    #[test]
    fn parts_that_are_left_out_are_named() {
        let row = |n: usize| {
            let cells: Vec<String> = (0..40)
                .map(|c| format!(r#""column{c}":"value {n}""#))
                .collect();
            format!("{{{}}}", cells.join(","))
        };
        let rows: Vec<String> = (0..1000).map(row).collect();
        let lines = lines(&format!("[{}]", rows.join(",")), 80);
        assert_eq!(lines.len(), ROWS + 4);
        assert_eq!(
            lines[ROWS + 2..],
            [
                "left out: 950 more rows, 32 columns (column8, column9, column10, column11, co…);",
                "use --json to get all"
            ]
        );
    }

    #[test]
    fn deep_long_and_hostile_values_stay_bounded_and_harmless() {
        let deep = format!("{}1{}", r#"{"a":["#.repeat(60), "]}".repeat(60));
        assert!(lines(&deep, 40).len() < 100);
        let long = format!(r#"{{"k":"{}"}}"#, "x".repeat(1 << 20));
        let long = lines(&long, 80);
        assert_eq!(
            (long.len(), long.last().map(String::as_str)),
            (
                27,
                Some("left out: the ends of long values; use --json to get all")
            )
        );
        let evil = lines(r#"{"k\u001b[2J":"\u001b]0;x\u0007\u202e\u200b"}"#, 80);
        assert_eq!(evil, [r"k\u{1b}[2J  \u{1b}]0;x\u{7}\u{202e}\u{200b}"]);
        let many: Vec<String> = (0..5000)
            .map(|n| format!(r#""k{n}":{{"a":{{"b":1}}}}"#))
            .collect();
        assert!(lines(&format!("{{{}}}", many.join(",")), 80).len() <= LINES + 1);
    }
}
