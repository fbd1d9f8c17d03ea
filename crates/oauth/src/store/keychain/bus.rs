use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::time::{Duration, Instant};

use super::keychain_trait::KeychainError;
use super::message::{HEAD, Kind, Message, MethodCall, Writer};

/// Connection to the message bus of the session.
#[derive(Debug)]
pub(super) struct Bus {
    stream: UnixStream,
    serial: u32,
    /// Maximum wait for a reply.
    reply_wait: Duration,
}

/// Maximum bytes of a line of the handshake.
const MAX_LINE: usize = 512;

impl Bus {
    /// Connects to the first address of the list that can be reached.
    pub(super) fn connect(addresses: &str, reply_wait: Duration) -> Result<Self, KeychainError> {
        let mut last = "the address of the session bus names no socket".to_owned();
        for address in addresses.split(';').filter_map(socket_address) {
            match Self::open(&address, reply_wait) {
                Ok(bus) => return Ok(bus),
                Err(error) => {
                    last = format!("cannot connect to the session bus {addresses}: {error}");
                }
            }
        }
        Err(KeychainError::Missing(last))
    }

    fn open(address: &SocketAddr, reply_wait: Duration) -> io::Result<Self> {
        let stream = UnixStream::connect_addr(address)?;
        stream.set_write_timeout(Some(reply_wait))?;
        let mut bus = Self {
            stream,
            serial: 0,
            reply_wait,
        };
        bus.authenticate()?;
        let hello = MethodCall {
            destination: "org.freedesktop.DBus",
            path: "/org/freedesktop/DBus",
            interface: "org.freedesktop.DBus",
            member: "Hello",
        };
        let serial = bus.send(&hello, "", &Writer::default())?;
        bus.reply_to(serial)?;
        Ok(bus)
    }

    /// Names this user, whom the bus knows by the socket already.
    fn authenticate(&mut self) -> io::Result<()> {
        let mut user = String::new();
        for byte in rustix::process::geteuid().as_raw().to_string().bytes() {
            write!(user, "{byte:02x}").expect("a string can be written");
        }
        // D-Bus begins with a zero byte, which carries the credentials of the process on some systems.
        write!(self.stream, "\0AUTH EXTERNAL {user}\r\n")?;
        let answer = self.read_line()?;
        if !answer.starts_with(b"OK ") {
            return Err(io::Error::other("the bus refuses this user"));
        }
        self.stream.write_all(b"BEGIN\r\n")
    }

    fn read_line(&mut self) -> io::Result<Vec<u8>> {
        let deadline = Instant::now() + self.reply_wait;
        let mut line = Vec::new();
        while !line.ends_with(b"\r\n") {
            if line.len() == MAX_LINE {
                return Err(malformed());
            }
            // One byte at a time, so that nothing after the line is taken from the messages.
            let mut byte = [0];
            self.read(&mut byte, deadline)?;
            line.extend(byte);
        }
        Ok(line)
    }

    /// Calls a method and waits for its reply, which may be an error.
    pub(super) fn call(
        &mut self,
        call: &MethodCall<'_>,
        signature: &str,
        arguments: &Writer,
    ) -> io::Result<Message> {
        let serial = self.send(call, signature, arguments)?;
        self.reply_to(serial)
    }

    fn reply_to(&mut self, serial: u32) -> io::Result<Message> {
        self.wait_for(self.reply_wait, |message| {
            message.reply_serial == Some(serial)
        })
    }

    /// Waits up to `limit` for a message; all others before it are ignored.
    pub(super) fn wait_for(
        &mut self,
        limit: Duration,
        is_it: impl Fn(&Message) -> bool,
    ) -> io::Result<Message> {
        let deadline = Instant::now() + limit;
        loop {
            let message = self.receive(deadline)?;
            if is_it(&message) {
                return Ok(message);
            }
        }
    }

    /// Sends a call and returns its serial.
    pub(super) fn send(
        &mut self,
        call: &MethodCall<'_>,
        signature: &str,
        arguments: &Writer,
    ) -> io::Result<u32> {
        self.serial += 1;
        let message = call.encode(self.serial, signature, arguments);
        self.stream.write_all(&message)?;
        Ok(self.serial)
    }

    fn receive(&mut self, deadline: Instant) -> io::Result<Message> {
        let mut head = [0; HEAD];
        self.read(&mut head, deadline)?;
        let length = Message::length(&head).ok_or_else(malformed)?;
        let mut bytes = head.to_vec();
        bytes.resize(length, 0);
        let rest = bytes.get_mut(HEAD..).unwrap_or_default();
        self.read(rest, deadline)?;
        Message::parse(&bytes).ok_or_else(malformed)
    }

    fn read(&mut self, mut into: &mut [u8], deadline: Instant) -> io::Result<()> {
        while !into.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            // A timeout of zero would be refused as an argument.
            if left.is_zero() {
                return Err(io::Error::new(ErrorKind::TimedOut, "no answer in time"));
            }
            self.stream.set_read_timeout(Some(left))?;
            match self.stream.read(into) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => into = into.get_mut(count..).unwrap_or_default(),
                Err(error) if is_retried(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Message {
    /// Returns true if this is the signal `member` of the object `path`.
    pub(super) fn is_signal(&self, path: &str, member: &str) -> bool {
        self.kind == Kind::Signal && self.path == path && self.member == member
    }
}

/// A timeout is found by the deadline.
fn is_retried(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut
    )
}

fn malformed() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "the bus sent a malformed message")
}

/// Socket of an address such as `unix:path=/run/user/1000/bus,guid=0a1b`.
fn socket_address(address: &str) -> Option<SocketAddr> {
    let mut parameters = address.strip_prefix("unix:")?.split(',');
    parameters.find_map(|pair| match pair.split_once('=')? {
        ("path", value) => SocketAddr::from_pathname(OsString::from_vec(unescape(value)?)).ok(),
        ("abstract", value) => abstract_address(&unescape(value)?),
        _ => None,
    })
}

#[cfg(target_os = "linux")]
fn abstract_address(name: &[u8]) -> Option<SocketAddr> {
    use std::os::linux::net::SocketAddrExt as _;
    SocketAddr::from_abstract_name(name).ok()
}

#[cfg(not(target_os = "linux"))]
fn abstract_address(_name: &[u8]) -> Option<SocketAddr> {
    None
}

/// Decodes `%2f` and the like. The result need not be UTF-8.
fn unescape(value: &str) -> Option<Vec<u8>> {
    let mut parts = value.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (code, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(code, 16).ok()?);
        bytes.extend(rest.as_bytes());
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{Bus, Duration, SocketAddr, socket_address, unescape};
    use crate::store::keychain::KeychainError;

    #[test]
    fn addresses_of_the_bus_are_read() {
        let path = |text| SocketAddr::from_pathname(text).unwrap();
        for (address, expected) in [
            ("unix:path=/run/bus", Some(path("/run/bus"))),
            ("unix:guid=1,path=/a%20b%2c,x=y", Some(path("/a b,"))),
            ("tcp:host=localhost,port=1", None),
            ("unix:runtime=yes", None),
            ("unix:path=%zz", None),
            ("", None),
        ] {
            let found = socket_address(address);
            let shown = |it: &Option<SocketAddr>| format!("{it:?}");
            assert_eq!(shown(&found), shown(&expected), "{address}");
        }
        assert_eq!(unescape("%ff%"), None);
        #[cfg(target_os = "linux")]
        assert!(socket_address("unix:abstract=/tmp/x").is_some());
    }

    #[test]
    fn a_bus_that_is_not_there_is_named() {
        for address in ["unix:path=/does/not/exist", "tcp:host=a"] {
            let error = Bus::connect(address, Duration::ZERO).unwrap_err();
            assert!(matches!(error, KeychainError::Missing(_)), "{error}");
        }
    }
}
