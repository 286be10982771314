//! [`TypeFacts`]: what was found out about types. The types of a program do not change, so each fact is found once.

use std::cell::RefCell;
use std::rc::Rc;

use foldhash::HashMap;

use crate::awaits::guard::Owned;
use crate::types::TypeRef;
use crate::types::layout::Member;

/// A fact about each type for which it is known.
type ByType<T> = RefCell<HashMap<TypeRef, T>>;

/// What was found out about types.
#[derive(Default)]
pub(super) struct TypeFacts {
    /// Which types are futures.
    pub(super) futures: ByType<bool>,
    /// Which types may own guards of locks, or receivers.
    pub(super) guards: ByType<Owned>,
    /// Which types contain no pointers, so that a search ends there.
    pub(super) plain: ByType<bool>,
    /// The variables of bodies in each of their states, by the type of the state's contents.
    pub(super) variables: ByType<Option<Rc<[Member]>>>,
}
