use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::line::{Color, Line, Style};
use super::table::{Table, draw};
use super::wrap::wrap;

/// Maximum bytes of a text that is drawn as markdown.
const MAX_BYTES: usize = 256 * 1024;
/// Maximum levels of indent of lists and quotes.
const LEVELS: usize = 8;
/// Maximum rows and columns of a table.
const ROWS: usize = 500;
const COLUMNS: usize = 30;
/// Maximum lines of a cell of a table.
const CELL_LINES: usize = 50;

/// True if a text has marks of markdown that plain text rarely has, and is not too long to be drawn.
///
/// A server does not say if its text is markdown, and the stars of plain text must stay.
pub(crate) fn is_markdown(text: &str) -> bool {
    if text.len() > MAX_BYTES {
        return false;
    }
    let mut items = 0;
    text.lines().any(|line| {
        let line = line.trim_start();
        items += usize::from(line.starts_with("- ") || line.starts_with("* "));
        let heading = line.trim_start_matches('#');
        let is_heading =
            (1..=6).contains(&(line.len() - heading.len())) && heading.starts_with(' ');
        let is_ruler =
            line.contains("--") && line.contains('|') && line.chars().all(|c| "|-: ".contains(c));
        let is_link = line.contains("](http");
        let is_bold = line
            .split("**")
            .nth(1)
            .is_some_and(|bold| !bold.trim().is_empty())
            && line.matches("**").count() > 1;
        is_heading || is_ruler || is_link || is_bold || line.starts_with("```") || items > 1
    })
}

/// Draws markdown in lines of at most `width` columns; lines of code may be longer.
///
/// Emphasis is shown by style only, links with their URL, and lines stay as they were broken.
pub(crate) fn markdown(text: &str, width: usize) -> Vec<Line> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut drawing = Drawing {
        width,
        lines: Vec::new(),
        text: Line::new(),
        styles: Vec::new(),
        indents: Vec::new(),
        lists: Vec::new(),
        links: Vec::new(),
        table: None,
        in_code: false,
        wants_gap: false,
    };
    for event in Parser::new_ext(text, options) {
        drawing.event(event);
    }
    drawing.end_text();
    drawing.lines
}

struct Drawing {
    width: usize,
    lines: Vec<Line>,
    /// The text of the current paragraph, heading, item or cell.
    text: Line,
    styles: Vec<Style>,
    indents: Vec<Indent>,
    /// The number of the next item of each list; `None` for bullets.
    lists: Vec<Option<u64>>,
    /// URLs of the links and images that are open, and where their text begins.
    links: Vec<(String, usize)>,
    table: Option<Table>,
    in_code: bool,
    /// True if an empty line goes before the next block.
    wants_gap: bool,
}

/// The beginning of lines in a list or a quote.
struct Indent {
    first: Line,
    rest: Line,
}

impl Drawing {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.in_code => self.code(&text),
            Event::Text(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.add(&text, Style::PLAIN);
            }
            Event::Code(text) => self.add(&text, CODE),
            Event::Html(html) | Event::InlineHtml(html) => {
                self.add(html.trim_end_matches('\n'), Style::DIM);
                if html.ends_with('\n') {
                    self.end_text();
                }
            }
            Event::SoftBreak | Event::HardBreak if self.table.is_some() => {
                self.add(" ", Style::PLAIN);
            }
            Event::SoftBreak | Event::HardBreak => self.end_text(),
            Event::Rule => {
                self.gap();
                self.text = Line::of(&"─".repeat(self.width.min(40)), Style::DIM);
                self.end_text();
                self.wants_gap = true;
            }
            Event::TaskListMarker(done) => {
                let mark = if done { "☑ " } else { "☐ " };
                self.add(mark, Style::PLAIN);
            }
            Event::FootnoteReference(name) => self.add(&format!("[{name}]"), Style::DIM),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.gap(),
            Tag::Heading { level, .. } => {
                self.gap();
                let style = match level {
                    HeadingLevel::H1 => Style::BOLD.with(Style::UNDERLINED),
                    _ => Style::BOLD,
                };
                self.styles.push(style);
            }
            Tag::BlockQuote(_) => {
                self.gap();
                let bar = Line::of("│ ", Style::DIM);
                self.indent(bar.clone(), bar);
            }
            Tag::CodeBlock(kind) => {
                self.end_text();
                self.gap();
                self.in_code = true;
                if let CodeBlockKind::Fenced(language) = kind
                    && !language.is_empty()
                {
                    self.text = Line::of(&format!("  {language}"), Style::DIM);
                    self.end_text();
                }
            }
            Tag::List(first) => {
                self.end_text();
                if self.lists.is_empty() {
                    self.gap();
                }
                self.wants_gap = false;
                self.lists.push(first);
            }
            Tag::Item => self.start_item(),
            Tag::Table(_) => {
                self.gap();
                self.table = Some(Table {
                    cell_lines: CELL_LINES,
                    ..Table::default()
                });
            }
            Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Tag::Emphasis => self.styles.push(Style::ITALIC),
            Tag::Strong => self.styles.push(Style::BOLD),
            Tag::Strikethrough => self.styles.push(Style::STRUCK),
            Tag::Link { dest_url, .. } => {
                self.links
                    .push((dest_url.into_string(), self.text.spans().len()));
                self.styles.push(Style::color(Color::Blue));
            }
            Tag::Image { dest_url, .. } => {
                self.links
                    .push((dest_url.into_string(), self.text.spans().len()));
                self.add("image: ", Style::DIM);
                self.styles.push(Style::PLAIN);
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.end_block(),
            TagEnd::Heading(_) => {
                self.styles.pop();
                self.end_block();
            }
            TagEnd::BlockQuote(_) => {
                self.end_text();
                self.indents.pop();
                self.wants_gap = true;
            }
            TagEnd::CodeBlock => {
                self.end_block();
                self.in_code = false;
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.wants_gap = self.lists.is_empty();
            }
            TagEnd::Item => {
                self.end_text();
                // An item without text has a mark all the same.
                if self
                    .indents
                    .last()
                    .is_some_and(|indent| indent.first != indent.rest)
                {
                    self.text = Line::of(" ", Style::PLAIN);
                    self.end_text();
                }
                self.indents.pop();
            }
            TagEnd::TableCell => self.end_cell(),
            TagEnd::Table => {
                if let Some(mut table) = self.table.take() {
                    self.draw_table(&mut table);
                }
                self.wants_gap = true;
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::HtmlBlock => self.end_block(),
            _ => {}
        }
    }

    fn start_item(&mut self) {
        self.end_text();
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                let mark = format!("{number}. ");
                *number = number.saturating_add(1);
                mark
            }
            _ => "• ".to_owned(),
        };
        let first = Line::of(&mark, Style::DIM);
        let rest = Line::new().pad(first.width());
        self.indent(first, rest);
    }

    /// The URL of a link goes after its text: the text alone could name another place.
    fn end_link(&mut self) {
        self.styles.pop();
        let Some((url, start)) = self.links.pop() else {
            return;
        };
        let spans = self.text.spans();
        let shown = spans.get(start.saturating_sub(1)..).unwrap_or(spans);
        let is_shown = shown.iter().any(|span| span.text() == url);
        if !is_shown {
            self.add(&format!(" ({url})"), Style::DIM);
        }
    }

    fn end_cell(&mut self) {
        let cell = std::mem::take(&mut self.text);
        let Some(table) = &mut self.table else {
            return;
        };
        let row = table.rows.last_mut().unwrap_or(&mut table.header);
        row.push(cell);
    }

    fn draw_table(&mut self, table: &mut Table) {
        let rows = table.rows.len();
        table.rows.truncate(ROWS);
        for row in table.rows.iter_mut().chain([&mut table.header]) {
            row.truncate(COLUMNS);
        }
        let columns = table.header.len();
        let drawn = draw(table, self.room());
        for line in drawn.lines {
            self.push(&line);
        }
        if rows > ROWS || drawn.columns < columns || drawn.is_cut {
            self.push(&Line::of(
                "a part of the table is left out; use --json to get all",
                Style::DIM,
            ));
        }
    }

    fn code(&mut self, text: &str) {
        for line in text.lines() {
            self.push(&Line::of(&format!("    {line}"), CODE));
        }
    }

    fn add(&mut self, text: &str, style: Style) {
        let style = self
            .styles
            .iter()
            .fold(style, |style, more| style.with(*more));
        self.text = std::mem::take(&mut self.text).add(text, style);
    }

    fn indent(&mut self, first: Line, rest: Line) {
        // Deeper levels stand where the deepest one does.
        let is_deep = self.indents.len() >= LEVELS;
        self.indents.push(match is_deep {
            true => Indent {
                first: Line::new(),
                rest: Line::new(),
            },
            false => Indent { first, rest },
        });
    }

    /// Columns beside the indent.
    fn room(&self) -> usize {
        let taken: usize = self.indents.iter().map(|indent| indent.rest.width()).sum();
        self.width.saturating_sub(taken)
    }

    fn end_block(&mut self) {
        self.end_text();
        self.wants_gap = true;
    }

    /// Ends the current lines of text, if there is one.
    fn end_text(&mut self) {
        let text = std::mem::take(&mut self.text);
        if text.is_empty() {
            return;
        }
        let (first, rest) = self.beginning();
        self.lines.extend(wrap(&text, self.width, &first, &rest));
    }

    /// Adds a line that is not wrapped.
    fn push(&mut self, line: &Line) {
        let (first, _) = self.beginning();
        self.lines.push(first.join(line));
    }

    /// The beginning of the next line and of those after it. The mark of an item is used once.
    fn beginning(&mut self) -> (Line, Line) {
        let (mut first, mut rest) = (Line::new(), Line::new());
        for indent in &mut self.indents {
            first = first.join(&indent.first);
            rest = rest.join(&indent.rest);
            indent.first = indent.rest.clone();
        }
        (first, rest)
    }

    /// Puts an empty line before a block, unless it is the first one.
    fn gap(&mut self) {
        self.end_text();
        let begins_item = self
            .indents
            .last()
            .is_some_and(|indent| indent.first != indent.rest);
        if self.wants_gap && !self.lines.is_empty() && !begins_item {
            let bars = self
                .indents
                .iter()
                .fold(Line::new(), |line, indent| line.join(&indent.rest));
            self.lines.push(bars);
        }
        self.wants_gap = false;
    }
}

const CODE: Style = Style::color(Color::Cyan);

#[cfg(test)]
mod tests {
    use super::*;

    fn draw_text(text: &str, width: usize, styles: bool) -> String {
        let lines = markdown(text, width);
        let lines = lines.iter().map(|line| line.paint(styles));
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn blocks_are_drawn_with_indents_and_gaps() {
        let text = "# Title\nA paragraph with *emphasis*, `code` and [a link](https://example.com/a).\n\n\
            - one\n- two\n  1. inner that is long enough to be wrapped\n  2. second\n- [x] done\n\n\
            > quoted\n> text\n\n```rust\nfn main() {\n\tbody\n}\n```\n---\n<b>html</b>\n![alt](img.png) <https://x.example>";
        insta::assert_snapshot!(draw_text(text, 40, false), @r"
        Title

        A paragraph with emphasis, code and a
        link (https://example.com/a).

        • one
        • two
          1. inner that is long enough to be
             wrapped
          2. second
        • ☑ done

        │ quoted
        │ text

          rust
            fn main() {
                body
            }

        ────────────────────────────────────────

        <b>html</b>
        image: alt (img.png) https://x.example
        ");
    }

    #[test]
    fn emphasis_is_style_alone() {
        let painted = draw_text("**bold *both* ~~gone~~** `c`\n## h", 80, true);
        assert_eq!(
            painted.replace('\u{1b}', "^"),
            "^[1mbold ^[0m^[1;3mboth^[0m^[1m ^[0m^[1;9mgone^[0m ^[36mc^[0m\n\n^[1mh^[0m"
        );
    }

    #[test]
    fn tables_fit_the_width() {
        let text = "| Name | About |\n|---|:-:|\n| **a** | a description that is too long for one line |\n| b | [x](https://y.example) |\n\nafter";
        insta::assert_snapshot!(draw_text(text, 34, false), @r"
        Name  About
        ────  ────────────────────────────
        a     a description that is too
              long for one line
        b     x (https://y.example)

        after
        ");
    }

    #[test]
    fn text_of_a_server_cannot_act_on_the_terminal() {
        let evil = "\u{1b}]0;x\u{7}\u{9b}2J\u{202e}\u{200b}";
        let text = format!(
            "# {evil}\n- `{evil}`\n\n```{evil}\n{evil}\n```\n[{evil}](http://{evil})\n\n| {evil} |\n|---|\n| {evil} |\n\n&#27;[2J <x {evil}>\n"
        );
        let drawn = draw_text(&text, 60, false);
        let is_harmless = |c: char| c == '\n' || !c.is_control() && !"\u{202e}\u{200b}".contains(c);
        assert!(drawn.chars().all(is_harmless), "{drawn:?}");
        let painted = draw_text(&text, 60, true);
        for sequence in painted.split('\u{1b}').skip(1) {
            let end = sequence.find(|c: char| !"[0123456789;".contains(c));
            assert_eq!(
                end.and_then(|end| sequence[end..].chars().next()),
                Some('m'),
                "{sequence}"
            );
        }
    }

    #[test]
    fn hostile_shapes_stay_bounded() {
        for text in [
            "> ".repeat(5000),
            "- ".repeat(5000),
            "* a\n".repeat(5000),
            "[".repeat(20_000),
            "*".repeat(20_000),
            format!("|{}\n|{}\n", "a|".repeat(3000), "-|".repeat(3000)),
            "x".repeat(200_000),
            format!("```\n{}\n```", "y".repeat(200_000)),
            (0..300)
                .map(|n| format!("{}- a\n", "  ".repeat(n)))
                .collect(),
        ] {
            let drawn = draw_text(&text, 80, false);
            assert!(drawn.len() <= 20 * text.len() + 1000, "{}", &text[..10]);
        }
    }

    #[test]
    fn plain_text_is_told_from_markdown() {
        for text in [
            "# Title",
            "a\n```\nb\n```",
            "|a|b|\n|--|--|",
            "see [x](https://y)",
            "a **b** c",
            "- a\n- b",
        ] {
            assert!(is_markdown(text), "{text}");
        }
        let long = "# a\n".repeat(100_000);
        for text in [
            "2*3*4 and a_b_c",
            "#!/bin/sh",
            "-rw-r--r-- 1 root",
            "a ** b",
            "{\"a\":1}",
            "a | b",
            "- one",
            &long,
        ] {
            assert!(!is_markdown(text), "{}", &text[..text.len().min(20)]);
        }
    }
}
