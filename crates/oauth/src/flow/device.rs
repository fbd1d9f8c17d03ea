//! Device code grant: shows the code, and polls until the user has answered.

use super::error::FlowError;
use super::machine::Flow;
use super::state::{FlowState, GrantInput, RequestContext};
use super::step::Step;
use crate::device::{self, PendingDeviceLogin};
use crate::http_message::Response;
use crate::token_endpoint::{Authentication, TokenEndpointError};

impl Flow {
    /// Continues after [`Step::ShowCode`] or [`Step::Wait`].
    pub(crate) fn resume(&mut self, now: u64) -> Result<Step, FlowError> {
        self.config.now = now;
        match std::mem::replace(&mut self.state, FlowState::Over) {
            FlowState::ShowingCode(context, pending) => Ok(self.pause(context, pending)),
            FlowState::AwaitingPoll(context, pending) => {
                pending.check(now)?;
                self.fetch_token(context, GrantInput::DeviceCode(pending))
            }
            other => self.out_of_order(other),
        }
    }

    /// Continues after a [`Step::Fetch`] without an answer, if this was a poll: the user may be
    /// about to consent, so one lost answer must not end the login.
    pub(crate) fn retry_unanswered(&mut self) -> Option<Step> {
        match std::mem::replace(&mut self.state, FlowState::Over) {
            FlowState::RequestingToken(attempt) => match attempt.input {
                GrantInput::DeviceCode(mut pending) => {
                    // RFC 8628, section 3.5: after a timeout the client must poll less often.
                    pending.back_off();
                    Some(self.pause(attempt.context, pending))
                }
                _ => None,
            },
            other => {
                self.state = other;
                None
            }
        }
    }

    pub(super) fn ask_for_code(&mut self, context: RequestContext) -> Result<Step, FlowError> {
        let discovered = &context.discovered;
        let endpoint = discovered.server.device_authorization_endpoint()?.clone();
        let provider = &discovered.provider;
        let scope = provider.scope(&discovered.scopes);
        let fields = device::fields(discovered.sent_resource(), &scope, provider);
        let authentication = Authentication::at(&discovered.server, &context.client);
        let request = authentication.form(endpoint, &fields, self.config.now)?;
        self.state = FlowState::RequestingDeviceCode(context);
        Ok(Step::Fetch(request))
    }

    pub(super) fn show_code(
        &mut self,
        context: RequestContext,
        response: &Response,
    ) -> Result<Step, FlowError> {
        let pending = Box::new(PendingDeviceLogin::parse(response, self.config.now)?);
        let prompt = pending.prompt.clone();
        self.state = FlowState::ShowingCode(context, pending);
        Ok(Step::ShowCode(prompt))
    }

    /// Polls again later, unless the answer is final.
    pub(super) fn poll_again(
        &mut self,
        context: RequestContext,
        mut pending: Box<PendingDeviceLogin>,
        error: TokenEndpointError,
        response: &Response,
    ) -> Result<Step, FlowError> {
        match pending.wait_after(response)? {
            None => Err(error.into()),
            Some(wait) => {
                // Never beyond the end of the code, so that the user learns of it in time.
                let wait = wait.min(pending.left(self.config.now));
                self.state = FlowState::AwaitingPoll(context, pending);
                Ok(Step::Wait(wait))
            }
        }
    }

    fn pause(&mut self, context: RequestContext, pending: Box<PendingDeviceLogin>) -> Step {
        let wait = pending.interval.min(pending.left(self.config.now));
        self.state = FlowState::AwaitingPoll(context, pending);
        Step::Wait(wait)
    }
}
