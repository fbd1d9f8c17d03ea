use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use callgate_mcp::RawJson;
use sha2::{Digest, Sha256};

/// Hashes of the definitions of the tools that one server has shown, to notice a tool that is no
/// longer what people and rules agreed to.
#[derive(Debug, Default)]
pub(crate) struct SeenDefinitions {
    hashes: HashMap<Arc<str>, [u8; 32]>,
    changed: BTreeSet<Arc<str>>,
}

/// Number of tools beyond which those that the server no longer has are forgotten. Until then a tool
/// that is removed and added again is compared with what it was.
const MAX_HASHES: usize = 10_000;

impl SeenDefinitions {
    /// Records the tools of a list, and returns those whose definition is another one than before.
    pub(crate) fn record<'a>(
        &mut self,
        tools: impl Iterator<Item = (&'a Arc<str>, &'a RawJson)>,
    ) -> Vec<Arc<str>> {
        let mut current = HashMap::new();
        let mut changed = Vec::new();
        for (name, definition) in tools {
            let hash: [u8; 32] = Sha256::digest(definition.as_bytes()).into();
            if self.hashes.get(name).is_some_and(|before| *before != hash) {
                changed.push(name.clone());
            }
            current.insert(name.clone(), hash);
        }
        if self.hashes.len() + current.len() > MAX_HASHES {
            self.hashes.clear();
            self.changed.retain(|name| current.contains_key(name));
        }
        self.hashes.extend(current);
        self.changed.extend(changed.iter().cloned());
        changed
    }

    /// Names of all tools that have changed since the catalog was first known.
    pub(crate) fn changed(&self) -> impl Iterator<Item = &Arc<str>> {
        self.changed.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(seen: &mut SeenDefinitions, tools: &[(&str, &str)]) -> Vec<String> {
        let tools: Vec<_> = tools
            .iter()
            .map(|(name, definition)| (Arc::from(*name), RawJson::string(definition)))
            .collect();
        let changed = seen.record(tools.iter().map(|(name, definition)| (name, definition)));
        changed.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_tool_that_comes_back_changed_is_noticed() {
        let mut seen = SeenDefinitions::default();
        let none = Vec::<String>::new();
        assert_eq!(record(&mut seen, &[("a", "1"), ("b", "1")]), none);
        assert_eq!(record(&mut seen, &[("a", "1"), ("b", "2")]), ["b"]);
        assert_eq!(record(&mut seen, &[]), none);
        assert_eq!(record(&mut seen, &[("a", "2"), ("b", "2")]), ["a"]);
        let changed: Vec<_> = seen.changed().map(|name| &**name).collect();
        assert_eq!(changed, ["a", "b"]);
    }

    #[test]
    fn a_server_that_renames_its_tools_for_ever_fills_no_memory() {
        let mut seen = SeenDefinitions::default();
        for list in 0..30 {
            let names: Vec<_> = (0..1_000).map(|tool| format!("{list}-{tool}")).collect();
            for definition in ["1", "2"] {
                let tools: Vec<_> = names.iter().map(|name| (&**name, definition)).collect();
                record(&mut seen, &tools);
            }
            assert!(seen.hashes.len() <= MAX_HASHES, "{}", seen.hashes.len());
            assert!(seen.changed.len() <= MAX_HASHES, "{}", seen.changed.len());
        }
    }
}
