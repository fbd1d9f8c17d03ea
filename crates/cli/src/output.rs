//! All printing. Text of a peer reaches a terminal only in its visible form.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use callgate_mcp::wire::RawJson;
use tracing_subscriber::fmt::MakeWriter;

use crate::render::columns;
use crate::render::image::InlineImage;
use crate::render::line::{Line, Style};
use crate::render::screen::Screen;
use crate::render::wrap::wrap;
use crate::visible::{cut, visible, visible_json, visible_line};

/// Maximum characters of a name in a table; the specification allows 128.
const NAME: usize = 128;

/// Prints one line of JSON: for a program as it came, on a terminal with escapes that mean the same.
pub(crate) fn json(value: &RawJson) -> io::Result<()> {
    json_line(value.to_line().as_str(), io::stdout().lock())
}

/// Prints one line of JSON, an object with one text.
pub(crate) fn member(name: &str, text: &str) -> io::Result<()> {
    let object = format!("{{\"{name}\":{}}}", RawJson::string(text).as_str());
    json_line(&object, io::stdout().lock())
}

/// Prints a value as one line of JSON.
pub(crate) fn value(value: &serde_json::Value) -> io::Result<()> {
    json_line(&value.to_string(), io::stdout().lock())
}

/// Prints one line of JSON on standard error. A closed standard error is no failure of the command.
pub(crate) fn json_error(json: &str) {
    let _ = json_line(json, io::stderr().lock());
}

/// Prints rows of a name and a description, in two columns.
pub(crate) fn table(rows: &[(String, String)]) -> io::Result<()> {
    let rows: Vec<_> = rows
        .iter()
        .map(|(name, about)| columns::pair(&cut(name, NAME), about))
        .collect();
    columns(&rows)
}

/// Prints rows with aligned columns.
pub(crate) fn columns(rows: &[Vec<Line>]) -> io::Result<()> {
    let screen = Screen::of_stdout();
    let rows = columns::columns(rows, screen.as_ref());
    lines(&rows, &screen.unwrap_or(Screen::FILE))
}

/// Prints rows with aligned columns, without those of the `dispensable` columns for which the terminal has no room.
pub(crate) fn columns_with_room(rows: Vec<Vec<Line>>, dispensable: &[usize]) -> io::Result<()> {
    let screen = Screen::of_stdout();
    columns(&columns::without_columns(
        rows,
        dispensable,
        screen.as_ref(),
    ))
}

/// True if standard output is a terminal.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// A line on standard error that shows the progress of something and is cleared at the end. Nothing is shown
/// where standard error is not a terminal.
#[derive(Debug)]
pub(crate) struct StatusLine {
    width: Option<usize>,
    /// True while there is text to clear.
    is_drawn: AtomicBool,
}

impl StatusLine {
    pub(crate) fn new() -> Self {
        let is_shown = io::stderr().is_terminal();
        Self {
            width: is_shown.then(terminal_width),
            is_drawn: AtomicBool::new(false),
        }
    }

    /// Replaces the line.
    pub(crate) fn show(&self, text: &str) {
        let Some(width) = self.width else {
            return;
        };
        // One column less: a full line would begin a new one.
        let text = cut(&visible_line(text), width.saturating_sub(1));
        let mut out = io::stderr().lock();
        self.is_drawn.store(true, Ordering::Relaxed);
        let _ = write!(out, "\r\u{1b}[2K{text}");
        let _ = out.flush();
    }

    /// True if the line is shown.
    pub(crate) fn is_shown(&self) -> bool {
        self.width.is_some()
    }

    pub(crate) fn clear(&self) {
        if self.is_drawn.swap(false, Ordering::Relaxed) {
            let mut out = io::stderr().lock();
            let _ = out.write_all("\r\u{1b}[2K".as_bytes());
            let _ = out.flush();
        }
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Columns of the terminal; 80 where it does not tell.
fn terminal_width() -> usize {
    #[cfg(unix)]
    if let Ok(size) = rustix::termios::tcgetwinsize(io::stderr())
        && size.ws_col > 0
    {
        return usize::from(size.ws_col);
    }
    80
}

/// Prints text: for a program as it came, on a terminal in its visible form.
pub(crate) fn text(text: &str) -> io::Result<()> {
    let out = io::stdout().lock();
    match out.is_terminal() {
        true => line(&visible(text), out),
        false => line(text, out),
    }
}

/// Prints text: for a program as it came, on a terminal in its visible form, in lines of its width that go on after
/// an indent.
pub(crate) fn paragraph(paragraph: &str, indent: &str) -> io::Result<()> {
    let Some(screen) = Screen::of_stdout() else {
        return text(paragraph);
    };
    let (none, indent) = (Line::new(), Line::of(indent, Style::PLAIN));
    let wrapped = paragraph.lines().flat_map(|line| {
        let line = Line::of(line, Style::PLAIN);
        wrap(&line, screen.width, &none, &indent)
    });
    lines(&wrapped.collect::<Vec<_>>(), &screen)
}

/// Prints lines, with styles if the terminal has them. They hold text in its visible form alone.
pub(crate) fn lines(lines: &[Line], screen: &Screen) -> io::Result<()> {
    let mut text = String::new();
    for line in lines {
        text.push_str(&line.paint(screen.styles));
        text.push('\n');
    }
    match text.is_empty() {
        true => Ok(()),
        false => line(&text, io::stdout().lock()),
    }
}

/// Shows an image on a terminal that can.
pub(crate) fn image(image: &InlineImage) -> io::Result<()> {
    line(image.sequence(), io::stdout().lock())
}

/// Writes bytes to a program or file that standard output is.
pub(crate) fn bytes(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    unless_closed(out.write_all(bytes).and_then(|()| out.flush()))
}

/// Prints a message to the user on standard error, in its visible form.
pub(crate) fn note(text: &str) {
    // There is no other place to report that standard error cannot be written.
    let _ = line(&visible(text), io::stderr().lock());
}

/// Prints a sentence for people on standard error, in lines of the terminal's width. Commands are not printed so:
/// they would be broken.
pub(crate) fn remark(text: &str) {
    if !io::stderr().is_terminal() {
        return note(text);
    }
    let (text, none) = (Line::of(text, Style::PLAIN), Line::new());
    for line in wrap(&text, terminal_width(), &none, &none) {
        note(&line.paint(false));
    }
}

/// Prints the question before an answer on standard error, in one line that does not end.
pub(crate) fn prompt(text: &str) {
    let mut out = io::stderr().lock();
    let _ = out.write_all(visible_line(text).as_bytes());
    let _ = out.flush();
}

/// A question whose answer is awaited. Without one, the line of the question is ended when this is dropped, so that the
/// next text begins a line.
#[derive(Debug)]
pub(crate) struct OpenPrompt {
    is_answered: bool,
}

impl OpenPrompt {
    /// Prints the question.
    pub(crate) fn new(question: &str) -> Self {
        prompt(question);
        Self { is_answered: false }
    }

    /// The user has ended the line.
    pub(crate) fn answered(mut self) {
        self.is_answered = true;
    }
}

impl Drop for OpenPrompt {
    fn drop(&mut self) {
        if !self.is_answered {
            note("");
        }
    }
}

/// The text as one argument that a shell leaves as it is.
pub(crate) fn argument(text: &str) -> String {
    shlex::try_quote(text).map_or_else(|_| visible_line(text), Into::into)
}

/// Standard error for the log: each event is one line in its visible form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogWriter;

impl<'a> MakeWriter<'a> for LogWriter {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        *self
    }
}

impl Write for LogWriter {
    /// Writes a whole event: the subscriber formats it before it writes.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        line(&visible_line(text.trim_end()), io::stderr().lock())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

fn json_line(json: &str, out: impl Write + IsTerminal) -> io::Result<()> {
    match out.is_terminal() {
        true => line(&visible_json(json), out),
        false => line(json, out),
    }
}

/// Prints a line.
fn line(text: &str, mut out: impl Write) -> io::Result<()> {
    let end: &[u8] = if text.ends_with('\n') { b"" } else { b"\n" };
    let written = out.write_all(text.as_bytes());
    let written = written.and_then(|()| out.write_all(end));
    unless_closed(written.and_then(|()| out.flush()))
}

/// A closed pipe, as after `| head`, is not an error.
fn unless_closed(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => {
            let message = format!("cannot write the output: {error}");
            Err(io::Error::new(error.kind(), message))
        }
        Ok(()) => Ok(()),
    }
}
