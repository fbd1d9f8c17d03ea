//! Streamable HTTP, the calling side.
