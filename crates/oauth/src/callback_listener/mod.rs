//! Loopback web server that the browser is redirected to after a login.

mod listener;
mod page;
mod request;
mod waiters;

pub use listener::{BindError, CallbackLimits, CallbackListener, Config, WhenBusy};
pub use page::Page;
pub use waiters::{Redirect, WaitError, Waiter};
