use std::any::{Any, TypeId};
use std::fmt;
use std::sync::Arc;

/// Typed values that layers attach to a request for the layers and the service below them.
///
/// There is at most one value of each type. Clones share the values.
#[derive(Clone, Default)]
pub struct Extensions(Vec<(TypeId, Arc<dyn Any + Send + Sync>)>);

impl Extensions {
    /// Attaches a value, in place of one of the same type.
    pub fn insert<T: Any + Send + Sync>(&mut self, value: T) {
        self.0.retain(|(id, _)| *id != TypeId::of::<T>());
        self.0.push((TypeId::of::<T>(), Arc::new(value)));
    }

    /// The value of this type.
    #[must_use]
    pub fn get<T: Any + Send + Sync>(&self) -> Option<&T> {
        // A request carries a few values at most, so a search is faster than a hash table.
        let found = self.0.iter().find(|(id, _)| *id == TypeId::of::<T>());
        found.and_then(|(_, value)| value.downcast_ref())
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Extensions({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_of_each_type_is_found_by_its_type() {
        let mut extensions = Extensions::default();
        extensions.insert(1_u8);
        extensions.insert("text");
        let before = extensions.clone();
        extensions.insert(2_u8);
        assert_eq!(extensions.get::<u8>(), Some(&2));
        assert_eq!(extensions.get::<&str>(), Some(&"text"));
        assert_eq!(extensions.get::<u16>(), None);
        assert_eq!(before.get::<u8>(), Some(&1));
    }
}
