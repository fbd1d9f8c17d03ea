//! Messages of the newest revision in the terms of older ones, and back.

mod error;
mod params;
mod result;

pub(super) use error::{Failure, read_failure};
pub(super) use params::{old_notification_params, old_params};
pub(super) use result::complete;
