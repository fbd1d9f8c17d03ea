use std::ops::Range;

use crate::members::Member;
use crate::text::RawText;

/// Positions of the members of params and of their `_meta`, so that none is searched twice.
///
/// If there are more than [`MAX_MEMBERS`], none is remembered: readers walk through the object.
#[derive(Debug)]
pub(crate) struct MemberTable {
    /// `None` if there are too many.
    positions: Option<Vec<MemberPosition>>,
}

/// Member of the params that has metadata of the request.
pub(crate) const META: &str = "_meta";

/// Object that a member belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parent {
    /// The params.
    Params,
    /// The `_meta` of the params.
    Meta,
}

/// The members of an object are not remembered.
#[derive(Debug)]
pub(crate) struct Unknown;

#[derive(Debug, Clone)]
struct MemberPosition {
    parent: Parent,
    /// Position of the key, without its quotes.
    key: Range<usize>,
    has_escaped_key: bool,
    value: Range<usize>,
    /// The value is a `_meta` that no scan has seen, so its members are not in the table. The flag is
    /// here, where it costs no space: a frame that grows is moved more slowly.
    is_new_meta: bool,
}

/// Maximum number of remembered members: params and metadata have about ten, and a message must not
/// cost memory for each member that its sender thinks of.
const MAX_MEMBERS: usize = 32;

/// Number of members that most params and their metadata do not exceed.
const USUAL_MEMBERS: usize = 8;

impl Default for MemberTable {
    /// The table of params without members.
    fn default() -> Self {
        Self {
            positions: Some(Vec::new()),
        }
    }
}

impl Clone for MemberTable {
    /// Clones with room for one more member, which most clones get.
    fn clone(&self) -> Self {
        let positions = self.positions.as_ref().map(|positions| {
            let mut clone = Vec::with_capacity(positions.len() + 1);
            clone.extend_from_slice(positions);
            clone
        });
        Self { positions }
    }
}

impl MemberTable {
    /// Adds the member with the key at `at`, its opening quote; its value follows.
    pub(crate) fn push_key(&mut self, parent: Parent, key: RawText<'_>, at: usize) {
        let Some(positions) = &mut self.positions else {
            return;
        };
        if positions.len() == MAX_MEMBERS {
            self.positions = None;
            return;
        }
        if positions.is_empty() {
            positions.reserve_exact(USUAL_MEMBERS);
        }
        positions.push(MemberPosition {
            parent,
            key: at + 1..at + 1 + key.bytes.len(),
            has_escaped_key: key.escaped,
            value: 0..0,
            is_new_meta: false,
        });
    }

    /// Sets the position of the value of the last key of `parent`.
    pub(crate) fn set_value(&mut self, parent: Parent, span: Range<usize>) {
        let mut positions = self.positions.iter_mut().flatten().rev();
        if let Some(last) = positions.find(|position| position.parent == parent) {
            last.value = span;
        }
    }

    /// Finds the value of the member `key` of `parent` in the params `text`.
    pub(crate) fn find(
        &self,
        text: &[u8],
        parent: Parent,
        key: &str,
    ) -> Result<Option<Range<usize>>, Unknown> {
        let mut positions = self.positions_of(parent)?.iter();
        let found = positions.find(|member| member.parent == parent && member.has_key(text, key));
        Ok(found.map(|member| member.value.clone()))
    }

    /// Finds the members `keys` of `parent` in the params `text`, in one pass. `found` gets the index
    /// of the key and the position of the value.
    pub(crate) fn pick(
        &self,
        text: &[u8],
        parent: Parent,
        keys: &[&str],
        mut found: impl FnMut(usize, Range<usize>),
    ) -> Result<(), Unknown> {
        for member in self.positions_of(parent)? {
            if member.parent == parent
                && let Some(index) = keys.iter().position(|key| member.has_key(text, key))
            {
                found(index, member.value.clone());
            }
        }
        Ok(())
    }

    /// Returns all members of `parent` in the params `text`, in order.
    pub(crate) fn all<'a>(
        &'a self,
        text: &'a [u8],
        parent: Parent,
    ) -> Result<impl Iterator<Item = Member<'a>>, Unknown> {
        let positions = self.positions_of(parent)?.iter();
        let positions = positions.filter(move |position| position.parent == parent);
        Ok(positions.map(|position| position.member(text)))
    }

    /// Removes the members of `_meta`, because it is another one now in the params `text`. Those of the
    /// new one stay unknown: each call of an old session gets one, and few readers look into it again.
    pub(crate) fn remove_meta(&mut self, text: &[u8]) {
        let Some(positions) = &mut self.positions else {
            return;
        };
        positions.retain(|member| member.parent == Parent::Params);
        for member in positions {
            member.is_new_meta |= member.has_key(text, META);
        }
    }

    /// Moves all positions from `at` on as if the `old` bytes before them were `new` many.
    pub(crate) fn shift(&mut self, at: usize, old: usize, new: usize) {
        let moved = |offset: usize| match offset >= at {
            true => (offset + new).saturating_sub(old),
            false => offset,
        };
        for position in self.positions.iter_mut().flatten() {
            for span in [&mut position.key, &mut position.value] {
                *span = moved(span.start)..moved(span.end);
            }
        }
    }

    /// Positions among which all members of `parent` are.
    fn positions_of(&self, parent: Parent) -> Result<&[MemberPosition], Unknown> {
        let positions = self.positions.as_deref().ok_or(Unknown)?;
        match parent == Parent::Meta && positions.iter().any(|member| member.is_new_meta) {
            true => Err(Unknown),
            false => Ok(positions),
        }
    }
}

impl MemberPosition {
    #[inline]
    fn has_key(&self, text: &[u8], name: &str) -> bool {
        // Most keys differ in length.
        if !self.has_escaped_key && self.key.len() != name.len() {
            return false;
        }
        self.raw_key(text).is(name)
    }

    fn raw_key<'a>(&self, text: &'a [u8]) -> RawText<'a> {
        RawText {
            bytes: text.get(self.key.clone()).unwrap_or_default(),
            escaped: self.has_escaped_key,
        }
    }

    fn member<'a>(&self, text: &'a [u8]) -> Member<'a> {
        Member {
            raw_key: self.raw_key(text),
            key_span: self.key.start - 1..self.key.end + 1,
            value_span: self.value.clone(),
        }
    }
}
