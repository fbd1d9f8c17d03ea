use std::path::Path;

use callgate_oauth::token_source::LoginStatus;

use super::status;
use crate::error::CommandError;
use crate::logins::Logins;

/// Lists the stored logins.
pub(super) fn run(data_dir: Option<&Path>, json: bool) -> Result<(), CommandError> {
    let logins = Logins::unlock(data_dir)?.all()?;
    let statuses: Vec<_> = logins
        .into_iter()
        .map(|(name, login)| (name, LoginStatus::of(&login)))
        .collect();
    status::print_all(&statuses, json)
}
