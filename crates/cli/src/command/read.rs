use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use anyhow::anyhow;
use callgate_mcp::client::Client;
use callgate_mcp::wire::resource::{ReadResourceParams, ReadResourceResult, ResourceContents};
use callgate_mcp::wire::{RawJson, method};

use super::server_words::{repeat, split};
use crate::browse_args::Read;
use crate::error::{CommandError, Exit};
use crate::near_miss::closest;
use crate::output::{self, argument};
use crate::present;
use crate::render::content::{Piece, text_piece};
use crate::render::image::InlineImage;
use crate::render::media::{Media, size};
use crate::render::screen::Screen;
use crate::target::{Target, User};
use crate::uri_template::expand;

/// Prints the contents of a resource.
pub(crate) async fn run(
    args: &Read,
    data_dir: Option<&Path>,
    json: bool,
) -> Result<(), CommandError> {
    let (url, rest) = split(&args.connection, &args.words);
    let place = repeat(&args.connection, url);
    let Some((uri, words)) = rest.split_first() else {
        return Err(CommandError::usage("no resource is given").hint(see_resources(&place)));
    };
    let uri = expand(uri, words)?;
    let user = User::of_this_process();
    let target = Target::connect(&args.connection, url, data_dir, user)?;
    let client = target.client.clone();
    let work = async {
        let raw = read(&client, &place, &uri).await?;
        print(&raw, args.output.as_deref(), json)
    };
    target.finish(work).await
}

fn see_resources(place: &str) -> String {
    format!("run `callgate resources {place}` to see the resources of the server")
}

async fn read(client: &Client, place: &str, uri: &str) -> Result<RawJson, CommandError> {
    let params = ReadResourceParams::new(uri);
    let error = match client.request(method::RESOURCES_READ, &params).await {
        Ok(raw) => return Ok(raw),
        Err(error) => error,
    };
    let error = CommandError::from(error);
    if error.exit() != Exit::ToolFailed {
        return Err(error);
    }
    let known = client.list_resources().await.unwrap_or_default();
    let known: Vec<&str> = known.iter().map(|resource| resource.uri.as_str()).collect();
    Err(match closest(uri, &known) {
        Some(close) if close != uri => error.hint(format!("did you mean `{close}`?")),
        _ => error.hint(see_resources(place)),
    })
}

fn print(raw: &RawJson, file: Option<&Path>, json: bool) -> Result<(), CommandError> {
    if json && file.is_none() {
        return Ok(output::json(raw)?);
    }
    let result: ReadResourceResult = raw.decode().map_err(anyhow::Error::from)?;
    if let Some(path) = file {
        return write(&result.contents, path);
    }
    match Screen::of_stdout() {
        Some(screen) => {
            let mut pieces = Vec::new();
            for contents in &result.contents {
                pieces.push(piece(contents, &screen)?);
            }
            present::pieces(&pieces, &screen)
        }
        None => Ok(output::bytes(&joined(&result.contents)?)?),
    }
}

/// Contents for a terminal. Bytes are refused unless they are an image that it can show.
fn piece(contents: &ResourceContents, screen: &Screen) -> Result<Piece, CommandError> {
    match contents {
        ResourceContents::Text(text) => {
            Ok(text_piece(&text.text, text.mime_type.as_deref(), screen))
        }
        contents => {
            let bytes = bytes_of(contents)?;
            if let Some(image) = InlineImage::new(&bytes, screen) {
                return Ok(Piece::Image(image));
            }
            let message = format!(
                "`{}` is {} that a terminal cannot show",
                contents.uri(),
                size(bytes.len())
            );
            Err(CommandError::usage(message)
                .hint("write it to a file with -o FILE, or pipe the output to a program"))
        }
    }
}

/// All contents one after the other, as a program reads them.
fn joined(contents: &[ResourceContents]) -> Result<Vec<u8>, CommandError> {
    let mut joined = Vec::new();
    for contents in contents {
        joined.extend(bytes_of(contents)?);
    }
    Ok(joined)
}

fn bytes_of(contents: &ResourceContents) -> Result<Vec<u8>, CommandError> {
    match contents {
        ResourceContents::Text(text) => Ok(text.text.clone().into_bytes()),
        ResourceContents::Blob(blob) => {
            let media = Media::decode("data", "", &blob.blob);
            let media = media.ok_or_else(|| {
                let message = anyhow!("the server sent data of `{}` that is not base64", blob.uri);
                CommandError::new(Exit::ToolFailed, message).hint("use --json to see what it sent")
            })?;
            Ok(media.bytes)
        }
        _ => Ok(Vec::new()),
    }
}

fn write(contents: &[ResourceContents], path: &Path) -> Result<(), CommandError> {
    let bytes = joined(contents)?;
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    let written = file.and_then(|mut file| file.write_all(&bytes));
    written.map_err(|error| {
        let message = format!("cannot write {}: {error}", path.display());
        CommandError::usage(message)
            .hint("name a file that does not exist yet in a directory that does")
    })?;
    let path = path.display().to_string();
    output::note(&format!(
        "{} written to {}",
        size(bytes.len()),
        argument(&path)
    ));
    Ok(())
}
