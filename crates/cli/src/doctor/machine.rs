use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::{Duration, SystemTime};

use callgate_mcp::transport::http::connect::{Destination, Proxies};

use super::{Code, Finding};

/// Difference of two clocks after which tokens are refused or renewed too late.
const MAX_CLOCK_DIFFERENCE: Duration = Duration::from_secs(60);

/// Checks that `serve` could listen on its address.
///
/// `is_ours` tells that a running `serve` of this data directory listens there.
pub(crate) fn check_port(address: SocketAddr, is_ours: bool) -> Option<Finding> {
    if is_ours || !is_taken(address) {
        return None;
    }
    Some(Finding::new(
        Code::PortInUse,
        address.to_string(),
        "another program listens on the address of `callgate serve`",
        "end that program, or choose another address: `callgate serve --listen IP:PORT`, or `gateway.listen` in the configuration",
    ))
}

/// Checks that a login could listen on its port.
pub(crate) fn check_callback_port(port: u16) -> Option<Finding> {
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    is_taken(address).then(|| {
        Finding::new(
            Code::CallbackPortInUse,
            address.to_string(),
            "another program listens on the port to which logins redirect the browser",
            "end that program, or log in with `callgate auth --callback-port PORT`; providers that accept any port need nothing",
        )
    })
}

fn is_taken(address: SocketAddr) -> bool {
    let listener = TcpListener::bind(address);
    listener.is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse)
}

/// Compares our clock with that of a server, from the header `Date` of its response.
pub(crate) fn check_clock(server: &str, ours: SystemTime, theirs: SystemTime) -> Option<Finding> {
    let (difference, direction) = match ours.duration_since(theirs) {
        Ok(ahead) => (ahead, "ahead of"),
        Err(error) => (error.duration(), "behind"),
    };
    (difference > MAX_CLOCK_DIFFERENCE).then(|| {
        Finding::new(
            Code::WrongClock,
            server,
            format!(
                "the clock of this machine is {} s {direction} that of the server",
                difference.as_secs()
            ),
            "set the clock, for example by turning on time synchronization; tokens are refused otherwise",
        )
    })
}

/// Checks that the proxy for a server, if the environment names one, can be used.
pub(crate) fn check_proxy(
    server: &str,
    proxies: &Proxies,
    destination: &Destination,
) -> Option<Finding> {
    let error = proxies.proxy_for(destination).err()?;
    Some(Finding::new(
        Code::UnsupportedProxy,
        server,
        error.to_string(),
        "correct HTTPS_PROXY, HTTP_PROXY or ALL_PROXY, or name the server in NO_PROXY",
    ))
}

/// Checks that other users can neither change the data directory nor read the files with secrets.
#[cfg(unix)]
pub(crate) fn check_permissions(data_dir: &Path, secret_files: &[&str]) -> Vec<Finding> {
    use std::os::unix::fs::PermissionsExt;

    let mut findings = Vec::new();
    let mut check = |path: &Path, forbidden: u32, mode: &str, problem: &str| {
        let Ok(metadata) = path.metadata() else {
            return;
        };
        if metadata.permissions().mode() & forbidden != 0 {
            findings.push(Finding::new(
                Code::OpenPermissions,
                path.display().to_string(),
                problem,
                format!(
                    "chmod {mode} {}",
                    crate::output::argument(&path.to_string_lossy())
                ),
            ));
        }
    };
    check(
        data_dir,
        0o022,
        "700",
        "other users can change this directory, which holds logins",
    );
    for name in secret_files {
        let path = data_dir.join(name);
        check(
            &path,
            0o077,
            "600",
            "other users can read or change this file, which holds secrets",
        );
    }
    findings
}

/// Other systems keep other users out of the directory of a user by themselves.
#[cfg(not(unix))]
pub(crate) fn check_permissions(_data_dir: &Path, _secret_files: &[&str]) -> Vec<Finding> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_mcp::transport::http::connect::ProxySettings;

    #[test]
    fn a_port_of_another_program_is_reported() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert_eq!(check_port(address, true), None);
        assert_eq!(check_port(address, false).unwrap().code, Code::PortInUse);
        let callback = check_callback_port(address.port()).unwrap();
        assert_eq!(callback.code, Code::CallbackPortInUse);
        drop(listener);
        assert_eq!(check_port(address, false), None);
    }

    #[test]
    fn clocks_may_differ_by_a_minute() {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let later = |seconds| time + Duration::from_secs(seconds);
        assert_eq!(check_clock("s", time, later(60)), None);
        assert_eq!(check_clock("s", later(60), time), None);
        assert_eq!(
            check_clock("s", later(300), time).unwrap().problem,
            "the clock of this machine is 300 s ahead of that of the server"
        );
        assert_eq!(
            check_clock("s", time, later(61)).unwrap().problem,
            "the clock of this machine is 61 s behind that of the server"
        );
    }

    #[test]
    fn a_proxy_of_another_kind_is_reported() {
        let settings = ProxySettings::default().with_https("socks5://proxy.example:1080");
        let proxies = Proxies::new(&settings);
        let destination = Destination::new("mcp.example", 443, true);
        let finding = check_proxy("s", &proxies, &destination).unwrap();
        assert_eq!(finding.code, Code::UnsupportedProxy);
        let http = Destination::new("mcp.example", 80, false);
        assert_eq!(check_proxy("s", &proxies, &http), None);
    }

    #[cfg(unix)]
    #[test]
    fn open_files_and_directories_are_reported_with_the_command_that_closes_them() {
        use std::fs::{Permissions, set_permissions, write};
        use std::os::unix::fs::PermissionsExt;

        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        write(path.join("token"), "").unwrap();
        set_permissions(path.join("token"), Permissions::from_mode(0o600)).unwrap();
        let check = || check_permissions(path, &["token", "absent"]);
        assert_eq!(check(), []);
        set_permissions(path.join("token"), Permissions::from_mode(0o640)).unwrap();
        set_permissions(path, Permissions::from_mode(0o770)).unwrap();
        let repairs: Vec<String> = check().into_iter().map(|finding| finding.repair).collect();
        assert_eq!(
            repairs,
            [
                format!("chmod 700 {}", path.display()),
                format!("chmod 600 {}/token", path.display())
            ]
        );
    }
}
