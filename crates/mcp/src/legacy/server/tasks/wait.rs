use std::sync::Arc;
use std::time::Duration;

use callgate_wire::task::UpdateTaskParams;
use callgate_wire::{Id, Map, RawJson, method};

use super::desk::Tasks;
use super::look::State;
use super::methods::encode;
use super::registry::Entry;
use crate::error::Error;
use crate::legacy::server::forward::pages_done;
use crate::legacy::server::outlet::Outlet;
use crate::legacy::server::session::Session;

/// A request that waits for the end of a task.
pub(super) struct Waiting<'a> {
    pub(super) tasks: &'a Tasks,
    pub(super) id: &'a Id,
    pub(super) entry: &'a Entry,
    /// What questions say of the task, where the client knows it.
    pub(super) related: Option<&'a RawJson>,
}

/// How long to wait between two looks at a task that does not say.
const USUAL_POLL: Duration = Duration::from_secs(1);

/// The shortest and the longest wait between two looks at a task, whatever it says.
const POLL: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(30));

impl Session {
    /// Waits for the result of a task, and asks the client what the task wants to know until then.
    pub(super) async fn wait_for(
        &self,
        waiting: &Waiting<'_>,
        outlet: &Arc<dyn Outlet>,
    ) -> Result<RawJson, Error> {
        let Waiting {
            tasks, id, entry, ..
        } = *waiting;
        let mut opened = Vec::new();
        loop {
            let look = tasks.look(id, entry).await?;
            match look.state {
                State::Completed(result) => {
                    pages_done(&opened, outlet).await;
                    return Ok(result);
                }
                State::Failed(error) => return Err(Error::rpc(&Arc::from(""), error)),
                State::Cancelled => return Err(Error::internal("the task was canceled")),
                State::Working => {}
                State::Asking(requests) => {
                    let claim = entry.claim(&requests);
                    let unasked = pick(&requests, claim.keys());
                    if !claim.keys().is_empty() {
                        let answers = self.ask(&unasked, outlet, waiting.related).await?;
                        opened.extend(answers.opened);
                        let params = UpdateTaskParams {
                            meta: None,
                            task_id: look.task.task_id,
                            input_responses: answers.responses,
                        };
                        tasks.ask(id, method::TASKS_UPDATE, &params).await?;
                        claim.done();
                        continue;
                    }
                }
            }
            let wait = look.task.poll_interval.map(Duration::from_millis);
            let (shortest, longest) = POLL;
            tokio::time::sleep(wait.unwrap_or(USUAL_POLL).clamp(shortest, longest)).await;
        }
    }
}

/// The members of an object with these keys.
fn pick(object: &RawJson, keys: &[String]) -> RawJson {
    let members = keys.iter().filter_map(|key| Some((key, object.get(key)?)));
    let picked: Map<RawJson> = members.collect();
    encode(&picked)
}
