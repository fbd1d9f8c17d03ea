use super::expected::logged_in;
use crate::fixture::Home;
use crate::provider::{self, Provider, Settings};
use crate::terminal::{FakeBrowser, Terminal};

#[test]
fn a_browser_is_opened_on_a_terminal_with_the_page_as_its_only_argument() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    let mut command = home.command(&["auth", &provider.url, "--callback-port", "0"]);
    let browser = FakeBrowser::new(&home, &mut command);
    let terminal = Terminal::start(&mut command);
    let opened = browser.opened();
    let page = opened.strip_prefix("1 ").unwrap();
    let (back, _) = provider::get(page);
    provider::get(&back.unwrap());
    let (said, exit) = terminal.end();
    assert_eq!(exit, Some(0));
    let asked = "opening a browser to log in; if none opens, open this page in one:\n\n  PAGE\n\n\
        hint: without a browser on this machine, run the same command with --no-browser\n";
    assert_eq!(
        said.replace(page, "PAGE"),
        format!("{asked}{}", logged_in(&provider, "read"))
    );
}
