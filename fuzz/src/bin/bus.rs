//! No message of the session bus makes its reader panic or loop.

#![no_main]

use callgate_oauth::store::fuzzing::read_bus_message;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| read_bus_message(data));
