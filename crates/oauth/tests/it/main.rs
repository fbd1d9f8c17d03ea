//! Behavior that needs files, processes or sockets.

mod browser;
mod hostile_urls;
