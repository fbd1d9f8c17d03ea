use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use anyhow::anyhow;
use callgate_mcp::Error;
use callgate_mcp::client::Client;
use callgate_mcp::wire::resource::{ReadResourceParams, ReadResourceResult, ResourceContents};
use callgate_mcp::wire::{RawJson, code, method};

use super::browse::{Browse, Named, no_servers, text_of};
use crate::browse_args::Read;
use crate::config::load::{Configuration, ConfiguredServer};
use crate::error::{CommandError, Exit};
use crate::output::{self, argument};
use crate::present;
use crate::render::content::{Piece, text_piece};
use crate::render::image::InlineImage;
use crate::render::media::{Media, size};
use crate::render::screen::Screen;
use crate::saved_catalog::SavedCatalog;
use crate::server_choice::{failed_in_use, not_connected, unknown_server};
use crate::suggestion::closest;
use crate::target::User;
use crate::uri_template::expand;

/// Prints the contents of a resource.
pub(crate) async fn run(args: &Read, browse: Browse<'_>) -> Result<(), CommandError> {
    let file = args.output.as_deref();
    let (url, rest) = match (browse.named(&args.words), args.words.as_slice()) {
        // One word is a URI, even if it could be the URL of a server.
        (Named::Given(Some(uri), []), _) => return read_configured(uri, &[], browse, file).await,
        (Named::Given(url, rest), _) => (url, rest),
        (Named::Configured(uri, words), _) => {
            return read_configured(uri, words, browse, file).await;
        }
        (Named::Nothing, _) => return Err(no_servers()),
    };
    let place = browse.place(url);
    let Some((uri, words)) = rest.split_first() else {
        return Err(CommandError::usage("no resource is given").hint(see_resources(&place)));
    };
    let uri = expand(uri, words)?;
    let target = browse.connect(url, User::of_this_process()).await?;
    let client = target.client.clone();
    let work = async {
        let raw = match read(&client, &uri).await {
            Ok(raw) => raw,
            Err(error) if error.code() == code::METHOD_NOT_FOUND => {
                return Err(no_resources("the server", &place));
            }
            Err(error) if Exit::of(error.kind()) == Exit::ToolFailed => {
                let error = CommandError::from(error);
                let known = client.list_resources().await.unwrap_or_default();
                let known: Vec<String> = known.into_iter().map(|it| it.uri).collect();
                return Err(with_near_miss(error, &uri, &known, &place));
            }
            Err(error) => return Err(error.into()),
        };
        print(&raw, file, browse.json)
    };
    target.finish(work).await
}

/// Reads a resource of a configured server: the one that the URI names, or that lists it.
async fn read_configured(
    word: &str,
    words: &[String],
    browse: Browse<'_>,
    file: Option<&Path>,
) -> Result<(), CommandError> {
    let configuration = browse.configuration()?;
    let (server, uri, words) = match (configuration.server(word), words) {
        (Some(server), [uri, words @ ..]) => (server, uri.as_str(), words),
        (Some(_), []) => {
            let hint = see_resources(&argument(word));
            return Err(CommandError::usage("no resource is given").hint(hint));
        }
        (None, _) => {
            let (server, uri) = owner(word, &configuration, browse)?;
            (server, uri, words)
        }
    };
    let uri = expand(uri, words)?;
    let target = browse.open(server, User::of_this_process()).await?;
    let client = target.client.clone();
    let name = server.name.as_str();
    let report = target.report(name);
    let work = async {
        not_connected(name, report.await?)?;
        match read(&client, &format!("mcp://{name}/{uri}")).await {
            Ok(raw) => print(&raw, file, browse.json),
            Err(error) if error.code() == code::METHOD_NOT_FOUND => {
                Err(no_resources(&format!("server `{name}`"), &argument(name)))
            }
            Err(error) if Exit::of(error.kind()) == Exit::ToolFailed => {
                let error = CommandError::from(error);
                let known = match browse.saved(server) {
                    Some(saved) => uris(&saved),
                    None => listed_uris(&client).await,
                };
                Err(with_near_miss(error, &uri, &known, &argument(name)))
            }
            Err(error) => Err(failed_in_use(name, error.into())),
        }
    };
    target.finish(work).await
}

/// The configured server of a resource, and the server's own URI.
fn owner<'a>(
    word: &'a str,
    configuration: &'a Configuration,
    browse: Browse<'_>,
) -> Result<(&'a ConfiguredServer, &'a str), CommandError> {
    if configuration.servers.is_empty() {
        return Err(no_servers());
    }
    if let Some(rest) = word.strip_prefix("mcp://") {
        let named = configuration.servers.iter().find_map(|server| {
            let uri = rest.strip_prefix(server.name.as_str())?.strip_prefix('/')?;
            Some((server, uri))
        });
        let server = rest.split('/').next().unwrap_or(rest);
        return named.ok_or_else(|| unknown_server(server, configuration));
    }
    let (saved, _) = browse.all_saved(configuration);
    let lists = |catalog: &SavedCatalog| uris(catalog).iter().any(|uri| uri == word);
    if let Some((server, _)) = saved.iter().find(|(_, catalog)| lists(catalog)) {
        return Ok((server, word));
    }
    let fits = |catalog: &SavedCatalog| {
        let templates = catalog.items(method::RESOURCES_TEMPLATES_LIST);
        templates.iter().any(|item| {
            let template = text_of(item, "uriTemplate");
            let fixed = template.split('{').next().unwrap_or_default();
            template == word || fixed.len() > MIN_FIXED && word.starts_with(fixed)
        })
    };
    if let Some((server, _)) = saved.iter().find(|(_, catalog)| fits(catalog)) {
        return Ok((server, word));
    }
    if let [server] = configuration.servers.as_slice() {
        return Ok((server, word));
    }
    let known: Vec<String> = saved
        .iter()
        .flat_map(|(_, catalog)| uris(catalog))
        .collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let message = anyhow!("no configured server is known to have the resource `{word}`");
    let error = CommandError::new(Exit::ToolFailed, message);
    Err(match closest(word, &known) {
        Some(close) => error.hint(format!("did you mean `{close}`?")),
        None => error.hint("name its server: write it as mcp://SERVER/URI; `callgate resources` lists what is known"),
    })
}

/// Minimum characters of a template before its first variable, so that it says something about its server.
const MIN_FIXED: usize = 3;

fn uris(catalog: &SavedCatalog) -> Vec<String> {
    let resources = catalog.items(method::RESOURCES_LIST);
    resources.iter().map(|item| text_of(item, "uri")).collect()
}

/// URIs that a server lists, for suggestions; none if it cannot.
async fn listed_uris(client: &Client) -> Vec<String> {
    let resources = client.list_raw(method::RESOURCES_LIST).await;
    let resources = resources.unwrap_or_default();
    resources.iter().map(|item| text_of(item, "uri")).collect()
}

fn see_resources(place: &str) -> String {
    format!("run `callgate resources {place}` to see the resources of the server")
}

fn no_resources(server: &str, place: &str) -> CommandError {
    CommandError::new(Exit::ToolFailed, anyhow!("{server} offers no resources")).hint(format!(
        "run `callgate inspect {place}` to see what it offers"
    ))
}

async fn read(client: &Client, uri: &str) -> Result<RawJson, Error> {
    let params = ReadResourceParams::new(uri);
    client.request(method::RESOURCES_READ, &params).await
}

fn with_near_miss(error: CommandError, uri: &str, known: &[String], place: &str) -> CommandError {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    match closest(uri, &known) {
        Some(close) if close != uri => error.hint(format!("did you mean `{close}`?")),
        _ => error.hint(see_resources(place)),
    }
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
