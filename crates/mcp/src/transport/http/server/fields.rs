use callgate_wire::header::{METHOD, NAME, PROTOCOL_VERSION};
use http::header::{AsHeaderName, HeaderMap, HeaderValue};

use crate::service::TraceContext;

/// Fields of a head that every request is checked by.
///
/// They are found in one pass: a look-up for each would cost more.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Fields<'a> {
    pub(super) host: Field<'a>,
    pub(super) content_type: Field<'a>,
    pub(super) accept: Field<'a>,
    pub(super) protocol_version: Field<'a>,
    pub(super) method: Field<'a>,
    pub(super) name: Field<'a>,
    /// True if there is `Origin` or `Sec-Fetch-Site`, which web browsers send.
    pub(super) is_of_browser: bool,
    /// True if there is a field of the trace context.
    pub(super) has_trace: bool,
    pub(super) has_transfer_encoding: bool,
}

/// Occurrence of one field in a head.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Field<'a> {
    #[default]
    Absent,
    Once(&'a HeaderValue),
    Repeated,
}

impl<'a> Fields<'a> {
    pub(super) fn of(headers: &'a HeaderMap) -> Self {
        let mut fields = Self::default();
        for (name, value) in headers {
            match name.as_str() {
                "host" => fields.host.add(value),
                "content-type" => fields.content_type.add(value),
                "accept" => fields.accept.add(value),
                PROTOCOL_VERSION => fields.protocol_version.add(value),
                METHOD => fields.method.add(value),
                NAME => fields.name.add(value),
                "origin" | "sec-fetch-site" => fields.is_of_browser = true,
                "transfer-encoding" => fields.has_transfer_encoding = true,
                name => fields.has_trace |= TraceContext::KEYS.contains(&name),
            }
        }
        fields
    }
}

impl<'a> Field<'a> {
    pub(super) fn of(headers: &'a HeaderMap, name: impl AsHeaderName) -> Self {
        let mut values = headers.get_all(name).into_iter();
        match (values.next(), values.next()) {
            (None, _) => Self::Absent,
            (Some(value), None) => Self::Once(value),
            (Some(_), Some(_)) => Self::Repeated,
        }
    }

    /// The value of a field that is there exactly once.
    pub(super) fn once(self) -> Option<&'a [u8]> {
        match self {
            Field::Once(value) => Some(value.as_bytes()),
            Field::Absent | Field::Repeated => None,
        }
    }

    /// The text of a field that is there; empty if it is there twice, or unreadable.
    pub(super) fn text_if_present(self) -> Option<&'a str> {
        match self {
            Field::Absent => None,
            Field::Once(value) => Some(value.to_str().unwrap_or_default()),
            Field::Repeated => Some(""),
        }
    }

    fn add(&mut self, value: &'a HeaderValue) {
        *self = match self {
            Field::Absent => Field::Once(value),
            Field::Once(_) | Field::Repeated => Field::Repeated,
        };
    }
}
