//! Writes results of tools, whose text may be large.

use crate::content::{Content, TextContent};
use crate::decode::DecodeError;
use crate::raw::RawJson;
use crate::text;
use crate::tool::CallToolResult;

impl CallToolResult {
    /// Writes the result, with the members of the object `more` after its own.
    ///
    /// These are the bytes of [`RawJson::encode_with`], in a buffer that need not grow, and without
    /// reading the structured content again.
    ///
    /// # Errors
    /// `more` is not an object.
    pub fn encode_with(&self, more: &RawJson) -> Result<RawJson, DecodeError> {
        let Self {
            result_type,
            content,
            structured_content,
            is_error,
            meta,
        } = self;
        let mut out = Vec::with_capacity(self.expected_bytes() + more.as_bytes().len());
        out.extend_from_slice(b"{\"resultType\":");
        serde_json::to_writer(&mut out, result_type)?;
        out.extend_from_slice(b",\"content\":[");
        for (index, block) in content.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            write_block(&mut out, block)?;
        }
        out.push(b']');
        if let Some(value) = structured_content {
            out.extend_from_slice(b",\"structuredContent\":");
            out.extend_from_slice(value.as_bytes());
        }
        if let Some(is_error) = is_error {
            out.extend_from_slice(b",\"isError\":");
            serde_json::to_writer(&mut out, is_error)?;
        }
        if let Some(meta) = meta {
            out.extend_from_slice(b",\"_meta\":");
            serde_json::to_writer(&mut out, meta)?;
        }
        out.push(b'}');
        RawJson::with_more(out, more)
    }

    /// Size of the JSON, unless more than one character in eight is escaped.
    fn expected_bytes(&self) -> usize {
        let structured = self.structured_content.as_ref();
        let structured = structured.map_or(0, |value| value.as_bytes().len());
        let text = |block: &Content| match block {
            Content::Text(content) => content.text.len(),
            Content::Image(content) => content.data.len(),
            Content::Audio(content) => content.data.len(),
            _ => 0,
        };
        let blocks = self.content.iter().map(|block| {
            let length = text(block);
            BLOCK_OVERHEAD + length + length / 8
        });
        RESULT_OVERHEAD + structured + blocks.sum::<usize>()
    }
}

/// Bytes of a result around its content.
const RESULT_OVERHEAD: usize = 128;
/// Bytes of a block around its text.
const BLOCK_OVERHEAD: usize = 64;

fn write_block(out: &mut Vec<u8>, block: &Content) -> Result<(), DecodeError> {
    if let Content::Text(TextContent {
        tag: _,
        text,
        annotations: None,
        meta: None,
    }) = block
    {
        out.extend_from_slice(b"{\"type\":\"text\",\"text\":");
        text::write_string(out, text);
        out.push(b'}');
        return Ok(());
    }
    Ok(serde_json::to_writer(out, block)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Meta;
    use proptest::prelude::*;

    fn block() -> impl Strategy<Value = Content> {
        prop_oneof![
            any::<String>().prop_map(Content::text),
            any::<Vec<u8>>().prop_map(|bytes| Content::image(&bytes, "image/png")),
            any::<String>().prop_map(|text| {
                let mut content = TextContent::new(text);
                content.meta = Some(Meta::new().with("a", &RawJson::null()));
                Content::Text(content)
            }),
        ]
    }

    proptest! {
        #[test]
        fn a_result_is_written_as_serde_writes_it(
            content in prop::collection::vec(block(), 0..4),
            structured in prop::option::of(any::<String>()),
            is_error: Option<bool>,
            has_meta: bool,
        ) {
            let meta = || Meta::new().with("m", &RawJson::string("x"));
            let result = CallToolResult {
                structured_content: structured.map(|text| RawJson::string(&text)),
                is_error,
                meta: has_meta.then(meta),
                ..CallToolResult::new(content)
            };
            for more in ["{}", "{\"more\":1}"] {
                let more: RawJson = serde_json::from_str(more).unwrap();
                prop_assert_eq!(
                    result.encode_with(&more).unwrap(),
                    RawJson::encode_with(&result, &more).unwrap()
                );
            }
        }
    }

    #[test]
    fn a_large_result_takes_one_buffer() {
        let result = CallToolResult::text("line of text\n".repeat(10_000));
        let more = RawJson::empty_object();
        let expected = result.expected_bytes() + more.as_bytes().len();
        let written = result.encode_with(&more).unwrap();
        assert!((110_000..expected).contains(&written.as_bytes().len()));
    }

    #[test]
    fn only_an_object_can_follow() {
        let result = CallToolResult::text("x");
        assert!(result.encode_with(&RawJson::null()).is_err());
    }
}
