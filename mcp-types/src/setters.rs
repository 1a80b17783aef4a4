//! Chainable setters for the types that are often built by hand.

/// Gives a type a setter for each optional field named: `fn title(self, impl Into<String>) -> Self`.
macro_rules! setters {
    ($name:ident { $( $(#[$attr:meta])* $field:ident: $type:ty ),+ $(,)? }) => {
        impl $name {
            $(
                $(#[$attr])*
                #[must_use]
                pub fn $field(mut self, $field: impl Into<$type>) -> Self {
                    self.$field = Some($field.into());
                    self
                }
            )+
        }
    };
}
pub(crate) use setters;
