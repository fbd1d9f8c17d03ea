use std::collections::BTreeMap;

use callgate_wire::input::{InputRequest, InputRequests, InputResponse, InputResponses};

use crate::error::Error;
use crate::router::dialogue::check_answer;

/// The most questions that one task may ask.
const MAX_QUESTIONS: usize = 1_000;

/// All that a task ever asked, by keys that are never used for anything else.
#[derive(Default)]
pub(super) struct Questions {
    by_key: BTreeMap<String, Question>,
}

struct Question {
    request: InputRequest,
    answer: Option<InputResponse>,
    /// How many wait for the answer; while nobody does, the question is withdrawn.
    waiting: usize,
}

impl Questions {
    /// Adds one who waits for the answer to a question.
    pub(super) fn pose(&mut self, key: &str, request: InputRequest) -> Result<(), Error> {
        if let Some(question) = self.by_key.get_mut(key) {
            if question.request != request {
                let message = format!("the key `{key}` was used for two questions");
                return Err(Error::internal(message));
            }
            question.waiting += 1;
            return Ok(());
        }
        if self.by_key.len() >= MAX_QUESTIONS {
            let message = format!("a task cannot ask more than {MAX_QUESTIONS} questions");
            return Err(Error::internal(message));
        }
        let question = Question {
            request,
            answer: None,
            waiting: 1,
        };
        self.by_key.insert(key.to_owned(), question);
        Ok(())
    }

    /// Takes away one who waits; whether that withdraws the question.
    pub(super) fn withdraw(&mut self, key: &str) -> bool {
        let Some(question) = self.by_key.get_mut(key) else {
            return false;
        };
        let was_open = question.is_open();
        question.waiting = question.waiting.saturating_sub(1);
        was_open && !question.is_open()
    }

    /// Takes answers to open questions, all or none, and ignores others; whether there were any.
    pub(super) fn answer(&mut self, responses: &InputResponses) -> Result<bool, Error> {
        let open = |question: &&mut Question| question.is_open();
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

    /// The answer to a question, if it has come.
    pub(super) fn answer_to(&self, key: &str) -> Option<InputResponse> {
        self.by_key.get(key)?.answer.clone()
    }

    /// The questions that somebody waits for.
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

impl Question {
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

    fn open(questions: &Questions) -> Vec<String> {
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
    fn a_question_is_open_while_somebody_waits_for_its_answer() {
        let mut questions = Questions::default();
        questions.pose("a", roots()).unwrap();
        questions.pose("a", roots()).unwrap();
        assert!(!questions.withdraw("a"));
        assert_eq!(open(&questions), ["a"]);
        assert!(questions.withdraw("a"));
        assert_eq!(open(&questions), [""; 0]);
        questions.pose("a", roots()).unwrap();
        assert!(questions.answer(&answers(&[("a", no_roots())])).unwrap());
        assert_eq!(open(&questions), [""; 0]);
        assert_eq!(questions.answer_to("a"), Some(no_roots()));
    }

    #[test]
    fn answers_are_taken_all_or_none_and_only_once() {
        let mut questions = Questions::default();
        questions.pose("a", roots()).unwrap();
        questions.pose("b", roots()).unwrap();
        let wrong = InputResponse::from(RawJson::null());
        let mixed = answers(&[("a", no_roots()), ("b", wrong.clone())]);
        assert_eq!(questions.answer(&mixed).unwrap_err().code(), -32602);
        assert_eq!(open(&questions), ["a", "b"]);
        let partial = answers(&[("a", no_roots()), ("unknown", wrong.clone())]);
        assert!(questions.answer(&partial).unwrap());
        assert_eq!(open(&questions), ["b"]);
        assert!(!questions.answer(&answers(&[("a", wrong)])).unwrap());
        assert_eq!(questions.answer_to("a"), Some(no_roots()));
    }

    #[test]
    fn keys_are_for_one_question_and_their_number_is_limited() {
        let mut questions = Questions::default();
        questions.pose("a", roots()).unwrap();
        let other = ElicitParams::url("Open", "https://a.example");
        assert_eq!(
            questions.pose("a", other.into()).unwrap_err().code(),
            -32603
        );
        for number in 1..MAX_QUESTIONS {
            questions.pose(&number.to_string(), roots()).unwrap();
        }
        assert_eq!(questions.pose("more", roots()).unwrap_err().code(), -32603);
    }
}
