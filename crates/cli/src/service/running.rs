use std::thread;
use std::time::{Duration, Instant};

use super::platform::Platform;
use super::system_command::printed;
use crate::data_dir::DataDir;
use crate::instance::{InstanceRecord, Registry};

/// Time limit of the start: `serve` reads its configuration and the records of other processes before it listens.
const LIMIT: Duration = Duration::from_secs(20);

/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(100);

/// Reason why a service that was started does not serve.
#[derive(Debug)]
pub(super) struct NotRunning {
    pub(super) text: String,
    /// A `serve` that is not the service, and may have its address.
    pub(super) other: Option<Box<InstanceRecord>>,
}

/// Waits until the process of the service has an endpoint. Systems call a service started before that: it may still
/// end because its configuration is wrong or its address is taken.
pub(super) fn wait(platform: Platform, data_dir: &DataDir) -> Result<(), NotRunning> {
    let registry = Registry::new(data_dir);
    let deadline = Instant::now() + LIMIT;
    let text = loop {
        match process(platform) {
            Err(cause) => break cause,
            Ok(Some(pid)) if serves(&registry, pid) => return Ok(()),
            Ok(None) if platform.waits_for_start() => break "its process has ended".to_owned(),
            _ if Instant::now() >= deadline => {
                break format!("it does not listen after {} s", LIMIT.as_secs());
            }
            _ => thread::sleep(PAUSE),
        }
    };
    Err(NotRunning {
        text,
        other: registry.http_gateway().map(Box::new),
    })
}

/// True if the process of the service has an endpoint.
pub(super) fn is_running(platform: Platform, data_dir: &DataDir) -> bool {
    matches!(process(platform), Ok(Some(pid)) if serves(&Registry::new(data_dir), pid))
}

/// The process of the service, as the system knows it.
fn process(platform: Platform) -> Result<Option<u32>, String> {
    Ok(platform.process(&printed(&platform.show())?))
}

fn serves(registry: &Registry, pid: u32) -> bool {
    let mut records = registry.live().into_iter();
    records.any(|record| record.process.pid == pid && record.is_serve() && record.url.is_some())
}
