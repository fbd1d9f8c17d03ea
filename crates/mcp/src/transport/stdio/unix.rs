use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, fstat};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;

type Reader = Box<dyn AsyncRead + Send + Unpin>;
type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// Takes over standard input and output. Afterwards the process reads an empty file as its standard
/// input, and its standard output is its standard error.
pub(super) fn take() -> io::Result<(Reader, Writer)> {
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    rustix::stdio::dup2_stdout(io::stderr())?;
    Ok((reader(input)?, writer(output)?))
}

fn reader(input: OwnedFd) -> io::Result<Reader> {
    match kind(input.as_fd())? {
        FileType::Fifo => match reopen::receiver(&input) {
            Some(pipe) => Ok(Box::new(pipe)),
            None => Ok(Box::new(blocking(input))),
        },
        FileType::Socket => Ok(Box::new(socket(input)?)),
        _ => Ok(Box::new(blocking(input))),
    }
}

fn writer(output: OwnedFd) -> io::Result<Writer> {
    match kind(output.as_fd())? {
        FileType::Fifo => match reopen::sender(&output) {
            Some(pipe) => Ok(Box::new(pipe)),
            None => Ok(Box::new(blocking(output))),
        },
        FileType::Socket => Ok(Box::new(socket(output)?)),
        _ => Ok(Box::new(blocking(output))),
    }
}

fn kind(fd: BorrowedFd<'_>) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(fstat(fd)?.st_mode))
}

/// A socket: some programs, Node.js among them, give their children sockets instead of pipes.
fn socket(fd: OwnedFd) -> io::Result<UnixStream> {
    // A socket cannot be opened anew, as a pipe can, so it is made non-blocking in place.
    let socket = std::os::unix::net::UnixStream::from(fd);
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}

/// A file or a terminal, read and written by threads of the runtime: neither can be polled.
fn blocking(fd: OwnedFd) -> tokio::fs::File {
    tokio::fs::File::from_std(File::from(fd))
}

/// Opens a pipe anew where that is possible: to make it non-blocking in place would make it so for
/// every process that shares it, such as the shell that started this one.
mod reopen {
    use std::os::fd::{AsRawFd, OwnedFd};

    use tokio::net::unix::pipe::{OpenOptions, Receiver, Sender};

    pub(super) fn receiver(fd: &OwnedFd) -> Option<Receiver> {
        OpenOptions::new().open_receiver(path(fd)?).ok()
    }

    pub(super) fn sender(fd: &OwnedFd) -> Option<Sender> {
        OpenOptions::new().open_sender(path(fd)?).ok()
    }

    fn path(fd: &OwnedFd) -> Option<String> {
        cfg!(target_os = "linux").then(|| format!("/proc/self/fd/{}", fd.as_raw_fd()))
    }
}
