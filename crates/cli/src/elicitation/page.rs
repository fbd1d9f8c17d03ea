use callgate_mcp::wire::elicitation::{ElicitResult, ElicitUrlParams};
use callgate_oauth::browser::{Browser, PageUrl};
use url::Url;

use super::terminal::{Decision, decide, quote};
use crate::output;
use crate::visible::visible_line;

/// Asks the user for consent to open a page, and opens it.
///
/// The page is shown with its host, because the host decides who gets the input, and is opened only after
/// an explicit yes.
pub(crate) async fn ask_page(server: String, params: ElicitUrlParams) -> ElicitResult {
    output::note(&format!(
        "the server `{}` asks you to open a page:",
        visible_line(&server)
    ));
    quote(&params.message);
    let page = match PageUrl::parse(&params.url) {
        Ok(page) => page,
        Err(error) => {
            output::note(&format!("{error}; the server is told that you declined"));
            return ElicitResult::decline();
        }
    };
    output::note(&format!("  page  {page}\n  host  {}", host(&page)));
    let words = [
        ("yes", Decision::Yes),
        ("no", Decision::No),
        ("cancel", Decision::Cancel),
    ];
    match decide("open it in a browser?", &words, None).await {
        Decision::Yes => {}
        Decision::Cancel => return ElicitResult::cancel(),
        Decision::No | Decision::Edit => return ElicitResult::decline(),
    }
    match Browser::of_this_system().open(page.as_str()) {
        Ok(process) => {
            tokio::spawn(async move {
                if let Err(error) = process.exit().await {
                    not_opened(&error);
                }
            });
        }
        Err(error) => not_opened(&error),
    }
    ElicitResult::consent()
}

/// Name that decides where the input goes. A name in other scripts is marked: it may look like another.
fn host(page: &PageUrl) -> String {
    let url = Url::parse(page.as_str()).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
    match host.split('.').any(|label| label.starts_with("xn--")) {
        true => format!("{host} (written in another script; it may look like another name)"),
        false => host.to_owned(),
    }
}

fn not_opened(error: &callgate_oauth::browser::OpenError) {
    output::note(&format!(
        "no browser was opened: {error}; open the page above by hand"
    ));
}
