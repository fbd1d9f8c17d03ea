//! Search over the items of many servers by words, without connections and without a clock.

use std::collections::{BTreeMap, HashMap};

use callgate_mcp::RawJson;

/// An item that can be found: a tool, a prompt, a resource or a resource template, as its server sent it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct SearchItem<'a> {
    /// Name of the server.
    pub server: &'a str,
    /// Definition of the item.
    pub definition: &'a RawJson,
}

/// An item that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SearchHit {
    /// Position of the item in the list that was searched.
    pub index: usize,
    /// Score; higher is better, and scores of different searches cannot be compared.
    pub score: f64,
}

impl<'a> SearchItem<'a> {
    /// An item of the server with this name.
    #[must_use]
    pub const fn new(server: &'a str, definition: &'a RawJson) -> Self {
        Self { server, definition }
    }
}

/// Maximum words of a query that count.
const QUERY_WORDS: usize = 32;
/// Maximum words of one field that count.
const FIELD_WORDS: usize = 400;
/// Maximum characters of a word that count.
const WORD: usize = 48;
/// Maximum arguments of a tool whose names count. The rest is not searched.
const ARGUMENTS: usize = 100;

/// Weight of each field: a word of the name says more than one of the description.
const NAME: f64 = 4.0;
const TITLE: f64 = 2.5;
const SERVER: f64 = 1.5;
const DESCRIPTION: f64 = 1.0;
const ARGUMENT: f64 = 0.7;

/// Parameters of BM25: the gain of repeated words, and the loss of long fields.
const K1: f64 = 1.2;
const B: f64 = 0.6;

/// Value of a word that is not the same as the one of the query.
const PREFIX: f64 = 0.7;
const ONE_EDIT: f64 = 0.45;
/// Minimum characters of a word of a query for these.
const PREFIX_LENGTH: usize = 3;
const EDIT_LENGTH: usize = 4;

/// Words that say nothing.
const EMPTY_WORDS: [&str; 22] = [
    "a", "all", "an", "and", "are", "by", "do", "for", "from", "how", "i", "in", "is", "it", "me",
    "my", "of", "on", "or", "the", "to", "with",
];

/// Ranks the items by the words of `query`, the best first, and returns at most `limit` of them.
///
/// Words count by how rare they are and by the field in which they stand: the name, split at `_`, `-`, `.`, `/`
/// and capital letters, the title, the description, the names of arguments and the name of the server.
/// A beginning of a word and a word with one mistake count less.
/// Items with equal scores stay in their order.
#[must_use]
pub fn search(items: &[SearchItem<'_>], query: &str, limit: usize) -> Vec<SearchHit> {
    let index = Index::new(items);
    let words = query_words(query);
    let mut scores = vec![0.0; items.len()];
    let mut matched = vec![0_usize; items.len()];
    for word in &words {
        for (item, score) in index.scores(word) {
            if let (Some(sum), Some(count)) = (scores.get_mut(item), matched.get_mut(item)) {
                *sum += score;
                *count += 1;
            }
        }
    }
    let mut hits: Vec<SearchHit> = Vec::new();
    for (index, (score, count)) in scores.iter().zip(&matched).enumerate() {
        if *count > 0 {
            // An item with all words of the query comes before one that has a single word often.
            let coverage = *count as f64 / words.len() as f64;
            let score = score * coverage * coverage;
            hits.push(SearchHit { index, score });
        }
    }
    hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.index.cmp(&b.index)));
    hits.truncate(limit);
    hits
}

/// Words of all items.
struct Index {
    items: usize,
    /// For each word, the items that have it, with the weight of all its places.
    words: BTreeMap<String, Vec<(usize, f64)>>,
}

impl Index {
    fn new(items: &[SearchItem<'_>]) -> Self {
        let fields: Vec<Vec<Field>> = items.iter().map(fields).collect();
        let mut total: HashMap<&str, usize> = HashMap::new();
        for field in fields.iter().flatten() {
            *total.entry(field.name).or_default() += field.words.len();
        }
        let average = |name: &str| {
            let sum = total.get(name).copied().unwrap_or_default();
            (sum as f64 / items.len().max(1) as f64).max(1.0)
        };
        let mut words: BTreeMap<String, Vec<(usize, f64)>> = BTreeMap::new();
        for (item, fields) in fields.iter().enumerate() {
            for field in fields {
                let length = field.words.len() as f64 / average(field.name);
                let weight = field.weight / (1.0 - B + B * length);
                for word in &field.words {
                    let places = words.entry(word.clone()).or_default();
                    match places.last_mut() {
                        Some((last, sum)) if *last == item => *sum += weight,
                        _ => places.push((item, weight)),
                    }
                }
            }
        }
        Self {
            items: items.len(),
            words,
        }
    }

    /// Score of each item for one word of a query.
    fn scores(&self, query: &str) -> Vec<(usize, f64)> {
        let mut weights: BTreeMap<usize, f64> = BTreeMap::new();
        for (word, places) in &self.words {
            let likeness = likeness(query, word);
            if likeness == 0.0 {
                continue;
            }
            for (item, weight) in places {
                let best = weights.entry(*item).or_default();
                *best = best.max(weight * likeness);
            }
        }
        let found = weights.len() as f64;
        let rarity = ((self.items as f64 - found + 0.5) / (found + 0.5)).ln_1p();
        let score = |(item, weight)| (item, rarity * weight * (K1 + 1.0) / (weight + K1));
        weights.into_iter().map(score).collect()
    }
}

/// One field of an item.
struct Field {
    name: &'static str,
    weight: f64,
    words: Vec<String>,
}

fn fields(item: &SearchItem<'_>) -> Vec<Field> {
    let [name, uri, template, title, description, schema, arguments] = item.definition.pick([
        "name",
        "uri",
        "uriTemplate",
        "title",
        "description",
        "inputSchema",
        "arguments",
    ]);
    let text = |value: Option<RawJson>| {
        let value = value?;
        Some(value.text()?.into_owned())
    };
    let names = [name, uri.or(template)].map(text).into_iter().flatten();
    let mut names: Vec<String> = names.collect();
    names.dedup();
    let arguments = argument_names(schema.as_ref(), arguments.as_ref());
    let field = |name, weight, text: &str| Field {
        name,
        weight,
        words: split(text),
    };
    vec![
        field("name", NAME, &names.join(" ")),
        field("title", TITLE, &text(title).unwrap_or_default()),
        field("server", SERVER, item.server),
        field(
            "description",
            DESCRIPTION,
            &text(description).unwrap_or_default(),
        ),
        field("arguments", ARGUMENT, &arguments.join(" ")),
    ]
}

/// Names of the arguments of a tool or a prompt.
fn argument_names(schema: Option<&RawJson>, arguments: Option<&RawJson>) -> Vec<String> {
    let properties = schema.and_then(|schema| schema.get("properties"));
    let properties = properties.iter().flat_map(|all| all.members_besides(&[]));
    let arguments = arguments.into_iter().flat_map(RawJson::elements);
    let named = arguments.filter_map(|argument| {
        let name = argument.get("name")?;
        Some(name.text()?.into_owned())
    });
    let names = properties.map(|(name, _)| name).chain(named);
    names.take(ARGUMENTS).collect()
}

/// The words of a query that say something; all of them if none does.
fn query_words(query: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in split(query) {
        if !words.contains(&word) && words.len() < QUERY_WORDS {
            words.push(word);
        }
    }
    let says_something = |word: &String| !EMPTY_WORDS.contains(&word.as_str());
    match words.iter().any(says_something) {
        true => words.into_iter().filter(says_something).collect(),
        false => words,
    }
}

/// The words of a text in small letters, split at every character that is no letter or digit, and where a small
/// letter is followed by a capital one.
fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut was_small = false;
    for c in text.chars() {
        let is_word = c.is_alphanumeric();
        if !word.is_empty() && (!is_word || was_small && c.is_uppercase()) {
            words.push(std::mem::take(&mut word));
            if words.len() >= FIELD_WORDS {
                return words;
            }
        }
        if is_word && word.len() < WORD {
            word.extend(c.to_lowercase());
        }
        was_small = c.is_lowercase();
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Likeness of a word to one of the query: 1 for the same word, 0 for another one.
fn likeness(query: &str, word: &str) -> f64 {
    if query == word {
        return 1.0;
    }
    let length = query.chars().count();
    if length >= PREFIX_LENGTH && word.starts_with(query) {
        return PREFIX;
    }
    // The plural of a word that is listed in the singular.
    if word.len() >= PREFIX_LENGTH && query.strip_suffix('s') == Some(word) {
        return PREFIX;
    }
    match length >= EDIT_LENGTH && is_one_edit(query, word) {
        true => ONE_EDIT,
        false => 0.0,
    }
}

/// True if one letter is added, missing, changed or exchanged with the next one.
fn is_one_edit(a: &str, b: &str) -> bool {
    if a.len().abs_diff(b.len()) > 4 {
        return false;
    }
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let (a, b) = (
        a.get(same..).unwrap_or_default(),
        b.get(same..).unwrap_or_default(),
    );
    match (a, b) {
        ([_, a_rest @ ..], [_, b_rest @ ..]) if a_rest == b_rest => true,
        ([a1, a2, a_rest @ ..], [b1, b2, b_rest @ ..])
            if a1 == b2 && a2 == b1 && a_rest == b_rest =>
        {
            true
        }
        ([_, a_rest @ ..], b) if a_rest == b => true,
        (a, [_, b_rest @ ..]) if a == b_rest => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOLS: [(&str, &str); 14] = [
        (
            "github",
            r#"{"name":"create_issue","description":"Create a new issue in a repository","inputSchema":{"properties":{"owner":{},"repo":{},"title":{},"labels":{}}}}"#,
        ),
        (
            "github",
            r#"{"name":"list_issues","description":"List issues of a repository, with filters","inputSchema":{"properties":{"state":{},"labels":{}}}}"#,
        ),
        (
            "github",
            r#"{"name":"search_code","description":"Search for code across repositories"}"#,
        ),
        (
            "github",
            r#"{"name":"create_pull_request","description":"Open a pull request"}"#,
        ),
        (
            "files",
            r#"{"name":"readFile","title":"Read File","description":"Read the complete contents of a file","inputSchema":{"properties":{"path":{}}}}"#,
        ),
        (
            "files",
            r#"{"name":"writeFile","title":"Write File","description":"Create a new file or overwrite an existing file","inputSchema":{"properties":{"path":{},"content":{}}}}"#,
        ),
        (
            "files",
            r#"{"name":"list_directory","description":"List the entries of a directory"}"#,
        ),
        (
            "time",
            r#"{"name":"get_current_time","description":"Get the current time in a timezone","inputSchema":{"properties":{"timezone":{}}}}"#,
        ),
        (
            "time",
            r#"{"name":"convert_time","description":"Convert a time between timezones"}"#,
        ),
        (
            "memory",
            r#"{"name":"create_entities","description":"Create entities in the knowledge graph"}"#,
        ),
        (
            "memory",
            r#"{"name":"search_nodes","description":"Search for nodes in the knowledge graph"}"#,
        ),
        (
            "slack",
            r#"{"name":"chat.postMessage","description":"Send a message to a channel"}"#,
        ),
        (
            "docs",
            r#"{"uri":"docs://guide/install.md","name":"install","description":"How to install the program"}"#,
        ),
        (
            "review",
            r#"{"name":"code-review","description":"Review changes","arguments":[{"name":"diff"}]}"#,
        ),
    ];

    fn ranked(query: &str, limit: usize) -> Vec<String> {
        let definitions: Vec<(&str, RawJson)> = TOOLS
            .iter()
            .map(|(server, json)| (*server, serde_json::from_str(json).unwrap()))
            .collect();
        let items: Vec<SearchItem<'_>> = definitions
            .iter()
            .map(|(server, definition)| SearchItem { server, definition })
            .collect();
        let hits = search(&items, query, limit);
        assert!(hits.is_sorted_by(|a, b| a.score >= b.score), "{hits:?}");
        let name = |hit: &SearchHit| {
            let (server, definition) = &definitions[hit.index];
            let name = definition.get("name").unwrap();
            format!("{server}/{}", name.text().unwrap())
        };
        hits.iter().map(name).collect()
    }

    #[test]
    fn the_expected_item_comes_first() {
        for (query, expect) in [
            ("create issue", "github/create_issue"),
            ("read a file", "files/readFile"),
            ("file read", "files/readFile"),
            ("readFile", "files/readFile"),
            ("write file", "files/writeFile"),
            ("list directory", "files/list_directory"),
            ("current time", "time/get_current_time"),
            ("timezone", "time/get_current_time"),
            ("send a message", "slack/chat.postMessage"),
            ("post message", "slack/chat.postMessage"),
            ("knowledge graph search", "memory/search_nodes"),
            ("pull request", "github/create_pull_request"),
            ("github search", "github/search_code"),
            ("install guide", "docs/install"),
            ("diff", "review/code-review"),
            // A mistake, a beginning, a plural.
            ("isue create", "github/create_issue"),
            ("direcotry", "files/list_directory"),
            ("repos code", "github/search_code"),
            ("messages", "slack/chat.postMessage"),
            ("how do i convert the time", "time/convert_time"),
        ] {
            assert_eq!(ranked(query, 1), [expect], "{query}");
        }
    }

    #[test]
    fn several_items_are_in_the_order_of_their_score() {
        assert_eq!(
            ranked("issue", 10),
            ["github/create_issue", "github/list_issues"]
        );
        assert_eq!(ranked("create", 2).len(), 2);
        assert_eq!(ranked("zebra", 10), [""; 0]);
        assert_eq!(ranked("", 10), [""; 0]);
        assert_eq!(ranked("create", 0), [""; 0]);
        assert!(!ranked("the", 10).is_empty());
    }

    #[test]
    fn names_are_split_into_words() {
        for (text, expect) in [
            ("chat.postMessage", &["chat", "post", "message"][..]),
            ("get_HTTP-status/v2", &["get", "http", "status", "v2"]),
            ("Ünïcode Größe", &["ünïcode", "größe"]),
            ("", &[]),
        ] {
            assert_eq!(split(text), expect);
        }
    }

    #[test]
    fn one_mistake_is_one_edit() {
        for (a, b, expect) in [
            ("issue", "isue", true),
            ("isue", "issue", true),
            ("issue", "issui", true),
            ("issue", "sisue", true),
            ("issue", "issues", true),
            ("issue", "iseu", false),
            ("issue", "tissues", false),
        ] {
            assert_eq!(is_one_edit(a, b), expect, "{a} {b}");
        }
    }

    #[test]
    fn long_texts_stay_bounded() {
        let long = RawJson::string(&"x".repeat(1 << 20));
        let words = RawJson::string(&"word ".repeat(1 << 18));
        let definition: RawJson = serde_json::from_str(&format!(
            r#"{{"name":{},"description":{}}}"#,
            long.as_str(),
            words.as_str()
        ))
        .unwrap();
        let items = [SearchItem {
            server: "s",
            definition: &definition,
        }];
        let index = Index::new(&items);
        let lengths: Vec<usize> = index.words.keys().map(String::len).collect();
        assert_eq!(lengths, [1, 4, WORD]);
        let query = "word ".repeat(100_000) + &"q ".repeat(100_000);
        assert_eq!(search(&items, &query, 10).len(), 1);
    }
}
