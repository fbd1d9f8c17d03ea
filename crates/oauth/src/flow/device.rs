//! Asking a person on another device, and asking again until they answered.

use super::error::FlowError;
use super::machine::Flow;
use super::state::{Agreed, Given, State};
use super::step::Step;
use crate::device::{self, Pending};
use crate::exchange::Response;
use crate::token::{Authentication, TokenError};

impl Flow {
    /// Goes on after [`Step::ShowCode`] or [`Step::Wait`].
    pub fn resume(&mut self, now: u64) -> Result<Step, FlowError> {
        self.config.now = now;
        match std::mem::replace(&mut self.state, State::Over) {
            State::Showing(agreed, pending) => Ok(self.pause(agreed, pending)),
            State::Pausing(agreed, pending) => {
                pending.check(now)?;
                self.fetch_token(agreed, Given::DeviceCode(pending))
            }
            other => self.out_of_order(other),
        }
    }

    /// Goes on after a [`Step::Fetch`] that got no answer, if the login can: a person may be about to consent.
    pub fn unanswered(&mut self) -> Option<Step> {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Fetching(fetching) => match fetching.given {
                Given::DeviceCode(mut pending) => {
                    pending.back_off();
                    Some(self.pause(fetching.agreed, pending))
                }
                _ => None,
            },
            other => {
                self.state = other;
                None
            }
        }
    }

    pub(super) fn ask_for_code(&mut self, agreed: Agreed) -> Result<Step, FlowError> {
        let discovered = &agreed.discovered;
        let endpoint = discovered.server.device_authorization_endpoint()?.clone();
        let scope = discovered.scopes.to_string();
        let fields = device::fields(&discovered.resource, &scope);
        let authentication = Authentication::at(&discovered.server, &agreed.client);
        let request = authentication.form(endpoint, &fields, self.config.now)?;
        self.state = State::AskingForCode(agreed);
        Ok(Step::Fetch(request))
    }

    pub(super) fn show_code(
        &mut self,
        agreed: Agreed,
        response: &Response,
    ) -> Result<Step, FlowError> {
        let pending = Box::new(Pending::parse(response, self.config.now)?);
        let prompt = pending.prompt.clone();
        self.state = State::Showing(agreed, pending);
        Ok(Step::ShowCode(prompt))
    }

    /// Asks again later, unless the answer was a clear no.
    pub(super) fn not_yet(
        &mut self,
        agreed: Agreed,
        mut pending: Box<Pending>,
        error: TokenError,
        response: &Response,
    ) -> Result<Step, FlowError> {
        match pending.wait_after(response)? {
            None => Err(error.into()),
            Some(wait) => {
                let wait = wait.min(pending.left(self.config.now));
                self.state = State::Pausing(agreed, pending);
                Ok(Step::Wait(wait))
            }
        }
    }

    fn pause(&mut self, agreed: Agreed, pending: Box<Pending>) -> Step {
        let wait = pending.interval.min(pending.left(self.config.now));
        self.state = State::Pausing(agreed, pending);
        Step::Wait(wait)
    }
}
