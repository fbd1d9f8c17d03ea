//! Behavior that needs files, processes or sockets.

#![cfg(test)]

mod bound_tokens;
mod browser;
mod callback_listener;
mod consent;
mod fetch;
mod file_keychain;
mod hostile_tokens;
mod hostile_urls;
mod import;
mod introspection;
mod issuer;
mod issuer_keys;
mod peer;
mod store;
mod store_fixture;
mod store_processes;
mod store_refresh;
mod store_sealed;
mod token_source;
mod verifying;
