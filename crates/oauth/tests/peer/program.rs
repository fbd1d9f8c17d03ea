//! Processes for the integration tests.

#![expect(clippy::panic, reason = "a test should fail loudly")]

use std::path::Path;

mod browser;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (program, args) = args.split_first().expect("a program has a name");
    let name = Path::new(program)
        .file_name()
        .and_then(|name| name.to_str());
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match (name, args.as_slice()) {
        (Some("browser"), args) => browser::record(program, args),
        (Some("failing-browser"), _) => std::process::exit(3),
        (Some("foreground-browser"), _) => browser::stay(program),
        _ => panic!("nobody asks for {args:?}"),
    }
}
