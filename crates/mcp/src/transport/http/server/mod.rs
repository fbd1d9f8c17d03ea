//! Streamable HTTP, the answering side.
