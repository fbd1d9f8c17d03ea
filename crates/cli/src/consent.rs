use std::error::Error;
use std::io::{self, IsTerminal};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::anyhow;
use callgate_oauth::browser::Browser;
use callgate_oauth::callback_listener::{BindError, CallbackListener, Config, WhenBusy};
use callgate_oauth::consent::{BrowserConsent, Consent, Notice, PasteConsent};
use callgate_oauth::device::DevicePrompt;
use callgate_oauth::options::RedirectUri;
use tokio::io::{BufReader, stdin};

use crate::error::{CommandError, Exit};
use crate::output;
use crate::visible::visible_line;

/// Way of the authorization code back from the browser to this command.
#[derive(Debug, Clone)]
pub(crate) struct CallbackMethod {
    /// The port that the browser comes back to.
    pub(crate) port: u16,
    /// True if the client was registered by hand, so that no other port is allowed.
    pub(crate) is_registered: bool,
    /// True if the browser is on another machine, so that the user pastes the address.
    pub(crate) is_pasted: bool,
    /// The redirect URI that the client is registered with, instead of the usual one at `port`.
    pub(crate) redirect_uri: Option<RedirectUri>,
}

/// Asks the user at this terminal for consent.
///
/// A browser is opened only on a terminal: elsewhere the user would not know why it opens.
pub(crate) async fn at_terminal(method: CallbackMethod) -> Result<Arc<dyn Consent>, CommandError> {
    let config = method.listener_config();
    if method.is_pasted {
        let (redirect_uri, input) = (config.redirect_uri(), BufReader::new(stdin()));
        let notice = ask_to_paste(redirect_uri.clone());
        return Ok(Arc::new(PasteConsent::new(redirect_uri, notice, input)));
    }
    let listener = CallbackListener::bind(config).await.map_err(no_listener)?;
    if io::stderr().is_terminal() {
        let browser = Browser::of_this_system();
        let consent = BrowserConsent::new(listener, browser, tell(OPENING));
        return Ok(Arc::new(consent));
    }
    let consent = BrowserConsent::new(listener, None, tell(TO_OPEN));
    Ok(Arc::new(consent))
}

impl CallbackMethod {
    fn listener_config(&self) -> Config {
        if let Some(uri) = &self.redirect_uri {
            return Config::for_redirect_uri(uri);
        }
        let mut config = Config::default();
        config.address = (Ipv4Addr::LOCALHOST, self.port).into();
        config.when_busy = if self.is_registered {
            WhenBusy::Fail
        } else {
            WhenBusy::TakeAnother
        };
        config
    }
}

const OPENING: &str = "opening a browser to log in; if none opens, open this page in one:";
const TO_OPEN: &str = "to log in, open this page in a browser on this machine within 5 minutes:";

/// Prints the messages of a login; the URL of the page follows `request`.
fn tell(request: &'static str) -> impl Fn(Notice<'_>) {
    move |notice| match notice {
        Notice::Page(page) => output::note(&format!("{request}\n\n  {page}\n\n{ELSEWHERE}")),
        Notice::NotOpened(error) => {
            let cause = error.source().map(|cause| format!(": {cause}"));
            let cause = cause.unwrap_or_default();
            output::note(&format!(
                "no browser was opened: {error}{cause}; open the page above by hand"
            ));
        }
        _ => {}
    }
}

const ELSEWHERE: &str =
    "hint: without a browser on this machine, run the same command with --no-browser";

/// Asks for the address that the page leads to; from the second time on it says that the last one was wrong.
/// A login that begins anew has another page.
fn ask_to_paste(redirect_uri: String) -> impl Fn(&str) {
    let shown = Mutex::new(String::new());
    move |page| {
        let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
        let last = std::mem::replace(&mut *shown, page.to_owned());
        if last == page {
            output::note(&format!(
                "that is not the answer to this login; the address begins with {redirect_uri}?"
            ));
        } else {
            output::note(&format!(
                "to log in, open this page in a browser on any machine:\n\n  {page}\n\n"
            ));
            output::note(
                "at the end the browser reports that it cannot load a page; that is expected.",
            );
        }
        output::note("paste the whole address of that page here, within 5 minutes:");
    }
}

/// Prints the page to open and the code to enter on another device.
pub(crate) fn show_code(prompt: &DevicePrompt) {
    let page = &prompt.verification_uri;
    let code = visible_line(&prompt.user_code);
    output::note(&format!(
        "to log in, open this page in a browser on any device:\n\n  {page}\n\nand enter this code: {code}"
    ));
    if let Some(page) = &prompt.verification_uri_complete {
        output::note(&format!(
            "\nor open this page, where the code is entered already:\n\n  {page}\n\n"
        ));
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
