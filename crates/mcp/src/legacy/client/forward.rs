use std::sync::Arc;
use std::time::SystemTime;

use callgate_wire::legacy::elicitation::UrlElicitationRequiredData;
use callgate_wire::legacy::logging::SetLevelParams;
use callgate_wire::legacy::method as old;
use callgate_wire::{Id, Map, Meta, Method, RawJson, Splice, code, meta};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::convert::{self, Failure};
use super::exchange::{Came, Exchange};
use super::flight::{Client, carries_input};
use super::session::Shared;
use super::tasks::{Manner, hold};
use super::transport::{Heard, Outgoing};
use crate::error::{Error, Kind};
use crate::seal::{RoundState, request_digest};
use crate::service::{Call, Reply};

/// What the client of an interrupted call brings back, sealed.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Errand {
    /// The call waits under this number.
    Parked(u64),
    /// The call is made again once the user is done with these pages.
    Again(Vec<String>),
}

/// An `InputRequiredResult` of which nothing is looked at.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InputRequired {
    result_type: &'static str,
    input_requests: Map<RawJson>,
    request_state: String,
    #[serde(rename = "_meta")]
    meta: Meta,
}

impl Shared {
    /// Makes a call at the old server, or goes on with one. Dropping the future cancels it.
    pub(super) async fn forward(self: &Arc<Self>, call: Call) -> Result<Reply, Error> {
        self.server.check(&call.method)?;
        let mut exchange = match call.params.get("requestState") {
            Some(state) => self.resume(&call, &state).await?,
            None => self.start(&call).await?,
        };
        loop {
            match exchange.drive(self).await {
                Came::Answered(answer) => return self.reply(&call, answer),
                Came::Asked => match self.park(&call, exchange)? {
                    Parking::Parked(reply) => return Ok(reply),
                    Parking::GoOn(same) => exchange = same,
                },
            }
        }
    }

    /// Sends the request of a call.
    async fn start(&self, call: &Call) -> Result<Exchange, Error> {
        let client = Client::of(call);
        let manner = self.manner(call, &client).await;
        let wants_logs = client.wants_logs();
        let wants_progress = client.wants_progress();
        let flight = self.flights.admit(call, client);
        let (heard, hearing) = Heard::channel(self.config.heard);
        let mut exchange = Exchange {
            flight: flight.clone(),
            flights: self.flights.clone(),
            replies: self.replies.clone(),
            answer: Box::pin(std::future::pending()),
            hearing,
        };
        if wants_logs {
            self.set_log_level().await;
        }
        let token = wants_progress.then(|| Id::number(flight.number));
        let mut params = convert::outgoing(&call.params, token.as_ref())?;
        if manner != Manner::Direct {
            params = as_task(&params)?;
        }
        let outgoing = Outgoing {
            method: call.method.clone(),
            params,
        };
        for question in self
            .unclaimed
            .claim(|question| flight.suits(question).is_ok())
        {
            if let Err(question) = flight.ask(question) {
                let outcome = question.unanswered();
                self.replies.post(question.id, outcome);
            }
        }
        exchange.answer = match manner {
            Manner::Direct | Manner::Task => self.transport.request(outgoing, heard),
            Manner::Held => {
                let (transport, tasks) = (self.transport.clone(), self.tasks.clone());
                Box::pin(hold(transport, tasks, flight, outgoing, heard))
            }
        };
        Ok(exchange)
    }

    /// Takes a call out again, or makes it again, as the state says that the client brings.
    async fn resume(&self, call: &Call, state: &RawJson) -> Result<Exchange, Error> {
        let invalid = || Error::invalid_params("`requestState` is not valid for this request");
        let sealed = state.text().ok_or_else(invalid)?;
        let digest = request_digest(&call.cx.caller, &call.method, &call.params);
        let state = self.sealer.open(&sealed, &digest, SystemTime::now())?;
        let errand = state.own.and_then(|own| serde_json::from_str(&own).ok());
        let answers = answers(&call.params)?;
        match errand.ok_or_else(invalid)? {
            Errand::Parked(number) => {
                let client = Client::of(call);
                let exchange = self.parked.take(number).ok_or_else(|| {
                    Error::invalid_params(
                        "the call is not waiting any more: it was continued or has expired",
                    )
                })?;
                exchange.flight.attach(client);
                for (question, answer) in exchange.flight.answered(&answers) {
                    let answer = question.answer(&answer, self.server.version);
                    self.replies.send(question.id, Ok(answer)).await;
                }
                Ok(exchange)
            }
            Errand::Again(pages) => {
                self.wait_for_pages(&pages, &answers).await?;
                self.start(call).await
            }
        }
    }

    /// Lets a call wait for its client, who is told what the server wants to know.
    fn park(&self, call: &Call, exchange: Exchange) -> Result<Parking, Error> {
        let Some(questions) = exchange.flight.park() else {
            return Ok(Parking::GoOn(exchange));
        };
        if !self.parked.has_room() {
            for question in exchange.flight.refuse() {
                let outcome = question.unanswered();
                self.replies.post(question.id, outcome);
            }
            return Ok(Parking::GoOn(exchange));
        }
        let errand = Errand::Parked(exchange.flight.number);
        let reply = self.input_required(call, questions, &errand)?;
        self.parked.put(exchange);
        Ok(Parking::Parked(reply))
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
                let result = convert::complete(method, &result, &self.server.info);
                return Ok(Reply::Complete(result));
            }
            Ok(_) => {
                let text = format!(
                    "server `{}` answered with a result that is no object",
                    self.name
                );
                return Err(Error::new(Kind::Protocol, text).from_upstream(&self.name));
            }
            Err(error) => error,
        };
        if error.code() == code::METHOD_NOT_FOUND {
            // Tools say so that can only be called as tasks: ours may be old news.
            self.tools.forget();
        }
        if self.transport.is_over() {
            self.listeners.close();
        }
        match convert::read_failure(&self.name, method, &call.params, error) {
            Failure::Error(error) => Err(error),
            Failure::Urls(urls) => self.ask_for_pages(call, urls),
        }
    }

    /// Asks the client to open pages before it calls again.
    fn ask_for_pages(&self, call: &Call, urls: UrlElicitationRequiredData) -> Result<Reply, Error> {
        #[derive(Serialize)]
        struct Asked<'a> {
            method: &'a str,
            params: callgate_wire::elicitation::ElicitParams,
        }
        let can_open = Client::of(call).opens_urls();
        if !carries_input(call.method.as_str()) || !can_open {
            let required = RawJson::encode(&serde_json::json!({ "elicitation": { "url": {} } }))
                .expect("a value is always JSON");
            return Err(Error::missing_capability(&required));
        }
        let mut pages = Vec::new();
        let mut questions = Map::default();
        for (number, page) in (1..).zip(urls.elicitations) {
            pages.push(page.elicitation_id);
            let asked = Asked {
                method: callgate_wire::method::ELICITATION_CREATE,
                params: callgate_wire::elicitation::ElicitParams::url(page.message, page.url),
            };
            let asked = RawJson::encode(&asked).expect("a question is always JSON");
            questions.insert(number.to_string(), asked);
        }
        self.input_required(call, questions, &Errand::Again(pages))
    }

    /// Waits a while for the user to be done with the pages that a call needs.
    async fn wait_for_pages(&self, pages: &[String], answers: &Map<RawJson>) -> Result<(), Error> {
        let accepts = |answer: &RawJson| {
            let action = answer.get("action");
            action.is_some_and(|action| action.text().as_deref() == Some("accept"))
        };
        if answers.is_empty() || !answers.iter().all(|(_, answer)| accepts(answer)) {
            let text = format!(
                "the user did not open the page that server `{}` needs",
                self.name
            );
            return Err(Error::new(Kind::InputRequired, text));
        }
        // Many servers do not say when a user is done: then the call itself will tell.
        let _ = timeout(self.config.page, self.pages.completed(pages)).await;
        Ok(())
    }

    fn input_required(
        &self,
        call: &Call,
        input_requests: Map<RawJson>,
        errand: &Errand,
    ) -> Result<Reply, Error> {
        let state = RoundState {
            own: Some(serde_json::to_string(errand).expect("an errand is always JSON")),
            ..RoundState::default()
        };
        let digest = request_digest(&call.cx.caller, &call.method, &call.params);
        let expires = SystemTime::now() + self.config.patience;
        let result = InputRequired {
            result_type: "input_required",
            input_requests,
            request_state: self.sealer.seal(&state, &digest, expires)?,
            meta: Meta::new().with(meta::SERVER_INFO, &self.server.info),
        };
        let result = RawJson::encode(&result).expect("a result is always JSON");
        Ok(Reply::InputRequired(result))
    }

    /// Tells the server the most verbose level that anybody wants, where it changed.
    async fn set_log_level(&self) {
        let wanted = self.flights.log_level();
        let (Some(level), true) = (wanted, self.server.has(&["logging"])) else {
            return;
        };
        if *self.told_level() == wanted {
            return;
        }
        let params = RawJson::encode(&SetLevelParams::new(level)).expect("a level is always JSON");
        let outgoing = Outgoing {
            method: Method::new(old::LOGGING_SET_LEVEL),
            params,
        };
        let (heard, _hearing) = Heard::channel(1);
        let telling = self.transport.request(outgoing, heard);
        match timeout(self.config.handshake, telling).await {
            Ok(Ok(_)) => *self.told_level() = wanted,
            _ => tracing::debug!(server = %self.name, "the level of log messages was not set"),
        }
    }
}

/// Whether a call waits now.
enum Parking {
    Parked(Reply),
    GoOn(Exchange),
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

/// The params of a call that is to go on as a task.
fn as_task(params: &RawJson) -> Result<RawJson, Error> {
    Splice::new(params)
        .set(&["task"], &RawJson::empty_object())
        .finish()
        .map_err(|error| Error::invalid_params(error.to_string()))
}
