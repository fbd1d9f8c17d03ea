use callgate_wire::{RawJson, Splice, Version};
use serde::Serialize;

/// Content blocks for a client of `version`, if any has to change.
pub(super) fn blocks(version: Version, content: &RawJson) -> Option<RawJson> {
    // Large content is not read for these clients.
    if knows_every_kind(version) {
        return None;
    }
    edit_each(content, |content| block(version, content))
}

/// True if clients of `version` know all content blocks of the newest revision.
pub(super) fn knows_every_kind(version: Version) -> bool {
    version >= Version::V2025_06_18
}

/// Messages with content for a client of `version`, if any has to change.
pub(super) fn messages(version: Version, messages: &RawJson) -> Option<RawJson> {
    edit_each(messages, |message| {
        let content = message.get("content")?;
        let known = block(version, &content).or_else(|| blocks(version, &content))?;
        Splice::new(message).set(&["content"], &known).finish().ok()
    })
}

/// The array with the elements that `edit` changes, if it changes any.
pub(super) fn edit_each(
    array: &RawJson,
    edit: impl Fn(&RawJson) -> Option<RawJson>,
) -> Option<RawJson> {
    let mut changed = false;
    let elements: Vec<RawJson> = array
        .elements()
        .into_iter()
        .map(|element| {
            edit(&element).map_or(element, |edited| {
                changed = true;
                edited
            })
        })
        .collect();
    changed.then(|| RawJson::encode(&elements).expect("an array of JSON is JSON"))
}

fn block(version: Version, content: &RawJson) -> Option<RawJson> {
    let tag = content.get("type")?;
    match tag.text()?.as_ref() {
        "resource_link" if version < Version::V2025_06_18 => Some(link(content)),
        "audio" if version < Version::V2025_03_26 => Some(audio(content)),
        _ => None,
    }
}

/// A link as text, which a model can read as well.
fn link(content: &RawJson) -> RawJson {
    #[derive(Serialize)]
    struct Text<'a> {
        r#type: &'a str,
        text: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        annotations: Option<RawJson>,
    }
    let [name, uri, description, annotations] =
        content.pick(["name", "uri", "description", "annotations"]);
    let read = |member: Option<RawJson>| {
        member.and_then(|member| member.text().map(std::borrow::Cow::into_owned))
    };
    let name = read(name).unwrap_or_default();
    let mut text = format!("{name}: {}", read(uri).unwrap_or_default());
    if let Some(description) = read(description) {
        text.push('\n');
        text.push_str(&description);
    }
    encode(&Text {
        r#type: "text",
        text,
        annotations,
    })
}

/// Audio as an embedded resource, which clients that cannot play it can still save.
fn audio(content: &RawJson) -> RawJson {
    #[derive(Serialize)]
    struct Embedded<'a> {
        r#type: &'a str,
        resource: Blob<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        annotations: Option<RawJson>,
    }
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Blob<'a> {
        uri: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<RawJson>,
        blob: RawJson,
    }
    let [mime_type, data, annotations] = content.pick(["mimeType", "data", "annotations"]);
    encode(&Embedded {
        r#type: "resource",
        resource: Blob {
            uri: "attachment:audio",
            mime_type,
            blob: data.unwrap_or_else(|| RawJson::string("")),
        },
        annotations,
    })
}

fn encode(content: &impl Serialize) -> RawJson {
    RawJson::encode(content).expect("content is always JSON")
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_wire::Limits;

    const LINK: &str = r#"[{"type":"resource_link","uri":"a:b","name":"n","description":"d","annotations":{"priority":1.0}},{"type":"text","text":"t"}]"#;
    const AUDIO: &str = r#"[{"type":"audio","data":"AAAA","mimeType":"audio/wav"}]"#;

    fn raw(text: &str) -> RawJson {
        RawJson::parse(text.to_owned().into(), &Limits::default()).unwrap()
    }

    fn check(version: Version, content: &str, expect: Option<&str>) {
        let seen = blocks(version, &raw(content));
        assert_eq!(seen.as_ref().map(RawJson::as_str), expect);
    }

    #[test]
    fn a_link_becomes_text_for_clients_that_do_not_know_links() {
        let text = r#"[{"type":"text","text":"n: a:b\nd","annotations":{"priority":1.0}},{"type":"text","text":"t"}]"#;
        check(Version::V2024_11_05, LINK, Some(text));
        check(Version::V2025_03_26, LINK, Some(text));
        check(Version::V2025_06_18, LINK, None);
    }

    #[test]
    fn sound_becomes_a_resource_for_clients_that_do_not_know_sound() {
        check(
            Version::V2024_11_05,
            AUDIO,
            Some(
                r#"[{"type":"resource","resource":{"uri":"attachment:audio","mimeType":"audio/wav","blob":"AAAA"}}]"#,
            ),
        );
        check(Version::V2025_03_26, AUDIO, None);
    }

    #[test]
    fn messages_have_one_block_or_several() {
        let link = r#"{"type":"resource_link","uri":"a:b","name":"n"}"#;
        let text = r#"{"type":"text","text":"n: a:b"}"#;
        let messages = |content: &str| format!(r#"[{{"role":"user","content":{content}}}]"#);
        for (given, expect) in [
            (messages(link), messages(text)),
            (
                messages(&format!("[{link}]")),
                messages(&format!("[{text}]")),
            ),
        ] {
            let seen = super::messages(Version::V2025_03_26, &raw(&given));
            assert_eq!(seen.as_ref().map(RawJson::as_str), Some(expect.as_str()));
        }
        assert_eq!(
            super::messages(Version::V2025_03_26, &raw(&messages(text))),
            None
        );
    }
}
