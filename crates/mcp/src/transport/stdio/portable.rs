use std::io;

/// Standard input and output as they are: what a tool prints does corrupt the stream here.
pub(super) fn take() -> io::Result<(tokio::io::Stdin, tokio::io::Stdout)> {
    Ok((tokio::io::stdin(), tokio::io::stdout()))
}
