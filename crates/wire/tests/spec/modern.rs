//! Values for every type of revision 2026-07-28, together with every member.

mod client;
mod content;
mod envelope;
mod form;
mod prompt;
mod resource;
mod server;
mod skill;
mod task;
mod tool;

use callgate_wire::capabilities::ClientCapabilities;
use callgate_wire::implementation::{Icon, IconTheme, Implementation};
use callgate_wire::logging::LogLevel;
use callgate_wire::{Id, Meta, Version, meta};

use crate::sample::{Sample, with};

pub(crate) fn samples() -> Vec<Sample> {
    [
        client::samples(),
        content::samples(),
        envelope::samples(),
        form::samples(),
        prompt::samples(),
        resource::samples(),
        server::samples(),
        skill::samples(),
        task::samples(),
        tool::samples(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn implementation() -> Implementation {
    with(Implementation::new("example", "1.0.0"), |it| {
        it.title = Some("Example".to_owned());
        it.description = Some("An example".to_owned());
        it.icons = Some(vec![icon()]);
        it.website_url = Some("https://example.com/about".to_owned());
    })
}

fn icon() -> Icon {
    with(Icon::new("https://example.com/icon.png"), |it| {
        it.mime_type = Some("image/png".to_owned());
        it.sizes = Some(vec!["48x48".to_owned()]);
        it.theme = Some(IconTheme::Dark);
    })
}

fn plain_meta() -> Meta {
    Meta::new().with("com.example/key", &1)
}

fn request_meta() -> Meta {
    Meta::request(
        Version::V2026_07_28,
        &implementation(),
        &ClientCapabilities::default(),
    )
    .with(meta::LOG_LEVEL, &LogLevel::Debug)
    .with(meta::PROGRESS_TOKEN, &Id::number(7))
}

fn result_meta() -> Meta {
    Meta::result(&implementation())
}

fn notification_meta() -> Meta {
    Meta::subscription(&Id::text("listen-1"))
}
