use std::ops::Range;

use crate::members::Member;
use crate::text::RawText;

/// Positions of the members of params and of their `_meta`, so that none is searched twice.
///
/// If there are more than [`MAX_MEMBERS`], none is remembered: readers walk through the object.
#[derive(Debug)]
pub(crate) struct MemberTable {
    positions: Vec<MemberPosition>,
    knows_params: bool,
    knows_meta: bool,
}

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
            positions: Vec::new(),
            knows_params: true,
            knows_meta: true,
        }
    }
}

impl Clone for MemberTable {
    /// Clones with room for one more member, which most clones get.
    fn clone(&self) -> Self {
        let mut positions = Vec::with_capacity(self.positions.len() + 1);
        positions.extend_from_slice(&self.positions);
        Self { positions, ..*self }
    }
}

impl MemberTable {
    /// Adds the member with the key at `at`, its opening quote; its value follows.
    pub(crate) fn push_key(&mut self, parent: Parent, key: RawText<'_>, at: usize) {
        if self.positions.len() == MAX_MEMBERS {
            (self.knows_params, self.knows_meta) = (false, false);
        }
        if !self.knows_params {
            return;
        }
        if self.positions.is_empty() {
            self.positions.reserve_exact(USUAL_MEMBERS);
        }
        self.positions.push(MemberPosition {
            parent,
            key: at + 1..at + 1 + key.bytes.len(),
            has_escaped_key: key.escaped,
            value: 0..0,
        });
    }

    /// Sets the position of the value of the last key of `parent`.
    pub(crate) fn set_value(&mut self, parent: Parent, span: Range<usize>) {
        let mut positions = self.positions.iter_mut().rev();
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
        if !self.knows(parent) {
            return Err(Unknown);
        }
        let mut positions = self.positions.iter();
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
        if !self.knows(parent) {
            return Err(Unknown);
        }
        for member in &self.positions {
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
        if !self.knows(parent) {
            return Err(Unknown);
        }
        let positions = self.positions.iter();
        let positions = positions.filter(move |position| position.parent == parent);
        Ok(positions.map(|position| position.member(text)))
    }

    /// Forgets the members of `_meta`, because it is another one now.
    pub(crate) fn forget_meta(&mut self) {
        self.knows_meta = false;
        let is_kept = |member: &MemberPosition| member.parent != Parent::Meta;
        self.positions.retain(is_kept);
    }

    /// Moves all positions from `at` on as if the `old` bytes before them were `new` many.
    pub(crate) fn shift(&mut self, at: usize, old: usize, new: usize) {
        let moved = |offset: usize| match offset >= at {
            true => (offset + new).saturating_sub(old),
            false => offset,
        };
        for position in &mut self.positions {
            for span in [&mut position.key, &mut position.value] {
                *span = moved(span.start)..moved(span.end);
            }
        }
    }

    fn knows(&self, parent: Parent) -> bool {
        match parent {
            Parent::Params => self.knows_params,
            Parent::Meta => self.knows_meta,
        }
    }
}

impl MemberPosition {
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
