//! Processes for the integration tests: servers, and everything a server should not be.

#![expect(clippy::panic, reason = "a test should fail loudly")]

use std::process::ExitCode;

mod everything;
#[cfg(unix)]
mod evil;
#[cfg(feature = "http-server")]
mod http;
#[path = "../interop/our_server.rs"]
mod our_server;
#[cfg(unix)]
mod parent;
mod server;
#[cfg(unix)]
mod shape;

fn main() -> ExitCode {
    let mut args = std::env::args_os();
    if let Some(code) = callgate_mcp::transport::child::supervisor::run_if_requested(args.by_ref())
    {
        return code;
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["serve"] => server::serve(),
        ["everything"] => everything::serve(),
        #[cfg(feature = "http-server")]
        ["serve-http"] => http::serve(),
        #[cfg(unix)]
        ["evil", how, rest @ ..] => evil::misbehave(how, rest),
        #[cfg(unix)]
        ["shape", shape, signs] => shape::take(shape, signs),
        #[cfg(unix)]
        ["parent", end, shape, signs] => parent::raise(end, shape, signs),
        #[cfg(target_os = "linux")]
        ["fail-to-start"] => parent::fail_to_start(),
        _ => panic!("nobody asks for {args:?}"),
    }
    ExitCode::SUCCESS
}
