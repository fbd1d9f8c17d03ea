/// Page that the browser shows after a login.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Page {
    /// The login succeeded.
    Done,
    /// The login failed for this reason. The text is untrusted and escaped.
    Failed(String),
}

impl Page {
    /// HTML of the page.
    pub(super) fn to_html(&self) -> String {
        match self {
            Self::Done => html("Logged in", "You may close this window."),
            Self::Failed(reason) => html("The login failed", reason),
        }
    }
}

/// Content security policy: the page's own style and nothing else.
pub(super) const POLICY: &str = "default-src 'none'; \
     style-src 'sha256-QdSDwokUdvKnGrAkg7mltejapcHAS9AZpgULRLXBklU='; frame-ancestors 'none'";

/// HTML of a page with a title and a text.
pub(super) fn html(title: &str, text: &str) -> String {
    let (title, text) = (escape(title), escape(text));
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{title} · Callgate</title>\
         <style>{STYLE}</style></head><body><main><p class=\"name\">Callgate</p>\
         <h1>{title}</h1><p>{text}</p></main></body></html>\n"
    )
}

/// Style for light and dark mode.
const STYLE: &str = "html{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}\
    body{margin:0;min-height:100vh;display:grid;place-items:center}\
    main{max-width:32rem;padding:2rem;overflow-wrap:anywhere}\
    h1{margin:0 0 .5rem;font-size:1.75rem;line-height:1.2}\
    p{margin:0}\
    .name{margin-bottom:1.5rem;font-weight:600;letter-spacing:.04em;opacity:.6}";

/// Escapes at most [`MAX_TEXT`] characters for HTML.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars().take(MAX_TEXT) {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            character if character.is_control() => escaped.push(' '),
            character => escaped.push(character),
        }
    }
    escaped
}

const MAX_TEXT: usize = 1000;

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use sha2::{Digest, Sha256};

    use super::{MAX_TEXT, POLICY, Page, STYLE, escape};

    #[test]
    fn browsers_accept_the_style_and_no_other() {
        let hash = STANDARD.encode(Sha256::digest(STYLE));
        let expect =
            format!("default-src 'none'; style-src 'sha256-{hash}'; frame-ancestors 'none'");
        assert_eq!(POLICY, expect);
    }

    #[test]
    fn text_of_strangers_stays_text() {
        for (text, expect) in [
            ("access denied", "access denied"),
            (
                "<script>alert(1)</script>",
                "&lt;script&gt;alert(1)&lt;/script&gt;",
            ),
            ("\"'&amp;", "&quot;&#39;&amp;amp;"),
            ("a\r\n\0b", "a   b"),
        ] {
            assert_eq!(escape(text), expect);
        }
        let page = Page::Failed("<b>".to_owned()).to_html();
        assert!(page.contains("<p>&lt;b&gt;</p>"), "{page}");
    }

    #[test]
    fn text_of_strangers_is_cut() {
        assert_eq!(escape(&"é".repeat(MAX_TEXT)), "é".repeat(MAX_TEXT));
        assert_eq!(escape(&"é".repeat(MAX_TEXT + 1)), "é".repeat(MAX_TEXT));
    }
}
