use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use callgate_wire::{RawJson, tag};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use super::catalog::{CachePolicy, Catalog, ListPage, Registry};
use super::service::RouterState;
use crate::error::Error;
use crate::service::{Call, Reply};

/// Answers a list method with one page of `registry`.
pub(crate) fn list<R>(
    router: &RouterState,
    catalog: &Catalog,
    call: &Call,
    registry: &Registry<R>,
) -> Result<Reply, Error> {
    let method = call.method.as_str();
    let cursor = call.params().get("cursor");
    let after = cursor.map(|cursor| read_cursor(&cursor, method));
    let result = ListResult {
        method,
        key: call.method.list_member().expect("the method lists items"),
        page: registry.page(after.transpose()?, catalog.page_size),
        cache: call.method.is_cacheable().then_some(catalog.cache),
    };
    router.results.complete(&result, None)
}

/// Result of any list method.
struct ListResult<'a> {
    method: &'a str,
    /// Member that holds the items.
    key: &'static str,
    page: ListPage<'a>,
    cache: Option<CachePolicy>,
}

impl Serialize for ListResult<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = serializer.serialize_map(None)?;
        members.serialize_entry("resultType", &tag::Complete::Value)?;
        members.serialize_entry(self.key, &self.page.items)?;
        if let Some(next) = self.page.next {
            members.serialize_entry("nextCursor", &write_cursor(next, self.method))?;
        }
        if let Some(cache) = self.cache {
            members.serialize_entry("ttlMs", &cache.ttl_ms)?;
            members.serialize_entry("cacheScope", &cache.scope)?;
        }
        members.end()
    }
}

/// Cursor of a page: the list and the number of its last item. The list is part of it so that the
/// cursor of another list is refused instead of giving wrong items.
fn write_cursor(after: u64, method: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{method}:{after}"))
}

fn read_cursor(cursor: &RawJson, method: &str) -> Result<u64, Error> {
    let number = || {
        let plain = URL_SAFE_NO_PAD.decode(cursor.text()?.as_bytes()).ok()?;
        let plain = str::from_utf8(&plain).ok()?;
        plain.strip_prefix(method)?.strip_prefix(':')?.parse().ok()
    };
    number().ok_or_else(|| Error::invalid_params("`cursor` was not issued by this list"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_good_for_its_own_list_only() {
        let cursor = RawJson::string(&write_cursor(7, "tools"));
        assert_eq!(read_cursor(&cursor, "tools").unwrap(), 7);
        for (cursor, key) in [
            (cursor, "prompts"),
            (RawJson::string(""), "tools"),
            (RawJson::string("tools:7"), "tools"),
            (
                RawJson::string(&URL_SAFE_NO_PAD.encode("tools:-7")),
                "tools",
            ),
            (RawJson::null(), "tools"),
        ] {
            assert_eq!(read_cursor(&cursor, key).unwrap_err().code(), -32602);
        }
    }
}
