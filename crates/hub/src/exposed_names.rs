use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::server_config::ItemNames;
use crate::server_name::ServerName;

/// Table of the names under which agents see the tools or prompts of all servers.
///
/// A name is given once and kept while its item exists, so that it does not change when another
/// server is added. An item whose plain name is taken, or too long, gets a short hash of its origin;
/// so does every tool of a server whose own name cannot stand in the name of a tool, because a server
/// with just the name that takes its place may be added at any time. A name that can be split in two ways
/// belongs to the server with the longer name, whether that has such an item or not, so it does not matter which
/// list comes first; an item that had the name before that server was configured keeps it. The owner keeps
/// the items without their plain name across starts, so that they do not win it back when the
/// servers come in another order. Names are never parsed back: the table says what a name stands for.
#[derive(Debug, Clone)]
pub(crate) struct ExposedNames {
    scheme: Scheme,
    by_origin: HashMap<Origin, Arc<str>>,
    by_name: HashMap<Arc<str>, Origin>,
    /// Items whose plain name was taken, or could be that of another server, when they got one.
    outranked: HashSet<Origin>,
}

/// Item of a server, by the server's own name for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Origin {
    pub(crate) server: ServerName,
    pub(crate) item: Arc<str>,
}

/// Form of the names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Naming {
    /// `server_tool`.
    #[default]
    Underscore,
    /// `server__tool`.
    DoubleUnderscore,
}

/// Kind of item that names are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    /// At most 64 characters of `A-Z a-z 0-9 _ -`, which every model provider accepts.
    Tool(Naming),
    /// `server:prompt`, usable as a slash command.
    Prompt,
}

/// Maximum length of the name of a tool. A longer one is cut, and ends with a hash.
const MAX_TOOL_NAME: usize = 64;
/// Digits of a hash in a name, unless two items share them.
const SHORTEST_HASH: usize = 6;

impl ExposedNames {
    pub(crate) fn new(scheme: Scheme) -> Self {
        Self {
            scheme,
            by_origin: HashMap::new(),
            by_name: HashMap::new(),
            outranked: HashSet::new(),
        }
    }

    /// The name of an item, which is given one if it has none; `label` is the part of it that stands
    /// for the item, and `rivals` are other servers, whose names may be the beginning of the same name.
    pub(crate) fn name_as(
        &mut self,
        origin: &Origin,
        label: &str,
        names: ItemNames,
        rivals: &[ServerName],
    ) -> Arc<str> {
        if let Some(name) = self.by_origin.get(origin) {
            return name.clone();
        }
        let plain = self.plain(origin, label, names);
        let is_certain = names == ItemNames::Own || self.scheme.keeps(&origin.server);
        let is_rival = |rival: &ServerName| self.scheme.prefers(rival, &origin.server, &plain);
        let is_contested = names == ItemNames::WithServer && rivals.iter().any(is_rival);
        let is_free = !is_contested && !self.outranked.contains(origin) && !self.is_taken(&plain);
        let name = match is_certain && is_free && self.scheme.fits(&plain) {
            true => plain,
            false => self.hashed(&plain, origin),
        };
        if is_certain && !is_free {
            self.outranked.insert(origin.clone());
        }
        let name: Arc<str> = Arc::from(name);
        self.by_origin.insert(origin.clone(), name.clone());
        self.by_name.insert(name.clone(), origin.clone());
        name
    }

    /// The name that an item has if its plain one is taken.
    pub(crate) fn hashed_as(&self, origin: &Origin, label: &str, names: ItemNames) -> String {
        let plain = self.plain(origin, label, names);
        let suffix = digits(origin);
        let suffix = suffix.get(..SHORTEST_HASH).unwrap_or_default();
        self.scheme.with_suffix(&plain, suffix)
    }

    /// True if a label stands in a name as it is.
    pub(crate) fn is_exact(&self, label: &str) -> bool {
        self.scheme.alone(label) == label
    }

    /// Notes that an item had to do without its plain name before this start.
    pub(crate) fn outrank(&mut self, origin: Origin) {
        self.outranked.insert(origin);
    }

    /// The items of a server that have to do without their plain names, sorted.
    pub(crate) fn outranked(&self, server: &ServerName) -> Vec<Arc<str>> {
        let origins = self.outranked.iter();
        let of_server = origins.filter(|origin| origin.server == *server);
        let mut items: Vec<_> = of_server.map(|origin| origin.item.clone()).collect();
        items.sort();
        items
    }

    /// Frees the names of the items of `server` that `keep` does not name.
    pub(crate) fn retain(&mut self, server: &ServerName, keep: impl Fn(&str) -> bool) {
        let by_name = &mut self.by_name;
        self.by_origin.retain(|origin, name| {
            let stays = origin.server != *server || keep(&origin.item);
            if !stays {
                by_name.remove(name);
            }
            stays
        });
        self.outranked
            .retain(|origin| origin.server != *server || keep(&origin.item));
    }

    fn plain(&self, origin: &Origin, label: &str, names: ItemNames) -> String {
        match names {
            ItemNames::WithServer => self.scheme.plain(&origin.server, label),
            ItemNames::Own => self.scheme.alone(label),
        }
    }

    /// A free name that ends with a hash of the origin.
    ///
    /// The hash depends on the origin alone, so the same item gets the same name on every machine;
    /// it is made longer in the unlikely case that two items share it.
    fn hashed(&self, plain: &str, origin: &Origin) -> String {
        let digits = digits(origin);
        let longest = MAX_TOOL_NAME.saturating_sub(plain.len().min(1) + 1);
        for length in SHORTEST_HASH..=longest.min(digits.len()) {
            let suffix = digits.get(..length).unwrap_or_default();
            let name = self.scheme.with_suffix(plain, suffix);
            if !self.is_taken(&name) {
                return name;
            }
        }
        // All shorter ones are taken: 62 digits of a hash are as good as unique.
        self.scheme.with_suffix(plain, &digits)
    }

    fn is_taken(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }
}

impl Scheme {
    fn plain(self, server: &ServerName, item: &str) -> String {
        let server = server.as_str();
        match self {
            Self::Tool(Naming::Underscore) => format!("{}_{}", safe(server), safe(item)),
            Self::Tool(Naming::DoubleUnderscore) => format!("{}__{}", safe(server), safe(item)),
            Self::Prompt => format!("{server}:{item}"),
        }
    }

    /// True if the name of a server stands in the names of its items as it is.
    fn keeps(self, server: &ServerName) -> bool {
        match self {
            Self::Tool(_) => safe(server.as_str()) == server.as_str(),
            Self::Prompt => true,
        }
    }

    /// True if the plain name of an item of `server` could be that of an item of `rival`, which has the longer name.
    fn prefers(self, rival: &ServerName, server: &ServerName, plain: &str) -> bool {
        let separator = match self {
            Self::Tool(Naming::Underscore) => "_",
            Self::Tool(Naming::DoubleUnderscore) => "__",
            Self::Prompt => ":",
        };
        let rest = plain.strip_prefix(rival.as_str());
        rival.as_str().len() > server.as_str().len()
            && rest.is_some_and(|rest| rest.starts_with(separator))
    }

    /// The name of an item without its server.
    fn alone(self, item: &str) -> String {
        match self {
            Self::Tool(_) => safe(item),
            Self::Prompt => item.to_owned(),
        }
    }

    fn fits(self, name: &str) -> bool {
        match self {
            Self::Tool(_) => name.len() <= MAX_TOOL_NAME,
            Self::Prompt => true,
        }
    }

    fn with_suffix(self, plain: &str, suffix: &str) -> String {
        let kept = match self {
            Self::Tool(_) => MAX_TOOL_NAME.saturating_sub(suffix.len() + 1),
            Self::Prompt => plain.len(),
        };
        // Only prompts have characters of several bytes, and they are never shortened.
        let kept = plain.get(..kept).unwrap_or(plain);
        format!("{kept}_{suffix}")
    }
}

/// Digits of the hash of an origin.
fn digits(origin: &Origin) -> String {
    let mut hash = Sha256::new();
    hash.update(origin.server.as_str());
    hash.update([0]);
    hash.update(origin.item.as_bytes());
    let digest = hash.finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The part of a tool name that stands for `name`: other characters become `_`.
fn safe(name: &str) -> String {
    let is_safe = |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
    let replace = |character| if is_safe(character) { character } else { '_' };
    name.chars().map(replace).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn origin(server: &str, item: &str) -> Origin {
        Origin {
            server: ServerName::new(server).unwrap(),
            item: Arc::from(item),
        }
    }

    impl ExposedNames {
        fn name_of(&mut self, origin: &Origin) -> Arc<str> {
            self.name_as(origin, &origin.item, ItemNames::WithServer, &[])
        }
    }

    fn tools() -> ExposedNames {
        ExposedNames::new(Scheme::Tool(Naming::Underscore))
    }

    #[test]
    fn plain_names_are_the_server_and_the_item() {
        let mut names = tools();
        assert_eq!(&*names.name_of(&origin("git", "log")), "git_log");
        assert_eq!(&*names.name_of(&origin("git", "a.b/c")), "git_a_b_c");
        let mut names = ExposedNames::new(Scheme::Tool(Naming::DoubleUnderscore));
        assert_eq!(&*names.name_of(&origin("git", "log")), "git__log");
        let mut names = ExposedNames::new(Scheme::Prompt);
        assert_eq!(
            &*names.name_of(&origin("my server", "résumé")),
            "my server:résumé"
        );
    }

    #[test]
    fn a_name_that_is_taken_gets_a_hash_and_the_first_one_keeps_its_name() {
        let mut names = tools();
        assert_eq!(&*names.name_of(&origin("a", "b_c")), "a_b_c");
        assert_eq!(&*names.name_of(&origin("a_b", "c")), "a_b_c_0c1d18");
        assert_eq!(&*names.name_of(&origin("a", "b.c")), "a_b_c_ad8a94");
        assert_eq!(&*names.name_of(&origin("a", "b_c")), "a_b_c");
    }

    #[test]
    fn a_name_never_means_the_tool_of_a_server_that_is_added_later() {
        // Whichever comes first: the server with just this name has the plain names.
        for order in [["a b", "a_b", "a.b"], ["a_b", "a.b", "a b"]] {
            let mut names = tools();
            for server in order {
                let expect = match server {
                    "a_b" => "a_b_read",
                    "a b" => "a_b_read_9fed52",
                    _ => "a_b_read_34b16e",
                };
                assert_eq!(&*names.name_of(&origin(server, "read")), expect);
            }
        }
    }

    #[test]
    fn an_item_that_lost_its_plain_name_does_not_win_it_back_in_another_order() {
        let (first, second) = (origin("a", "b_c"), origin("a_b", "c"));
        let mut names = tools();
        names.name_of(&first);
        assert_eq!(&*names.name_of(&second), "a_b_c_0c1d18");
        let outranked = names.outranked(&second.server);
        assert_eq!(outranked, [Arc::from("c")]);
        let mut names = tools();
        names.outrank(second.clone());
        assert_eq!(&*names.name_of(&second), "a_b_c_0c1d18");
        assert_eq!(&*names.name_of(&first), "a_b_c");
    }

    #[test]
    fn a_new_item_leaves_its_plain_name_to_the_server_with_the_longer_name() {
        let rivals = ["a", "a_b", "a b", "x"].map(|name| ServerName::new(name).unwrap());
        let check = |naming, server: &str, item: &str, expect: &str| {
            let origin = origin(server, item);
            let mut names = ExposedNames::new(Scheme::Tool(naming));
            let name = names.name_as(&origin, item, ItemNames::WithServer, &rivals);
            assert_eq!(&*name, expect);
            let is_marked = expect.ends_with("_662f0b");
            assert_eq!(
                names.outranked(&origin.server).len(),
                usize::from(is_marked)
            );
        };
        check(Naming::Underscore, "a", "b_c", "a_b_c_662f0b");
        check(Naming::Underscore, "a", "bc", "a_bc");
        check(Naming::Underscore, "a_b", "c", "a_b_c");
        check(Naming::DoubleUnderscore, "a", "b_c", "a__b_c");
        let mut names = tools();
        let own = names.name_as(&origin("o", "a_b_c"), "a_b_c", ItemNames::Own, &rivals);
        assert_eq!(&*own, "a_b_c");
    }

    #[test]
    fn a_label_takes_the_place_of_the_item() {
        let mut names = tools();
        let mut name_as =
            |origin: &Origin, label: &str| names.name_as(origin, label, ItemNames::WithServer, &[]);
        assert_eq!(&*name_as(&origin("s", "old"), "new"), "s_new");
        assert_eq!(&*name_as(&origin("s", "new"), "new"), "s_new_ec7f73");
        assert_eq!(&*name_as(&origin("s", "old"), "new"), "s_new");
    }

    #[test]
    fn a_server_may_keep_its_own_names() {
        let mut names = tools();
        let own = |names: &mut ExposedNames, server: &str, item: &str| {
            names.name_as(&origin(server, item), item, ItemNames::Own, &[])
        };
        assert_eq!(&*own(&mut names, "a", "read.x"), "read_x");
        assert_eq!(&*own(&mut names, "b", "read_x"), "read_x_0b96d3");
    }

    #[test]
    fn a_long_name_is_shortened_to_64_characters() {
        let name = tools().name_of(&origin("server", &"x".repeat(100)));
        assert_eq!(name.len(), 64);
        assert!(name.starts_with("server_xxx"), "{name}");
    }

    #[test]
    fn a_freed_name_can_be_given_again() {
        let mut names = tools();
        names.name_of(&origin("a", "b_c"));
        names.name_of(&origin("a", "d"));
        names.retain(&ServerName::new("a").unwrap(), |item| item == "d");
        assert_eq!(&*names.name_of(&origin("a_b", "c")), "a_b_c");
        assert_eq!(&*names.name_of(&origin("a", "d")), "a_d");
    }

    proptest! {
        #[test]
        fn names_are_unique_short_and_safe(items in proptest::collection::vec(("[ab_.]{1,4}", "[ab_.]{1,70}"), 1..40)) {
            let mut names = tools();
            let mut given = HashMap::new();
            for (server, item) in &items {
                let origin = origin(server, item);
                let name = names.name_of(&origin);
                prop_assert!(name.len() <= MAX_TOOL_NAME);
                prop_assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)));
                let before = given.insert(name, origin.clone());
                prop_assert!(before.is_none_or(|before| before == origin));
            }
        }
    }
}
