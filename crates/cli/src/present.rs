//! Content of a server on standard output: drawn on a terminal, as it came elsewhere.

use std::env;
use std::io::{self, Write};

use callgate_mcp::wire::RawJson;
use callgate_mcp::wire::content::Content;
use callgate_mcp::wire::tool::CallToolResult;

use crate::error::CommandError;
use crate::output;
use crate::render::content::{self, Piece};
use crate::render::line::{Color, Line, Style};
use crate::render::media::{Media, size};
use crate::render::screen::Screen;
use crate::visible::cut;

/// Maximum files that one command writes for content that the terminal cannot show.
const FILES: usize = 16;

/// Prints the result of a tool.
pub(crate) fn result(result: &CallToolResult) -> Result<(), CommandError> {
    let structured = result.structured_content.as_ref();
    match Screen::of_stdout() {
        Some(screen) => pieces(
            &content::result(&result.content, structured, &screen),
            &screen,
        ),
        None => match (result.content.as_slice(), structured) {
            ([], Some(structured)) => Ok(output::text(structured.as_str())?),
            (content, _) => blocks(content),
        },
    }
}

/// Prints rows of a name and a description, in two columns. A name that the user may copy is not broken.
pub(crate) fn rows(rows: &[(String, String)]) -> Result<(), CommandError> {
    let cells = |(name, about): &(String, String)| {
        let name = Line::of(&cut(name, NAME), Style::BOLD);
        vec![name, Line::of(about, Style::PLAIN)]
    };
    let rows: Vec<_> = rows.iter().map(cells).collect();
    Ok(output::columns(&rows)?)
}

/// Maximum characters of a name in rows; the specification allows 128 for that of a tool.
const NAME: usize = 256;

/// Prints blocks of content.
pub(crate) fn blocks(blocks: &[Content]) -> Result<(), CommandError> {
    if let Some(screen) = Screen::of_stdout() {
        return pieces(&content::result(blocks, None, &screen), &screen);
    }
    for block in blocks {
        output::text(&describe(block))?;
    }
    Ok(())
}

/// Prints parts of a result on a terminal. Bytes that it cannot show are written to files.
pub(crate) fn pieces(pieces: &[Piece], screen: &Screen) -> Result<(), CommandError> {
    let mut files = 0;
    for piece in pieces {
        match piece {
            Piece::Lines(lines) => output::lines(lines, screen)?,
            Piece::Text(text) => output::text(text)?,
            Piece::Image(image) => output::image(image)?,
            Piece::File(media) => {
                files += 1;
                output::lines(&[saved(media, files)?], screen)?;
            }
        }
    }
    Ok(())
}

/// Text as it is, and one line about content that is no text.
pub(crate) fn describe(content: &Content) -> String {
    match content {
        Content::Text(text) => text.text.clone(),
        Content::Image(image) => binary("image", &image.mime_type, &image.data),
        Content::Audio(audio) => binary("audio", &audio.mime_type, &audio.data),
        other => RawJson::encode(other)
            .map_or_else(|error| error.to_string(), |raw| raw.as_str().to_owned()),
    }
}

fn binary(kind: &str, mime_type: &str, base64: &str) -> String {
    let bytes = base64.trim_end_matches('=').len() * 3 / 4;
    format!("[{kind}, {mime_type}, {bytes} bytes; use --json to get it]")
}

/// Writes a file and says where it is. After many files, the rest is only described.
fn saved(media: &Media, number: usize) -> Result<Line, CommandError> {
    let about = match media.mime_type.is_empty() {
        true => format!("{}, {}", media.kind, size(media.bytes.len())),
        false => {
            let mime_type = cut(&media.mime_type, 100);
            format!("{}, {mime_type}, {}", media.kind, size(media.bytes.len()))
        }
    };
    let line = Line::of(&about, Style::BOLD);
    if number > FILES {
        let note = ", not saved after so many files; use --json to get it";
        return Ok(line.add(note, Style::DIM));
    }
    let path = save(media)?;
    Ok(line
        .add(", saved to ", Style::PLAIN)
        .add(&path, Style::color(Color::Green)))
}

/// Writes a new file that only the user can read.
fn save(media: &Media) -> Result<String, CommandError> {
    let ending = format!(".{}", media.ending());
    let directory = env::temp_dir();
    let written = || -> io::Result<_> {
        let mut file = tempfile::Builder::new()
            .prefix(&format!("callgate-{}-", media.kind))
            .suffix(&ending)
            .tempfile_in(&directory)?;
        file.write_all(&media.bytes)?;
        let (_, path) = file.keep().map_err(|error| error.error)?;
        Ok(path)
    };
    let path = written().map_err(|error| {
        let message = format!(
            "cannot save the {} in {}: {error}",
            media.kind,
            directory.display()
        );
        CommandError::usage(message)
            .hint("use --json to get it, or set TMPDIR to another directory")
    })?;
    Ok(path.display().to_string())
}
