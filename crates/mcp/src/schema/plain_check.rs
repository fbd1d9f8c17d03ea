use std::cmp::Ordering;
use std::fmt::Write as _;

use callgate_wire::{Cursor, Kind, RawJson, RawText};
use memchr::memmem;
use serde_json::Value;

use super::plain::{Additional, CountBounds, KnownMember, MAX_MEMBERS, PlainNode, PlainSchema};

/// Outcome of a check against a [`PlainSchema`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    Fits,
    /// Problems of the value, in the words of the general validator.
    Wrong(Vec<String>),
    /// Left to the general validator: a value that it may see differently, or cannot decode.
    Uncertain,
}

impl PlainSchema {
    /// Checks a value in one walk, and names at most `max_problems` problems.
    pub(super) fn check(&self, value: &RawJson, max_problems: usize) -> Verdict {
        let mut check = Check {
            schema: self,
            problems: Vec::new(),
            max_problems,
        };
        let root = Place {
            depth: 0,
            part: None,
        };
        match check.value(self.node(0), &mut value.cursor(), &root) {
            Err(Stop::Uncertain) => Verdict::Uncertain,
            Ok(()) if check.problems.is_empty() => Verdict::Fits,
            Ok(()) | Err(Stop::Enough) => Verdict::Wrong(check.problems),
        }
    }
}

struct Check<'s> {
    schema: &'s PlainSchema,
    problems: Vec<String>,
    max_problems: usize,
}

/// Early end of a walk.
enum Stop {
    Uncertain,
    /// There are enough problems.
    Enough,
}

/// Place of a value in the value that is checked.
struct Place<'p> {
    depth: usize,
    /// Place of the container, and the key or index there; `None` for the root.
    part: Option<(&'p Place<'p>, Part<'p>)>,
}

#[derive(Clone, Copy)]
enum Part<'p> {
    Member(RawText<'p>),
    Element(usize),
}

/// Maximum depth of a value: the JSON parser refuses deeper ones.
const MAX_DEPTH: usize = 120;
/// Numbers up to this one are whole and exact as floating-point numbers.
const EXACT: f64 = 9_007_199_254_740_992.0;
/// A longer number may be rounded differently by two readers.
const LONGEST_EXACT: usize = 15;

impl<'s, 'c> Check<'s> {
    /// Passes a value and notes its problems.
    fn value(&mut self, node: &'s PlainNode, cursor: &mut Cursor<'c>, place: &Place<'_>) -> Walk {
        // Position after the value, once a schema for the same value has passed all of it.
        let mut after = None;
        if let Some(target) = node.reference {
            let mut copy = cursor.clone();
            self.value(self.schema.node(target), &mut copy, place)?;
            after = Some(copy);
        }
        if let Some(schemas) = &node.any_of {
            after = self.any_of(schemas, cursor, place)?.or(after);
        }
        match cursor.kind() {
            Kind::Object => {
                self.is_type(node, "object", place)?;
                self.is_choice(node, None, place)?;
                match after.filter(|_| !node.restricts_members()) {
                    Some(after) => *cursor = after,
                    None => self.object(node, cursor, place)?,
                }
                Ok(())
            }
            Kind::Array => {
                self.is_type(node, "array", place)?;
                self.is_choice(node, None, place)?;
                match after.filter(|_| !node.restricts_elements()) {
                    Some(after) => *cursor = after,
                    None => self.array(node, cursor, place)?,
                }
                Ok(())
            }
            Kind::String => {
                self.is_type(node, "string", place)?;
                self.string(node, cursor, place)
            }
            Kind::Number => {
                // No choice of a plain schema is a number.
                self.is_choice(node, None, place)?;
                self.number(node, cursor, place)
            }
            Kind::Bool => {
                self.is_type(node, "boolean", place)?;
                let value = Value::Bool(cursor.scalar() == b"true");
                self.is_choice(node, Some(&Scalar::Value(&value)), place)
            }
            Kind::Null => {
                self.is_type(node, "null", place)?;
                cursor.scalar();
                self.is_choice(node, Some(&Scalar::Value(&Value::Null)), place)
            }
        }
    }

    /// Returns the position after the value, if one of the schemas fits.
    fn any_of(
        &mut self,
        schemas: &[usize],
        cursor: &Cursor<'c>,
        place: &Place<'_>,
    ) -> Result<Option<Cursor<'c>>, Stop> {
        for schema in schemas {
            let mut alternative = Check {
                problems: Vec::new(),
                // One problem is enough to exclude an alternative, and none of them is shown.
                max_problems: 1,
                ..*self
            };
            let mut copy = cursor.clone();
            match alternative.value(self.schema.node(*schema), &mut copy, place) {
                Ok(()) => return Ok(Some(copy)),
                Err(Stop::Enough) => {}
                Err(Stop::Uncertain) => return Err(Stop::Uncertain),
            }
        }
        self.problem(place, || {
            "value is not valid under any of the schemas listed in the 'anyOf' keyword".to_owned()
        })?;
        Ok(None)
    }

    fn object(&mut self, node: &'s PlainNode, cursor: &mut Cursor<'c>, place: &Place<'_>) -> Walk {
        let mut seen = [0_u64; MAX_MEMBERS / 64];
        let mut unexpected = Vec::new();
        cursor.enter();
        while let Some(key) = cursor.next_key() {
            check_text(key)?;
            let at = node.members.iter().position(|known| key.is(&known.name));
            if let Some(at) = at
                && !mark(&mut seen, at)
            {
                // The general validator sees only the last of them.
                return Err(Stop::Uncertain);
            }
            let inside = place.inside(Part::Member(key))?;
            let known = at.and_then(|at| node.members.get(at)?.schema);
            match (known, node.additional) {
                (Some(schema), _) | (None, Additional::Schema(schema)) => {
                    self.value(self.schema.node(schema), cursor, &inside)?;
                }
                (None, Additional::Any) => pass(cursor, inside.depth)?,
                (None, Additional::NoMembers) => {
                    let name = match place.part {
                        None => key.decode().unwrap_or_default().into_owned(),
                        Some(_) => inside.pointer(),
                    };
                    self.note(format!("`{name}` is not allowed"))?;
                    pass(cursor, inside.depth)?;
                }
                (None, Additional::Forbidden) => {
                    unexpected.push(key.decode().map_err(|_| Stop::Uncertain)?);
                    pass(cursor, inside.depth)?;
                }
            }
        }
        if !unexpected.is_empty() {
            unexpected.sort_unstable();
            self.problem(place, || unexpected_members(&unexpected))?;
        }
        for (at, KnownMember { name, required, .. }) in node.members.iter().enumerate() {
            // A bit that could still be set: the member did not occur.
            if *required && mark(&mut seen, at) {
                let name = Value::from(name.as_str());
                self.problem(place, || format!("{name} is a required property"))?;
            }
        }
        Ok(())
    }

    fn array(&mut self, node: &'s PlainNode, cursor: &mut Cursor<'c>, place: &Place<'_>) -> Walk {
        let items = node.items.map(|items| self.schema.node(items));
        let mut count = 0;
        cursor.enter();
        while cursor.next_element() {
            let inside = place.inside(Part::Element(count))?;
            match items {
                Some(items) => self.value(items, cursor, &inside)?,
                None => pass(cursor, inside.depth)?,
            }
            count += 1;
        }
        let CountBounds { min, max } = node.item_count;
        if let Some(limit) = min.filter(|min| (count as u64) < *min) {
            let item = plural(limit, "item");
            self.problem(place, || format!("value has less than {limit} {item}"))?;
        }
        if let Some(limit) = max.filter(|max| (count as u64) > *max) {
            let item = plural(limit, "item");
            self.problem(place, || format!("value has more than {limit} {item}"))?;
        }
        Ok(())
    }

    fn string(&mut self, node: &PlainNode, cursor: &mut Cursor<'_>, place: &Place<'_>) -> Walk {
        let text = cursor.string();
        check_text(text)?;
        self.is_choice(node, Some(&Scalar::Text(text)), place)?;
        let CountBounds { min, max } = node.length;
        if min.is_none() && max.is_none() {
            return Ok(());
        }
        let length = text.decode().map_err(|_| Stop::Uncertain)?.chars().count() as u64;
        if let Some(limit) = min.filter(|min| length < *min) {
            let character = plural(limit, "character");
            self.problem(place, || {
                format!("value is shorter than {limit} {character}")
            })?;
        }
        if let Some(limit) = max.filter(|max| length > *max) {
            let character = plural(limit, "character");
            self.problem(place, || {
                format!("value is longer than {limit} {character}")
            })?;
        }
        Ok(())
    }

    fn number(&mut self, node: &PlainNode, cursor: &mut Cursor<'_>, place: &Place<'_>) -> Walk {
        let number = Number::read(cursor.scalar())?;
        let types = &node.types;
        if types.contains(&"integer") && !types.contains(&"number") {
            if !number.is_whole() {
                self.wrong_type(node, place)?;
            }
        } else {
            self.is_type(node, "number", place)?;
        }
        let bounds = &node.bounds;
        for (limit, wrong, problem) in [
            (
                bounds.minimum,
                &[Ordering::Less][..],
                "less than the minimum",
            ),
            (
                bounds.maximum,
                &[Ordering::Greater],
                "greater than the maximum",
            ),
            (
                bounds.exclusive_minimum,
                &[Ordering::Less, Ordering::Equal],
                "less than or equal to the minimum",
            ),
            (
                bounds.exclusive_maximum,
                &[Ordering::Greater, Ordering::Equal],
                "greater than or equal to the maximum",
            ),
        ] {
            if let Some(limit) = limit
                && wrong.contains(&number.compare(limit)?)
            {
                self.problem(place, || format!("value is {problem} of {limit}"))?;
            }
        }
        Ok(())
    }

    fn is_type(&mut self, node: &PlainNode, name: &str, place: &Place<'_>) -> Walk {
        match node.types.is_empty() || node.types.contains(&name) {
            true => Ok(()),
            false => self.wrong_type(node, place),
        }
    }

    fn wrong_type(&mut self, node: &PlainNode, place: &Place<'_>) -> Walk {
        self.problem(place, || {
            let quoted = |name: &&str| format!("\"{name}\"");
            let names: Vec<_> = node.types.iter().map(quoted).collect();
            let types = if names.len() == 1 { "type" } else { "types" };
            format!("value is not of {types} {}", names.join(", "))
        })
    }

    /// Compares a value with the allowed ones; `None` is a value that none of them can equal.
    fn is_choice(
        &mut self,
        node: &PlainNode,
        value: Option<&Scalar<'_>>,
        place: &Place<'_>,
    ) -> Walk {
        let is = |choice: &Value| value.is_some_and(|value| value.is(choice));
        if let Some(constant) = &node.constant
            && !is(constant)
        {
            self.problem(place, || format!("{constant} was expected"))?;
        }
        match &node.choices {
            Some(choices) if !choices.iter().any(is) => self.problem(place, || not_one_of(choices)),
            _ => Ok(()),
        }
    }

    fn problem(&mut self, place: &Place<'_>, text: impl FnOnce() -> String) -> Walk {
        let pointer = place.pointer();
        self.note(match pointer.as_str() {
            "" => text(),
            _ => format!("`{pointer}`: {}", text()),
        })
    }

    fn note(&mut self, problem: String) -> Walk {
        self.problems.push(problem);
        match self.problems.len() < self.max_problems {
            true => Ok(()),
            false => Err(Stop::Enough),
        }
    }
}

type Walk = Result<(), Stop>;

/// Passes a value without a schema. Even there, text and numbers must be such that they can be
/// decoded.
fn pass(cursor: &mut Cursor<'_>, depth: usize) -> Walk {
    if depth > MAX_DEPTH {
        return Err(Stop::Uncertain);
    }
    match cursor.kind() {
        Kind::Object => {
            cursor.enter();
            while let Some(key) = cursor.next_key() {
                check_text(key)?;
                pass(cursor, depth + 1)?;
            }
        }
        Kind::Array => {
            cursor.enter();
            while cursor.next_element() {
                pass(cursor, depth + 1)?;
            }
        }
        Kind::String => check_text(cursor.string())?,
        Kind::Number => {
            Number::read(cursor.scalar())?;
        }
        Kind::Bool | Kind::Null => {
            cursor.skip();
        }
    }
    Ok(())
}

/// Stops at half of a surrogate pair, which has no text.
fn check_text(text: RawText<'_>) -> Walk {
    let may_be_half = text.escaped() && memmem::find(text.as_bytes(), b"\\u").is_some();
    match may_be_half && text.decode().is_err() {
        true => Err(Stop::Uncertain),
        false => Ok(()),
    }
}

/// Sets the bit at `index` and returns true if it was not set.
fn mark(seen: &mut [u64; MAX_MEMBERS / 64], index: usize) -> bool {
    let bit = 1 << (index % 64);
    seen.get_mut(index / 64).is_some_and(|word| {
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    })
}

/// Value that a choice can equal.
enum Scalar<'a> {
    Text(RawText<'a>),
    Value(&'a Value),
}

impl Scalar<'_> {
    fn is(&self, choice: &Value) -> bool {
        match self {
            Self::Text(text) => choice.as_str().is_some_and(|choice| text.is(choice)),
            Self::Value(value) => *value == choice,
        }
    }
}

enum Number {
    Whole(i128),
    Fraction(f64),
}

impl Number {
    /// Reads a number, unless two readers may see different ones.
    fn read(text: &[u8]) -> Result<Self, Stop> {
        let text = std::str::from_utf8(text).map_err(|_| Stop::Uncertain)?;
        if let Ok(number) = text.parse::<i64>() {
            return Ok(Self::Whole(number.into()));
        }
        if let Ok(number) = text.parse::<u64>() {
            return Ok(Self::Whole(number.into()));
        }
        let number: f64 = text.parse().map_err(|_| Stop::Uncertain)?;
        match text.len() <= LONGEST_EXACT && number.abs() <= EXACT {
            true => Ok(Self::Fraction(number)),
            false => Err(Stop::Uncertain),
        }
    }

    fn is_whole(&self) -> bool {
        match self {
            Self::Whole(_) => true,
            Self::Fraction(number) => number.fract() == 0.0,
        }
    }

    fn compare(&self, limit: i64) -> Result<Ordering, Stop> {
        match self {
            Self::Whole(number) => Ok(number.cmp(&limit.into())),
            Self::Fraction(number) if (limit.unsigned_abs() as f64) <= EXACT => {
                number.partial_cmp(&(limit as f64)).ok_or(Stop::Uncertain)
            }
            Self::Fraction(_) => Err(Stop::Uncertain),
        }
    }
}

impl<'p> Place<'p> {
    fn inside(&'p self, part: Part<'p>) -> Result<Place<'p>, Stop> {
        let depth = self.depth + 1;
        if depth > MAX_DEPTH {
            return Err(Stop::Uncertain);
        }
        let part = Some((self, part));
        Ok(Self { depth, part })
    }

    /// JSON pointer of the place.
    fn pointer(&self) -> String {
        let Some((container, part)) = &self.part else {
            return String::new();
        };
        let mut pointer = container.pointer();
        let _ = match part {
            Part::Element(index) => write!(pointer, "/{index}"),
            Part::Member(key) => {
                let key = key.decode().unwrap_or_default();
                write!(pointer, "/{}", key.replace('~', "~0").replace('/', "~1"))
            }
        };
        pointer
    }
}

fn plural(count: u64, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{noun}{ending}")
}

fn unexpected_members(names: &[impl AsRef<str>]) -> String {
    let quoted = |name: &_| format!("'{}'", AsRef::<str>::as_ref(name));
    let quoted: Vec<_> = names.iter().map(quoted).collect();
    let were = if names.len() == 1 { "was" } else { "were" };
    let names = quoted.join(", ");
    format!("Additional properties are not allowed ({names} {were} unexpected)")
}

/// Names all of a few choices, or the first ones of many.
fn not_one_of(choices: &[Value]) -> String {
    const MOST: usize = 3;
    let (named, last) = match choices {
        [first @ .., last] if choices.len() <= MOST => (first, last.to_string()),
        _ => {
            let (named, others) = choices.split_at(choices.len().min(MOST - 1));
            (named, format!("{} other candidates", others.len()))
        }
    };
    let named: Vec<_> = named.iter().map(ToString::to_string).collect();
    match named.is_empty() {
        true => format!("value is not one of {last}"),
        false => format!("value is not one of {} or {last}", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::compiled::CompiledSchema;
    use super::super::plain::TYPES;
    use super::*;
    use callgate_wire::Limits;
    use proptest::prelude::*;
    use serde_json::json;

    const MAX_PROBLEMS: usize = 8;

    fn raw(text: &str) -> RawJson {
        RawJson::parse(text.to_owned().into(), &Limits::default()).unwrap()
    }

    fn wrong(problems: &[&str]) -> Verdict {
        Verdict::Wrong(problems.iter().map(|&text| text.to_owned()).collect())
    }

    /// Checks the verdict, and that the general validator agrees.
    #[track_caller]
    fn check(schema: &Value, text: &str, expect: &Verdict) {
        let plain = PlainSchema::read(schema).unwrap();
        assert_eq!(plain.check(&raw(text), MAX_PROBLEMS), *expect, "{text}");
        if let Some((plain, general)) = both(schema, text) {
            assert_eq!(plain, general, "{text}");
        }
    }

    /// Problems that the plain check and the general validator name; `None` if the plain check
    /// leaves the value to the other.
    fn both(schema: &Value, text: &str) -> Option<(Vec<String>, Vec<String>)> {
        let plain = PlainSchema::read(schema).unwrap();
        let plain = match plain.check(&raw(text), usize::MAX) {
            Verdict::Fits => Vec::new(),
            Verdict::Wrong(problems) => problems,
            Verdict::Uncertain => return None,
        };
        let general =
            CompiledSchema::general_problems(schema, &serde_json::from_str(text).unwrap());
        let sorted = |mut problems: Vec<String>| {
            problems.sort();
            problems
        };
        Some((sorted(plain), sorted(general)))
    }

    fn tool() -> Value {
        json!({
            "type": "object",
            "properties": {
                "s": {"type": "string", "minLength": 1, "maxLength": 3},
                "c": {"enum": ["a", "b"]},
                "n": {"type": ["integer", "null"], "minimum": -5, "exclusiveMaximum": 5},
                "f": {"type": "number"},
                "l": {"type": "array", "items": {"type": "boolean"}, "maxItems": 2},
                "o": {"$ref": "#/$defs/Options", "description": "Options."},
                "p": {"anyOf": [{"$ref": "#/$defs/Options"}, {"type": "null"}]},
                "m": {"type": "object", "additionalProperties": {"const": "x"}},
                "any": true
            },
            "required": ["s"],
            "$defs": {
                "Options": {
                    "type": "object",
                    "properties": {"x": {}, "next": {"$ref": "#/$defs/Options"}},
                    "additionalProperties": false
                }
            }
        })
    }

    #[test]
    fn values_that_fit_are_accepted() {
        for text in [
            r#"{"s":"x"}"#,
            r#"{"\u0073":"x"}"#,
            r#"{"s":"\n\"\u00e9"}"#,
            r#"{"s":"x","c":"\u0062","n":4,"f":1.5,"l":[true,false],"o":{"x":[{"y":1}]}}"#,
            r#"{"s":"x","n":null,"f":-3,"l":[],"o":{"next":{"next":{}}},"p":null,"m":{"k":"x"}}"#,
            r#"{"s":"x","n":1.0,"p":{"x":1},"any":[{"a":"\n","b":[1e2,null]}],"unknown":{"a":[]}}"#,
        ] {
            check(&tool(), text, &Verdict::Fits);
        }
    }

    #[test]
    fn usual_mistakes_are_named_without_the_general_validator() {
        for (text, problems) in [
            ("{}", &[r#""s" is a required property"#][..]),
            ("[]", &[r#"value is not of type "object""#]),
            (r#"{"s":1}"#, &[r#"`/s`: value is not of type "string""#]),
            (r#"{"s":""}"#, &["`/s`: value is shorter than 1 character"]),
            (
                r#"{"s":"\n\n\n\n"}"#,
                &["`/s`: value is longer than 3 characters"],
            ),
            (
                r#"{"s":"x","c":"z","n":"1"}"#,
                &[
                    r#"`/c`: value is not one of "a" or "b""#,
                    r#"`/n`: value is not of types "null", "integer""#,
                ],
            ),
            (
                r#"{"s":"x","c":7}"#,
                &[r#"`/c`: value is not one of "a" or "b""#],
            ),
            (
                r#"{"s":"x","n":1.5}"#,
                &[r#"`/n`: value is not of types "null", "integer""#],
            ),
            (
                r#"{"s":"x","n":-6}"#,
                &["`/n`: value is less than the minimum of -5"],
            ),
            (
                r#"{"s":"x","n":5}"#,
                &["`/n`: value is greater than or equal to the maximum of 5"],
            ),
            (
                r#"{"s":"x","l":[true,1,false]}"#,
                &[
                    r#"`/l/1`: value is not of type "boolean""#,
                    "`/l`: value has more than 2 items",
                ],
            ),
            (
                r#"{"s":"x","o":{"next":{"b":1,"a~/":2}}}"#,
                &["`/o/next`: Additional properties are not allowed ('a~/', 'b' were unexpected)"],
            ),
            (
                r#"{"s":"x","p":7}"#,
                &[
                    "`/p`: value is not valid under any of the schemas listed in the 'anyOf' keyword",
                ],
            ),
            (
                r#"{"s":"x","m":{"k~/":"y"}}"#,
                &[r#"`/m/k~0~1`: "x" was expected"#],
            ),
        ] {
            check(&tool(), text, &wrong(problems));
        }
    }

    #[test]
    fn a_member_of_an_object_without_members_is_named() {
        let none = json!({"type": "object", "additionalProperties": false});
        check(&none, "{}", &Verdict::Fits);
        check(&none, r#"{"x":1}"#, &wrong(&["`x` is not allowed"]));
        // The general validator names only the first member, or the object that has them.
        let plain = PlainSchema::read(&json!({"properties": {"a": none}})).unwrap();
        let verdict = plain.check(&raw(r#"{"a":{"x":1,"y":{}}}"#), MAX_PROBLEMS);
        assert_eq!(
            verdict,
            wrong(&["`/a/x` is not allowed", "`/a/y` is not allowed"])
        );
    }

    #[test]
    fn values_that_two_readers_may_see_differently_are_left_to_the_validator() {
        let deep = format!(
            r#"{{"s":"x","any":{}1{}}}"#,
            "[".repeat(125),
            "]".repeat(125)
        );
        for text in [
            r#"{"s":"\ud800"}"#,
            r#"{"s":"x","any":["\ud800"]}"#,
            r#"{"s":"x","any":{"\ud800":1}}"#,
            r#"{"s":"x","f":1e999}"#,
            r#"{"s":"x","any":1e999}"#,
            r#"{"s":"x","f":0.1000000000000000055}"#,
            r#"{"s":"x","s":1}"#,
            &deep,
        ] {
            check(&tool(), text, &Verdict::Uncertain);
        }
    }

    #[test]
    fn no_more_problems_are_named_than_asked_for() {
        let schema = json!({"items": {"type": "string"}, "anyOf": [{"type": "null"}]});
        let plain = PlainSchema::read(&schema).unwrap();
        let Verdict::Wrong(problems) = plain.check(&raw("[1,2,3]"), 2) else {
            unreachable!("numbers are no strings");
        };
        assert_eq!(problems.len(), 2);
    }

    fn schema() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            prop::sample::select(&TYPES[..]).prop_map(|kind| json!({"type": kind})),
            prop::sample::subsequence(&TYPES[..], 1..4).prop_map(|kinds| json!({"type": kinds})),
            (-2..3_i64, 0..3_i64).prop_map(|(low, high)| json!({"minimum": low, "maximum": high})),
            (-2..3_i64, 0..3_i64)
                .prop_map(|(low, high)| json!({"exclusiveMinimum": low, "exclusiveMaximum": high})),
            (0..3_u64, 0..4_u64).prop_map(|(min, max)| json!({"minLength": min, "maxLength": max})),
            prop::sample::subsequence(
                vec![
                    json!("a"),
                    json!("b"),
                    json!("bc"),
                    json!(null),
                    json!(true)
                ],
                1..5
            )
            .prop_map(|choices| json!({"enum": choices})),
            Just(json!({"const": "b"})),
            Just(json!({"const": null, "type": "string"})),
            Just(json!({})),
            Just(json!(true)),
            prop::sample::select(vec!["#", "#/$defs/d"])
                .prop_map(|target| json!({"items": {"$ref": target}})),
            Just(json!({"$ref": "#/$defs/d", "type": ["object", "string"]})),
        ];
        let nested = leaf.prop_recursive(3, 16, 3, |inner| {
            prop_oneof![
                (inner.clone(), 0..2_u64, 0..3_u64).prop_map(
                    |(items, min, max)| json!({"items": items, "minItems": min, "maxItems": max})
                ),
                prop::collection::vec(inner.clone(), 1..3).prop_map(|any| json!({"anyOf": any})),
                (
                    prop::collection::btree_map("[a-c~/]", inner.clone(), 0..3),
                    prop::collection::btree_set("[a-c]", 0..2),
                    prop_oneof![
                        any::<bool>().prop_map(Value::from),
                        inner.prop_filter("no false", |schema| schema != &json!(false))
                    ],
                )
                    .prop_map(|(properties, required, additional)| json!({
                        "properties": properties,
                        "required": required,
                        "additionalProperties": additional
                    })),
            ]
        });
        (nested, "[a-c]").prop_map(|(mut schema, name)| {
            if let Some(root) = schema.as_object_mut() {
                let definition = json!({"properties": {name: {"type": "string", "maxLength": 1}}});
                root.insert("$defs".to_owned(), json!({"d": definition}));
            }
            schema
        })
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            (-3..4_i64).prop_map(Value::from),
            prop::sample::select(vec![
                json!(1.5),
                json!(-0.0),
                json!(1.0),
                json!(u64::MAX),
                json!(1e20)
            ]),
            Just(json!(null)),
            any::<bool>().prop_map(Value::from),
            "[a-c\n\u{1f600}]{0,3}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-d~/]", inner, 0..4).prop_map(|map| json!(map)),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn the_general_validator_names_the_same_problems(
            schema in schema(),
            value in value(),
            escaped: bool,
        ) {
            prop_assume!(PlainSchema::read(&schema).is_some());
            let mut text = value.to_string();
            if escaped {
                // No literal has this letter.
                text = text.replace('b', "\\u0062");
            }
            if let Some((plain, general)) = both(&schema, &text) {
                prop_assert_eq!(plain, general, "{} {}", schema, text);
            }
        }
    }
}
