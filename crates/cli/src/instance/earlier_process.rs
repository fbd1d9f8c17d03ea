use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::identity::ProcessIdentity;
use super::registry::Registry;

/// Earlier process of a server, which a command has left to its supervisor and which may still be ending.
///
/// It may hold a file or a port that the next process of the server needs.
#[derive(Debug, Clone)]
pub(crate) struct EarlierProcess {
    pub(crate) registry: Registry,
    pub(crate) server: String,
    /// Hash of the definition of the server.
    pub(crate) definition: String,
}

/// Time limit of the wait: longer than a supervisor takes to end a server.
const LIMIT: Duration = Duration::from_secs(6);

/// Pause between two looks at a process.
const PAUSE: Duration = Duration::from_millis(1);

impl EarlierProcess {
    /// Waits until the process has exited, if there is one. Dropping the future is safe.
    pub(crate) async fn exited(&self) {
        let ending = self.ending();
        let limit = Instant::now() + LIMIT;
        while ending.iter().any(ProcessIdentity::is_alive) && Instant::now() < limit {
            sleep(PAUSE).await;
        }
    }

    fn ending(&self) -> Vec<ProcessIdentity> {
        let records = self.registry.live().into_iter();
        let ending = records
            .filter(|record| record.is_ending() && record.has(&self.server, &self.definition));
        ending.map(|record| record.process).collect()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::{Command, Stdio};

    use futures_util::FutureExt as _;

    use super::*;
    use crate::data_dir::DataDir;
    use crate::instance::{EndpointAuth, InstanceRecord, ServerRecord};

    #[tokio::test]
    async fn a_server_waits_for_its_earlier_process_and_for_no_other() {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::new(&DataDir::locate(Some(directory.path())).unwrap());
        let mut process = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let server = ServerRecord {
            name: "files".to_owned(),
            definition: "a".to_owned(),
            pid: Some(process.id()),
            since: None,
            restarts: 0,
            status: None,
        };
        let record = InstanceRecord {
            process: ProcessIdentity::of_running(process.id()).unwrap(),
            command: "call".to_owned(),
            since: 1,
            url: None,
            auth: EndpointAuth::Token,
            servers: vec![server],
        };
        registry.publish(&record).unwrap().keep();
        // A server that is used by its process is not ending.
        let user = InstanceRecord {
            process: ProcessIdentity::of_this_process(),
            ..record
        };
        let _published = registry.publish(&user).unwrap();
        let earlier = |definition: &str| EarlierProcess {
            registry: registry.clone(),
            server: "files".to_owned(),
            definition: definition.to_owned(),
        };
        earlier("b").exited().await;
        let same = earlier("a");
        let mut exited = std::pin::pin!(same.exited());
        assert_eq!(exited.as_mut().now_or_never(), None);
        drop(process.stdin.take());
        process.wait().unwrap();
        exited.await;
        assert_eq!(registry.live(), [user]);
    }
}
