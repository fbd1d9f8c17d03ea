//! Start and end of the measured HTTP servers: they report their address to the load generator and
//! end with it.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Result;
use tokio::net::{TcpListener, TcpStream};

/// Binds a free port on loopback, tells the parent process which one, and arranges for this
/// process to end when the parent closes its standard input.
pub async fn listen() -> Result<TcpListener> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    announce(listener.local_addr()?)?;
    Ok(listener)
}

/// Accepts the next connection, with `TCP_NODELAY` set.
pub async fn accept(listener: &TcpListener) -> Result<TcpStream> {
    let (stream, _) = listener.accept().await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Tells the parent process the address of this server, and arranges for this process to end when
/// the parent closes its standard input.
pub fn announce(address: SocketAddr) -> Result<()> {
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{address}")?;
    stdout.flush()?;
    std::thread::spawn(|| {
        let end_of_input = std::io::stdin().read(&mut [0]);
        std::process::exit(i32::from(end_of_input.is_err()));
    });
    Ok(())
}
