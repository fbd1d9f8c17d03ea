//! Whatever a server writes into `WWW-Authenticate` is read without harm, and what is found can be written again.
//!
//! Each line of the input is a header.

#![no_main]

use callgate_oauth::Challenge;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let Some(found) = Challenge::find(text.lines()) else {
        return;
    };
    let others = ["Basic realm=\"x\"", "Negotiate YWJj", ""];
    let beside = Challenge::find(others.into_iter().chain(text.lines()).chain(others));
    assert_eq!(
        beside.as_ref(),
        Some(&found),
        "who asks for no token says nothing"
    );
    for scope in found.scope.iter().flat_map(|scopes| scopes.iter()) {
        assert!(scope.bytes().all(|byte| byte.is_ascii_graphic()), "{scope}");
    }
    let written = write(&found);
    if written.len() <= data.len() {
        assert_eq!(
            Challenge::find([written.as_str()]),
            Some(found),
            "{written}"
        );
    }
});

/// The challenge as one header.
fn write(challenge: &Challenge) -> String {
    let scheme = if challenge.dpop { "DPoP" } else { "Bearer" };
    let scope = challenge.scope.as_ref().map(ToString::to_string);
    let parameters = [
        ("resource_metadata", challenge.resource_metadata.as_ref()),
        ("scope", scope.as_ref()),
        ("error", challenge.error.as_ref()),
    ];
    let quoted = |text: &String| text.replace('\\', "\\\\").replace('"', "\\\"");
    let parameters: Vec<String> = parameters
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name}=\"{}\"", quoted(value?))))
        .collect();
    format!("{scheme} {}", parameters.join(", "))
}
