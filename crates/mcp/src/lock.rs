use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex whose data is valid after each statement, so that a panic of another holder does
/// not matter.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
