//! A server on standard input and output.
