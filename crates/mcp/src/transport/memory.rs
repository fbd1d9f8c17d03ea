//! A client and a server connected inside one process.
