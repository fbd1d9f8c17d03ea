//! Logins: getting them, using them, and ending them.

mod clients;
mod expected;
mod login;
mod stored;
mod terminal;
