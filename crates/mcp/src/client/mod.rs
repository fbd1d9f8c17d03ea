//! A typed client over any [`Service`](crate::Service).
//!
//! # Layout
//! - [`Client`] is the handle; its `methods` are the requests of the protocol, one function each.
//! - `ask` sends a typed request; `page` reads lists to their end; `cache` keeps what may be kept.
//! - `listen` hears of changes, `stream` by stream, as each [`Event`]; `task` waits for tasks.
//! - `output` checks the results of tools against what the tools promise.
//! - `input` answers what the server asks for and repeats the request; `handlers` give the answers.
//! - `exchange` is one request and its reply, under its timeouts; `stamp` says who asks;
//!   `version` chooses the revision; `answer` judges the reply.

mod answer;
mod ask;
mod backoff;
mod builder;
mod cache;
mod defaults;
mod event;
mod exchange;
mod handle;
mod handlers;
mod input;
mod listen;
mod methods;
mod options;
mod output;
mod page;
mod stamp;
mod stream;
mod task;
mod version;

pub(crate) use input::{TRY_AGAIN, may_ask, next_round};
pub(crate) use stream::{EVENTS, Stream, Told};

pub use backoff::Backoff;
pub use builder::Builder;
pub use cache::CacheLimits;
pub use defaults::with_defaults;
pub use event::Event;
pub use handle::{Client, Limits};
pub use handlers::Refused;
pub use listen::{AfterEnd, ListenOptions, Subscription};
pub use options::{CallOptions, Timeouts};
pub use task::Started;
