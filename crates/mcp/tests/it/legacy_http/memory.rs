//! What a flood of handshakes costs.
