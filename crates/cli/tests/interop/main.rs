//! Logins as a user makes them: the binary, a person with a browser, an authorization server on
//! oidc-provider and a resource server on fastmcp.

#![cfg(test)]

#[cfg(unix)]
mod keeping;
#[cfg(unix)]
mod login;
#[cfg(unix)]
mod peer;
#[cfg(unix)]
mod person;
#[cfg(unix)]
mod world;
