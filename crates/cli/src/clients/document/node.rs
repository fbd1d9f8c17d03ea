use serde_json::{Map, Number};

/// A value of a configuration file and the line where it begins.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    /// Line, from 1; 0 for a value that is in no file.
    pub(crate) line: usize,
    pub(crate) value: Value,
}

/// A value of JSON, TOML or YAML.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    /// A number as it is written; dates of TOML too.
    Number(String),
    Text(String),
    List(Vec<Node>),
    /// Members in the order of the file.
    Object(Vec<(String, Node)>),
}

impl Node {
    /// A value that is in no file.
    pub(crate) fn new(value: Value) -> Self {
        Self { line: 0, value }
    }

    /// An object that is in no file.
    pub(crate) fn object<const N: usize>(members: [(&str, Self); N]) -> Self {
        let members = members.map(|(name, value)| (name.to_owned(), value));
        Self::new(Value::Object(members.into()))
    }

    /// A list of texts that is in no file.
    pub(crate) fn texts<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        let items = texts.into_iter().map(|text| Self::from(text.into()));
        Self::new(Value::List(items.collect()))
    }

    /// The members of an object.
    pub(crate) fn members(&self) -> Option<&[(String, Self)]> {
        match &self.value {
            Value::Object(members) => Some(members),
            _ => None,
        }
    }

    /// A member of an object; of several with the same name the last, as readers of JSON do.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        let members = self.members()?.iter().rev();
        members
            .into_iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value)
    }

    /// The value at the end of a path of members.
    pub(crate) fn at(&self, path: &[String]) -> Option<&Self> {
        path.iter().try_fold(self, |node, name| node.get(name))
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The same without lines, to compare two texts.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(value) => (*value).into(),
            Value::Number(text) => text
                .parse::<Number>()
                .map_or_else(|_| text.clone().into(), serde_json::Value::Number),
            Value::Text(text) => text.clone().into(),
            Value::List(items) => items.iter().map(Self::to_json).collect(),
            Value::Object(members) => {
                let members = members
                    .iter()
                    .map(|(name, value)| (name.clone(), value.to_json()));
                serde_json::Value::Object(members.collect::<Map<_, _>>())
            }
        }
    }
}

impl From<&str> for Node {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<String> for Node {
    fn from(text: String) -> Self {
        Self::new(Value::Text(text))
    }
}

impl From<bool> for Node {
    fn from(value: bool) -> Self {
        Self::new(Value::Bool(value))
    }
}

impl From<u32> for Node {
    fn from(number: u32) -> Self {
        Self::new(Value::Number(number.to_string()))
    }
}
