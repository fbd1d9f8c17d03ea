use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use callgate_wire::{RawJson, Splice};

use crate::header_param::{HeaderParam, HeaderParamError};
use crate::mutex::Mutex;

/// Cache of the tool parameters that are sent as headers, from the newest schemas.
///
/// Of tools without such parameters only the names are kept.
#[derive(Debug, Default)]
pub(crate) struct ToolHeaders {
    known: Mutex<KnownTools>,
    /// Names of listed tools that have none, so that they can be told from tools that no list has named.
    plain: Mutex<HashSet<String>>,
    /// The last list that was read, if none of its tools was left out. Most lists are the same as the
    /// one before: comparing them costs a small part of reading them.
    last: Mutex<Option<RawJson>>,
}

/// Tools with parameters that are sent as headers.
#[derive(Debug, Default)]
struct KnownTools {
    params: HashMap<String, Arc<[HeaderParam]>>,
    /// Memory that they take.
    bytes: usize,
}

/// Maximum bytes of a list that is remembered.
const MAX_LIST: usize = 4 * 1024 * 1024;

/// Maximum bytes of the tools that are remembered. For one more, all are forgotten: those that are not listed
/// again are no longer offered.
const MAX_KNOWN_BYTES: usize = 16 * 1024 * 1024;

/// Maximum number of remembered names of tools without such parameters. For one more, all are forgotten.
const MAX_PLAIN: usize = 16 * 1024;

/// Maximum bytes of one of these names; a longer one is not remembered.
const MAX_PLAIN_BYTES: usize = 256;

/// Maximum bytes of the names of one tool and its parameters. A tool with more is left out of the list.
const MAX_TOOL_BYTES: usize = 16 * 1024;

/// Reason why a tool cannot be called over HTTP.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum UnusableTool {
    #[error(transparent)]
    Annotation(#[from] HeaderParamError),
    #[error("the names of its parameters in headers take more than {MAX_TOOL_BYTES} bytes")]
    TooLarge,
}

impl ToolHeaders {
    /// Parameters of `tool` to mirror; `None` if it has none or is unknown.
    pub(crate) fn params_of(&self, tool: &str) -> Option<Arc<[HeaderParam]>> {
        self.known.lock().params.get(tool).cloned()
    }

    /// Parameters of `tool` to mirror, an empty list if it has none; `None` if it is unknown.
    pub(crate) fn params_if_listed(&self, tool: &str) -> Option<Arc<[HeaderParam]>> {
        let params = self.params_of(tool);
        params.or_else(|| self.plain.lock().contains(tool).then(Arc::default))
    }

    /// Reads the result of `tools/list`, and removes the tools that cannot be called.
    ///
    /// All other bytes of the result stay as they are.
    pub(crate) fn learn(&self, server: &str, result: RawJson) -> RawJson {
        // Held to the end: the parameters of two lists at once would be mixed, and the list that is remembered
        // would not be read again.
        let mut last = self.last.lock();
        if last.as_ref() == Some(&result) {
            return result;
        }
        let mut forgot = false;
        let tools = result.get("tools").map(|tools| tools.elements());
        let mut kept = tools.unwrap_or_default();
        let offered = kept.len();
        kept.retain(|tool| {
            let name = tool.get("name");
            let Some(name) = name.as_ref().and_then(RawJson::text) else {
                return true;
            };
            match self.learn_tool(&name, tool) {
                Ok(forgot_another) => {
                    forgot |= forgot_another;
                    true
                }
                Err(reason) => {
                    tracing::warn!(server, tool = &*name, %reason, "left out an invalid tool");
                    false
                }
            }
        });
        if kept.len() == offered {
            // A tool that was forgotten may be one of this list, which is read again to look it up.
            let is_kept = !forgot && result.as_bytes().len() <= MAX_LIST;
            *last = is_kept.then(|| result.clone());
            return result;
        }
        *last = None;
        let kept = RawJson::encode(&kept).expect("a list of JSON values is JSON");
        Splice::new(&result)
            .set(&["tools"], &kept)
            .finish()
            .expect("a value with the member `tools` is an object")
    }

    /// Reads one tool. Returns true if others were forgotten for it.
    fn learn_tool(&self, name: &str, tool: &RawJson) -> Result<bool, UnusableTool> {
        let found = match tool.get("inputSchema") {
            Some(schema) => HeaderParam::find_all(&schema)?,
            None => Vec::new(),
        };
        let mut known = self.known.lock();
        known.remove(name);
        if found.is_empty() {
            // Released first: these two locks are never held together.
            drop(known);
            return Ok(self.learn_plain(name));
        }
        let bytes = size(name, &found);
        if bytes > MAX_TOOL_BYTES {
            return Err(UnusableTool::TooLarge);
        }
        let is_full = known.bytes + bytes > MAX_KNOWN_BYTES;
        if is_full {
            *known = KnownTools::default();
        }
        known.bytes += bytes;
        known.params.insert(name.to_owned(), found.into());
        Ok(is_full)
    }

    fn learn_plain(&self, name: &str) -> bool {
        let mut plain = self.plain.lock();
        if name.len() > MAX_PLAIN_BYTES || plain.contains(name) {
            return false;
        }
        let is_full = plain.len() >= MAX_PLAIN;
        if is_full {
            plain.clear();
        }
        plain.insert(name.to_owned());
        is_full
    }
}

impl KnownTools {
    fn remove(&mut self, name: &str) {
        if let Some(params) = self.params.remove(name) {
            self.bytes -= size(name, &params);
        }
    }
}

/// The params of `tools/list` on behalf of a request with this `_meta`.
#[cfg(any(feature = "http-client", feature = "http-server"))]
pub(crate) fn list_params(
    meta: &RawJson,
    cursor: Option<&RawJson>,
) -> Result<RawJson, crate::error::Error> {
    let malformed =
        |error: callgate_wire::SpliceError| crate::error::Error::invalid_params(error.to_string());
    let meta = Splice::new(meta)
        .remove(&[callgate_wire::meta::PROGRESS_TOKEN])
        .finish()
        .map_err(malformed)?;
    let empty = RawJson::empty_object();
    let mut params = Splice::new(&empty).set(&["_meta"], &meta);
    if let Some(cursor) = cursor {
        params = params.set(&["cursor"], cursor);
    }
    params.finish().map_err(malformed)
}

/// Memory that a tool takes.
fn size(name: &str, params: &[HeaderParam]) -> usize {
    let param_size = |param: &HeaderParam| {
        let path: usize = param.path.iter().map(|key| 24 + key.len()).sum();
        48 + param.header.len() + path
    };
    64 + name.len() + params.iter().map(param_size).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_wire::Limits;

    fn raw(text: &str) -> RawJson {
        RawJson::parse(text.to_owned().into(), &Limits::default()).unwrap()
    }

    fn tool(name: &str, annotation: &str) -> String {
        format!(
            r#"{{"name":"{name}", "inputSchema":{{"properties":{{"a":{{"type":"string","x-mcp-header":{annotation}}}}}}}}}"#
        )
    }

    fn headers(schemas: &ToolHeaders, tool: &str) -> Option<Vec<String>> {
        let params = schemas.params_of(tool)?;
        Some(params.iter().map(|param| param.header.clone()).collect())
    }

    #[test]
    fn the_newest_list_counts_also_if_it_came_before() {
        let schemas = ToolHeaders::default();
        let list = |tool: &str| raw(&format!(r#"{{"tools":[{tool}]}}"#));
        let (mirrored, plain) = (list(&tool("a", r#""Region""#)), list(r#"{"name":"a"}"#));
        let region = Some(vec!["mcp-param-region".to_owned()]);
        for (result, expect) in [
            (&mirrored, region.clone()),
            (&mirrored, region.clone()),
            (&plain, None),
            (&mirrored, region),
        ] {
            assert_eq!(schemas.learn("s", result.clone()), *result);
            assert_eq!(headers(&schemas, "a"), expect);
        }
    }

    #[test]
    fn invalid_tools_are_left_out_and_all_else_stays() {
        let schemas = ToolHeaders::default();
        let (good, bad) = (tool("good", r#""Region""#), tool("bad", r#""""#));
        let result = |tools: &str| format!(r#"{{ "x":49E-31,"tools": {tools} , "ttlMs":0 }}"#);
        let list = result(&format!(
            r#"[ {good} , {bad}, {{"name":"plain","z":1e2}} ]"#
        ));
        assert_eq!(
            schemas.learn("s", raw(&list)).as_str(),
            result(&format!(r#"[{good},{{"name":"plain","z":1e2}}]"#))
        );
        let untouched = result(&format!("[ {good} , 7 ]"));
        assert_eq!(schemas.learn("s", raw(&untouched)).as_str(), untouched);
        assert_eq!(
            schemas.learn("s", raw(r#"{"tools":7}"#)).as_str(),
            r#"{"tools":7}"#
        );
        assert_eq!(schemas.learn("s", raw("7")).as_str(), "7");
        assert_eq!(
            headers(&schemas, "good"),
            Some(vec!["mcp-param-region".to_owned()])
        );
        assert_eq!(headers(&schemas, "bad"), None);
    }

    #[test]
    fn a_list_for_which_tools_were_forgotten_is_read_again() {
        let list = format!(r#"{{"tools":[{}]}}"#, tool("t", r#""Region""#));
        for (room, expect) in [(MAX_TOOL_BYTES, true), (0, false)] {
            let schemas = ToolHeaders::default();
            schemas.known.lock().bytes = MAX_KNOWN_BYTES - room;
            schemas.learn("s", raw(&list));
            assert_eq!(schemas.last.lock().is_some(), expect, "{room}");
        }
    }

    #[test]
    fn the_newest_schema_wins() {
        let schemas = ToolHeaders::default();
        let list = |tool: &str| raw(&format!(r#"{{"tools":[{tool}]}}"#));
        schemas.learn("s", list(&tool("t", r#""Old""#)));
        schemas.learn("s", list(&tool("t", r#""New""#)));
        assert_eq!(
            headers(&schemas, "t"),
            Some(vec!["mcp-param-new".to_owned()])
        );
        schemas.learn("s", list(r#"{"name":"t"}"#));
        assert_eq!(headers(&schemas, "t"), None);
    }

    #[test]
    fn all_tools_of_a_long_list_are_remembered() {
        let schemas = ToolHeaders::default();
        let tools: Vec<String> = (0..5_000)
            .map(|n| tool(&format!("t{n}"), r#""A""#))
            .collect();
        schemas.learn("s", raw(&format!(r#"{{"tools":[{}]}}"#, tools.join(","))));
        let known = |n: usize| schemas.params_of(&format!("t{n}")).is_some();
        assert_eq!((0..5_000).find(|n| !known(*n)), None);
    }

    #[test]
    fn the_memory_of_tools_is_limited() {
        let schemas = ToolHeaders::default();
        let annotation = format!(r#""{}""#, "a".repeat(MAX_TOOL_BYTES / 2));
        let (mut most, last) = (0, 2 * MAX_KNOWN_BYTES / MAX_TOOL_BYTES);
        for n in 0..=last {
            let list = format!(r#"{{"tools":[{}]}}"#, tool(&format!("t{n}"), &annotation));
            schemas.learn("s", raw(&list));
            // Again, since what is replaced must not count twice.
            schemas.learn("s", raw(&format!("{list} ")));
            most = most.max(schemas.known.lock().bytes);
        }
        assert!(
            (MAX_KNOWN_BYTES / 2..=MAX_KNOWN_BYTES).contains(&most),
            "{most}"
        );
        assert!(schemas.params_of(&format!("t{last}")).is_some());
        schemas.learn("s", raw(&format!(r#"{{"tools":[{{"name":"t{last}"}}]}}"#)));
        let known = schemas.known.lock();
        let sizes = known.params.iter().map(|(name, params)| size(name, params));
        assert_eq!(known.bytes, sizes.sum::<usize>());
    }

    #[test]
    fn only_so_many_names_of_plain_tools_are_remembered() {
        let schemas = ToolHeaders::default();
        let long = "n".repeat(MAX_PLAIN_BYTES + 1);
        let names = (0..=MAX_PLAIN).map(|n| format!("t{n}"));
        let tools: Vec<String> = [long.clone()]
            .into_iter()
            .chain(names)
            .map(|name| format!(r#"{{"name":"{name}"}}"#))
            .collect();
        schemas.learn("s", raw(&format!(r#"{{"tools":[{}]}}"#, tools.join(","))));
        assert_eq!(schemas.plain.lock().len(), 1);
        assert_eq!(schemas.params_if_listed(&long), None);
        let last = schemas.params_if_listed(&format!("t{MAX_PLAIN}"));
        assert_eq!(last.as_deref(), Some(&[][..]));
    }

    #[test]
    fn a_tool_with_huge_annotations_is_left_out() {
        let schemas = ToolHeaders::default();
        let annotation = format!(r#""{}""#, "a".repeat(MAX_TOOL_BYTES));
        let list = raw(&format!(r#"{{"tools":[{}]}}"#, tool("t", &annotation)));
        assert_eq!(schemas.learn("s", list).as_str(), r#"{"tools":[]}"#);
    }
}
