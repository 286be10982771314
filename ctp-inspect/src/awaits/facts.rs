//! [`TypeFacts`]: a cache of facts about types. The types of a program do not change, so each fact is computed once.

use std::cell::RefCell;
use std::rc::Rc;

use foldhash::HashMap;

use crate::awaits::guard::Owned;
use crate::types::TypeRef;
use crate::types::layout::Member;

/// A fact for each type for which the fact is known.
type ByType<T> = RefCell<HashMap<TypeRef, T>>;

/// The known facts about types.
#[derive(Default)]
pub(super) struct TypeFacts {
    /// Which types are futures.
    pub(super) futures: ByType<bool>,
    /// Which types may own guards of locks, or receivers.
    pub(super) owned: ByType<Owned>,
    /// Which types contain no pointers, so that a search ends there.
    pub(super) without_pointers: ByType<bool>,
    /// The variables of bodies in each of their states, by the type of the state's contents.
    pub(super) variables: ByType<Option<Rc<[Member]>>>,
}
