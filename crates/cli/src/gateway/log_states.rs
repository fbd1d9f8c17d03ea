use std::collections::HashMap;
use std::convert::Infallible;

use super::report::{ServerReport, Status};
use super::service::Gateway;

/// Target of the log lines about servers, which `serve` shows by default.
pub(crate) const SERVERS_LOG: &str = "callgate::servers";

/// Logs the servers that fail and those that are back, until the future is dropped: a line for each change of the
/// state, not for each attempt.
pub(crate) async fn log_states(gateway: &Gateway) -> Infallible {
    let mut changes = gateway.changes();
    let mut known: HashMap<String, Trouble> = HashMap::new();
    loop {
        let reports = gateway.reports();
        known.retain(|name, _| reports.iter().any(|report| report.name == *name));
        for report in &reports {
            let trouble = known.entry(report.name.clone()).or_default();
            let cause = report.cause_line();
            let cause = cause.as_deref().unwrap_or("no reason is known");
            let reason = report.reason_line().unwrap_or_default();
            let name = &report.name;
            match trouble.step(report) {
                Some(News::Failed) => {
                    tracing::warn!(target: SERVERS_LOG, "server `{name}` failed and is tried again: {cause}");
                }
                Some(News::Stopped) => {
                    tracing::warn!(target: SERVERS_LOG, "server `{name}` is not connected: {reason}");
                }
                Some(News::NeedsPerson) => {
                    let status = report.status.as_str();
                    tracing::warn!(target: SERVERS_LOG, "server `{name}` {status}: {reason}");
                }
                Some(News::Back) => {
                    tracing::info!(target: SERVERS_LOG, "server `{name}` is connected again");
                }
                None => {}
            }
        }
        if !changes.next().await {
            std::future::pending::<()>().await;
        }
    }
}

/// Trouble of a server that was logged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Trouble {
    #[default]
    No,
    Failing,
    Stopped,
    NeedsPerson,
}

/// Change of a server that is worth a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum News {
    Failed,
    Stopped,
    NeedsPerson,
    Back,
}

impl Trouble {
    /// Takes over a state of the server, and returns what is new about it.
    ///
    /// A server that was stopped and fails again when it is used has no news until it is connected.
    fn step(&mut self, report: &ServerReport) -> Option<News> {
        let (now, news) = match (report.status, report.stopped_after) {
            // An attempt says nothing before it has ended.
            (Status::Connecting, _) => return None,
            (Status::Connected, _) => (Self::No, News::Back),
            (Status::Idle | Status::Disabled | Status::Untrusted, _) => {
                *self = Self::No;
                return None;
            }
            (Status::NeedsAuth | Status::NeedsClientRegistration, _) => {
                (Self::NeedsPerson, News::NeedsPerson)
            }
            (Status::Failed, Some(_)) => (Self::Stopped, News::Stopped),
            (Status::Failed, None) if *self == Self::Stopped => return None,
            (Status::Failed, None) => (Self::Failing, News::Failed),
        };
        let is_news = *self != now;
        *self = now;
        is_news.then_some(news)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(steps: &[(Status, Option<usize>, Option<News>)]) {
        let mut trouble = Trouble::default();
        for (status, stopped_after, news) in steps {
            let report = ServerReport {
                stopped_after: *stopped_after,
                ..ServerReport::of_status("s", *status)
            };
            assert_eq!(trouble.step(&report), *news, "{status:?} in {steps:?}");
        }
    }

    #[test]
    fn each_change_of_a_state_is_told_once() {
        use Status::{Connected, Connecting, Failed, Idle, NeedsAuth};
        check(&[
            (Connecting, None, None),
            (Connected, None, None),
            (Connecting, None, None),
            (Failed, None, Some(News::Failed)),
            (Connecting, None, None),
            (Failed, None, None),
            (Failed, Some(5), Some(News::Stopped)),
            (Connecting, None, None),
            (Failed, None, None),
            (Failed, Some(5), None),
            (Connecting, None, None),
            (Connected, None, Some(News::Back)),
            (NeedsAuth, None, Some(News::NeedsPerson)),
            (Connected, None, Some(News::Back)),
            (Idle, None, None),
            (Connected, None, None),
        ]);
    }
}
