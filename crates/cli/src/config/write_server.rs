//! A [`ServerDefinition`] as the JSON of a configuration file.

use std::collections::BTreeMap;
use std::time::Duration;

use callgate_mcp::wire::{ArrayWriter, ObjectWriter, RawJson};

use super::definition::{
    CommandDefinition, Connection, OAuthDefinition, OAuthSettings, ServerDefinition, StartTime,
    Timeouts, ToolChange, UrlDefinition, UrlTransport,
};
use super::template::Template;

impl ServerDefinition {
    /// The definition as it stands under its name in `mcpServers`, with our own keys and without those that have
    /// their default.
    pub(crate) fn to_json(&self) -> RawJson {
        let mut members = match &self.connection {
            Connection::Command(command) => command_members(command),
            Connection::Url(url) => url_members(url),
        };
        if let Some(timeout) = timeouts(self.timeouts) {
            members.add("timeout", &timeout);
        }
        if !self.enabled {
            members.add("enabled", &boolean(false));
        }
        if let Some(tools) = &self.allowed_tools {
            members.add("allowedTools", &texts(tools));
        }
        members.add_unless_empty("disabledTools", &self.disabled_tools, texts);
        if !self.tools.is_empty() {
            members.add("tools", &object(&self.tools, tool));
        }
        members.add_unless_empty("roots", &self.roots, templates);
        if self.start == StartTime::Lazy {
            members.add("start", &RawJson::string("lazy"));
        }
        if let Some(time) = self.idle_stop {
            members.add("idleStop", &milliseconds(time));
        }
        members.finish()
    }
}

/// Members of an object in their order.
struct Members(ObjectWriter);

impl Members {
    fn new() -> Self {
        Self(ObjectWriter::new())
    }

    fn add(&mut self, key: &str, value: &RawJson) {
        let writer = std::mem::take(&mut self.0);
        self.0 = writer.member(key, value);
    }

    fn add_unless_empty<T>(&mut self, key: &str, items: &[T], write: fn(&[T]) -> RawJson) {
        if !items.is_empty() {
            self.add(key, &write(items));
        }
    }

    fn add_template(&mut self, key: &str, template: Option<&Template>) {
        if let Some(template) = template {
            self.add(key, &RawJson::string(template.as_str()));
        }
    }

    fn finish(self) -> RawJson {
        self.0.finish()
    }
}

fn command_members(command: &CommandDefinition) -> Members {
    let mut members = Members::new();
    members.add_template("command", Some(&command.command));
    members.add_unless_empty("args", &command.args, templates);
    members.add_unless_empty("env", &command.env, pairs);
    members.add_template("envFile", command.env_file.as_ref());
    members.add_template("cwd", command.cwd.as_ref());
    if command.inherit_all {
        members.add("inheritEnv", &RawJson::string("all"));
    }
    members
}

fn url_members(url: &UrlDefinition) -> Members {
    let mut members = Members::new();
    let transport = match url.transport {
        UrlTransport::Http => "http",
        UrlTransport::Sse => "sse",
    };
    // Other clients need it, and may read the same file.
    members.add("type", &RawJson::string(transport));
    members.add_template("url", Some(&url.url));
    members.add_unless_empty("headers", &url.headers, pairs);
    members.add_template("headersHelper", url.headers_helper.as_ref());
    match &url.oauth {
        None => {}
        Some(OAuthDefinition::Off) => members.add("oauth", &boolean(false)),
        Some(OAuthDefinition::On(settings)) => members.add("oauth", &oauth(settings)),
    }
    members
}

fn oauth(settings: &OAuthSettings) -> RawJson {
    let mut members = Members::new();
    if let Some(account) = &settings.account {
        members.add("account", &RawJson::string(account));
    }
    members.add_template("clientId", settings.client_id.as_ref());
    members.add_template("clientSecret", settings.client_secret.as_ref());
    if !settings.scopes.is_empty() {
        members.add("scope", &RawJson::string(&settings.scopes.join(" ")));
    }
    if let Some(port) = settings.callback_port {
        members.add("callbackPort", &number(u64::from(port)));
    }
    let options = RawJson::encode(&settings.options).expect("options are plain JSON");
    for (key, value) in options.members_besides(&[]) {
        members.add(&key, &value);
    }
    members.finish()
}

fn timeouts(timeouts: Timeouts) -> Option<RawJson> {
    match timeouts {
        Timeouts {
            connect: None,
            call: None,
            max: None,
        } => None,
        Timeouts {
            connect: None,
            call: Some(call),
            max: None,
        } => Some(milliseconds(call)),
        Timeouts { connect, call, max } => {
            let mut members = Members::new();
            for (key, time) in [("connect", connect), ("call", call), ("max", max)] {
                if let Some(time) = time {
                    members.add(key, &milliseconds(time));
                }
            }
            Some(members.finish())
        }
    }
}

fn tool(change: &ToolChange) -> RawJson {
    let mut members = Members::new();
    for (key, text) in [("name", &change.name), ("description", &change.description)] {
        if let Some(text) = text {
            members.add(key, &RawJson::string(text));
        }
    }
    if change.hidden {
        members.add("hidden", &boolean(true));
    }
    for (key, values) in [("fixed", &change.fixed), ("defaults", &change.defaults)] {
        if !values.is_empty() {
            members.add(key, &object(values, RawJson::clone));
        }
    }
    members.finish()
}

fn object<T>(map: &BTreeMap<String, T>, write: fn(&T) -> RawJson) -> RawJson {
    let mut members = Members::new();
    for (key, value) in map {
        members.add(key, &write(value));
    }
    members.finish()
}

fn pairs(pairs: &[(String, Template)]) -> RawJson {
    let mut members = Members::new();
    for (name, value) in pairs {
        members.add_template(name, Some(value));
    }
    members.finish()
}

fn templates(templates: &[Template]) -> RawJson {
    list(templates.iter().map(Template::as_str))
}

fn texts(texts: &[String]) -> RawJson {
    list(texts.iter().map(String::as_str))
}

fn list<'a>(texts: impl Iterator<Item = &'a str>) -> RawJson {
    let mut list = ArrayWriter::new();
    for text in texts {
        list.push(&RawJson::string(text));
    }
    list.finish()
}

fn milliseconds(time: Duration) -> RawJson {
    number(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

fn number(number: u64) -> RawJson {
    RawJson::encode(&number).expect("a number is JSON")
}

fn boolean(value: bool) -> RawJson {
    RawJson::encode(&value).expect("a boolean is JSON")
}
