//! Questions of a server to the user, answered on the terminal.
//!
//! # Layout
//! - `form`: a form, field by field, with a review before it is sent.
//! - `page`: consent to open a page.
//! - `field`: one field, and the value that an answer means. It prints nothing.
//! - `date`: dates and times in answers.
//! - `terminal`: lines of the user.

mod date;
mod field;
mod form;
mod page;
mod terminal;

pub(crate) use form::ask_form;
pub(crate) use page::ask_page;
pub(crate) use terminal::is_interactive;
