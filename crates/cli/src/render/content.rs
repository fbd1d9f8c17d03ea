use std::collections::BTreeSet;

use callgate_mcp::wire::content::{Content, ResourceLink};
use callgate_mcp::wire::resource::ResourceContents;
use callgate_mcp::wire::{Kind, Limits, RawJson};

use super::image::InlineImage;
use super::line::{Color, Line, Style};
use super::markdown::{is_markdown, markdown};
use super::media::Media;
use super::screen::Screen;
use super::structured::structured;
use crate::canonical_json::canonical;
use crate::visible::cut;

/// A part of a result for a terminal.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Lines(Vec<Line>),
    /// Text as it came, for the printer to make visible: it may be long, and has lines of its own.
    Text(String),
    Image(InlineImage),
    /// Bytes to write to a file.
    File(Media),
}

/// Maximum characters of a name, title or description of a link.
const LABEL: usize = 500;
/// Maximum bytes of a JSON text that is drawn.
const MAX_JSON: usize = 4 * 1024 * 1024;

/// The result of a tool, block by block.
///
/// Structured content is drawn in the place of the text with the same JSON, which servers send for old clients.
pub(crate) fn result(
    content: &[Content],
    structured_content: Option<&RawJson>,
    screen: &Screen,
) -> Vec<Piece> {
    let Some(value) = structured_content else {
        return content
            .iter()
            .flat_map(|block| block_pieces(block, screen))
            .collect();
    };
    if is_wrapped_text(content, value) {
        return content
            .iter()
            .flat_map(|block| block_pieces(block, screen))
            .collect();
    }
    let same = forms(value);
    let is_same = |block: &Content| {
        let text = block.as_text().and_then(json);
        text.is_some_and(|text| same.contains(&canonical(&text)))
    };
    let others = content.iter().filter(|block| !is_same(block));
    let mut pieces: Vec<Piece> = others
        .flat_map(|block| block_pieces(block, screen))
        .collect();
    pieces.push(Piece::Lines(structured(value, screen.width)));
    pieces
}

/// Structured content, its only member `result` and the elements of its list: servers send any of them as text too.
fn forms(value: &RawJson) -> BTreeSet<String> {
    let result = value.get("result").filter(|_| value.members().count() == 1);
    let list = result.as_ref().unwrap_or(value).elements();
    let values = [value].into_iter().chain(&result).chain(&list);
    values.map(canonical).collect()
}

/// True if the structured content is the text alone in the member `result`, as FastMCP sends it.
fn is_wrapped_text(content: &[Content], value: &RawJson) -> bool {
    let [block] = content else {
        return false;
    };
    let result = value.get("result");
    let text = result.as_ref().and_then(RawJson::text);
    value.members().count() == 1 && text.is_some() && text.as_deref() == block.as_text()
}

/// One block in the best form that the terminal has.
pub(crate) fn block_pieces(block: &Content, screen: &Screen) -> Vec<Piece> {
    match block {
        Content::Text(text) => vec![text_piece(&text.text, None, screen)],
        Content::Image(image) => media("image", &image.mime_type, &image.data, screen),
        Content::Audio(audio) => media("audio", &audio.mime_type, &audio.data, screen),
        Content::Resource(embedded) => contents(&embedded.resource, screen),
        Content::ResourceLink(link) => vec![Piece::Lines(link_lines(link))],
        other => {
            let raw = RawJson::encode(other);
            let lines = raw.map(|raw| structured(&raw, screen.width));
            vec![Piece::Lines(lines.unwrap_or_default())]
        }
    }
}

/// The contents of a resource under its URI.
fn contents(contents: &ResourceContents, screen: &Screen) -> Vec<Piece> {
    let mut pieces = vec![Piece::Lines(vec![Line::of(
        &cut(contents.uri(), LABEL),
        Style::DIM,
    )])];
    match contents {
        ResourceContents::Text(text) => {
            pieces.push(text_piece(&text.text, text.mime_type.as_deref(), screen));
        }
        ResourceContents::Blob(blob) => {
            let mime_type = blob.mime_type.as_deref().unwrap_or_default();
            let kind = match mime_type.split('/').next() {
                Some("image") => "image",
                Some("audio") => "audio",
                _ => "data",
            };
            pieces.extend(media(kind, mime_type, &blob.blob, screen));
        }
        _ => {}
    }
    pieces
}

/// Text: JSON and markdown are drawn, everything else stays as it came.
///
/// Without styles all of it stays: emphasis would be lost, and both are made to be read as they are.
pub(crate) fn text_piece(text: &str, mime_type: Option<&str>, screen: &Screen) -> Piece {
    if !screen.styles {
        return Piece::Text(text.to_owned());
    }
    if let Some(value) = json(text) {
        return Piece::Lines(structured(&value, screen.width));
    }
    let may_be_marked = mime_type.is_none_or(|kind| matches!(kind, "text/plain" | "text/markdown"));
    match may_be_marked && is_markdown(text) {
        true => Piece::Lines(markdown(text, screen.width)),
        false => Piece::Text(text.to_owned()),
    }
}

/// An object or array in JSON, if the text is one.
fn json(text: &str) -> Option<RawJson> {
    let text = text.trim();
    if !text.starts_with(['{', '[']) || text.len() > MAX_JSON {
        return None;
    }
    let value = RawJson::parse_strict(text.to_owned().into(), &Limits::default()).ok()?;
    matches!(value.kind(), Kind::Object | Kind::Array).then_some(value)
}

fn media(kind: &'static str, mime_type: &str, base64: &str, screen: &Screen) -> Vec<Piece> {
    let Some(media) = Media::decode(kind, mime_type, base64) else {
        let note = format!(
            "[{kind}, {}, with data that is not base64]",
            cut(mime_type, LABEL)
        );
        return vec![Piece::Lines(vec![Line::of(
            &note,
            Style::color(Color::Yellow),
        )])];
    };
    let image = match kind {
        "image" => InlineImage::new(&media.bytes, screen),
        _ => None,
    };
    vec![image.map_or(Piece::File(media), Piece::Image)]
}

fn link_lines(link: &ResourceLink) -> Vec<Line> {
    let name = link.title.as_ref().unwrap_or(&link.name);
    let mut first = Line::of(&cut(name, LABEL), Style::BOLD);
    first = first.add(
        &format!("  {}", cut(&link.uri, LABEL)),
        Style::color(Color::Blue),
    );
    if let Some(mime_type) = &link.mime_type {
        first = first.add(&format!("  {}", cut(mime_type, LABEL)), Style::DIM);
    }
    let about = link
        .description
        .as_deref()
        .and_then(|text| text.lines().next());
    let about = about.map(|text| Line::of(&format!("  {}", cut(text, LABEL)), Style::PLAIN));
    [first].into_iter().chain(about).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCREEN: Screen = Screen {
        width: 60,
        styles: true,
        images: None,
    };

    fn show(pieces: &[Piece]) -> String {
        let lines = pieces.iter().flat_map(|piece| match piece {
            Piece::Lines(lines) => lines.iter().map(|line| line.paint(false)).collect(),
            Piece::Text(text) => vec![format!("text {text:?}")],
            Piece::Image(image) => vec![format!("image {:?}", image.sequence())],
            Piece::File(media) => vec![format!("file {media:?}")],
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    fn check(content: &str) -> String {
        let result: callgate_mcp::wire::tool::CallToolResult =
            serde_json::from_str(content).unwrap();
        show(&super::result(
            &result.content,
            result.structured_content.as_ref(),
            &SCREEN,
        ))
    }

    #[test]
    fn every_kind_of_content_has_a_form() {
        insta::assert_snapshot!(check(r##"{"content":[
            {"type":"text","text":"plain *text*"},
            {"type":"text","text":"# Title\nand **bold**"},
            {"type":"text","text":"[{\"a\":1},{\"a\":2}]"},
            {"type":"image","mimeType":"image/png","data":"aGk="},
            {"type":"image","mimeType":"image/\u001b[2J","data":"\u001b[2J"},
            {"type":"audio","mimeType":"audio/wav","data":"aGk="},
            {"type":"resource","resource":{"uri":"x:/\u001b[2J","mimeType":"text/markdown","text":"# Doc"}},
            {"type":"resource","resource":{"uri":"x:/b","blob":"aGk="}},
            {"type":"resource_link","uri":"x:/c","name":"c","title":"See","mimeType":"text/plain","description":"one\ntwo"},
            {"type":"hologram","n":1}]}"##), @r#"
        text "plain *text*"
        Title

        and bold
        a
        ─
        1
        2
        file Media { kind: "image", mime_type: "image/png", bytes: [104, 105] }
        [image, image/\u{1b}[2J, with data that is not base64]
        file Media { kind: "audio", mime_type: "audio/wav", bytes: [104, 105] }
        x:/\u{1b}[2J
        Doc
        x:/b
        file Media { kind: "data", mime_type: "", bytes: [104, 105] }
        See  x:/c  text/plain
          one
        type  hologram
        n     1
        "#);
    }

    #[test]
    fn structured_content_replaces_its_own_text() {
        insta::assert_snapshot!(check(r#"{"content":[{"type":"text","text":"{\"sum\": 3}"},{"type":"text","text":"It is 3."}],"structuredContent":{"sum":3}}"#), @r#"
        text "It is 3."
        sum  3
        "#);
    }

    #[test]
    fn a_text_with_other_json_stays() {
        insta::assert_snapshot!(check(r#"{"content":[{"type":"text","text":"{\"note\": 1}"},{"type":"text","text":"{\"b\": 2, \"a\": 1.0}"}],"structuredContent":{"a":1,"b":2}}"#), @r#"
        note  1
        a  1
        b  2
        "#);
        // A list in `result`, as FastMCP sends it.
        insta::assert_snapshot!(check(r#"{"content":[{"type":"text","text":"{\"a\": 1}"},{"type":"text","text":"[{\"a\": 1}]"},{"type":"text","text":"{\"a\": 2}"}],"structuredContent":{"result":[{"a":1}]}}"#), @r#"
        a  2
        result
          a
          ─
          1
        "#);
    }

    #[test]
    fn a_text_that_is_the_structured_content_too_is_drawn_once() {
        insta::assert_snapshot!(check(r#"{"content":[{"type":"text","text":"Hello"}],"structuredContent":{"result":"Hello"}}"#), @r#"text "Hello""#);
    }

    #[test]
    fn text_stays_as_it_came_without_styles() {
        let plain = Screen {
            styles: false,
            ..SCREEN
        };
        assert_eq!(
            text_piece("# a", None, &plain),
            Piece::Text("# a".to_owned())
        );
        assert_eq!(
            text_piece("[1]", None, &plain),
            Piece::Text("[1]".to_owned())
        );
    }
}
