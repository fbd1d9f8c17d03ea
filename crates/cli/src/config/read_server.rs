//! A checked server of a text as a [`ServerDefinition`].

use std::collections::BTreeMap;
use std::time::Duration;

use callgate_mcp::transport::http::client::{HeaderError, Headers};
use callgate_mcp::wire::RawJson;
use callgate_oauth::options::ProviderOptions;
use jsonc_parser::ast::{Object, Value};

use super::check::{Unused, below, check};
use super::definition::{
    CommandDefinition, Connection, OAuthDefinition, OAuthSettings, ServerDefinition, StartTime,
    Timeouts, ToolChange, UrlDefinition, UrlTransport,
};
use super::keys::{OAUTH, SERVER};
use super::mistake::{Mistake, Mistakes};
use super::shape::Shape;
use super::template::Template;
use super::text::{line_of, members, parse, raw, whole};
use crate::logins::{http_url, is_account_name};

impl ServerDefinition {
    /// Reads the JSON of one server, as it stands under its name in `mcpServers`.
    pub(crate) fn from_json(json: &RawJson) -> Result<(Self, Unused), Mistakes> {
        Self::from_text(json.as_str())
    }

    /// Reads the text of one server, which may have comments.
    pub(crate) fn from_text(text: &str) -> Result<(Self, Unused), Mistakes> {
        let Some(value) = parse(text)? else {
            return Err(whole("the definition is empty".to_owned()).into());
        };
        let (mut unused, mistakes) = check(text, &value, "", &Shape::Object(SERVER));
        let Value::Object(object) = &value else {
            return Err(whole("the definition must be an object".to_owned()).into());
        };
        let fields = Fields {
            text,
            object,
            key: "",
        };
        let definition = read(fields, mistakes)?;
        note_unused(fields, &definition.connection, &mut unused);
        Ok((definition, unused))
    }
}

/// Members of an object that was checked against its keys.
#[derive(Clone, Copy)]
pub(super) struct Fields<'b> {
    /// The whole text.
    pub(super) text: &'b str,
    pub(super) object: &'b Object<'b>,
    /// Key of the object.
    pub(super) key: &'b str,
}

/// Kind of a server by its `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transport {
    Stdio,
    Url(UrlTransport),
}

/// Reads a server that was checked, for which `mistakes` were found.
///
/// # Errors
/// These mistakes, and those that the keys have together.
pub(super) fn read(
    fields: Fields<'_>,
    mut mistakes: Vec<Mistake>,
) -> Result<ServerDefinition, Mistakes> {
    // What the keys of the connection mean together is a guess while one of them is wrong or misspelled.
    let is_guess = mistakes.iter().any(|it| concerns_connection(fields, it));
    match (connection(fields), enabled(fields), fields.tools()) {
        (Ok(connection), Ok(enabled), Ok(tools)) if mistakes.is_empty() => Ok(ServerDefinition {
            connection,
            enabled,
            timeouts: timeouts(fields),
            allowed_tools: fields.texts("allowedTools"),
            disabled_tools: fields.texts("disabledTools").unwrap_or_default(),
            tools,
            roots: fields.templates("roots"),
            start: match fields.text("start") {
                Some("lazy") => StartTime::Lazy,
                _ => StartTime::Eager,
            },
            idle_stop: fields.duration("idleStop"),
        }),
        (connection, enabled, tools) => {
            mistakes.extend(connection.err().filter(|_| !is_guess));
            mistakes.extend(enabled.err());
            mistakes.extend(tools.err());
            Err(Mistakes(mistakes))
        }
    }
}

/// Keys that decide how a server is connected.
const CONNECTION_KEYS: [&str; 7] = [
    "command",
    "url",
    "serverUrl",
    "httpUrl",
    "type",
    "transport",
    "transportType",
];

/// True for a mistake at a key of the connection, or at an unknown key that may be meant as one.
fn concerns_connection(fields: Fields<'_>, mistake: &Mistake) -> bool {
    let name = match fields.key {
        "" => Some(mistake.key.as_str()),
        key => mistake.key.strip_prefix(&format!("{key}.")),
    };
    let hint = mistake.hint.as_deref().unwrap_or_default();
    let is_meant = |key: &&str| hint == format!("did you mean `{key}`?");
    name.is_some_and(|name| CONNECTION_KEYS.contains(&name)) || CONNECTION_KEYS.iter().any(is_meant)
}

/// Keys that only a program has.
const COMMAND_KEYS: [&str; 5] = ["args", "env", "envFile", "cwd", "inheritEnv"];

/// Keys that only a server at a URL has.
const URL_KEYS: [&str; 3] = ["headers", "headersHelper", "oauth"];

/// Notes the keys that have no effect for the kind of the server.
pub(super) fn note_unused(fields: Fields<'_>, connection: &Connection, unused: &mut Unused) {
    let (names, noted) = match connection {
        Connection::Command(_) => (URL_KEYS.as_slice(), &mut unused.beside_command),
        Connection::Url(_) => (COMMAND_KEYS.as_slice(), &mut unused.beside_url),
    };
    let there = names.iter().filter(|name| fields.value(name).is_some());
    noted.extend(there.map(|name| (*name).to_owned()));
}

fn connection(fields: Fields<'_>) -> Result<Connection, Mistake> {
    let command = fields.template("command");
    let urls: Vec<&str> = ["url", "serverUrl", "httpUrl"]
        .into_iter()
        .filter(|name| fields.text(name).is_some())
        .collect();
    if let [first, second, ..] = urls.as_slice() {
        let message = format!("has both `{first}` and `{second}`");
        return Err(fields.mistake(second, &message, "keep one of the two"));
    }
    let url = urls.first().copied();
    match (transport(fields)?, command, url) {
        (_, Some(_), Some(url)) => {
            let message = format!("has both `command` and `{url}`");
            let hint = "keep `command` for a program, or the URL for a server elsewhere";
            Err(fields.mistake(url, &message, hint))
        }
        (Some(Transport::Url(_)), Some(_), None) => {
            let hint = "remove the `type`, or set it to `stdio`";
            Err(fields.mistake(
                "command",
                "has a `command`, but its type needs a `url`",
                hint,
            ))
        }
        (Some(Transport::Stdio), None, Some(url)) => {
            let hint = "remove the `type`, or set it to `http`";
            Err(fields.mistake(url, "has a URL, but its type needs a `command`", hint))
        }
        (_, Some(command), None) => command_of(fields, command).map(Connection::Command),
        (transport, None, Some(url)) => {
            let transport = match transport {
                Some(Transport::Url(transport)) => transport,
                _ => UrlTransport::Http,
            };
            url_of(fields, transport, url).map(Connection::Url)
        }
        (_, None, None) => {
            let hint = "add `command` for a program, or `url` for a server elsewhere";
            Err(fields.mistake("", "has neither `command` nor `url`", hint))
        }
    }
}

fn transport(fields: Fields<'_>) -> Result<Option<Transport>, Mistake> {
    let mut found = None;
    for name in ["type", "transport", "transportType"] {
        let Some(word) = fields.text(name) else {
            continue;
        };
        let transport = match word {
            "stdio" | "local" => Transport::Stdio,
            "sse" => Transport::Url(UrlTransport::Sse),
            _ => Transport::Url(UrlTransport::Http),
        };
        if found.is_some_and(|found| found != transport) {
            return Err(fields.mistake(name, "has two different types", "keep `type` alone"));
        }
        found = Some(transport);
    }
    Ok(found)
}

fn command_of(fields: Fields<'_>, command: Template) -> Result<CommandDefinition, Mistake> {
    if command.as_str().trim().is_empty() {
        let hint = "name the program to start";
        return Err(fields.mistake("command", "has an empty `command`", hint));
    }
    let env = fields.pairs("env");
    for (name, _) in &env {
        if name.is_empty() || name.contains(['=', '\0']) {
            let hint = "the name of a variable has no `=`";
            return Err(fields.mistake("env", "has a variable without a valid name", hint));
        }
    }
    Ok(CommandDefinition {
        command,
        args: fields.templates("args"),
        env,
        env_file: fields.template("envFile"),
        cwd: fields.template("cwd"),
        inherit_all: fields.text("inheritEnv") == Some("all"),
    })
}

fn url_of(
    fields: Fields<'_>,
    transport: UrlTransport,
    key: &str,
) -> Result<UrlDefinition, Mistake> {
    let url = fields.template(key).unwrap_or_else(|| Template::new(""));
    // A URL with variables is known only later.
    if !url.has_variables() && http_url(url.as_str()).is_none() {
        let hint = "begin it with http:// or https://; for a program, use `command`";
        return Err(fields.mistake(key, "has a URL that is not an http(s) URL", hint));
    }
    check_headers(fields)?;
    Ok(UrlDefinition {
        transport,
        url,
        headers: fields.pairs("headers"),
        headers_helper: fields.template("headersHelper"),
        oauth: oauth(fields)?,
    })
}

/// Checks the headers by the rules of the transport, which would refuse them when it connects.
fn check_headers(fields: Fields<'_>) -> Result<(), Mistake> {
    let Some(Value::Object(object)) = fields.value("headers") else {
        return Ok(());
    };
    let key = below(fields.key, "headers");
    let headers = Fields {
        object,
        key: &key,
        ..fields
    };
    for (name, value) in fields.pairs("headers") {
        // A value with variables is known only later.
        let value = match value.has_variables() {
            true => "",
            false => value.as_str(),
        };
        let Err(error) = Headers::default().with(&name, value) else {
            continue;
        };
        let hint = match error {
            HeaderError::Name(_) => "use letters, digits and `-`",
            HeaderError::Value(_) => "write the value in one line of visible characters",
            _ => "remove it",
        };
        return Err(headers.refusal(&name, &format!("cannot be sent: {error}"), hint));
    }
    Ok(())
}

fn oauth(fields: Fields<'_>) -> Result<Option<OAuthDefinition>, Mistake> {
    let object = match fields.value("oauth") {
        None => return Ok(None),
        Some(Value::Object(object)) => object,
        Some(Value::BooleanLit(on)) if !on.value => return Ok(Some(OAuthDefinition::Off)),
        Some(_) => return Ok(Some(OAuthDefinition::On(Box::default()))),
    };
    let key = below(fields.key, "oauth");
    let fields = Fields {
        object,
        key: &key,
        ..fields
    };
    let account = fields.text("account").map(str::to_owned);
    if account
        .as_deref()
        .is_some_and(|name| !is_account_name(name))
    {
        let hint = "use up to 64 letters, digits and the characters . _ @ + -";
        return Err(fields.refusal("account", "is not the name of an account", hint));
    }
    let scopes = fields.words("scope").or_else(|| fields.words("scopes"));
    let port = fields.integer("callbackPort");
    Ok(Some(OAuthDefinition::On(Box::new(OAuthSettings {
        account,
        client_id: fields.template("clientId"),
        client_secret: fields.template("clientSecret"),
        scopes: scopes.unwrap_or_default(),
        callback_port: port.and_then(|port| u16::try_from(port).ok()),
        options: provider_options(fields)?,
    }))))
}

/// Keys of `oauth` that are not options for unusual providers.
const OWN_OAUTH_KEYS: [&str; 6] = [
    "account",
    "clientId",
    "clientSecret",
    "scope",
    "scopes",
    "callbackPort",
];

/// The options for unusual providers, each read alone so that a mistake has its key.
fn provider_options(fields: Fields<'_>) -> Result<ProviderOptions, Mistake> {
    let mut options = ProviderOptions::default();
    let names = OAUTH.iter().map(|key| key.name);
    for name in names.filter(|name| !OWN_OAUTH_KEYS.contains(name)) {
        let Some(value) = fields.value(name).and_then(raw) else {
            continue;
        };
        let alone = format!("{{{}:{}}}", RawJson::string(name).as_str(), value.as_str());
        match serde_json::from_str::<ProviderOptions>(&alone) {
            Ok(option) => options = options.over(&option),
            Err(error) => {
                let cause = error.to_string();
                // The position is one in the object that was made here.
                let cause = cause.split(" at line ").next().unwrap_or_default();
                let message = format!("is refused: {cause}");
                return Err(fields.refusal(name, &message, "see docs/login.md for its values"));
            }
        }
    }
    Ok(options)
}

fn enabled(fields: Fields<'_>) -> Result<bool, Mistake> {
    match (fields.bool("enabled"), fields.bool("disabled")) {
        (Some(enabled), Some(disabled)) if enabled == disabled => {
            let message = "is both enabled and disabled";
            Err(fields.mistake("disabled", message, "keep one of the two keys"))
        }
        (Some(enabled), _) => Ok(enabled),
        (None, Some(disabled)) => Ok(!disabled),
        (None, None) => Ok(true),
    }
}

fn timeouts(fields: Fields<'_>) -> Timeouts {
    let Some(Value::Object(object)) = fields.value("timeout") else {
        return Timeouts {
            call: fields.duration("timeout"),
            ..Timeouts::default()
        };
    };
    let fields = Fields { object, ..fields };
    Timeouts {
        connect: fields.duration("connect"),
        call: fields.duration("call"),
        max: fields.duration("max"),
    }
}

impl<'b> Fields<'b> {
    pub(super) fn value(&self, name: &str) -> Option<&'b Value<'b>> {
        self.object.get(name).map(|property| &property.value)
    }

    pub(super) fn text(&self, name: &str) -> Option<&'b str> {
        match self.value(name)? {
            Value::StringLit(text) => Some(&text.value),
            _ => None,
        }
    }

    pub(super) fn template(&self, name: &str) -> Option<Template> {
        self.text(name).map(Template::new)
    }

    /// A mistake at the member `name`, or at the object if that is absent.
    pub(super) fn mistake(&self, name: &str, problem: &str, hint: &str) -> Mistake {
        let line = match self.object.get(name) {
            Some(property) => line_of(self.text, property),
            None => line_of(self.text, self.object),
        };
        let message = match self.key {
            "" => format!("the server {problem}"),
            key => format!("`{key}` {problem}"),
        };
        Mistake {
            line,
            key: below(self.key, name).trim_end_matches('.').to_owned(),
            message,
            hint: Some(hint.to_owned()),
        }
    }

    /// A mistake that is about the value of the member `name`.
    pub(super) fn refusal(&self, name: &str, problem: &str, hint: &str) -> Mistake {
        let mistake = self.mistake(name, problem, hint);
        Mistake {
            message: format!("`{}` {problem}", mistake.key),
            ..mistake
        }
    }

    fn bool(&self, name: &str) -> Option<bool> {
        match self.value(name)? {
            Value::BooleanLit(literal) => Some(literal.value),
            _ => None,
        }
    }

    pub(super) fn integer(&self, name: &str) -> Option<u64> {
        match self.value(name)? {
            Value::NumberLit(number) => number.value.parse().ok(),
            _ => None,
        }
    }

    fn duration(&self, name: &str) -> Option<Duration> {
        self.integer(name).map(Duration::from_millis)
    }

    fn texts(&self, name: &str) -> Option<Vec<String>> {
        let Value::Array(list) = self.value(name)? else {
            return None;
        };
        let texts = list.elements.iter().filter_map(scalar);
        Some(texts.collect())
    }

    fn templates(&self, name: &str) -> Vec<Template> {
        let texts = self.texts(name).unwrap_or_default();
        texts.into_iter().map(Template::new).collect()
    }

    /// Words in one text, or in a list.
    fn words(&self, name: &str) -> Option<Vec<String>> {
        match self.text(name) {
            Some(text) => Some(text.split_whitespace().map(str::to_owned).collect()),
            None => self.texts(name),
        }
    }

    fn pairs(&self, name: &str) -> Vec<(String, Template)> {
        let Some(Value::Object(object)) = self.value(name) else {
            return Vec::new();
        };
        let pairs = members(object)
            .filter_map(|(name, value)| Some((name.to_owned(), Template::new(scalar(value)?))));
        pairs.collect()
    }

    fn tools(&self) -> Result<BTreeMap<String, ToolChange>, Mistake> {
        let Some(Value::Object(tools)) = self.value("tools") else {
            return Ok(BTreeMap::new());
        };
        let mut changes = BTreeMap::new();
        for (name, change) in members(tools) {
            let Value::Object(object) = change else {
                continue;
            };
            let fields = Fields { object, ..*self };
            let change = ToolChange {
                name: fields.text("name").map(str::to_owned),
                description: fields.text("description").map(str::to_owned),
                hidden: fields.bool("hidden").unwrap_or(false),
                fixed: fields.values("fixed"),
                defaults: fields.values("defaults"),
            };
            let both = change
                .fixed
                .keys()
                .find(|argument| change.defaults.contains_key(*argument));
            if let Some(argument) = both {
                let problem = format!(
                    "has the argument `{argument}` of the tool `{name}` both fixed and with a default"
                );
                return Err(self.mistake("tools", &problem, "keep one of the two"));
            }
            changes.insert(name.to_owned(), change);
        }
        Ok(changes)
    }

    fn values(&self, name: &str) -> BTreeMap<String, RawJson> {
        let Some(Value::Object(object)) = self.value(name) else {
            return BTreeMap::new();
        };
        let values =
            members(object).filter_map(|(name, value)| Some((name.to_owned(), raw(value)?)));
        values.collect()
    }
}

/// The text of a text, a number or a boolean.
fn scalar(value: &Value<'_>) -> Option<String> {
    match value {
        Value::StringLit(text) => Some(text.value.clone().into_owned()),
        Value::NumberLit(number) => Some(number.value.to_owned()),
        Value::BooleanLit(literal) => Some(literal.value.to_string()),
        _ => None,
    }
}
