//! Sealed secrets in the login file, which says by itself that they are sealed.

use std::sync::Once;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use callgate_wire::{RawJson, Splice};
use chacha20poly1305::aead::{Aead as _, Payload};
use chacha20poly1305::{KeyInit as _, XChaCha20Poly1305, XNonce};
use serde::{Deserialize, Serialize};

use super::document::Document;
use super::entry;
use crate::secret::Secret;

/// Member of the file that names the key of its secrets. No server has such a name.
pub(super) const HEADER: &str = "callgate:secrets";

/// Content of [`HEADER`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SealHeader {
    /// Place of the key; only `keychain` is known.
    sealed_with: String,
    /// Name of the key there.
    pub(super) key: String,
    /// Sealed empty text, which only the right key opens.
    check: String,
}

/// Key that seals secrets.
#[derive(Clone)]
pub(super) struct SealKey(XChaCha20Poly1305);

/// Sealed secret. It is an object, so that a program that cannot open it does not take it for a token.
#[derive(Serialize, Deserialize)]
struct Sealed {
    sealed: String,
}

const KEYCHAIN: &str = "keychain";
const KEY_BYTES: usize = 32;
const ID_BYTES: usize = 8;
const NONCE_BYTES: usize = 24;

impl SealHeader {
    /// New key with a name of its own, and its text for the keychain.
    pub(super) fn generate() -> Result<(Self, SealKey, Secret), getrandom::Error> {
        let text = Secret::new(URL_SAFE_NO_PAD.encode(random::<KEY_BYTES>()?));
        let key = SealKey::read(&text).expect("the text of a key");
        let id = URL_SAFE_NO_PAD.encode(random::<ID_BYTES>()?);
        let header = Self {
            sealed_with: KEYCHAIN.to_owned(),
            check: key.seal("", &[HEADER, &id])?,
            key: id,
        };
        Ok((header, key, text))
    }

    /// Returns true if the key is where this program looks for it.
    pub(super) fn is_known(&self) -> bool {
        self.sealed_with == KEYCHAIN
    }

    /// Returns true if `key` sealed the file.
    pub(super) fn fits(&self, key: &SealKey) -> bool {
        key.open(&self.check, &[HEADER, &self.key]).is_some()
    }
}

impl SealKey {
    /// Reads the text that the keychain has.
    pub(super) fn read(text: &Secret) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text.expose()).ok()?;
        Some(Self(XChaCha20Poly1305::new_from_slice(&bytes).ok()?))
    }

    /// Copy of `document` in which every secret is sealed.
    pub(super) fn seal_all(&self, document: &Document) -> Result<Document, getrandom::Error> {
        document.with_secrets(|entry, place| {
            // A secret that could not be opened is still an object, and keeps its seal.
            let Some(secret) = entry.text() else {
                return Ok(None);
            };
            let sealed = self.seal(&secret, place)?;
            Ok(RawJson::encode(&Sealed { sealed }).ok())
        })
    }

    /// Copy of `document` in which every secret that this key sealed is open.
    ///
    /// One that does not open, because the entry was changed by hand or is another one, stays as it
    /// is and counts as absent.
    pub(super) fn open_all(&self, document: &Document) -> Document {
        let opened = document.with_secrets(|entry, place| {
            let sealed = entry.decode::<Sealed>().ok();
            let plain = sealed.and_then(|it| self.open(&it.sealed, place));
            // Text is a secret that another program wrote into the file. It is used as it is.
            if plain.is_none() && entry.is_object() {
                warn_once(place);
            }
            Ok::<_, getrandom::Error>(plain.as_deref().map(RawJson::string))
        });
        opened.unwrap_or_else(|_| document.clone())
    }

    fn seal(&self, plain: &str, place: &[&str]) -> Result<String, getrandom::Error> {
        // 192 bits are enough for random nonces, so that processes need not agree on a counter.
        let nonce = random::<NONCE_BYTES>()?;
        let aad = bound_to(place);
        let payload = Payload {
            msg: plain.as_bytes(),
            aad: &aad,
        };
        let sealed = self.0.encrypt(&XNonce::from(nonce), payload);
        let sealed = sealed.expect("the cipher takes messages of this size");
        Ok(URL_SAFE_NO_PAD.encode([&nonce[..], &sealed].concat()))
    }

    fn open(&self, sealed: &str, place: &[&str]) -> Option<String> {
        let sealed = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let (nonce, msg) = sealed.split_first_chunk::<NONCE_BYTES>()?;
        let aad = bound_to(place);
        let payload = Payload { msg, aad: &aad };
        let plain = self.0.decrypt(&XNonce::from(*nonce), payload).ok()?;
        String::from_utf8(plain).ok()
    }
}

impl Document {
    /// Seal of the file, if its secrets are sealed: `Err` if it is unknown.
    pub(super) fn seal(&self) -> Option<Result<SealHeader, ()>> {
        let header = self.member(HEADER)?;
        let header = header.decode().ok().filter(SealHeader::is_known);
        Some(header.ok_or(()))
    }

    /// Copy with this seal, or with none.
    pub(super) fn with_seal(&self, header: Option<&SealHeader>) -> Self {
        match header.map(RawJson::encode) {
            Some(Ok(header)) => self.with_entry(HEADER, &header),
            _ => self.without(HEADER),
        }
    }

    /// Copy in which each secret is replaced by the result of `change`, which gets its place.
    ///
    /// The place names the entry, the secret, and all that decides where the secret is sent, so that
    /// a secret that was moved to another place does not open.
    fn with_secrets<E>(
        &self,
        change: impl Fn(&RawJson, &[&str]) -> Result<Option<RawJson>, E>,
    ) -> Result<Self, E> {
        let mut changed = Vec::new();
        for (name, entry) in self.entries().filter(|(_, entry)| entry.is_object()) {
            let bound = entry::RECIPIENTS.map(|path| {
                let value = entry.at(path);
                value.map_or_else(String::new, |it| it.as_str().to_owned())
            });
            let mut edit = Splice::new(&entry);
            for path in entry::SECRETS {
                let Some(value) = entry.at(path) else {
                    continue;
                };
                let secret = path.join(".");
                let mut place = vec![name.as_str(), &secret];
                place.extend(bound.iter().map(String::as_str));
                if let Some(value) = change(&value, &place)? {
                    edit = edit.set(path, &value);
                }
            }
            let entry = edit.finish().expect("the members are there");
            changed.push((name, entry));
        }
        Ok(self.with_entries(&changed))
    }
}

/// Warns of a secret that does not open. The file is read often, so one warning is enough.
fn warn_once(place: &[&str]) {
    static WARNED: Once = Once::new();
    let login = place.first().copied().unwrap_or_default();
    WARNED.call_once(|| {
        tracing::warn!("a sealed secret of the login `{login}` does not belong to its entry, which was changed; it is not used");
    });
}

/// Place of a secret as bytes. The length of each part goes first, so that no two places are equal.
fn bound_to(place: &[&str]) -> Vec<u8> {
    let mut bytes = b"callgate-login-1".to_vec();
    for part in place {
        bytes.extend((part.len() as u64).to_be_bytes());
        bytes.extend(part.as_bytes());
    }
    bytes
}

fn random<const N: usize>() -> Result<[u8; N], getrandom::Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}
