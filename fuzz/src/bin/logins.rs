//! Whatever is in `mcp-auth.json`, what is left of it can be written, read again and edited, and the rest stays.

#![no_main]

use bytes::Bytes;
use callgate_oauth::Secret;
use callgate_oauth::store::fuzzing::LoginFile;
use callgate_oauth::store::{Login, Tokens};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let file = LoginFile::read(Bytes::copy_from_slice(data));
    let again = LoginFile::read(file.to_bytes());
    assert!(!again.is_damaged(), "what is kept is whole");
    let logins = file.logins();
    assert_eq!(again.logins(), logins);

    let new = login();
    let names = logins.iter().map(|(name, _)| name.as_str());
    for name in names.chain(["server"]).take(4) {
        let edited = LoginFile::read(file.with_login(name, &new).to_bytes());
        assert!(!edited.is_damaged(), "what is written is whole");
        for (known, login) in edited.logins() {
            let before = logins.iter().find(|(name, _)| *name == known);
            match known == name {
                true => assert_eq!(login.as_ref(), Some(&new)),
                false => assert_eq!(before, Some(&(known, login))),
            }
        }
    }
});

fn login() -> Login {
    let mut tokens = Tokens::new(Secret::new("a\"\\"));
    tokens.refresh_token = Some(Secret::new("r"));
    tokens.expires_at = Some(1_763_260_000.25);
    let mut login = Login::default();
    login.server_url = Some("https://s/mcp".to_owned());
    login.issuer = Some("https://i".to_owned());
    login.tokens = Some(tokens);
    login
}
