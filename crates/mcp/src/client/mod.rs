//! A typed client over any [`Service`](crate::Service).
//!
//! # Layout
//! - `typed_client`: [`Client`] itself; `builder`, `call_options` and `limits` configure it.
//! - `methods`: the requests of the protocol, one function each; `task`: polling of tasks; `skill`:
//!   skills, verified as they are read.
//! - `request`: one request and its reply: timeouts, progress and log notifications; `identity`: its
//!   `_meta`.
//! - `input_rounds`: repeats a request with the input that the server asks for; `input_handlers`:
//!   the user's functions that provide it.
//! - `pagination`: reads lists to their last page; `result_cache`: results with a time to live;
//!   `output_schemas`: checks tool results.
//! - `subscription`: [`Subscription`] and its reconnection with `backoff`; `subscription_stream`: one
//!   `subscriptions/listen` request.
//! - `protocol_versions`: chooses the protocol revision.

mod backoff;
mod builder;
mod call_options;
mod identity;
mod input_handlers;
mod input_rounds;
mod limits;
mod methods;
mod output_schemas;
mod pagination;
mod protocol_versions;
mod request;
mod result_cache;
mod skill;
mod subscription;
mod subscription_stream;
mod task;
mod typed_client;

#[cfg(feature = "legacy")]
pub(crate) use subscription_stream::{EVENT_CAPACITY, StreamItem, SubscriptionStream};

pub use backoff::Backoff;
pub use builder::ClientBuilder;
pub use call_options::CallOptions;
pub use input_handlers::{InputRefused, with_defaults};
pub use limits::ClientLimits;
pub use skill::OpenSkill;
pub use subscription::{ListenOptions, ResubscribePolicy, Subscription, SubscriptionEvent};
pub use task::ToolCallOutcome;
pub use typed_client::Client;
