use std::io::{self, IsTerminal, Write};

use callgate_mcp::wire::RawJson;

/// Prints one line of JSON, as it came.
pub(crate) fn json(value: &RawJson) -> io::Result<()> {
    line(value.to_line().as_bytes())
}

/// Prints one line of JSON, an object with one text.
pub(crate) fn member(name: &str, text: &str) -> io::Result<()> {
    line(format!("{{\"{name}\":{}}}", RawJson::string(text).as_str()).as_bytes())
}

/// Prints rows of a name and a description, in two columns.
pub(crate) fn table(rows: &[(String, String)]) -> io::Result<()> {
    let width = rows
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or(0);
    for (name, about) in rows {
        let row = format!("{name:width$}  {about}");
        text(row.trim_end())?;
    }
    Ok(())
}

/// Prints text from a peer, with control characters made visible on a terminal.
pub(crate) fn text(text: &str) -> io::Result<()> {
    if io::stdout().is_terminal() {
        return line(visible(text).as_bytes());
    }
    line(text.as_bytes())
}

/// The text without the means to move a cursor, recolor a screen or fake a prompt.
pub(crate) fn visible(text: &str) -> String {
    let is_plain = |c: char| matches!(c, '\n' | '\t') || !c.is_control();
    text.chars()
        .flat_map(|c| {
            let escaped = (!is_plain(c)).then(|| c.escape_unicode());
            let plain = is_plain(c).then_some(c);
            plain.into_iter().chain(escaped.into_iter().flatten())
        })
        .collect()
}

/// The text as one argument that a shell leaves as it is.
pub(crate) fn argument(text: &str) -> String {
    shlex::try_quote(text).map_or_else(|_| visible(text), Into::into)
}

/// Prints a line; a closed pipe, as after `| head`, is not an error.
fn line(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let end: &[u8] = if bytes.ends_with(b"\n") { b"" } else { b"\n" };
    let written = out.write_all(bytes).and_then(|()| out.write_all(end));
    match written.and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_made_visible() {
        assert_eq!(
            visible("a\tb\n\u{1b}[31mred\r"),
            "a\tb\n\\u{1b}[31mred\\u{d}"
        );
    }
}
