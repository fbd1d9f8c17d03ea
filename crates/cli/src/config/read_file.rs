//! The text of a configuration file as servers and settings.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use callgate_hub::{Naming, ServerName};
use jsonc_parser::ast::Value;

use super::check::{MAX_MISTAKES, Unused, below, check};
use super::definition::ServerDefinition;
use super::keys::{FILE, SERVER, SERVERS};
use super::mistake::{Mistake, Mistakes};
use super::read_server::{self, Fields};
use super::shape::Shape;
use super::text::{BYTE_ORDER_MARK, line_of, members, parse};

/// Content of a configuration file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct FileContent {
    /// Servers in the order of the file.
    pub(crate) servers: Vec<(ServerName, ServerDefinition)>,
    pub(crate) settings: FileSettings,
    /// Entries with mistakes, in the order of the file.
    pub(crate) faulty: Vec<(String, Mistakes)>,
    /// Keys that have no effect.
    pub(super) unused: Unused,
}

/// Settings that are not about one server, as they are written.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct FileSettings {
    /// Form of the names of tools (`naming`).
    pub(crate) naming: Option<Naming>,
    /// Address of `serve` (`gateway.listen`).
    pub(crate) listen: Option<SocketAddr>,
    /// Limit of the text of a result (`gateway.maxText`).
    pub(crate) max_text: Option<MaxText>,
    /// Directory of the workspace tools (`tools.workspace.path`).
    pub(crate) workspace: Option<String>,
}

/// Limit of the text of one result; text beyond it becomes a link that is read in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MaxText {
    /// Texts of any length pass.
    Off,
    Bytes(usize),
}

impl Default for MaxText {
    fn default() -> Self {
        Self::Bytes(1024 * 1024)
    }
}

/// Reads the text of a file. Nothing but the text is looked at.
///
/// # Errors
/// All mistakes of the text.
pub(crate) fn read(text: &str) -> Result<FileContent, Mistakes> {
    let parts = read_parts(text)?;
    match parts.mistakes.is_empty() {
        true => Ok(parts.content),
        false => Err(Mistakes(parts.mistakes)),
    }
}

/// The same, without the servers whose entries have mistakes: one of them is no reason to use no server at all.
///
/// # Errors
/// All mistakes of the text, if one of them concerns more than one server.
pub(crate) fn read_usable(text: &str) -> Result<FileContent, Mistakes> {
    let parts = read_parts(text)?;
    let is_of_all = |mistake: &Mistake| {
        let mut faulty = parts.content.faulty.iter();
        let is_of_one = faulty.any(|(_, found)| found.0.contains(mistake));
        !is_of_one && !parts.of_serve.contains(mistake)
    };
    // Beyond the limit, mistakes outside the entries may be missing.
    let is_full = parts.mistakes.len() >= MAX_MISTAKES;
    match is_full || parts.mistakes.iter().any(is_of_all) {
        true => Err(Mistakes(parts.mistakes)),
        false => Ok(parts.content),
    }
}

/// A text that was read.
#[derive(Default)]
struct Parts {
    content: FileContent,
    /// All mistakes, in the order of the text.
    mistakes: Vec<Mistake>,
    /// Those that only `serve` refuses.
    of_serve: Vec<Mistake>,
}

fn read_parts(text: &str) -> Result<Parts, Mistakes> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let Some(value) = parse(text)? else {
        return Ok(Parts::default());
    };
    let (unused, mut mistakes) = check(text, &value, "", &Shape::Object(FILE));
    let Value::Object(object) = &value else {
        return Ok(Parts {
            mistakes,
            ..Parts::default()
        });
    };
    let file = Fields {
        text,
        object,
        key: "",
    };
    let mut content = FileContent {
        unused,
        ..FileContent::default()
    };
    let mut outside = content.add_servers(file);
    content.settings = settings(file).unwrap_or_else(|mistake| {
        outside.push(mistake);
        FileSettings::default()
    });
    let of_serve = unusable_address(file, &content.settings);
    let inside = content.faulty.iter().flat_map(|(_, found)| found.iter());
    for mistake in inside.chain(&outside).chain(&of_serve) {
        // The check of the whole text has found those of one key too.
        if mistakes.len() < MAX_MISTAKES && !mistakes.contains(mistake) {
            mistakes.push(mistake.clone());
        }
    }
    mistakes.sort_by_key(|mistake| mistake.line);
    Ok(Parts {
        content,
        mistakes,
        of_serve,
    })
}

impl FileContent {
    /// Adds the servers of a file. Returns the mistakes that are not in the entry of one server.
    fn add_servers(&mut self, file: Fields<'_>) -> Vec<Mistake> {
        let mut outside = Vec::new();
        for key in SERVERS {
            let Some(Value::Object(object)) = file.value(key) else {
                continue;
            };
            let valid = self.servers.iter().map(|(name, _)| name.as_str());
            let faulty = self.faulty.iter().map(|(name, _)| name.as_str());
            let earlier: BTreeSet<String> = valid.chain(faulty).map(str::to_owned).collect();
            for (name, value) in members(object) {
                let path = below(key, name);
                if earlier.contains(name) {
                    let message =
                        format!("the server `{name}` is in `mcpServers` and in `servers`");
                    outside.push(at(file.text, value, &path, message, "keep one of the two"));
                    continue;
                }
                match one(file.text, name, value, &path) {
                    Ok((name, definition)) => {
                        if let Value::Object(object) = value {
                            let fields = Fields { object, ..file };
                            let unused = &mut self.unused;
                            read_server::note_unused(fields, &definition.connection, unused);
                        }
                        self.servers.push((name, definition));
                    }
                    Err(mistakes) => self.faulty.push((name.to_owned(), mistakes)),
                }
            }
        }
        outside
    }

    /// One line for each kind of key without effect.
    pub(crate) fn notices(&self) -> Vec<String> {
        let unused = &self.unused;
        let kinds = [
            (
                "keys of other clients that mean nothing here",
                &unused.foreign,
            ),
            ("keys without effect in this version", &unused.later),
            ("keys without effect beside a URL", &unused.beside_url),
            (
                "keys without effect beside `command`",
                &unused.beside_command,
            ),
        ];
        let there = kinds.iter().filter(|(_, keys)| !keys.is_empty());
        let line = |(kind, keys): &(&str, &BTreeSet<String>)| {
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            format!("{kind}: {}", keys.join(", "))
        };
        there.map(line).collect()
    }
}

/// Reads the entry of one server.
fn one(
    text: &str,
    name: &str,
    value: &Value<'_>,
    path: &str,
) -> Result<(ServerName, ServerDefinition), Mistakes> {
    let (_, mut mistakes) = check(text, value, path, &Shape::Object(SERVER));
    let Value::Object(object) = value else {
        return Err(Mistakes(mistakes));
    };
    let server_name = ServerName::new(name).map_err(|error| {
        let hint = "choose another name for the server";
        at(text, value, path, error.to_string(), hint)
    });
    let fields = Fields {
        text,
        object,
        key: path,
    };
    match server_name {
        Ok(name) => Ok((name, read_server::read(fields, mistakes)?)),
        Err(mistake) => {
            mistakes.push(mistake);
            Err(Mistakes(mistakes))
        }
    }
}

fn at(text: &str, value: &Value<'_>, path: &str, message: String, hint: &str) -> Mistake {
    Mistake {
        line: line_of(text, value),
        key: path.to_owned(),
        message,
        hint: Some(hint.to_owned()),
    }
}

/// The mistake of an address that `serve` refuses to listen on.
fn unusable_address(file: Fields<'_>, settings: &FileSettings) -> Vec<Mistake> {
    let (Some(address), Some(Value::Object(object))) = (settings.listen, file.value("gateway"))
    else {
        return Vec::new();
    };
    let gateway = Fields {
        object,
        key: "gateway",
        ..file
    };
    match address.ip().is_loopback() {
        true => Vec::new(),
        false => vec![gateway.refusal(
            "listen",
            "is not a loopback address",
            "write one such as 127.0.0.1:3000: other machines may only connect over TLS, which is not supported yet",
        )],
    }
}

fn settings(file: Fields<'_>) -> Result<FileSettings, Mistake> {
    let mut settings = FileSettings {
        naming: file.text("naming").map(|word| match word {
            "server__tool" => Naming::DoubleUnderscore,
            _ => Naming::Underscore,
        }),
        ..FileSettings::default()
    };
    if let Some(Value::Object(object)) = file.value("gateway") {
        let gateway = Fields {
            object,
            key: "gateway",
            ..file
        };
        let listen = gateway.text("listen").map(str::parse);
        settings.listen = listen.transpose().map_err(|_| {
            let hint = "write it as IP:PORT, for example 127.0.0.1:3000";
            gateway.refusal("listen", "is not an address", hint)
        })?;
        let bytes = gateway.integer("maxText").map(usize::try_from);
        settings.max_text = match gateway.value("maxText") {
            Some(Value::BooleanLit(limited)) if !limited.value => Some(MaxText::Off),
            _ => bytes.and_then(Result::ok).map(MaxText::Bytes),
        };
    }
    if let Some(Value::Object(tools)) = file.value("tools")
        && let Some(Value::Object(workspace)) = tools.get("workspace").map(|found| &found.value)
        && let Some(Value::StringLit(path)) = workspace.get("path").map(|found| &found.value)
    {
        settings.workspace = Some(path.value.clone().into_owned());
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Name and JSON of a server.
    type Server<'a> = (&'a str, &'a str);

    /// Line, message and hint of a mistake.
    type Found<'a> = (usize, &'a str, &'a str);

    /// The servers as the JSON that would be written for them, or the mistakes.
    fn check(text: &str, expect: Result<&[Server<'_>], &[Found<'_>]>) {
        let seen = read(text)
            .map(|content| {
                let servers = content.servers.iter();
                let servers = servers.map(|(name, definition)| {
                    (name.to_string(), definition.to_json().as_str().to_owned())
                });
                servers.collect::<Vec<_>>()
            })
            .map_err(|mistakes| {
                let mistakes = mistakes.0.into_iter();
                let mistakes = mistakes.map(|mistake| {
                    (
                        mistake.line,
                        mistake.message,
                        mistake.hint.unwrap_or_default(),
                    )
                });
                mistakes.collect::<Vec<_>>()
            });
        let owned = |text: &str| text.to_owned();
        let expect = expect
            .map(|servers| servers.iter().map(|(a, b)| (owned(a), owned(b))).collect())
            .map_err(|mistakes| {
                let mistakes = mistakes.iter();
                mistakes
                    .map(|(line, a, b)| (*line, owned(a), owned(b)))
                    .collect()
            });
        assert_eq!(seen, expect, "{text}");
    }

    #[test]
    fn servers_are_read_with_comments_and_commas_at_the_end() {
        check("", Ok(&[]));
        check("// nothing yet\n", Ok(&[]));
        check("{}", Ok(&[]));
        check(
            "\u{feff}{\n  // mine\n  \"mcpServers\": {\n    \"b\": { \"command\": \"npx\", \"args\": [\"-y\", \"x\",], },\n    \"a\": { \"url\": \"https://a.example/mcp\" },\n  },\n}\n",
            Ok(&[
                ("b", r#"{"command":"npx","args":["-y","x"]}"#),
                ("a", r#"{"type":"http","url":"https://a.example/mcp"}"#),
            ]),
        );
    }

    #[test]
    fn forms_of_other_clients_mean_the_same() {
        for (server, expect) in [
            (
                r#"{"type":"local","command":"x","env":{"PORT":3000,"ON":true,"T":"${T}"},"disabled":true}"#,
                r#"{"command":"x","env":{"PORT":"3000","ON":"true","T":"${T}"},"enabled":false}"#,
            ),
            (
                r#"{"serverUrl":"https://a.example/","type":"streamable-http","disabled":false}"#,
                r#"{"type":"http","url":"https://a.example/"}"#,
            ),
            (
                r#"{"httpUrl":"https://a.example/","trust":true,"autoApprove":["x"]}"#,
                r#"{"type":"http","url":"https://a.example/"}"#,
            ),
            (
                r#"{"url":"${BASE}/mcp","transport":"sse","oauth":true}"#,
                r#"{"type":"sse","url":"${BASE}/mcp","oauth":{}}"#,
            ),
            (
                r#"{"url":"https://a.example/","oauth":{"scopes":["a","b"],"clientId":"c"},"timeout":{"call":5}}"#,
                r#"{"type":"http","url":"https://a.example/","oauth":{"clientId":"c","scope":"a b"},"timeout":5}"#,
            ),
        ] {
            let text = format!(r#"{{"mcpServers":{{"s":{server}}}}}"#);
            check(&text, Ok(&[("s", expect)]));
            let text = format!(r#"{{"servers":{{"s":{server}}},"inputs":[]}}"#);
            check(&text, Ok(&[("s", expect)]));
        }
    }

    #[test]
    fn all_keys_survive_reading_and_writing() {
        for server in [
            r#"{"command":"x","args":["a"],"env":{"A":"b"},"envFile":".env","cwd":"..","inheritEnv":"all","timeout":{"connect":1,"call":2,"max":3},"enabled":false,"allowedTools":["a_*"],"disabledTools":["b"],"tools":{"t":{"name":"n","description":"d","hidden":true,"fixed":{"a":12345678901234567890123},"defaults":{"b":[1,{"c":null}]}}},"roots":["."],"start":"lazy","idleStop":60000}"#,
            r#"{"type":"sse","url":"https://a.example/","headers":{"X":"y"},"headersHelper":"h","oauth":false}"#,
            r#"{"type":"http","url":"https://a.example/","oauth":{"account":"me","clientId":"a","clientSecret":"${S}","scope":"x y","callbackPort":0,"authParams":{"prompt":"consent"},"tokenParams":{"a":"b"},"sendResource":false,"redirectUri":"http://localhost:8123/cb","authorizationEndpoint":"https://as.example/authorize","tokenEndpoint":"https://as.example/token","clientName":"n","clientAuthMethod":"none","initialAccessTokenFile":"t","allowMissingPkceMetadata":true,"scopeSeparator":",","allowPrivateAddresses":true,"caFile":"c"}}"#,
        ] {
            let text = format!(r#"{{"mcpServers":{{"s":{server}}}}}"#);
            check(&text, Ok(&[("s", server)]));
        }
    }

    #[test]
    fn mistakes_have_line_key_and_next_step() {
        check(
            "{\n  \"mcpServers\": {\n    \"a\": {\n      \"comand\": \"x\",\n      \"args\": \"y\"\n    }\n  },\n  \"gatewy\": {}\n}",
            Err(&[
                (
                    4,
                    "`mcpServers.a.comand` is not a key of the configuration",
                    "did you mean `command`?",
                ),
                (
                    5,
                    "`mcpServers.a.args` must be a list of texts; it is a text",
                    "",
                ),
                (
                    8,
                    "`gatewy` is not a key of the configuration",
                    "did you mean `gateway`?",
                ),
            ]),
        );
        check(
            "{\n  \"mcpServers\": {\n    \"a\": {},\n    \"b\": {\"command\": \"x\", \"url\": \"https://a.example/\"},\n    \"c\": {\"url\": \"a.example\"},\n    \"d\": {\"command\": \"x\", \"enabled\": true, \"disabled\": true}\n  }\n}",
            Err(&[
                (
                    3,
                    "`mcpServers.a` has neither `command` nor `url`",
                    "add `command` for a program, or `url` for a server elsewhere",
                ),
                (
                    4,
                    "`mcpServers.b` has both `command` and `url`",
                    "keep `command` for a program, or the URL for a server elsewhere",
                ),
                (
                    5,
                    "`mcpServers.c` has a URL that is not an http(s) URL",
                    "begin it with http:// or https://; for a program, use `command`",
                ),
                (
                    6,
                    "`mcpServers.d` is both enabled and disabled",
                    "keep one of the two keys",
                ),
            ]),
        );
        check(
            "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}\n    \"b\": 1\n  }\n}",
            Err(&[(
                3,
                "this is not JSON: expected comma at column 26",
                "check the commas, quotes and brackets there and just before",
            )]),
        );
    }

    #[test]
    fn a_header_that_cannot_be_sent_is_a_mistake() {
        check(
            "{\n  \"mcpServers\": {\n    \"a\": {\n      \"url\": \"https://a.example/\",\n      \"headers\": {\n        \"X-Key\": \"1\",\n        \"Cookie\": \"a=b\"\n      }\n    },\n    \"b\": { \"url\": \"https://a.example/\", \"headers\": { \"Bad Name\": \"${A}\" } },\n    \"c\": { \"url\": \"https://a.example/\", \"headers\": { \"X\": \"a\\nb\" } },\n    \"d\": { \"url\": \"https://a.example/\", \"headers\": { \"X\": \"${A}\" } }\n  }\n}",
            Err(&[
                (
                    7,
                    "`mcpServers.a.headers.Cookie` cannot be sent: header `cookie` is set by the transport and cannot be configured",
                    "remove it",
                ),
                (
                    10,
                    "`mcpServers.b.headers.Bad Name` cannot be sent: `Bad Name` is not the name of a header",
                    "use letters, digits and `-`",
                ),
                (
                    11,
                    "`mcpServers.c.headers.X` cannot be sent: the value of header `x` has characters that no header may have",
                    "write the value in one line of visible characters",
                ),
            ]),
        );
    }

    #[test]
    fn every_mistake_is_reported_at_once() {
        check(
            "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\", \"args\": 1, \"enabled\": true, \"disabled\": true},\n    \"b\": {\"url\": \"ftp://a.example/\", \"idlestop\": 5},\n    \"c\": {},\n    \"d\": {\"command\": 1}\n  },\n  \"gateway\": {\"listen\": \"0.0.0.0:3000\"},\n  \"naming\": 1\n}",
            Err(&[
                (
                    3,
                    "`mcpServers.a.args` must be a list of texts; it is a number",
                    "",
                ),
                (
                    3,
                    "`mcpServers.a` is both enabled and disabled",
                    "keep one of the two keys",
                ),
                (
                    4,
                    "`mcpServers.b.idlestop` is not a key of the configuration",
                    "did you mean `idleStop`?",
                ),
                (
                    4,
                    "`mcpServers.b` has a URL that is not an http(s) URL",
                    "begin it with http:// or https://; for a program, use `command`",
                ),
                (
                    5,
                    "`mcpServers.c` has neither `command` nor `url`",
                    "add `command` for a program, or `url` for a server elsewhere",
                ),
                (
                    6,
                    "`mcpServers.d.command` must be a text; it is a number",
                    "",
                ),
                (
                    8,
                    "`gateway.listen` is not a loopback address",
                    "write one such as 127.0.0.1:3000: other machines may only connect over TLS, which is not supported yet",
                ),
                (
                    9,
                    "`naming` must be one of `server_tool`, `server__tool`; it is a number",
                    "",
                ),
            ]),
        );
    }

    #[test]
    fn values_that_no_server_could_use_are_refused() {
        for (server, line) in [
            (
                r#"{"command":"x","type":"htpp"}"#,
                "`mcpServers.s.type` must be one of `stdio`, `local`, `http`, `streamable-http`, `streamableHttp`, `streamable_http`, `remote`, `sse`; it is `htpp`",
            ),
            (
                r#"{"command":" "}"#,
                "`mcpServers.s` has an empty `command`",
            ),
            (
                r#"{"command":"x","type":"http"}"#,
                "`mcpServers.s` has a `command`, but its type needs a `url`",
            ),
            (
                r#"{"url":"https://a.example/","type":"stdio"}"#,
                "`mcpServers.s` has a URL, but its type needs a `command`",
            ),
            (
                r#"{"url":"https://a.example/","type":"sse","transport":"http"}"#,
                "`mcpServers.s` has two different types",
            ),
            (
                r#"{"url":"https://a.example/","httpUrl":"https://a.example/"}"#,
                "`mcpServers.s` has both `url` and `httpUrl`",
            ),
            (
                r#"{"command":"x","timeout":0}"#,
                "`mcpServers.s.timeout` must be a whole number of milliseconds from 1 to 86400000 or an object; it is 0",
            ),
            (
                r#"{"command":"x","timeout":{"call":86400001}}"#,
                "`mcpServers.s.timeout.call` must be a whole number of milliseconds from 1 to 86400000; it is 86400001",
            ),
            (
                r#"{"command":"x","args":["a",1]}"#,
                "`mcpServers.s.args[1]` must be a text; it is a number",
            ),
            (
                r#"{"url":"https://a.example/","oauth":{"clientSecret":99887766}}"#,
                "`mcpServers.s.oauth.clientSecret` must be a text; it is a number",
            ),
            (
                r#"{"command":"x","command":"y"}"#,
                "`mcpServers.s.command` is there twice",
            ),
            (
                r#"{"command":"x","env":{"A=B":"c"}}"#,
                "`mcpServers.s` has a variable without a valid name",
            ),
            (
                r#"{"url":"https://a.example/","oauth":{"tokenEndpoint":"http://a.example"}}"#,
                "`mcpServers.s.oauth.tokenEndpoint` is refused: `http://a.example` cannot be an endpoint: it is neither https nor on this machine",
            ),
            (
                r#"{"url":"https://a.example/","oauth":{"account":"a b"}}"#,
                "`mcpServers.s.oauth.account` is not the name of an account",
            ),
            (
                r#"{"command":"x","tools":{"t":{"fixed":{"a":1},"defaults":{"a":1}}}}"#,
                "`mcpServers.s` has the argument `a` of the tool `t` both fixed and with a default",
            ),
        ] {
            let text = format!(r#"{{"mcpServers":{{"s":{server}}}}}"#);
            let mistakes = read(&text).unwrap_err().0;
            let messages: Vec<String> = mistakes.into_iter().map(|found| found.message).collect();
            assert_eq!(messages, [line], "{server}");
        }
    }

    #[test]
    fn keys_without_effect_are_noticed_in_one_line() {
        let content = read(
            r#"{"mcpServers":{"a":{"command":"x","trust":true},"b":{"command":"x","autoApprove":[],"trust":true}},"gateway":{"rules":[]},"tools":{"vault":{}}}"#,
        );
        assert_eq!(
            content.unwrap().notices(),
            [
                "keys of other clients that mean nothing here: autoApprove, trust",
                "keys without effect in this version: gateway.rules, tools.vault",
            ]
        );
    }

    #[test]
    fn keys_of_the_other_kind_of_server_are_noticed_in_one_line() {
        let content = read(
            r#"{"mcpServers":{"a":{"url":"https://a.example/","args":[],"env":{"A":"b"}},"b":{"url":"https://b.example/","cwd":"x","headers":{}},"c":{"command":"x","headers":{"A":"b"},"oauth":false,"args":[]}}}"#,
        );
        assert_eq!(
            content.unwrap().notices(),
            [
                "keys without effect beside a URL: args, cwd, env",
                "keys without effect beside `command`: headers, oauth",
            ]
        );
    }

    #[test]
    fn settings_are_read() {
        let text = r#"{"naming":"server__tool","gateway":{"listen":"127.0.0.1:4000","maxText":5000},"tools":{"workspace":{"path":"src"}}}"#;
        let expect = FileSettings {
            naming: Some(Naming::DoubleUnderscore),
            listen: Some("127.0.0.1:4000".parse().unwrap()),
            max_text: Some(MaxText::Bytes(5000)),
            workspace: Some("src".to_owned()),
        };
        assert_eq!(read(text).unwrap().settings, expect);
        let off = read(r#"{"gateway":{"maxText":false}}"#).unwrap();
        assert_eq!(off.settings.max_text, Some(MaxText::Off));
        check(
            r#"{"gateway":{"listen":"localhost:4000"}}"#,
            Err(&[(
                1,
                "`gateway.listen` is not an address",
                "write it as IP:PORT, for example 127.0.0.1:3000",
            )]),
        );
    }
}
