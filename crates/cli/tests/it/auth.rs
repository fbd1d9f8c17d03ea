//! Logins: getting them, using them, and ending them.

mod clients;
mod expected;
mod identity;
mod login;
mod port;
mod stored;
mod terminal;
