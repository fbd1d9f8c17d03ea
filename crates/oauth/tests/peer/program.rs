//! Processes for the integration tests.

#![expect(clippy::panic, reason = "a test should fail loudly")]

use std::path::Path;

mod browser;
mod caller;
mod saver;

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
        (_, ["save-for-ever", path]) => saver::save_for_ever(path),
        (_, ["save", path, name, times]) => saver::save(path, name, times),
        (_, ["refresh", path, seen]) => saver::refresh(path, seen),
        (_, ["call", store, server, tasks, seconds]) => caller::call(store, server, tasks, seconds),
        _ => panic!("nobody asks for {args:?}"),
    }
}
