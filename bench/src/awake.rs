//! Keeping the processors from falling asleep while servers are measured.

use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::{self, available_parallelism};

use anyhow::{Context, Result};

/// Keeps every processor busy with something that makes way for everything else, until it is dropped.
///
/// A processor that sleeps takes its time to wake up, on a virtual machine longer than a server takes
/// for a request: without this, that is what would be measured.
/// The scheduler takes a processor that runs nothing but idle tasks for a free one. With a low priority
/// instead, it would find none free and put what wakes up behind others.
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
            // It may have ended by itself.
            spinner.kill().ok();
            spinner.wait().ok();
        }
    }
}

/// Keeps a processor busy, for as long as whoever started this lives.
pub fn spin() -> Result<()> {
    thread::spawn(|| {
        loop {
            std::hint::spin_loop();
        }
    });
    // Nothing is ever written: this ends when the other end is closed.
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
