//! Logins as a user makes them: the binary, a person with a browser, an authorization server on
//! oidc-provider and a resource server, on fastmcp or our own. Clients of others that are connected to us.

#![cfg(test)]

#[cfg(unix)]
mod clients;
#[cfg(unix)]
mod foreign_client;
#[cfg(unix)]
mod keeping;
#[cfg(unix)]
mod login;
#[cfg(unix)]
mod machine;
#[cfg(unix)]
mod our_server;
#[cfg(unix)]
mod peer;
#[cfg(unix)]
mod person;
#[cfg(unix)]
mod world;
