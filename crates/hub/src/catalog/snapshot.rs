use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use callgate_mcp::wire::ObjectWriter;
use callgate_mcp::{Error, RawJson, Reply};

use super::item::{Item, ListKind, PerKind};
use crate::server::Server;

/// The lists of all servers at one time.
#[derive(Default)]
pub(crate) struct Snapshot {
    lists: PerKind<Arc<ItemList>>,
    /// Answer to `server/discover`.
    pub(crate) discovered: Option<RawJson>,
    /// Servers that no caller can use by an item: they have never said what they offer, or have been
    /// away for too long.
    absent: Arc<[Arc<Server>]>,
}

/// One merged list, in the order of the servers.
#[derive(Default)]
pub(crate) struct ItemList {
    items: Vec<Arc<Item>>,
    positions: HashMap<Arc<str>, usize>,
    /// Result without a cursor, made when it is first asked for.
    first_page: OnceLock<RawJson>,
}

/// Maximum bytes of the items in one page. Large, because many clients read the first page only.
const PAGE_BYTES: usize = 4 * 1024 * 1024;

impl Snapshot {
    /// The same snapshot with other lists of these kinds.
    pub(crate) fn with_lists(
        &self,
        kinds: &[ListKind],
        items: impl Fn(ListKind) -> Vec<Arc<Item>>,
    ) -> Self {
        let mut lists = self.lists.clone();
        for kind in kinds {
            lists.set(*kind, Arc::new(ItemList::new(items(*kind))));
        }
        Self {
            lists,
            discovered: self.discovered.clone(),
            absent: self.absent.clone(),
        }
    }

    /// The same snapshot with another answer to `server/discover`.
    pub(crate) fn with_discovered(&self, discovered: RawJson, absent: Vec<Arc<Server>>) -> Self {
        Self {
            lists: self.lists.clone(),
            discovered: Some(discovered),
            absent: absent.into(),
        }
    }

    /// Servers that no caller can use by an item: they have never said what they offer, or have been
    /// away for too long.
    pub(crate) fn absent(&self) -> &[Arc<Server>] {
        &self.absent
    }

    pub(crate) fn list(&self, kind: ListKind) -> &ItemList {
        self.lists.get(kind)
    }
}

impl ItemList {
    fn new(items: Vec<Arc<Item>>) -> Self {
        let position = |(position, item): (usize, &Arc<Item>)| (item.key.clone(), position);
        let positions = items.iter().enumerate().map(position).collect();
        Self {
            items,
            positions,
            first_page: OnceLock::new(),
        }
    }

    pub(crate) fn items(&self) -> &[Arc<Item>] {
        &self.items
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Arc<Item>> {
        self.items.get(*self.positions.get(key)?)
    }

    /// Answers a list request. The items are copied, never read.
    pub(crate) fn page(&self, member: &str, cursor: Option<&RawJson>) -> Result<Reply, Error> {
        let Some(cursor) = cursor else {
            let page = self.first_page.get_or_init(|| self.render(member, 0));
            return Ok(Reply::Complete(page.clone()));
        };
        // The cursor is the key of the last item, so that it survives a change of the list.
        let after = cursor.text();
        let after = after.and_then(|key| self.positions.get(key.as_ref()).copied());
        let after = after.ok_or_else(|| {
            let text = "`cursor` names an item that is gone; list again from the start";
            Error::invalid_params(text)
        })?;
        Ok(Reply::Complete(self.render(member, after + 1)))
    }

    fn render(&self, member: &str, start: usize) -> RawJson {
        let rest = self.items.get(start..).unwrap_or_default();
        let mut bytes = 0;
        let page = rest.iter().take_while(|item| {
            let is_first = bytes == 0;
            bytes += item.definition.as_bytes().len() + 1;
            is_first || bytes <= PAGE_BYTES
        });
        let page = rest.get(..page.count()).unwrap_or(rest);
        let size: usize = page
            .iter()
            .map(|item| item.definition.as_bytes().len() + 1)
            .sum();
        let mut result = ObjectWriter::with_capacity(size + OVERHEAD)
            .member("resultType", &RawJson::string("complete"))
            .array(member, page.iter().map(|item| &item.definition));
        if let Some(last) = page.last().filter(|_| page.len() < rest.len()) {
            result = result.member("nextCursor", &RawJson::string(&last.key));
        }
        result
            .member("ttlMs", &RawJson::encode(&0).expect("a number is JSON"))
            .member("cacheScope", &RawJson::string("private"))
            .finish()
    }
}

/// Bytes of a result besides its items.
const OVERHEAD: usize = 256;
