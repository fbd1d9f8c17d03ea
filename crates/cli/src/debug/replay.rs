//! A server on standard input and output that answers as the server of a transcript did.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use callgate_mcp::wire::{Limits, Method, RawJson, Splice};
use serde_json::Value;

use super::redaction::MASK;
use crate::error::CommandError;
use crate::output;

/// Maximum bytes of a transcript, and of one line of a client.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Answers the client on standard input until it ends.
///
/// # Errors
/// The file is no transcript, or the client sends something else than the client of the transcript did.
pub(crate) fn run(path: &Path) -> Result<(), CommandError> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text));
    let length = read.with_context(|| format!("cannot read {}", path.display()))?;
    if length as u64 > MAX_BYTES {
        let message = format!("{} has more than {MAX_BYTES} bytes", path.display());
        return Err(CommandError::usage(message));
    }
    let mut replay = Replay::new(&text).map_err(|error| {
        let error = error.context(format!("{} is not a transcript", path.display()));
        CommandError::from(error).hint("write one with `callgate debug SERVER --save FILE`")
    })?;
    let mut client = BufReader::new(io::stdin());
    loop {
        let mut line = String::new();
        let read = client.by_ref().take(MAX_BYTES).read_line(&mut line)?;
        if read == 0 {
            return Ok(());
        }
        let answers = replay.answer(&line).map_err(|error| {
            let hint = "send the requests of the transcript in their order";
            CommandError::from(error).hint(hint)
        })?;
        for answer in answers {
            output::text(&answer)?;
        }
    }
}

/// The rest of a transcript.
struct Replay {
    steps: VecDeque<Step>,
    /// Ids and progress tokens of the client, by those of the transcript.
    ids: BTreeMap<String, RawJson>,
    tokens: BTreeMap<String, RawJson>,
    number: usize,
}

/// A message of the client, and what the server said before the next one.
struct Step {
    message: RawJson,
    answers: Vec<Answer>,
    /// True for an HTTP request, which always had an answer, if only a status.
    is_http: bool,
}

enum Answer {
    Message(RawJson),
    /// A line that is no message.
    Text(String),
}

impl Replay {
    fn new(text: &str) -> anyhow::Result<Self> {
        let mut lines = text.lines();
        let header: Value = serde_json::from_str(lines.next().unwrap_or_default())?;
        if header.get("transcript").and_then(Value::as_u64) != Some(1) {
            bail!("its first line does not say `\"transcript\":1`");
        }
        let mut steps: VecDeque<Step> = VecDeque::new();
        for line in lines {
            let entry = parse(line)?;
            let is = |key: &str, text: &str| entry.get(key).is_some_and(|value| value.is(text));
            let message = entry
                .get("message")
                .filter(|it| it.get("jsonrpc").is_some());
            match message {
                Some(message) if is("from", "client") => steps.push_back(Step {
                    message,
                    answers: Vec::new(),
                    is_http: !is("channel", "stdin"),
                }),
                Some(message) => {
                    if let Some(step) = steps.back_mut() {
                        step.answers.push(Answer::Message(message));
                    }
                }
                None if is("channel", "stdout") => {
                    let text = entry.get("text").and_then(|it| it.text().map(Into::into));
                    if let (Some(step), Some(text)) = (steps.back_mut(), text) {
                        step.answers.push(Answer::Text(text));
                    }
                }
                None => {}
            }
        }
        Ok(Self {
            steps,
            ids: BTreeMap::new(),
            tokens: BTreeMap::new(),
            number: 0,
        })
    }

    /// Lines that the server sends after this line of the client.
    fn answer(&mut self, line: &str) -> anyhow::Result<Vec<String>> {
        if line.trim().is_empty() {
            return Ok(Vec::new());
        }
        let message = parse(line).context("the client sent a line that is not JSON")?;
        self.number += 1;
        let Some(step) = self.steps.pop_front() else {
            // A client that ends may cancel something, which has no answer.
            return match message.get("id").is_some() && message.get("method").is_some() {
                true => Err(anyhow!(
                    "the client sent {} as message {}, after the end of the transcript",
                    name(&message),
                    self.number
                )),
                false => Ok(Vec::new()),
            };
        };
        if !is_same(&step.message, &message) {
            let (sent, recorded) = (name(&message), name(&step.message));
            let how = match sent == recorded {
                true => " with other arguments",
                false => "",
            };
            bail!(
                "the client sent {sent} as message {}, where the transcript has {recorded}{how}",
                self.number
            );
        }
        self.learn(&step.message, &message);
        let mut lines: Vec<String> = Vec::new();
        for answer in &step.answers {
            lines.push(match answer {
                Answer::Message(message) => self.adapt(message)?.to_line().as_str().to_owned(),
                Answer::Text(text) => text.clone(),
            });
        }
        let id = step.message.get("id");
        let answers_it = |answer: &Answer| match answer {
            Answer::Message(answer) => answer.get("id") == id && answer.get("method").is_none(),
            Answer::Text(_) => false,
        };
        // Only an HTTP server refuses a request by a status alone.
        if step.is_http
            && step.message.get("method").is_some()
            && let Some(id) = message.get("id")
            && !step.answers.iter().any(answers_it)
        {
            lines.push(format!(
                r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":-32601,"message":"the server of the transcript answered without a message"}}}}"#,
                id.as_str()
            ));
        }
        Ok(lines)
    }

    fn learn(&mut self, recorded: &RawJson, actual: &RawJson) {
        let is_request = recorded.get("method").is_some();
        if let (true, Some(theirs), Some(ours)) = (is_request, recorded.get("id"), actual.get("id"))
        {
            self.ids.insert(theirs.as_str().to_owned(), ours);
        }
        let token = &["params", "_meta", "progressToken"];
        if let (Some(theirs), Some(ours)) = (recorded.at(token), actual.at(token)) {
            self.tokens.insert(theirs.as_str().to_owned(), ours);
        }
    }

    /// The message with the id and the progress token of the client.
    fn adapt(&self, message: &RawJson) -> anyhow::Result<RawJson> {
        let found = |map: &BTreeMap<String, RawJson>, value: Option<RawJson>| {
            value.and_then(|value| map.get(value.as_str()).cloned())
        };
        if message.get("method").is_none() {
            return match found(&self.ids, message.get("id")) {
                Some(id) => Ok(Splice::new(message).set(&["id"], &id).finish()?),
                None => Ok(message.clone()),
            };
        }
        let path = &["params", "progressToken"];
        match found(&self.tokens, message.at(path)) {
            Some(token) => Ok(Splice::new(message).set(path, &token).finish()?),
            None => Ok(message.clone()),
        }
    }
}

fn parse(line: &str) -> anyhow::Result<RawJson> {
    let limits = Limits::default().with_bytes(line.len());
    Ok(RawJson::parse(line.trim().to_owned().into(), &limits)?)
}

/// True for messages with one method, and with one target and one set of arguments if they have a target.
fn is_same(recorded: &RawJson, actual: &RawJson) -> bool {
    let method = recorded.get("method");
    if method != actual.get("method") {
        return false;
    }
    let method = method.and_then(|method| method.text().map(|it| Method::new(&it)));
    if method.is_none_or(|method| method.target_member().is_none()) {
        return true;
    }
    let params = |message: &RawJson| {
        let mut params: Value = message.get("params")?.decode().ok()?;
        params.as_object_mut()?.remove("_meta");
        Some(params)
    };
    match (params(recorded), params(actual)) {
        (Some(recorded), Some(actual)) => is_like(&recorded, &actual),
        (recorded, actual) => recorded == actual,
    }
}

/// True for values that are equal but for what was hidden.
fn is_like(recorded: &Value, actual: &Value) -> bool {
    match (recorded, actual) {
        (Value::String(text), _) if text == MASK => true,
        (Value::String(text), Value::String(actual)) if text.contains(MASK) => {
            let ends = text.split_once(MASK).unwrap_or_default();
            actual.starts_with(ends.0)
        }
        (Value::Object(recorded), Value::Object(actual)) => {
            recorded.len() == actual.len()
                && recorded.iter().all(|(key, value)| {
                    actual.get(key).is_some_and(|actual| is_like(value, actual))
                })
        }
        (Value::Array(recorded), Value::Array(actual)) => {
            recorded.len() == actual.len()
                && recorded.iter().zip(actual).all(|(a, b)| is_like(a, b))
        }
        (recorded, actual) => recorded == actual,
    }
}

/// A message in an error.
fn name(message: &RawJson) -> String {
    let text = |path: &[&str]| message.at(path).and_then(|it| it.text().map(String::from));
    match (text(&["method"]), text(&["params", "name"])) {
        (Some(method), Some(name)) => format!("`{method}` of `{name}`"),
        (Some(method), None) => format!("`{method}`"),
        (None, _) => "a response".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRANSCRIPT: &str = r#"{"transcript":1}
{"from":"client","channel":"stdin","message":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"token":"***","n":1},"_meta":{"progressToken":1}}}}
{"from":"server","channel":"stderr","text":"hello"}
{"from":"server","channel":"stdout","detail":"not a message","text":"junk"}
{"from":"server","channel":"stdout","message":{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":5}}}
{"from":"server","channel":"stdout","message":{"jsonrpc":"2.0","id":1,"result":{}}}
{"from":"client","channel":"POST","message":{"jsonrpc":"2.0","id":2,"method":"tools/list"}}
{"from":"server","channel":"404"}
{"summary":{}}"#;

    fn call(n: u32) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{{"name":"t","arguments":{{"token":"x","n":{n}}},"_meta":{{"progressToken":"p"}}}}}}"#
        )
    }

    #[test]
    fn a_client_with_other_ids_gets_the_recorded_answers() {
        let mut replay = Replay::new(TRANSCRIPT).unwrap();
        assert_eq!(
            replay.answer(&call(1)).unwrap(),
            [
                "junk",
                r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":5}}"#,
                r#"{"jsonrpc":"2.0","id":"a","result":{}}"#,
            ]
        );
        assert_eq!(
            replay
                .answer(r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#)
                .unwrap(),
            [
                r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"the server of the transcript answered without a message"}}"#
            ]
        );
        let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#;
        assert_eq!(replay.answer(cancel).unwrap(), Vec::<String>::new());
        assert_eq!(
            replay.answer(&call(1)).unwrap_err().to_string(),
            "the client sent `tools/call` of `t` as message 4, after the end of the transcript"
        );
    }

    #[test]
    fn another_request_is_a_mismatch() {
        let recorded = "the transcript has `tools/call` of `t`";
        for (line, expect) in [
            (
                call(2),
                format!(
                    "the client sent `tools/call` of `t` as message 1, where {recorded} with other arguments"
                ),
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#.to_owned(),
                format!("the client sent `tools/list` as message 1, where {recorded}"),
            ),
        ] {
            let error = Replay::new(TRANSCRIPT).unwrap().answer(&line).unwrap_err();
            assert_eq!(error.to_string(), expect);
        }
        assert!(Replay::new("{}").is_err() && Replay::new("").is_err());
    }
}
