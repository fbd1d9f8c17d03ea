use callgate_wire::header as mirrored;
use http::{HeaderMap, HeaderName, HeaderValue, header};

/// The header fields that a request is judged by, found in one pass.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    pub(super) host: Field<'a>,
    pub(super) origin: Field<'a>,
    pub(super) sec_fetch_site: Field<'a>,
    pub(super) authorization: Field<'a>,
    pub(super) content_type: Field<'a>,
    pub(super) transfer_encoding: Field<'a>,
    pub(super) accept: Field<'a>,
    pub(super) protocol_version: Field<'a>,
    pub(super) method: Field<'a>,
    pub(super) name: Field<'a>,
    /// All fields, for those that are not known beforehand.
    all: &'a HeaderMap,
}

/// What a head has of one field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field<'a> {
    Absent,
    Once(&'a HeaderValue),
    Repeated,
}

impl<'a> Fields<'a> {
    pub(super) fn read(headers: &'a HeaderMap) -> Self {
        let mut fields = Self {
            host: Field::Absent,
            origin: Field::Absent,
            sec_fetch_site: Field::Absent,
            authorization: Field::Absent,
            content_type: Field::Absent,
            transfer_encoding: Field::Absent,
            accept: Field::Absent,
            protocol_version: Field::Absent,
            method: Field::Absent,
            name: Field::Absent,
            all: headers,
        };
        for (name, value) in headers {
            if let Some(field) = fields.known(name) {
                field.add(value);
            }
        }
        fields
    }

    fn known(&mut self, name: &HeaderName) -> Option<&mut Field<'a>> {
        Some(match *name {
            header::HOST => &mut self.host,
            header::ORIGIN => &mut self.origin,
            header::AUTHORIZATION => &mut self.authorization,
            header::CONTENT_TYPE => &mut self.content_type,
            header::TRANSFER_ENCODING => &mut self.transfer_encoding,
            header::ACCEPT => &mut self.accept,
            _ => match name.as_str() {
                mirrored::PROTOCOL_VERSION => &mut self.protocol_version,
                mirrored::METHOD => &mut self.method,
                mirrored::NAME => &mut self.name,
                "sec-fetch-site" => &mut self.sec_fetch_site,
                _ => return None,
            },
        })
    }

    /// The field `name`, which has no place of its own here.
    pub(super) fn other(&self, name: &str) -> Field<'a> {
        let mut field = Field::Absent;
        for value in self.all.get_all(name) {
            field.add(value);
        }
        field
    }

    /// Every value of `Accept`, the one field here that may be repeated.
    pub(super) fn accept_values(&self) -> impl Iterator<Item = &'a [u8]> {
        let values = self.all.get_all(header::ACCEPT).into_iter();
        values.map(HeaderValue::as_bytes)
    }
}

impl<'a> Field<'a> {
    fn add(&mut self, value: &'a HeaderValue) {
        *self = match self {
            Field::Absent => Field::Once(value),
            _ => Field::Repeated,
        };
    }

    /// The text of a field that is there; empty where it is repeated or cannot be read.
    pub(super) fn text(self) -> Option<&'a str> {
        match self {
            Field::Absent => None,
            Field::Once(value) => Some(value.to_str().unwrap_or_default()),
            Field::Repeated => Some(""),
        }
    }

    /// The value of a field that is there exactly once.
    pub(super) fn once(self) -> Option<&'a [u8]> {
        match self {
            Field::Once(value) => Some(value.as_bytes()),
            Field::Absent | Field::Repeated => None,
        }
    }
}
