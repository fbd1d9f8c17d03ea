use super::super::document::{Node, Value};
use super::super::table::{Client, Dialect, TokenForm};
use super::variables::variable;

/// Name of our entry in the files of clients.
pub(crate) const NAME: &str = "callgate";

/// Variable of the environment that holds our token, for clients that can read one.
pub(crate) const TOKEN_VARIABLE: &str = "CALLGATE_TOKEN";

/// Connection of a client to us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// The client starts this command.
    Command { program: String, args: Vec<String> },
    /// The client sends its requests to this URL; the token is used by clients that cannot read a variable.
    Url { url: String, token: String },
}

/// Our entry in the form of a client; `None` if the client is not known to use servers at a URL.
pub(crate) fn entry(client: &Client, endpoint: &Endpoint) -> Option<Node> {
    match endpoint {
        Endpoint::Command { program, args } => Some(command(client, program, args)),
        Endpoint::Url { url, token } => self::url(client, url, token),
    }
}

fn command(client: &Client, program: &str, args: &[String]) -> Node {
    let words = || [program].into_iter().chain(args.iter().map(String::as_str));
    match client.dialect {
        Dialect::Standard if client.writes_type => Node::object([
            ("type", "stdio".into()),
            ("command", program.into()),
            ("args", Node::texts(args)),
        ]),
        Dialect::Standard | Dialect::Codex => {
            Node::object([("command", program.into()), ("args", Node::texts(args))])
        }
        Dialect::OpenCode => Node::object([
            ("type", "local".into()),
            ("command", Node::texts(words())),
            ("enabled", true.into()),
        ]),
        Dialect::OpenCodeV2 => {
            Node::object([("type", "local".into()), ("command", Node::texts(words()))])
        }
        Dialect::Goose => Node::object([
            ("type", "stdio".into()),
            ("name", NAME.into()),
            ("description", "The tools of Callgate".into()),
            ("enabled", true.into()),
            ("cmd", program.into()),
            ("args", Node::texts(args)),
            ("timeout", 300.into()),
        ]),
    }
}

fn url(client: &Client, url: &str, token: &str) -> Option<Node> {
    let token = match client.http? {
        TokenForm::Literal => token.to_owned(),
        TokenForm::Variable => variable(client.variables, TOKEN_VARIABLE).unwrap_or_default(),
    };
    let headers = || Node::object([("Authorization", format!("Bearer {token}").into())]);
    match client.dialect {
        Dialect::Standard => {
            let mut members = vec![
                (client.url_member.clone(), url.into()),
                ("headers".to_owned(), headers()),
            ];
            if client.writes_type || client.id == "claude-code" {
                members.insert(0, ("type".to_owned(), client.http_type.as_str().into()));
            }
            Some(Node::new(Value::Object(members)))
        }
        Dialect::Codex => Some(Node::object([
            ("url", url.into()),
            ("bearer_token_env_var", TOKEN_VARIABLE.into()),
        ])),
        Dialect::OpenCode | Dialect::OpenCodeV2 => Some(Node::object([
            ("type", "remote".into()),
            ("url", url.into()),
            ("headers", headers()),
            ("oauth", false.into()),
        ])),
        Dialect::Goose => None,
    }
}
