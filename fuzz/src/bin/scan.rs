//! Whatever the scanner accepts is one JSON value that decodes as `serde_json` decodes it, and in `params` no key
//! occurs twice at any depth.

#![no_main]

use std::collections::HashSet;

use bytes::Bytes;
use callgate_fuzz::members;
use callgate_wire::{Frame, Limits, RawJson, ScanError};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use serde_json::value::RawValue;

fuzz_target!(|data: &[u8]| {
    let bytes = Bytes::copy_from_slice(data);
    let limits = Limits::default().with_bytes(4096).with_depth(32);
    let reference = serde_json::from_slice::<&RawValue>(data);
    match RawJson::parse(bytes.clone(), &limits) {
        Ok(value) => {
            assert_eq!(value.as_str(), reference.expect("accepted, so JSON").get());
            let decoded = serde_json::from_slice::<Value>(data).ok();
            assert_eq!(value.decode::<Value>().ok(), decoded);
        }
        Err(ScanError::Syntax { .. } | ScanError::Utf8 { .. }) => assert!(reference.is_err()),
        Err(_) => {}
    }
    match Frame::parse(&bytes, &limits) {
        Ok(Frame::Request(request)) => check_params(&request.params),
        Ok(Frame::Notification(notification)) => check_params(&notification.params),
        Ok(Frame::Response(response)) => {
            let (Ok(body) | Err(body)) = response.outcome;
            serde_json::from_str::<&RawValue>(body.as_str()).expect("accepted, so JSON");
        }
        Err(error) => assert!(error.to_rpc().code < 0),
    }
});

/// Reads `params` once with each parser.
fn check_params(params: &RawJson) {
    let ours: Vec<(String, &str)> = params
        .members()
        .map(|member| {
            let key = member.key().expect("accepted, so text").into_owned();
            (key, params.as_str().get(member.value_span).expect("inside"))
        })
        .collect();
    let theirs = members(params.as_str());
    let theirs: Vec<(String, &str)> = theirs
        .iter()
        .map(|(key, value)| (key.clone(), value.get()))
        .collect();
    assert_eq!(ours, theirs);
    check_unique(params.as_str());
}

fn check_unique(json: &str) {
    if json.starts_with('{') {
        let mut seen = HashSet::new();
        for (key, value) in members(json) {
            check_unique(value.get());
            assert!(seen.insert(key), "a key occurs twice");
        }
    } else if json.starts_with('[') {
        let elements: Vec<&RawValue> = serde_json::from_str(json).expect("accepted, so JSON");
        for element in elements {
            check_unique(element.get());
        }
    }
}
