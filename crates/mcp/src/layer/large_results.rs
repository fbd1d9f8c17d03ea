use std::collections::BTreeMap;

use callgate_wire::content::{Content, ResourceLink};
use callgate_wire::resource::{ReadResourceResult, Resource, ResourceContents};
use callgate_wire::{ArrayWriter, Meta, RawJson, Splice, method};

use super::stored_results::StoredResults;
use crate::error::Error;
use crate::mutex::Mutex;
use crate::service::{BoxFuture, Call, Caller, Reply, Service};

/// Large results: the text of a tool's result that is beyond a limit becomes a link to a resource,
/// which its caller reads in pages.
///
/// The first lines stay as a preview. Everything else of the result is kept as it is:
/// `structuredContent`, `isError`, `_meta` and content that is not text. The link is read through
/// this layer by `resources/read`, by the caller that got it and no other, until newer results take
/// its place. The result of a tool that is read from its task by `tasks/get` is limited in the same
/// way; notifications about a task are not changed.
///
/// The service must offer resources, or clients do not know that they may read them.
#[derive(Debug)]
pub struct LargeResults<S> {
    service: S,
    limits: LargeResultLimits,
    store: Mutex<StoredResults>,
}

/// Limits of [`LargeResults`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LargeResultLimits {
    /// Maximum bytes of text in one result; text beyond it becomes a link.
    pub text: usize,
    /// Maximum bytes of the preview of that text.
    pub preview: usize,
    /// Maximum bytes of a page.
    pub page: usize,
    /// Maximum number of results that are kept.
    pub results: usize,
    /// Maximum bytes of all results that are kept. A larger result passes as it is.
    pub bytes: usize,
}

impl Default for LargeResultLimits {
    /// 1 MiB of text in a result, a preview of 2 KiB, pages of 256 KiB; 256 results of 64 MiB in all.
    fn default() -> Self {
        Self {
            text: 1024 * 1024,
            preview: 2 * 1024,
            page: 256 * 1024,
            results: 256,
            bytes: 64 * 1024 * 1024,
        }
    }
}

impl<S: Service> LargeResults<S> {
    /// Limits the results of `service`.
    pub fn new(service: S, limits: LargeResultLimits) -> Self {
        Self {
            service,
            limits,
            store: Mutex::new(StoredResults::new(limits.results, limits.bytes)),
        }
    }

    /// The result with text beyond the limit as a link; unchanged if there is none.
    fn shorten(&self, caller: &Caller, result: RawJson) -> RawJson {
        // Most results are small as a whole: nothing of them is read.
        if result.as_bytes().len() <= self.limits.text {
            return result;
        }
        let blocks = result.get("content").map(|content| content.elements());
        let blocks = blocks.unwrap_or_default();
        let (kept, beyond) = self.split(&blocks);
        let Some(position) = kept.iter().position(|is_kept| !is_kept) else {
            return result;
        };
        let Some(id) = self.store.lock().insert(caller, &beyond) else {
            return result;
        };
        let mut content = ArrayWriter::new();
        for (index, (block, is_kept)) in blocks.iter().zip(&kept).enumerate() {
            if *is_kept {
                content.push(block);
            } else if index == position {
                let link = self.link(&id, &beyond);
                let preview = preview(&beyond, self.limits.preview);
                let [preview, link] = [Content::text(preview), Content::ResourceLink(link)]
                    .map(|block| RawJson::encode(&block).expect("content is JSON"));
                content.push(&preview);
                content.push(&link);
            }
        }
        let edited = Splice::new(&result).set(&["content"], &content.finish());
        edited.finish().unwrap_or(result)
    }

    /// The same for the answer to `tasks/get`, which has the result of the tool in it once the task is completed.
    fn shorten_task(&self, caller: &Caller, task: RawJson) -> RawJson {
        if task.as_bytes().len() <= self.limits.text {
            return task;
        }
        let Some(result) = task.get("result") else {
            return task;
        };
        let shortened = self.shorten(caller, result);
        let edited = Splice::new(&task).set(&["result"], &shortened).finish();
        edited.unwrap_or(task)
    }

    /// The blocks that are kept, and the text of the others: text that does not fit into the limit
    /// after the text before it.
    fn split(&self, blocks: &[RawJson]) -> (Vec<bool>, String) {
        let mut total = 0;
        let mut beyond = String::new();
        let mut is_kept = |block: &RawJson| {
            let [tag, text] = block.pick(["type", "text"]);
            let text = text.filter(|_| tag.is_some_and(|tag| tag.is("text")));
            let Some(text) = text.as_ref().and_then(RawJson::text) else {
                return true;
            };
            if total + text.len() <= self.limits.text {
                total += text.len();
                return true;
            }
            if !beyond.is_empty() {
                beyond.push('\n');
            }
            beyond.push_str(&text);
            false
        };
        (blocks.iter().map(&mut is_kept).collect(), beyond)
    }

    fn link(&self, id: &str, text: &str) -> ResourceLink {
        let mut resource = Resource::new(format!("{PREFIX}{id}"), "result");
        let pages = self.pages(text);
        resource.description = Some(format!(
            "The whole text of this result, {} bytes in {pages} pages. Read page 2 by adding `?page=2` to the URI, and so on.",
            text.len()
        ));
        resource.mime_type = Some(MIME_TYPE.to_owned());
        resource.size = u64::try_from(text.len()).ok();
        resource.into()
    }

    /// Answers `resources/read` of a link.
    fn read(&self, caller: &Caller, uri: &str, target: &str) -> Result<Reply, Error> {
        let not_found = || {
            let data = RawJson::encode(&BTreeMap::from([("uri", uri)])).expect("a text is JSON");
            Error::invalid_params(format!("resource `{uri}` not found")).with_data(data)
        };
        let (id, page) = match target.split_once("?page=") {
            Some((id, page)) => (id, page.parse().map_err(|_| not_found())?),
            None => (target, 1),
        };
        // The result of another caller looks like an unknown one, so that ids cannot be probed.
        let text = self.store.lock().get(caller, id).ok_or_else(not_found)?;
        let index = usize::checked_sub(page, 1).ok_or_else(not_found)?;
        let pages = self.pages(&text);
        let start = self.offset(&text, index);
        let end = self.offset(&text, index.saturating_add(1));
        let part = text.get(start..end).filter(|_| page <= pages);
        let part = part.ok_or_else(not_found)?;
        let mut contents = ResourceContents::text(uri, part);
        if let ResourceContents::Text(contents) = &mut contents {
            contents.mime_type = Some(MIME_TYPE.to_owned());
            let next = (page < pages).then(|| format!("{PREFIX}{id}?page={}", page + 1));
            contents.meta = next.map(|next| Meta::new().with(NEXT_PAGE, &next));
        }
        let result = ReadResourceResult::new(vec![contents]);
        let result = RawJson::encode(&result).expect("the result is JSON");
        Ok(Reply::Complete(result))
    }

    /// Calls the service, and shortens a complete result.
    fn limited(
        &self,
        call: Call,
        shorten: fn(&Self, &Caller, RawJson) -> RawJson,
    ) -> BoxFuture<'_, Result<Reply, Error>> {
        let caller = call.cx.caller.clone();
        Box::pin(async move {
            Ok(match self.service.call(call).await? {
                Reply::Complete(result) => Reply::Complete(shorten(self, &caller, result)),
                other => other,
            })
        })
    }

    fn pages(&self, text: &str) -> usize {
        text.len().div_ceil(self.limits.page.max(1)).max(1)
    }

    /// The place at which a page begins, between two characters.
    fn offset(&self, text: &str, index: usize) -> usize {
        let place = index.saturating_mul(self.limits.page.max(1));
        floor_character(text, place)
    }
}

impl<S: Service> Service for LargeResults<S> {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        match call.method.as_str() {
            method::TOOLS_CALL => self.limited(call, Self::shorten),
            method::TASKS_GET => self.limited(call, Self::shorten_task),
            method::RESOURCES_READ => {
                let uri = call.params().get("uri");
                let uri = uri.as_ref().and_then(RawJson::text);
                if let Some(uri) = uri
                    && let Some(target) = uri.strip_prefix(PREFIX)
                {
                    let read = self.read(&call.cx.caller, &uri, target);
                    return Box::pin(std::future::ready(read));
                }
                self.service.call(call)
            }
            _ => self.service.call(call),
        }
    }

    fn notify(&self, notification: Call) -> BoxFuture<'_, ()> {
        self.service.notify(notification)
    }
}

/// Beginning of the URIs of links.
const PREFIX: &str = "callgate://result/";
/// Key of `_meta` with the URI of the next page.
const NEXT_PAGE: &str = "callgate/nextPage";
const MIME_TYPE: &str = "text/plain";

/// The first lines of a text; a part of the first line if it is too long.
fn preview(text: &str, limit: usize) -> String {
    let head = text.get(..floor_character(text, limit)).unwrap_or_default();
    let lines = head.rfind('\n').map_or(head, |end| head.split_at(end).0);
    format!("{lines}\n[The rest is left out: the link below has the whole text.]")
}

/// The last place up to `place` that is between two characters.
fn floor_character(text: &str, place: usize) -> usize {
    let place = place.min(text.len());
    (0..=place)
        .rev()
        .find(|place| text.is_char_boundary(*place))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cx;
    use callgate_wire::{Id, Method};
    use serde_json::{Value, json};

    /// A tool that answers with this result.
    struct Tool(Value);

    impl Service for Tool {
        fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
            let result = match call.method.as_str() {
                method::TOOLS_CALL | method::TASKS_GET => RawJson::encode(&self.0).unwrap(),
                _ => RawJson::empty_object(),
            };
            Box::pin(std::future::ready(Ok(Reply::Complete(result))))
        }
    }

    fn limits() -> LargeResultLimits {
        LargeResultLimits {
            text: 20,
            preview: 8,
            page: 10,
            results: 2,
            bytes: 1_000,
        }
    }

    fn layer(result: Value) -> LargeResults<Tool> {
        LargeResults::new(Tool(result), limits())
    }

    async fn ask(
        layer: &LargeResults<Tool>,
        caller: Caller,
        method: &str,
        params: &Value,
    ) -> Result<Value, Error> {
        let cx = Cx::new(Id::number(1)).with_caller(caller);
        let params = RawJson::encode(params).unwrap();
        let reply = layer.call(Call::new(Method::new(method), params, cx)).await;
        reply.map(|reply| reply.result().decode().unwrap())
    }

    async fn call(layer: &LargeResults<Tool>) -> Value {
        let result = ask(layer, Caller::Local, method::TOOLS_CALL, &json!({})).await;
        result.unwrap()
    }

    async fn read(layer: &LargeResults<Tool>, caller: Caller, uri: &str) -> Result<Value, String> {
        let params = json!({ "uri": uri });
        let result = ask(layer, caller, method::RESOURCES_READ, &params).await;
        result
            .map(|result| result["contents"][0].clone())
            .map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn long_text_becomes_a_preview_and_a_link() {
        let text = "one\ntwo\nthree four five";
        let image = json!({ "type": "image", "data": "", "mimeType": "image/png" });
        let layer = layer(json!({
            "content": [{ "type": "text", "text": "short" }, image, { "type": "text", "text": text, "x": 1 }],
            "structuredContent": { "big": 1.0 },
            "isError": true,
            "_meta": { "k": "v" },
        }));
        let mut result = call(&layer).await;
        let link = result["content"].as_array_mut().unwrap().remove(3);
        assert_eq!(
            result,
            json!({
                "content": [
                    { "type": "text", "text": "short" },
                    image,
                    { "type": "text", "text": "one\ntwo\n[The rest is left out: the link below has the whole text.]" },
                ],
                "structuredContent": { "big": 1.0 },
                "isError": true,
                "_meta": { "k": "v" },
            })
        );
        let uri = link["uri"].as_str().unwrap();
        assert!(uri.starts_with("callgate://result/"), "{uri}");
        assert_eq!(
            (&link["type"], &link["size"]),
            (&json!("resource_link"), &json!(23))
        );
    }

    #[tokio::test]
    async fn a_link_is_read_in_pages_that_break_no_character() {
        let text = "äöü".repeat(7);
        let layer = layer(json!({ "content": [{ "type": "text", "text": text }] }));
        let result = call(&layer).await;
        let uri = result["content"][1]["uri"].as_str().unwrap().to_owned();
        let (mut found, mut pages, mut next) = (String::new(), 0, Some(uri));
        while let Some(uri) = next {
            let page = read(&layer, Caller::Local, &uri).await.unwrap();
            assert_eq!(page["uri"], json!(uri));
            found += page["text"].as_str().unwrap();
            next = page["_meta"][NEXT_PAGE].as_str().map(str::to_owned);
            pages += 1;
        }
        assert_eq!((found, pages), (text, 5));
    }

    #[tokio::test]
    async fn many_texts_beyond_the_limit_become_one_link() {
        let block = |text: &str| json!({ "type": "text", "text": text });
        let texts = ["0123456789", "abcdefghij", "klmno", "pqrst"].map(block);
        let layer = layer(json!({ "content": texts }));
        let result = call(&layer).await;
        let blocks = result["content"].as_array().unwrap();
        assert_eq!(blocks.len(), 4);
        let uri = blocks[3]["uri"].as_str().unwrap();
        let first = read(&layer, Caller::Local, uri).await.unwrap();
        assert_eq!(first["text"], json!("klmno\npqrs"));
    }

    #[tokio::test]
    async fn the_result_of_a_task_is_shortened_like_a_direct_one() {
        let text = "one\ntwo\nthree four five";
        let task = |content: Value| {
            json!({
                "resultType": "complete", "taskId": "t", "status": "completed",
                "result": { "content": content, "isError": false },
            })
        };
        let layer = layer(task(json!([{ "type": "text", "text": text }])));
        let params = json!({ "taskId": "t" });
        let read_task = || ask(&layer, Caller::Local, method::TASKS_GET, &params);
        let mut found = read_task().await.unwrap();
        let content = found["result"]["content"].as_array_mut().unwrap();
        let link = content.remove(1);
        let preview = "one\ntwo\n[The rest is left out: the link below has the whole text.]";
        assert_eq!(found, task(json!([{ "type": "text", "text": preview }])));
        let uri = link["uri"].as_str().unwrap();
        let page = read(&layer, Caller::Local, uri).await.unwrap();
        assert_eq!(page["text"], json!("one\ntwo\nth"));
        // A client that reads the task again gets the same link: it does not use up the place of other results.
        let again = read_task().await.unwrap();
        assert_eq!(again["result"]["content"][1], link);
        // A task that is not completed passes as it is.
        let working = json!({ "status": "working", "statusMessage": "x".repeat(30) });
        let layer = self::layer(working.clone());
        let found = ask(&layer, Caller::Local, method::TASKS_GET, &params).await;
        assert_eq!(found.unwrap(), working);
    }

    #[tokio::test]
    async fn a_link_that_does_not_lead_anywhere_is_not_found() {
        let layer = layer(json!({ "content": [{ "type": "text", "text": "x".repeat(30) }] }));
        let result = call(&layer).await;
        let uri = result["content"][1]["uri"].as_str().unwrap();
        for (caller, uri) in [
            (Caller::Anonymous, uri.to_owned()),
            (Caller::Local, format!("{uri}?page=0")),
            (Caller::Local, format!("{uri}?page=4")),
            (Caller::Local, format!("{uri}?page=99999999999999999999")),
            (Caller::Local, format!("{uri}?page=18446744073709551615")),
            (Caller::Local, "callgate://result/".to_owned()),
        ] {
            let expect = Err(format!("resource `{uri}` not found"));
            assert_eq!(read(&layer, caller, &uri).await, expect);
        }
        let last = read(&layer, Caller::Local, &format!("{uri}?page=3")).await;
        assert_eq!(last.unwrap()["text"], json!("x".repeat(10)));
        // Two newer results take the place of the first.
        for text in ["newer", "newest"] {
            layer.store.lock().insert(&Caller::Local, text).unwrap();
        }
        assert!(read(&layer, Caller::Local, uri).await.is_err());
    }

    #[tokio::test]
    async fn results_within_the_limits_and_results_that_cannot_be_kept_pass() {
        for result in [
            json!({ "content": [{ "type": "text", "text": "x".repeat(20) }], "more": "y".repeat(30) }),
            json!({ "content": [{ "type": "text", "text": "x".repeat(1_001) }] }),
            json!({ "content": [{ "type": "image", "data": "x".repeat(50) }] }),
            json!({ "content": "x".repeat(50) }),
            json!({ "structuredContent": "x".repeat(50) }),
        ] {
            assert_eq!(call(&layer(result.clone())).await, result);
        }
        let other = read(&layer(json!({})), Caller::Local, "file:///a").await;
        assert_eq!(other, Ok(json!(null)));
    }
}
