use std::collections::BTreeMap;

use callgate_wire::input::{InputRequest, InputRequests, InputResponse, InputResponses};

use crate::error::Error;
use crate::router::input_exchange::{check_answer, reused_key};

/// Maximum number of questions of one task: all of them are kept until the task expires.
const MAX_QUESTIONS: usize = 1_000;

/// Input requests of a task, answered ones included, by key. The extension forbids to use a key
/// again for another request.
#[derive(Default)]
pub(super) struct TaskInput {
    by_key: BTreeMap<String, TaskQuestion>,
}

/// Input request with its answer.
struct TaskQuestion {
    request: InputRequest,
    answer: Option<InputResponse>,
    /// Number of futures that wait for the answer; without any, the question is withdrawn.
    waiting: usize,
}

impl TaskInput {
    /// Adds a waiter for the answer to a question, and the question if it is new.
    pub(super) fn add_waiter(&mut self, key: &str, request: InputRequest) -> Result<(), Error> {
        if let Some(question) = self.by_key.get_mut(key) {
            if question.request != request {
                return Err(reused_key(key));
            }
            question.waiting += 1;
            return Ok(());
        }
        if self.by_key.len() >= MAX_QUESTIONS {
            let message = format!("a task cannot ask more than {MAX_QUESTIONS} questions");
            return Err(Error::internal(message));
        }
        let question = TaskQuestion {
            request,
            answer: None,
            waiting: 1,
        };
        self.by_key.insert(key.to_owned(), question);
        Ok(())
    }

    /// Removes a waiter. Returns true if that withdraws the question.
    pub(super) fn remove_waiter(&mut self, key: &str) -> bool {
        let Some(question) = self.by_key.get_mut(key) else {
            return false;
        };
        let was_open = question.is_open();
        question.waiting = question.waiting.saturating_sub(1);
        was_open && !question.is_open()
    }

    /// Stores the answers to open questions, all or none, and ignores others. Returns false if there
    /// were none.
    pub(super) fn answer(&mut self, responses: &InputResponses) -> Result<bool, Error> {
        let open = |question: &&mut TaskQuestion| question.is_open();
        // All are checked before any is stored, so that a client can send a refused update again.
        for (key, response) in responses.iter() {
            if let Some(question) = self.by_key.get_mut(key).filter(open) {
                check_answer(key, &question.request, response)?;
            }
        }
        let mut any = false;
        for (key, response) in responses.iter() {
            if let Some(question) = self.by_key.get_mut(key).filter(open) {
                question.answer = Some(response.clone());
                any = true;
            }
        }
        Ok(any)
    }

    /// Answer to a question, if it has come.
    pub(super) fn response(&self, key: &str) -> Option<InputResponse> {
        self.by_key.get(key)?.answer.clone()
    }

    /// Open questions; `None` without any.
    pub(super) fn open(&self) -> Option<InputRequests> {
        let open = self
            .by_key
            .iter()
            .filter(|(_, question)| question.is_open());
        let open: InputRequests = open
            .map(|(key, question)| (key.clone(), question.request.clone()))
            .collect();
        (!open.is_empty()).then_some(open)
    }
}

impl TaskQuestion {
    fn is_open(&self) -> bool {
        self.answer.is_none() && self.waiting > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_wire::RawJson;
    use callgate_wire::elicitation::ElicitParams;
    use callgate_wire::roots::ListRootsResult;

    fn roots() -> InputRequest {
        InputRequest::list_roots()
    }

    fn open(questions: &TaskInput) -> Vec<String> {
        let open = questions.open().unwrap_or_default();
        open.iter().map(|(key, _)| key.to_owned()).collect()
    }

    fn answers(entries: &[(&str, InputResponse)]) -> InputResponses {
        entries.iter().cloned().collect()
    }

    fn no_roots() -> InputResponse {
        (&ListRootsResult::default()).into()
    }

    #[test]
    fn a_question_is_open_while_a_handler_waits_for_its_answer() {
        let mut questions = TaskInput::default();
        questions.add_waiter("a", roots()).unwrap();
        questions.add_waiter("a", roots()).unwrap();
        assert!(!questions.remove_waiter("a"));
        assert_eq!(open(&questions), ["a"]);
        assert!(questions.remove_waiter("a"));
        assert_eq!(open(&questions), [""; 0]);
        questions.add_waiter("a", roots()).unwrap();
        assert!(questions.answer(&answers(&[("a", no_roots())])).unwrap());
        assert_eq!(open(&questions), [""; 0]);
        assert_eq!(questions.response("a"), Some(no_roots()));
    }

    #[test]
    fn answers_are_taken_all_or_none_and_only_once() {
        let mut questions = TaskInput::default();
        questions.add_waiter("a", roots()).unwrap();
        questions.add_waiter("b", roots()).unwrap();
        let wrong = InputResponse::from(RawJson::null());
        let mixed = answers(&[("a", no_roots()), ("b", wrong.clone())]);
        assert_eq!(questions.answer(&mixed).unwrap_err().code(), -32602);
        assert_eq!(open(&questions), ["a", "b"]);
        let partial = answers(&[("a", no_roots()), ("unknown", wrong.clone())]);
        assert!(questions.answer(&partial).unwrap());
        assert_eq!(open(&questions), ["b"]);
        assert!(!questions.answer(&answers(&[("a", wrong)])).unwrap());
        assert_eq!(questions.response("a"), Some(no_roots()));
    }

    #[test]
    fn keys_are_for_one_question_and_their_number_is_limited() {
        let mut questions = TaskInput::default();
        questions.add_waiter("a", roots()).unwrap();
        let other = ElicitParams::url("Open", "https://a.example");
        assert_eq!(
            questions.add_waiter("a", other.into()).unwrap_err().code(),
            -32603
        );
        for number in 1..MAX_QUESTIONS {
            questions.add_waiter(&number.to_string(), roots()).unwrap();
        }
        assert_eq!(
            questions.add_waiter("more", roots()).unwrap_err().code(),
            -32603
        );
    }
}
