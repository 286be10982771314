//! Polls of a traced future without an allocator, with the waker of the executor.

use core::pin::Pin;
use core::task::{Context, Poll};

use crate::handle::coroutine::RunCause;
use crate::linux::Task;
use crate::protocol::chain::FoundWait;
use crate::protocol::intern::site::SiteWord;

/// Without the feature `alloc`, there is no place for the data of a waker, and wakes are not
/// recorded.
#[derive(Debug, Default)]
pub(crate) struct Wakers {}

impl Wakers {
    pub fn poll<F: Future>(
        &self,
        future: Pin<&mut F>,
        _: &Task,
        _: Option<RunCause>,
        _: SiteWord,
        context: &mut Context<'_>,
    ) -> (Poll<F::Output>, FoundWait) {
        (future.poll(context), FoundWait::default())
    }
}
