//! A [`Traced`] has exactly the auto traits of the future inside.
// CT-12

use std::marker::PhantomPinned;
use std::rc::Rc;

use ctp_nostd::{Task, Traced, Waker};

macro_rules! assert_is {
    ($type:ty: $($bound:tt)+) => {
        const _: () = {
            const fn is<T: ?Sized + $($bound)+>() {}
            is::<$type>();
        };
    };
}

/// Fails to compile if `T` has the bound: then there are two candidates for `Marker<_>`.
macro_rules! assert_is_not {
    ($type:ty: $bound:ident) => {
        const _: () = {
            trait Marker<A> {
                const IS_NOT: () = ();
            }
            impl<T: ?Sized> Marker<()> for T {}
            impl<T: ?Sized + $bound> Marker<u8> for T {}
            <$type as Marker<_>>::IS_NOT
        };
    };
}

type Free = std::future::Ready<u32>;
type Bound = std::future::Ready<Rc<u32>>;

struct Pinned(PhantomPinned);

assert_is!(Traced<Free>: Send + Unpin);
assert_is!(Traced<Pinned>: Send);
assert_is!(Traced<Bound>: Unpin);
assert_is_not!(Traced<Bound>: Send);
assert_is_not!(Traced<Pinned>: Unpin);
assert_is!(Task: Send + Unpin);
assert_is_not!(Task: Sync);
assert_is!(Waker: Send + Sync + Copy);
