//! Keeps the processors from sleeping while servers are measured.

use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::{self, available_parallelism};

use anyhow::{Context, Result};

/// Keeps every processor busy with an idle task, which yields to all other tasks, until it is dropped.
///
/// A sleeping processor takes time to wake up, on a virtual machine longer than a server takes for a
/// request: without this, the benchmark would measure the wake-up.
/// The tasks have the idle policy and not only a low priority: the scheduler counts a processor that
/// runs idle tasks as free. Otherwise it would find none free and queue waking tasks behind others.
#[derive(Debug)]
pub struct Awake(Vec<Child>);

/// The argument that makes this program [`spin`].
pub const SPIN: &str = "--spin";

impl Awake {
    /// Starts `program`, which is this one, once for each processor.
    pub fn start(program: &Path) -> Result<Self> {
        let mut spinners = Self(Vec::new());
        for _ in 0..available_parallelism()?.get() {
            let spinner = Command::new("chrt")
                .args(["--idle", "0"])
                .arg(program)
                .arg(SPIN)
                .stdin(Stdio::piped())
                .spawn()
                .context(
                    "chrt keeps the processors awake but cannot be run; \
                     install it, for example with `apt-get install util-linux`",
                )?;
            spinners.0.push(spinner);
        }
        Ok(spinners)
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        for spinner in &mut self.0 {
            // The process may have ended by itself.
            spinner.kill().ok();
            spinner.wait().ok();
        }
    }
}

/// Keeps a processor busy until the parent process ends.
pub fn spin() -> Result<()> {
    thread::spawn(|| {
        loop {
            std::hint::spin_loop();
        }
    });
    // The parent never writes: the read ends when the parent closes the pipe, or dies.
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
