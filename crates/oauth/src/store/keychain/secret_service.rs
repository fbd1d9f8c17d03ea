use std::io;
use std::time::Duration;

use super::bus::Bus;
use super::keychain_trait::{Keychain, KeychainError};
use super::message::{Kind, Message, MethodCall, Reader, Writer};
use crate::secret::Secret;

/// Keychain of Linux desktops: the [Secret Service], which GNOME Keyring, KWallet and KeePassXC offer.
///
/// Secrets cross the bus, a socket of this user, without further encryption: a program that can watch
/// that socket can ask for the secrets itself.
///
/// [Secret Service]: https://specifications.freedesktop.org/secret-service/latest/
#[derive(Debug, Clone)]
pub struct SecretService {
    /// Addresses of the session bus.
    bus: Option<String>,
    reply_wait: Duration,
}

/// Open session of the Secret Service.
struct Session {
    bus: Bus,
    path: String,
}

const NAME: &str = "org.freedesktop.secrets";
const SERVICE_PATH: &str = "/org/freedesktop/secrets";
const SERVICE: &str = "org.freedesktop.Secret.Service";
const COLLECTION: &str = "org.freedesktop.Secret.Collection";
const ITEM: &str = "org.freedesktop.Secret.Item";
const PROMPT: &str = "org.freedesktop.Secret.Prompt";
const PROPERTIES: &str = "org.freedesktop.DBus.Properties";
/// Object path that stands for none.
const NO_PATH: &str = "/";
/// Attribute of all our secrets.
const OURS: (&str, &str) = ("application", "callgate");
/// Maximum wait for a reply. The bus may have to start the keychain first.
const REPLY_WAIT: Duration = Duration::from_secs(25);
/// Maximum time for the user to type a password.
const PROMPT_WAIT: Duration = Duration::from_secs(120);

impl SecretService {
    /// Secret Service on the session bus with these addresses, as in the variable
    /// `DBUS_SESSION_BUS_ADDRESS`. Nothing is connected before it is needed.
    #[must_use]
    pub fn new(bus: Option<String>) -> Self {
        Self {
            bus,
            reply_wait: REPLY_WAIT,
        }
    }

    fn session(&self) -> Result<Session, KeychainError> {
        let no_bus = || KeychainError::Missing("there is no session bus".to_owned());
        let addresses = self.bus.as_deref().ok_or_else(no_bus)?;
        let mut bus = Bus::connect(addresses, self.reply_wait)?;
        introduce(&mut bus)?;
        let mut arguments = Writer::default();
        arguments.text("plain");
        arguments.signature("s");
        arguments.text("");
        let reply = bus.call(&service("OpenSession"), "sv", &arguments);
        let path = read("open a session", reply, "vo", |reader| {
            let kind = reader.signature()?;
            (kind == "s").then(|| reader.text())??;
            reader.text().map(str::to_owned)
        })?;
        Ok(Session { bus, path })
    }
}

impl Keychain for SecretService {
    fn load(&self, name: &str) -> Result<Option<Secret>, KeychainError> {
        let mut session = self.session()?;
        let (open, locked) = session.search(&[OURS, ("key", name)])?;
        if let Some(item) = open.first() {
            return session.secret(item).map(Some);
        }
        // Some keychains find nothing in a collection that is locked.
        if !locked.is_empty() || session.is_default_locked()? {
            return Err(KeychainError::Locked);
        }
        Ok(None)
    }

    fn save(&self, name: &str, label: &str, secret: &Secret) -> Result<(), KeychainError> {
        let mut session = self.session()?;
        // A keychain that was never used needs a password first, as a locked one does.
        let collection = session.default_collection()?;
        let collection = collection.ok_or(KeychainError::Locked)?;
        session.create_item(&collection, &[OURS, ("key", name)], label, secret)
    }

    fn remove(&self, name: &str) -> Result<(), KeychainError> {
        let mut session = self.session()?;
        let (open, locked) = session.search(&[OURS, ("key", name)])?;
        for item in &open {
            session.delete(item)?;
        }
        match locked.is_empty() {
            true => Ok(()),
            false => Err(KeychainError::Locked),
        }
    }

    fn unlock(&self) -> Result<(), KeychainError> {
        let mut session = self.session()?;
        let (_, mut locked) = session.search(&[OURS])?;
        match session.default_collection()? {
            // Also by its name, because some keychains find nothing in a locked collection.
            Some(collection) => locked.push(collection),
            None => session.create_default_collection()?,
        }
        session.unlock(&locked)
    }
}

impl Session {
    /// Items with these attributes: those that can be read, and those that are locked.
    fn search(
        &mut self,
        attributes: &[(&str, &str)],
    ) -> Result<(Vec<String>, Vec<String>), KeychainError> {
        let mut arguments = Writer::default();
        arguments.texts(attributes);
        let reply = self.bus.call(&service("SearchItems"), "a{ss}", &arguments);
        read("search", reply, "aoao", |reader| {
            Some((reader.paths()?, reader.paths()?))
        })
    }

    fn secret(&mut self, item: &str) -> Result<Secret, KeychainError> {
        let mut arguments = Writer::default();
        arguments.text(&self.path);
        let reply = self.bus.call(&at(item, ITEM, "GetSecret"), "o", &arguments);
        read("read the key", reply, "(oayays)", |reader| {
            reader.text()?;
            reader.bytes()?;
            let value = str::from_utf8(reader.bytes()?).ok()?;
            Some(Secret::new(value))
        })
    }

    fn create_item(
        &mut self,
        collection: &str,
        attributes: &[(&str, &str)],
        label: &str,
        secret: &Secret,
    ) -> Result<(), KeychainError> {
        let mut arguments = Writer::default();
        arguments.array(8, |writer| {
            writer.align(8);
            writer.text("org.freedesktop.Secret.Item.Label");
            writer.signature("s");
            writer.text(label);
            writer.align(8);
            writer.text("org.freedesktop.Secret.Item.Attributes");
            writer.signature("a{ss}");
            writer.texts(attributes);
        });
        arguments.align(8);
        arguments.text(&self.path);
        arguments.bytes(&[]);
        arguments.bytes(secret.expose().as_bytes());
        arguments.text("text/plain");
        // An item with the same attributes is replaced.
        arguments.bool(true);
        let call = at(collection, COLLECTION, "CreateItem");
        let reply = self.bus.call(&call, "a{sv}(oayays)b", &arguments);
        let (item, _prompt) = read("store the key", reply, "oo", |reader| {
            Some((reader.text()?.to_owned(), reader.text()?.to_owned()))
        })?;
        // Without an item there is a prompt, which asks for the password.
        match item.as_str() {
            NO_PATH => Err(KeychainError::Locked),
            _ => Ok(()),
        }
    }

    fn delete(&mut self, item: &str) -> Result<(), KeychainError> {
        let call = at(item, ITEM, "Delete");
        let reply = self.bus.call(&call, "", &Writer::default());
        let prompt = read("delete the key", reply, "o", |reader| {
            reader.text().map(str::to_owned)
        })?;
        self.prompt(&prompt)
    }

    fn create_default_collection(&mut self) -> Result<(), KeychainError> {
        let mut arguments = Writer::default();
        arguments.array(8, |writer| {
            writer.align(8);
            writer.text("org.freedesktop.Secret.Collection.Label");
            writer.signature("s");
            writer.text("Default");
        });
        arguments.text("default");
        let call = service("CreateCollection");
        let reply = self.bus.call(&call, "a{sv}s", &arguments);
        let prompt = read("create its default collection", reply, "oo", |reader| {
            reader.text()?;
            reader.text().map(str::to_owned)
        })?;
        self.prompt(&prompt).map_err(|error| match error {
            KeychainError::Locked => {
                KeychainError::Missing("the Secret Service has no default collection".to_owned())
            }
            error => error,
        })
    }

    fn default_collection(&mut self) -> Result<Option<String>, KeychainError> {
        let mut arguments = Writer::default();
        arguments.text("default");
        let reply = self.bus.call(&service("ReadAlias"), "s", &arguments);
        let path = read("find its default collection", reply, "o", |reader| {
            reader.text().map(str::to_owned)
        })?;
        Ok(Some(path).filter(|path| path != NO_PATH))
    }

    fn is_default_locked(&mut self) -> Result<bool, KeychainError> {
        let Some(collection) = self.default_collection()? else {
            return Ok(false);
        };
        let mut arguments = Writer::default();
        arguments.text(COLLECTION);
        arguments.text("Locked");
        let call = at(&collection, PROPERTIES, "Get");
        let reply = self.bus.call(&call, "ss", &arguments);
        read("tell whether it is locked", reply, "v", |reader| {
            let kind = reader.signature()?;
            (kind == "b").then(|| reader.bool())?
        })
    }

    fn unlock(&mut self, objects: &[String]) -> Result<(), KeychainError> {
        let mut arguments = Writer::default();
        arguments.array(4, |writer| {
            for object in objects {
                writer.text(object);
            }
        });
        let reply = self.bus.call(&service("Unlock"), "ao", &arguments);
        let prompt = read("be unlocked", reply, "aoo", |reader| {
            reader.paths()?;
            reader.text().map(str::to_owned)
        })?;
        self.prompt(&prompt)
    }

    /// Shows a dialog of the keychain, if there is one, and waits until the user has answered.
    fn prompt(&mut self, prompt: &str) -> Result<(), KeychainError> {
        if prompt == NO_PATH {
            return Ok(());
        }
        let mut rule = Writer::default();
        rule.text(&format!("type='signal',path='{prompt}'"));
        let subscribe = MethodCall {
            destination: "org.freedesktop.DBus",
            path: "/org/freedesktop/DBus",
            interface: "org.freedesktop.DBus",
            member: "AddMatch",
        };
        // Before the dialog is shown: the bus sends the signal only to those who asked for it, and it may
        // come at once.
        let reply = self.bus.call(&subscribe, "s", &rule);
        read("announce its dialog", reply, "", |_| Some(()))?;
        let mut window = Writer::default();
        window.text("");
        let action = "show its dialog";
        let shown = self.bus.send(&at(prompt, PROMPT, "Prompt"), "s", &window);
        let serial = shown.map_err(|error| failed(action, &error))?;
        let answer = self.bus.wait_for(PROMPT_WAIT, |message| {
            // The signal has the answer of the user. The reply to the call counts only if it is an error.
            let is_error = message.kind == Kind::Error && message.reply_serial == Some(serial);
            is_error || message.is_signal(prompt, "Completed")
        });
        read(action, answer, "b", |reader| {
            let is_dismissed = reader.bool()?;
            Some(match is_dismissed {
                true => Err(KeychainError::Locked),
                false => Ok(()),
            })
        })?
    }
}

/// Makes a first call that any keychain answers and that changes nothing.
///
/// GNOME Keyring (42 to 50 at least) notes each new client in an event of its main loop that can come
/// after the first call of that client. If that call opens a session, or needs one, the whole daemon
/// aborts, and the user has to unlock the keychain again. This is likely while other clients come and go.
/// The search for an alias that does not exist needs no client, and once it is answered the client is noted
/// before its next call.
fn introduce(bus: &mut Bus) -> Result<(), KeychainError> {
    let mut arguments = Writer::default();
    arguments.text("callgate");
    // An error is not the end: the call that opens the session says more about it.
    let answered = bus.call(&service("ReadAlias"), "s", &arguments);
    answered.map_err(|error| failed("answer", &error))?;
    Ok(())
}

fn service(member: &str) -> MethodCall<'_> {
    at(SERVICE_PATH, SERVICE, member)
}

fn at<'a>(path: &'a str, interface: &'a str, member: &'a str) -> MethodCall<'a> {
    MethodCall {
        destination: NAME,
        path,
        interface,
        member,
    }
}

/// Reads the arguments of a reply, which begin with `signature`.
fn read<T>(
    action: &'static str,
    reply: io::Result<Message>,
    signature: &str,
    read: impl FnOnce(&mut Reader<'_>) -> Option<T>,
) -> Result<T, KeychainError> {
    let reply = reply.map_err(|error| failed(action, &error))?;
    if reply.kind == Kind::Error {
        return Err(refused(action, &reply));
    }
    let found = reply.arguments(signature);
    let found = found.and_then(|mut reader| read(&mut reader));
    found.ok_or_else(|| KeychainError::Failed {
        action,
        reason: "its answer is malformed".to_owned(),
    })
}

fn refused(action: &'static str, reply: &Message) -> KeychainError {
    let text = reply.arguments("s");
    let text = text.and_then(|mut reader| reader.text().map(str::to_owned));
    let text = text.unwrap_or_else(|| reply.error_name.clone());
    match reply.error_name.as_str() {
        "org.freedesktop.Secret.Error.IsLocked" => KeychainError::Locked,
        "org.freedesktop.DBus.Error.ServiceUnknown"
        | "org.freedesktop.DBus.Error.NameHasNoOwner" => {
            KeychainError::Missing(format!("no program offers the Secret Service ({text})"))
        }
        name if name.starts_with("org.freedesktop.DBus.Error.Spawn") => {
            KeychainError::Missing(format!("the Secret Service cannot be started ({text})"))
        }
        _ => KeychainError::Failed {
            action,
            reason: text,
        },
    }
}

fn failed(action: &'static str, error: &io::Error) -> KeychainError {
    KeychainError::Failed {
        action,
        reason: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::{Keychain, KeychainError, SecretService};
    use crate::secret::Secret;
    use crate::store::keychain::message::{HEAD, MAX_MESSAGE, Message, Writer};

    const RETURN: u8 = 2;
    const ERROR: u8 = 3;
    const SIGNAL: u8 = 4;

    /// Keychain on a bus that a test plays.
    fn keychain(play: impl FnOnce(UnixStream) + Send + 'static) -> SecretService {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bus");
        let listener = UnixListener::bind(&path).unwrap();
        thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            drop(dir);
            play(stream);
        });
        SecretService::new(Some(format!("unix:path={}", path.display())))
    }

    /// Lets the client in, and answers each call by its member until the client leaves.
    fn serve(answer: impl Fn(&str, u32) -> Vec<u8>) -> impl FnOnce(UnixStream) {
        move |mut stream| {
            while !read_line(&mut stream).starts_with("\0AUTH EXTERNAL ") {}
            stream.write_all(b"OK 0\r\n").unwrap();
            assert_eq!(read_line(&mut stream), "BEGIN");
            let mut head = [0; HEAD];
            while stream.read_exact(&mut head).is_ok() {
                let mut message = head.to_vec();
                message.resize(Message::length(&head).unwrap(), 0);
                stream.read_exact(&mut message[HEAD..]).unwrap();
                let serial = u32::from_le_bytes(head[8..12].try_into().unwrap());
                let member = Message::parse(&message).unwrap().member;
                if stream.write_all(&answer(&member, serial)).is_err() {
                    return;
                }
            }
        }
    }

    fn read_line(stream: &mut UnixStream) -> String {
        let mut line = Vec::new();
        while !line.ends_with(b"\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            line.extend(byte);
        }
        String::from_utf8(line).unwrap().trim_end().to_owned()
    }

    /// Message of the bus. `name` is that of an error, or the member of a signal.
    fn message(
        kind: u8,
        serial: u32,
        name: &str,
        signature: &str,
        write: impl FnOnce(&mut Writer),
    ) -> Vec<u8> {
        let mut body = Writer::default();
        write(&mut body);
        let mut writer = Writer::default();
        writer.u32(u32::from_le_bytes([b'l', kind, 0, 1]));
        writer.u32(body.bytes_so_far());
        writer.u32(1);
        writer.array(8, |writer| {
            match kind {
                SIGNAL => {
                    writer.field(1, "o").text("/p");
                    writer.field(3, "s").text(name);
                }
                _ => writer.field(5, "u").u32(serial),
            }
            if kind == ERROR {
                writer.field(4, "s").text(name);
            }
            writer.field(8, "g").signature(signature);
        });
        writer.followed_by(&body)
    }

    fn reply(serial: u32, signature: &str, write: impl FnOnce(&mut Writer)) -> Vec<u8> {
        message(RETURN, serial, "", signature, write)
    }

    /// Answers of a keychain that shows a dialog to be unlocked, which the user dismisses or not.
    fn locked(is_dismissed: bool) -> impl Fn(&str, u32) -> Vec<u8> {
        move |member, serial| match member {
            "OpenSession" => reply(serial, "vo", |it| {
                it.signature("s");
                it.text("");
                it.text("/s");
            }),
            "SearchItems" => reply(serial, "aoao", |it| {
                it.array(4, |_| {});
                it.array(4, |it| it.text("/i"));
            }),
            "ReadAlias" => reply(serial, "o", |it| it.text("/c")),
            "Unlock" => reply(serial, "aoo", |it| {
                it.array(4, |_| {});
                it.text("/p");
            }),
            // A signal may come before the reply, and others are not meant.
            "Prompt" => [
                message(SIGNAL, 0, "Other", "b", |it| it.bool(!is_dismissed)),
                message(SIGNAL, 0, "Completed", "bv", |it| {
                    it.bool(is_dismissed);
                    it.signature("s");
                    it.text("");
                }),
                reply(serial, "", |_| {}),
            ]
            .concat(),
            "CreateItem" => {
                let name = "org.freedesktop.Secret.Error.IsLocked";
                message(ERROR, serial, name, "s", |it| it.text("locked"))
            }
            _ => reply(serial, "", |_| {}),
        }
    }

    #[test]
    fn a_locked_keychain_is_unlocked_by_its_dialog() {
        let found = keychain(serve(locked(false))).unlock();
        assert_eq!(found, Ok(()));
        let found = keychain(serve(locked(true))).unlock();
        assert_eq!(found, Err(KeychainError::Locked));
        let found = keychain(serve(locked(false))).load("k");
        assert_eq!(found, Err(KeychainError::Locked));
        let found = keychain(serve(locked(false))).save("k", "l", &Secret::new("s"));
        assert_eq!(found, Err(KeychainError::Locked));
    }

    // GNOME Keyring may not know a client yet when its first call comes, and aborts if that opens a session.
    #[test]
    fn a_harmless_call_comes_before_the_session() {
        let (send, members) = mpsc::channel();
        let answer = locked(false);
        let keychain = keychain(serve(move |member, serial| {
            send.send(member.to_owned()).unwrap();
            answer(member, serial)
        }));
        assert_eq!(keychain.load("k"), Err(KeychainError::Locked));
        let members: Vec<_> = members.iter().collect();
        assert_eq!(
            members,
            ["Hello", "ReadAlias", "OpenSession", "SearchItems"]
        );
    }

    #[test]
    fn a_bus_that_does_not_answer_is_left_after_a_while() {
        let mut silent = keychain(serve(|_, _| Vec::new()));
        silent.reply_wait = Duration::from_millis(20);
        let found = silent.unlock();
        let is_timeout = matches!(&found, Err(KeychainError::Missing(text)) if text.ends_with("no answer in time"));
        assert!(is_timeout, "{found:?}");
    }

    #[test]
    fn a_bus_that_breaks_the_rules_is_refused() {
        let refusals: [&[u8]; 3] = [b"REJECTED\r\n", &[b'x'; 600], b""];
        for answer in refusals {
            let refused = keychain(move |mut stream: UnixStream| {
                read_line(&mut stream);
                let _ = stream.write_all(answer);
            });
            let found = refused.load("k");
            assert!(matches!(found, Err(KeychainError::Missing(_))), "{found:?}");
        }
        let too_long = keychain(serve(|_, serial| {
            let mut long = reply(serial, "", |_| {});
            let length = u32::try_from(MAX_MESSAGE).unwrap();
            long[4..8].copy_from_slice(&length.to_le_bytes());
            long
        }));
        let found = too_long.load("k");
        assert!(matches!(found, Err(KeychainError::Missing(_))), "{found:?}");
        let wrong = keychain(serve(|_, serial| reply(serial, "u", |it| it.u32(7))));
        let expected = KeychainError::Failed {
            action: "open a session",
            reason: "its answer is malformed".to_owned(),
        };
        assert_eq!(wrong.load("k"), Err(expected));
    }
}
