//! Arrays of messages, which only 2025-03-26 has.
