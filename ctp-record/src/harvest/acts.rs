//! What the deeds of threads are in the words of the trace, by the same rules live and in a snapshot, which
//! know in different ways who is meant.

use ctp_nostd::inspect::WokenBy;
use ctp_nostd::lane::{DeedKind, HELD_BY_COROUTINE, HELD_BY_THREAD, Payload};
use ctp_trace::record::{Act, Close, CoroutineId, Hold, SiteId, WakeCall, Waker};

use super::convert;

/// Who knows what a deed was told of.
pub(crate) trait Witness {
    /// The kernel id of the thread that told.
    fn tid(&self) -> u64;
    /// The coroutine that the record names, if anything else is told of that.
    fn coroutine(&mut self, payload: &Payload) -> Option<CoroutineId>;
    /// Who woke then.
    fn waker(&self, by: WokenBy) -> Waker;
    /// The site that this word of the thread's program means.
    fn site(&mut self, word: u64) -> SiteId;
}

/// What a thread did. Nothing if that is told elsewhere, or nobody knows any more whom it woke.
pub(crate) fn act(deed: DeedKind, payload: &Payload, witness: &mut impl Witness) -> Option<Act> {
    Some(match deed {
        DeedKind::Begin => Act::Begin,
        DeedKind::End => Act::End,
        DeedKind::Loss | DeedKind::Void => return None,
        DeedKind::Wake => Act::Wake(wake_call(payload, witness)?),
        DeedKind::Close => Act::Close(closing(payload, witness)),
        DeedKind::Acquire => Act::Acquire(hold(payload, witness)),
        DeedKind::Release => Act::Release(hold(payload, witness)),
    })
}

fn wake_call(payload: &Payload, witness: &mut impl Witness) -> Option<WakeCall> {
    Some(WakeCall {
        coroutine: witness.coroutine(payload)?,
        count: payload.n as u32,
        by: witness.waker(WokenBy::from_word(payload.arg as u32)),
        site: witness.site(payload.site),
    })
}

fn closing(payload: &Payload, witness: &mut impl Witness) -> Close {
    Close {
        wait: convert::wait_kind(payload.wait_kind),
        arg: payload.arg,
        site: witness.site(payload.site),
    }
}

fn hold(payload: &Payload, witness: &mut impl Witness) -> Hold {
    let by = doer(payload, witness);
    let Close { wait, arg, site } = closing(payload, witness);
    Hold {
        wait,
        arg,
        by,
        site,
    }
}

/// Who ran where the deed was told.
fn doer(payload: &Payload, witness: &mut impl Witness) -> Waker {
    let coroutine = match payload.n {
        HELD_BY_THREAD => return Waker::Thread(witness.tid() as u32),
        HELD_BY_COROUTINE => witness.coroutine(payload),
        _ => None,
    };
    coroutine.map_or(Waker::Foreign, Waker::Coroutine)
}
