//! One message per line over any pair of byte streams.
