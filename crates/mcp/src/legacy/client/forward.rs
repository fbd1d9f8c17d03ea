use std::sync::Arc;
use std::time::SystemTime;

use callgate_wire::elicitation::ElicitParams;
use callgate_wire::legacy::elicitation::UrlElicitationRequiredData;
use callgate_wire::legacy::logging::SetLevelParams;
use callgate_wire::legacy::method as old;
use callgate_wire::{Id, Map, Meta, RawJson, Splice, code, meta, method};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::timeout;

use super::call_table::Requester;
use super::convert::{self, Failure};
use super::running_call::RunningCall;
use super::session::{ServerLogLevel, SessionShared};
use super::tasks::{CallMode, await_task};
use super::transport::{MessageSender, OldRequest};
use crate::error::{Error, Kind};
use crate::seal::{RequestDigest, RoundState};
use crate::service::{Call, Reply};
use crate::upstream::server_timeout::{TimedOut, server_timeout};

/// Content of the sealed `requestState` that the client of an interrupted call brings back.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
enum ResumeState {
    /// The call is suspended under this number, in the session with this id. Several sessions may
    /// share a key, and their numbers repeat.
    Suspended { session: u64, number: u64 },
    /// The call is made again once the user is done with these URL elicitations.
    Retry(Vec<String>),
}

/// An `InputRequiredResult` with questions that are not decoded.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InputRequired {
    result_type: &'static str,
    input_requests: Map<RawJson>,
    request_state: String,
    #[serde(rename = "_meta")]
    meta: Meta,
}

impl SessionShared {
    /// Makes a call at the old server, or resumes a suspended one. Dropping the future cancels it.
    pub(super) async fn forward(self: &Arc<Self>, call: Call) -> Result<Reply, Error> {
        self.server.check(&call.method)?;
        let mut running = match call.params().get("requestState") {
            Some(state) => self.resume(&call, &state).await?,
            None => self.start(&call).await?,
        };
        loop {
            match running.drive(self).await {
                Some(answer) => return self.reply(&call, answer),
                None => match self.suspend(&call, running)? {
                    Ok(reply) => return Ok(reply),
                    Err(same) => running = same,
                },
            }
        }
    }

    /// Starts a call: sends its request.
    async fn start(&self, call: &Call) -> Result<RunningCall, Error> {
        let client = Requester::of(call);
        let call_mode = self.call_mode(call, &client).await;
        let (wants_logs, wants_progress) = (client.wants_logs(), client.wants_progress());
        let old_call = self.calls.admit(call, client);
        let (messages, incoming) = MessageSender::channel(self.config.queued_messages);
        // Made before the request is sent, so that dropping this future at any time takes the call out of the
        // table.
        let mut running = RunningCall {
            old_call: old_call.clone(),
            calls: self.calls.clone(),
            reply_sender: self.reply_sender.clone(),
            answer: Box::pin(std::future::pending()),
            incoming,
        };
        // Before the request, whose first log messages would otherwise be filtered at an older level. The
        // call is in the table by now, so its own level counts.
        if wants_logs {
            self.set_log_level().await;
        }
        let token = wants_progress.then(|| Id::number(old_call.number));
        let mut params = convert::old_params(call.params(), token.as_ref())?;
        if call_mode != CallMode::Direct {
            params = as_task(&params)?;
        }
        let outgoing = OldRequest {
            method: call.method.clone(),
            params,
        };
        // Questions that came outside of any call are carried by the next call that can.
        for question in self
            .unassigned
            .take(|question| old_call.suits(question).is_ok())
        {
            if let Err(question) = old_call.ask(question) {
                self.reply_sender.post_unanswered(vec![question]);
            }
        }
        running.answer = match call_mode {
            CallMode::Direct | CallMode::Task => self.transport.request(outgoing, messages),
            CallMode::AwaitTask => {
                let (transport, tasks) = (self.transport.clone(), self.tasks.clone());
                Box::pin(await_task(transport, tasks, old_call, outgoing, messages))
            }
        };
        Ok(running)
    }

    /// Resumes a suspended call, or makes the call again, as its sealed state says.
    async fn resume(&self, call: &Call, state: &RawJson) -> Result<RunningCall, Error> {
        let invalid = || Error::invalid_params("`requestState` is not valid for this request");
        let sealed = state.text().ok_or_else(invalid)?;
        let digest = RequestDigest::new(&call.cx.caller, &call.method, call.params());
        let state: RoundState = self.sealer.open(&sealed, &digest, SystemTime::now())?;
        let resume_state = state.own.and_then(|own| serde_json::from_str(&own).ok());
        // Read before the call is taken out: a malformed retry must not end it.
        let answers = answers(call.params())?;
        match resume_state.ok_or_else(invalid)? {
            ResumeState::Suspended { session, number } => {
                let client = Requester::of(call);
                let running = self
                    .suspended
                    .take(|running| session == self.id && running.old_call.number == number)
                    .pop()
                    .ok_or_else(|| {
                        Error::invalid_params(
                            "the call is not waiting any more: it was continued or has expired",
                        )
                    })?;
                // Attached first, because the server may go on and notify as soon as it has an answer.
                running.old_call.attach(client);
                for (question, answer) in running.old_call.answered(&answers) {
                    let answer = question.answer(&answer, self.server.version);
                    self.reply_sender.send(question.id, Ok(answer)).await;
                }
                Ok(running)
            }
            ResumeState::Retry(ids) => {
                self.wait_for_urls(&ids, &answers).await?;
                self.start(call).await
            }
        }
    }

    /// Suspends a call, and replies with the questions of the server to its client; or gives the
    /// call back, which continues.
    fn suspend(
        &self,
        call: &Call,
        running: RunningCall,
    ) -> Result<Result<Reply, RunningCall>, Error> {
        let Some(questions) = running.old_call.suspend() else {
            return Ok(Err(running));
        };
        let resume_state = ResumeState::Suspended {
            session: self.id,
            number: running.old_call.number,
        };
        // Made first, because a call that is put aside without a reply could never be resumed.
        let reply = self.input_required(call, questions, &resume_state)?;
        let old_call = running.old_call.clone();
        let share = self.config.suspended_calls_per_caller;
        let is_of_caller = |other: &RunningCall| other.old_call.caller() == old_call.caller();
        match self.suspended.put_in_share(running, share, is_of_caller) {
            Ok(()) => {
                old_call.release_request();
                Ok(Ok(reply))
            }
            // Too many calls are suspended: this one continues without input.
            Err(running) => {
                self.reply_sender.post_unanswered(old_call.refuse());
                Ok(Err(running))
            }
        }
    }

    fn reply(
        self: &Arc<Self>,
        call: &Call,
        answer: Result<RawJson, Error>,
    ) -> Result<Reply, Error> {
        let method = call.method.as_str();
        let error = match answer {
            Ok(result) if result.is_object() => {
                if let Some(reply) = self.created_task(call, &result) {
                    return reply;
                }
                self.learn_task_support(call, &result);
                let result = convert::complete(&call.method, &result, &self.server.info);
                return Ok(Reply::Complete(result));
            }
            Ok(_) => {
                let name = &self.name;
                let text = format!("server `{name}` answered with a result that is no object");
                return Err(Error::new(Kind::Protocol, text).from_upstream(name));
            }
            Err(error) => error,
        };
        if error.code() == code::METHOD_NOT_FOUND {
            // A tool that must be called as a task answers so: the cached task support is stale.
            *self.tools.lock() = None;
        }
        if self.transport.is_closed() {
            self.listeners.close();
        }
        match convert::read_failure(&self.name, method, call.params(), error) {
            Failure::Error(error) => Err(error),
            Failure::Urls(urls) => self.ask_to_open_urls(call, urls),
        }
    }

    /// Replies that the user has to open URLs before the call is made again.
    fn ask_to_open_urls(
        &self,
        call: &Call,
        urls: UrlElicitationRequiredData,
    ) -> Result<Reply, Error> {
        #[derive(Serialize)]
        struct Asked<'a> {
            method: &'a str,
            params: ElicitParams,
        }
        if !call.method.may_ask_input() || !Requester::of(call).opens_urls() {
            let required = RawJson::encode(&json!({ "elicitation": { "url": {} } }));
            let required = required.expect("a value is always JSON");
            return Err(Error::missing_capability(&required));
        }
        let mut ids = Vec::new();
        let mut questions = Map::default();
        for (number, elicitation) in (1..).zip(urls.elicitations) {
            ids.push(elicitation.elicitation_id);
            let asked = Asked {
                method: method::ELICITATION_CREATE,
                params: ElicitParams::url(elicitation.message, elicitation.url),
            };
            let asked = RawJson::encode(&asked).expect("a question is always JSON");
            questions.insert(number.to_string(), asked);
        }
        self.input_required(call, questions, &ResumeState::Retry(ids))
    }

    /// Waits, with a timeout, until the user is done with the URLs that a call needs.
    async fn wait_for_urls(&self, ids: &[String], answers: &Map<RawJson>) -> Result<(), Error> {
        let accepts = |answer: &RawJson| {
            let action = answer.get("action");
            action.is_some_and(|action| action.text().as_deref() == Some("accept"))
        };
        if answers.is_empty() || !answers.iter().all(|(_, answer)| accepts(answer)) {
            let name = &self.name;
            let text = format!("the user did not open the page that server `{name}` needs");
            return Err(Error::new(Kind::InputRequired, text));
        }
        // Many servers do not report when the user is done: then the call itself will show it.
        let completed = self.url_elicitations.completed(ids);
        let _ = timeout(self.config.url_timeout, completed).await;
        Ok(())
    }

    fn input_required(
        &self,
        call: &Call,
        input_requests: Map<RawJson>,
        resume_state: &ResumeState,
    ) -> Result<Reply, Error> {
        let state = RoundState {
            own: Some(serde_json::to_string(resume_state).expect("a resume state is always JSON")),
            ..RoundState::default()
        };
        let digest = RequestDigest::new(&call.cx.caller, &call.method, call.params());
        let expires = SystemTime::now() + self.config.input_timeout;
        let result = InputRequired {
            result_type: "input_required",
            input_requests,
            request_state: self.sealer.seal(&state, &digest, expires)?,
            meta: Meta::new().with(meta::SERVER_INFO, &self.server.info),
        };
        let result = RawJson::encode(&result).expect("a result is always JSON");
        Ok(Reply::InputRequired(result))
    }

    /// Sets the log level of the server to the most verbose one that any client wants.
    async fn set_log_level(&self) {
        if !self.server.has(&["logging"]) {
            return;
        }
        // Calls at the same time wait for one request.
        let mut set_level = self.server_log_level.clone().lock_owned().await;
        let Some(level) = self.calls.log_level() else {
            return;
        };
        match *set_level {
            ServerLogLevel::Silent => return,
            ServerLogLevel::Told(told) if told == level => return,
            _ => {}
        }
        let request = OldRequest::new(old::LOGGING_SET_LEVEL, &SetLevelParams::new(level));
        let (transport, limit) = (self.transport.clone(), self.config.handshake_timeout);
        // In a task of its own: the outcome counts for later calls too, and the client of this one may give up
        // before the server has answered.
        let telling = tokio::spawn(async move {
            let auth_wait = || transport.auth_wait_until();
            match server_timeout(limit, auth_wait, transport.ask(request)).await {
                Ok(Ok(_)) => *set_level = ServerLogLevel::Told(level),
                Ok(Err(error)) if error.raw().is_some() => {
                    tracing::debug!(%error, "a server refused the level of its log messages");
                    *set_level = ServerLogLevel::Told(level);
                }
                Ok(Err(error)) => {
                    tracing::debug!(%error, "the level of log messages was not set");
                }
                Err(TimedOut) => *set_level = ServerLogLevel::Silent,
            }
        });
        let _ = telling.await;
    }
}

/// The `inputResponses` of a request.
pub(super) fn answers(params: &RawJson) -> Result<Map<RawJson>, Error> {
    let Some(answers) = params.get("inputResponses") else {
        return Ok(Map::default());
    };
    let answers: Map<RawJson> = answers.decode().map_err(|error| {
        Error::invalid_params("`inputResponses` must be an object").with_source(error)
    })?;
    let are_objects = answers.iter().all(|(_, answer)| answer.is_object());
    match are_objects {
        true => Ok(answers),
        false => Err(Error::invalid_params("every answer must be an object")),
    }
}

/// Params of a call that is made as a task.
fn as_task(params: &RawJson) -> Result<RawJson, Error> {
    Splice::new(params)
        .set(&["task"], &RawJson::empty_object())
        .finish()
        .map_err(|error| Error::invalid_params(error.to_string()))
}
