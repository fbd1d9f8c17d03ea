//! Logins: getting them, using them, and ending them.

mod check;
mod clients;
mod expected;
mod identity;
mod login;
mod options;
mod port;
mod steps;
mod stored;
mod terminal;
