use std::io::ErrorKind;
use std::os::unix::net::UnixListener;

use crate::fixture::{Home, Ran};
use crate::provider::{Provider, Settings};

#[test]
fn users_who_keep_the_file_never_touch_the_keychain() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    let url = &provider.url;
    let socket = home.path().join("bus");
    let bus = UnixListener::bind(&socket).unwrap();
    bus.set_nonblocking(true).unwrap();
    home.log_in(url, &[]);
    for args in [
        &["call", url, "whoami"][..],
        &["list", url],
        &["auth", "list"],
        &["auth", url],
        &["auth", "store"],
        &["auth", "store", "file"],
        &["logout", url],
        &["--help"],
    ] {
        let mut command = home.command(args);
        command.env(
            "DBUS_SESSION_BUS_ADDRESS",
            format!("unix:path={}", socket.display()),
        );
        let ran = Ran::from(command.output().unwrap());
        assert_eq!(ran.exit, Some(0), "{args:?}: {ran:?}");
        let asked = bus.accept().map_err(|error| error.kind());
        assert!(matches!(asked, Err(ErrorKind::WouldBlock)), "{args:?}");
    }
}
