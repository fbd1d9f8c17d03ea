//! Layers: small services around a service, one file each.
//!
//! A layer sees the calls of one service and nothing of transports or revisions, so any of them can
//! stand anywhere between an edge and a leaf.
//!
//! # Layout
//! - [`Timeout`]: an idle limit, reset by progress, and a hard maximum.
//! - [`InputRounds`]: gives the input that a service asks for, and sends the request again.
//! - [`ProgressFilter`]: keeps progress from callers that did not ask for it.
//! - [`PanicGuard`]: turns a panic into the error of one request.
//! - [`HeaderParamCache`]: learns which parameters of tools are mirrored in headers.
//! - [`PublicErrors`]: keeps the details of an upstream's failure from callers.
//! - [`Roots`]: tells a service of fixed roots.
//! - [`LargeResults`]: turns long texts into links that are read in pages.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use callgate_mcp::Service;
//! use callgate_mcp::layer::{PanicGuard, TimeLimits, Timeout};
//!
//! fn guarded(service: Arc<dyn Service>) -> Arc<dyn Service> {
//!     let mut limits = TimeLimits::default();
//!     limits.idle = Duration::from_secs(5);
//!     Arc::new(PanicGuard::new(Timeout::new(service, limits)))
//! }
//! ```

mod header_param_cache;
mod input_rounds;
mod large_results;
mod panic_guard;
mod progress_filter;
mod public_errors;
mod roots;
mod stored_results;
mod timeout;

pub(crate) use input_rounds::{Round, Rounds, input_requests};
pub(crate) use panic_guard::{Panicked, poll_call, poll_guarded};
pub(crate) use timeout::{Expired, LONGEST, Timer};

pub use header_param_cache::HeaderParamCache;
pub use input_rounds::{AnswerInput, InputRounds};
pub use large_results::{LargeResultLimits, LargeResults};
pub use panic_guard::PanicGuard;
pub use progress_filter::ProgressFilter;
pub use public_errors::PublicErrors;
pub use roots::Roots;
pub use timeout::{IdleLimit, TimeLimits, Timeout};
