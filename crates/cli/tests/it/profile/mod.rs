//! Logins at real providers: each file in `data` describes one provider as its documentation does, and one small
//! server speaks as it describes.
//!
//! - [`data`]: the description. `rule`: what a provider demands of a request.
//! - `issuer`, `resource`: the endpoints of the authorization server and of the MCP server.
//! - `stage`: both servers and a user. `internet`: the real names of their hosts, behind a proxy on this machine.
//! - `logins`: the whole story with every provider. `canary`: the same, with all of its output searched for
//!   secrets. `page`: the table of `docs/login.md`.
//! - `refusals`: the texts of logins that fail.

mod canary;
mod data;
mod internet;
mod issuer;
mod logins;
mod page;
mod refusals;
mod resource;
mod rule;
mod stage;
