use callgate_mcp::wire::{Limits, RawJson, Splice, method};

use crate::config::load::ConfiguredServer;
use crate::data_dir::DataDir;
use crate::gateway::{CatalogFiles, tool_policy};

/// Catalog of a server from its last connection, as the server sent it.
pub(crate) struct SavedCatalog(RawJson);

impl SavedCatalog {
    /// The catalog of a definition; `None` if it was never connected.
    pub(crate) fn load(server: &ConfiguredServer, data_dir: &DataDir) -> Option<Self> {
        let files = CatalogFiles::new(data_dir);
        let (catalog, _) = files.load(server.definition_hash().as_str())?;
        let limits = Limits::default().with_bytes(catalog.len());
        Some(Self(RawJson::parse(catalog.into(), &limits).ok()?))
    }

    /// The server's description of itself.
    pub(crate) fn discovered(&self) -> Option<RawJson> {
        self.0.get("discovered")
    }

    /// The items that a method lists.
    pub(crate) fn items(&self, method: &str) -> Vec<RawJson> {
        let items = self.0.get(method);
        items.map(|items| items.elements()).unwrap_or_default()
    }

    /// The tools that the configuration offers, as it changes them.
    pub(crate) fn tools(&self, server: &ConfiguredServer) -> Vec<RawJson> {
        let policy = tool_policy(&server.definition);
        let offered = |tool: RawJson| {
            let name = tool.get("name")?;
            let name = name.text()?;
            if !policy.offers(&name) {
                return None;
            }
            let Some(change) = policy.change(&name) else {
                return Some(tool.clone());
            };
            // Arguments with fixed values are not there for callers.
            let changed = change.definition(&tool);
            let Some(name) = &change.name else {
                return Some(changed);
            };
            let renamed = Splice::new(&changed).set(&["name"], &RawJson::string(name));
            Some(renamed.finish().unwrap_or(changed))
        };
        let tools = self.items(method::TOOLS_LIST);
        tools.into_iter().filter_map(offered).collect()
    }
}
