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
/// Maximum time for the user to type a password.
const PROMPT_WAIT: Duration = Duration::from_secs(120);

impl SecretService {
    /// Secret Service on the session bus with these addresses, as in the variable
    /// `DBUS_SESSION_BUS_ADDRESS`. Nothing is connected before it is needed.
    #[must_use]
    pub fn new(bus: Option<String>) -> Self {
        Self { bus }
    }

    fn session(&self) -> Result<Session, KeychainError> {
        let no_bus = || KeychainError::Missing("there is no session bus".to_owned());
        let mut bus = Bus::connect(self.bus.as_deref().ok_or_else(no_bus)?)?;
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
        let reply = self.bus.call(&subscribe, "s", &rule);
        read("announce its dialog", reply, "", |_| Some(()))?;
        let mut window = Writer::default();
        window.text("");
        let action = "show its dialog";
        let shown = self.bus.send(&at(prompt, PROMPT, "Prompt"), "s", &window);
        let serial = shown.map_err(|error| failed(action, &error))?;
        let answer = self.bus.wait_for(PROMPT_WAIT, |message| {
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
