use std::io::{self, IsTerminal};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::anyhow;
use callgate_oauth::browser::Browser;
use callgate_oauth::callback_listener::{BindError, CallbackListener, Config, WhenBusy};
use callgate_oauth::consent::{BrowserConsent, Consent, PasteConsent};
use callgate_oauth::device::Prompt;
use tokio::io::{BufReader, stdin};

use crate::error::{CommandError, Exit};

/// How a person comes back from the page of a login.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way {
    /// The port that the browser comes back to.
    pub(crate) port: u16,
    /// Whether the client was registered by hand, so that it knows no other port.
    pub(crate) is_registered: bool,
    /// Whether the browser is on another machine.
    pub(crate) is_pasted: bool,
}

/// Who asks the person at this terminal.
///
/// A browser is opened only on a terminal: elsewhere nobody would know why.
pub(crate) async fn of_terminal(way: Way) -> Result<Arc<dyn Consent>, CommandError> {
    let config = Config {
        address: (Ipv4Addr::LOCALHOST, way.port).into(),
        when_busy: if way.is_registered {
            WhenBusy::Fail
        } else {
            WhenBusy::TakeAnother
        },
        ..Config::default()
    };
    if way.is_pasted {
        let (redirect_uri, input) = (config.redirect_uri(), BufReader::new(stdin()));
        let notice = ask_to_paste(redirect_uri.clone());
        return Ok(Arc::new(PasteConsent::new(redirect_uri, notice, input)));
    }
    let listener = CallbackListener::bind(config).await.map_err(no_listener)?;
    if io::stderr().is_terminal() {
        let browser = Browser::of_this_system();
        return Ok(Arc::new(BrowserConsent::new(
            listener,
            browser,
            say_what_opens,
        )));
    }
    Ok(Arc::new(BrowserConsent::new(listener, None, ask_to_open)))
}

fn say_what_opens(page: &str) {
    eprintln!("opening a browser to log in; if none opens, open this page in one:\n\n  {page}\n");
    eprintln!("{ELSEWHERE}");
}

fn ask_to_open(page: &str) {
    eprintln!(
        "to log in, open this page in a browser on this machine within 5 minutes:\n\n  {page}\n"
    );
    eprintln!("{ELSEWHERE}");
}

const ELSEWHERE: &str =
    "hint: without a browser on this machine, run the same command with --no-browser";

/// Asks for the address that the page leads to, and says what is wrong from the second time on.
fn ask_to_paste(redirect_uri: String) -> impl Fn(&str) {
    let is_again = AtomicBool::new(false);
    move |page| {
        if is_again.swap(true, Ordering::Relaxed) {
            eprintln!("that does not answer this login; the address begins with {redirect_uri}?");
        } else {
            eprintln!("to log in, open this page in a browser on any machine:\n\n  {page}\n");
            eprintln!("in the end the browser cannot load a page: that is how it should be.");
        }
        eprintln!("paste the whole address of that page here, within 5 minutes:");
    }
}

/// Tells the person what to do on another device.
pub(crate) fn show_code(prompt: &Prompt) {
    let page = &prompt.verification_uri;
    eprintln!("to log in, open this page in a browser on any device:\n\n  {page}\n");
    eprintln!("and enter this code: {}", prompt.user_code);
    if let Some(page) = &prompt.verification_uri_complete {
        eprintln!("\nor open this page, where the code is entered already:\n\n  {page}\n");
    }
}

fn no_listener(error: BindError) -> CommandError {
    let is_busy = matches!(error, BindError::Busy(_));
    let error = CommandError::new(Exit::Unexpected, anyhow!(error));
    if !is_busy {
        return error.hint("log in without the port: add --no-browser");
    }
    error
        .hint("end the other program, or log in without the port: add --no-browser")
        .hint("if the client is registered with another port, add --callback-port PORT")
}
