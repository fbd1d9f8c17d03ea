//! No token gets as far as its signature unless another reader agrees about what it says.
//!
//! The input is a token, or the header and the claims of one in two lines.

#![no_main]

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use callgate_fuzz::members;
use callgate_oauth::resource::fuzzing::is_well_formed;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

const ISSUER: &str = "https://i";
const AUDIENCE: &str = "https://a/mcp";
const NOW: u64 = 1_000_000;

fuzz_target!(|data: &[u8]| {
    check(data);
    if let Some(at) = data.iter().position(|byte| *byte == b'\n') {
        let (header, claims) = data.split_at(at);
        let encode = |part| URL_SAFE_NO_PAD.encode(part);
        let claims = claims.strip_prefix(b"\n").unwrap_or_default();
        check(format!("{}.{}.AAAA", encode(header), encode(claims)).as_bytes());
    }
});

fn check(token: &[u8]) {
    if !is_well_formed(token, ISSUER, AUDIENCE, NOW) {
        return;
    }
    let parts: Vec<&[u8]> = token.split(|byte| *byte == b'.').collect();
    let [header, claims, _signature] = parts[..] else {
        panic!("a token has three parts");
    };
    let (header, claims) = (text(header), text(claims));
    let algorithms = [
        "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA",
    ];
    let algorithm = member(&header, "alg").expect("it is there");
    assert!(algorithms.iter().any(|known| algorithm == *known));
    assert_eq!(member(&header, "crit"), None);
    assert_eq!(member(&claims, "iss"), Some(ISSUER.into()));
    assert!(member(&claims, "aud").is_some_and(|audience| is_for_us(&audience)));
    let end = member(&claims, "exp").and_then(|end| end.as_f64());
    assert!(end.is_some_and(|end| end > NOW as f64 - 60.0));
    assert!(member(&claims, "sub").is_some_and(|name| name.is_string() && name != ""));
    assert_eq!(member(&claims, "cnf"), None, "nobody shows the key");
}

fn text(part: &[u8]) -> String {
    let json = URL_SAFE_NO_PAD.decode(part).expect("it was decoded");
    String::from_utf8(json).expect("it was read")
}

/// One member of an object; what the others are does not matter.
fn member(object: &str, name: &str) -> Option<Value> {
    let members = members(object);
    let (_, value) = members.iter().find(|(known, _)| known == name)?;
    Some(serde_json::from_str(value.get()).expect("it was read"))
}

fn is_for_us(audience: &Value) -> bool {
    match audience {
        Value::Array(names) => names.iter().any(|name| name == AUDIENCE),
        name => name == AUDIENCE,
    }
}
