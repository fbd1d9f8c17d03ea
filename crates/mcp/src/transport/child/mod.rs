//! A server that runs as a child process.
