//! The small web server that the browser is sent back to after a login.

mod listener;
mod page;
mod request;
mod waiters;

pub use listener::{BindError, CallbackListener, Config, Limits, WhenBusy};
pub use page::Page;
pub use waiters::{Redirect, WaitError, Waiter};
