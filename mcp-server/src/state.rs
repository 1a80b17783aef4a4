//! Values that handlers share, by their type.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::handler::Needs;

/// One shared value a type, given with [`ServerBuilder::state`](crate::ServerBuilder::state).
#[derive(Clone, Default)]
pub(crate) struct States(HashMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl States {
    pub(crate) fn insert<T: Send + Sync + 'static>(&mut self, value: Arc<T>) {
        self.0.insert(TypeId::of::<T>(), value);
    }

    pub(crate) fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.0.get(&TypeId::of::<T>())?.clone().downcast().ok()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What a handler gets that has `own` values within those that the server shares.
    pub(crate) fn within(own: Option<&Arc<Self>>, shared: &Arc<Self>) -> Arc<Self> {
        let mut states = Some(Arc::clone(own.unwrap_or(shared)));
        if own.is_some() {
            Self::share(&mut states, Some(shared));
        }
        states.unwrap_or_default()
    }

    /// Adds to the values that something has already those of what is around it, as far as they are of other types.
    pub(crate) fn share(own: &mut Option<Arc<Self>>, around: Option<&Arc<Self>>) {
        let Some(around) = around else { return };
        *own = Some(match own {
            Some(own) => {
                let mut states = Self::clone(around);
                states.0.extend(own.0.iter().map(|(id, value)| (*id, Arc::clone(value))));
                Arc::new(states)
            }
            None => Arc::clone(around),
        });
    }

    pub(crate) fn has(&self, need: &StateType) -> bool {
        self.0.contains_key(&need.id)
    }

    /// The name of a type that `needs` has and nobody gave.
    pub(crate) fn missing(&self, needs: &Needs) -> Option<&'static str> {
        needs.states.iter().find(|need| !self.has(need)).map(|need| need.name)
    }
}

impl fmt::Debug for States {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "States({})", self.0.len())
    }
}

/// A type that a handler wants a shared value of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StateType {
    id: TypeId,
    pub(crate) name: &'static str,
}

impl StateType {
    pub(crate) fn of<T: 'static>() -> Self {
        Self { id: TypeId::of::<T>(), name: type_name::<T>() }
    }
}
