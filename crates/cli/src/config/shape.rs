/// Values that a key of the configuration may have.
///
/// The reader and the published JSON Schema both come from it.
#[derive(Debug)]
pub(super) enum Shape {
    /// Text as it is.
    Text,
    /// Text with variables.
    Template,
    /// Text with variables, or a number or boolean that stands for its text.
    Scalar,
    Bool,
    /// A positive whole number of milliseconds.
    Milliseconds,
    /// A TCP port.
    Port,
    /// A positive number.
    Number,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A list.
    List(&'static Shape),
    /// An object with any keys.
    Map(&'static Shape),
    /// An object with these keys.
    Object(&'static [Key]),
    /// A value of one of these shapes.
    Either(&'static [Shape]),
    /// Any JSON.
    Any,
}

/// A key of an object in the configuration.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    /// Description for editors and the documentation.
    pub(super) about: &'static str,
    pub(super) shape: Shape,
    pub(super) effect: Effect,
}

/// Effect of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// It is used.
    Used,
    /// It belongs to another client and means nothing here.
    Foreign,
    /// It is reserved for a later version.
    Later,
}

/// Maximum of a time limit: one day, in milliseconds.
pub(super) const MAX_MILLISECONDS: u64 = 24 * 60 * 60 * 1000;

impl Key {
    pub(super) const fn new(name: &'static str, shape: Shape, about: &'static str) -> Self {
        Self {
            name,
            about,
            shape,
            effect: Effect::Used,
        }
    }

    /// A key of another client.
    pub(super) const fn foreign(name: &'static str) -> Self {
        Self {
            name,
            about: "Used by other clients; it means nothing to Callgate.",
            shape: Shape::Any,
            effect: Effect::Foreign,
        }
    }

    /// A key without effect in this version.
    pub(super) const fn later(name: &'static str, shape: Shape, about: &'static str) -> Self {
        Self {
            effect: Effect::Later,
            ..Self::new(name, shape, about)
        }
    }
}

impl Shape {
    /// The shape in words, after "must be".
    pub(super) fn in_words(&self) -> String {
        match self {
            Self::Text | Self::Template => "a text".to_owned(),
            Self::Scalar => "a text, a number or a boolean".to_owned(),
            Self::Bool => "true or false".to_owned(),
            Self::Milliseconds => {
                format!("a whole number of milliseconds from 1 to {MAX_MILLISECONDS}")
            }
            Self::Port => "a port from 0 to 65535".to_owned(),
            Self::Number => "a positive number".to_owned(),
            Self::OneOf(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
                match words.as_slice() {
                    [one] => one.clone(),
                    words => format!("one of {}", words.join(", ")),
                }
            }
            Self::List(of) => match of {
                Self::Text | Self::Template => "a list of texts".to_owned(),
                _ => "a list".to_owned(),
            },
            Self::Map(_) | Self::Object(_) => "an object".to_owned(),
            Self::Either(shapes) => {
                let words: Vec<String> = shapes.iter().map(Self::in_words).collect();
                words.join(" or ")
            }
            Self::Any => "a value".to_owned(),
        }
    }
}
