//! Turns pieces into bars on the time axis.

use ctp_trace::record::{LeafKind, WaitKind};
use ctp_trace::verdict::Verdict;

use super::marks::{Marks, RowMark};
use super::row::Row;
use super::track::{Piece, PieceKind, PieceTrack};
use crate::time_scale::Scale;

/// How a bar is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BarStyle {
    /// The coroutine was born, and has not run yet.
    Born,
    /// The coroutine ran.
    Runs,
    /// The coroutine waited for a file descriptor.
    Fd,
    /// The coroutine waited for a timer.
    Timer,
    /// The coroutine waited for a lock or for permits.
    Lock,
    /// The coroutine waited for a message, or for room in a channel.
    Channel,
    /// The coroutine waited for a notification.
    Notification,
    /// The coroutine waited for the end of another.
    Join,
    /// The coroutine yielded.
    Turn,
    /// The coroutine waited for a resource of the program's own, or for an unrecorded resource.
    Unrecorded,
    /// The coroutine ran and waited too often to be drawn. The number is the share of running time,
    /// in quarters.
    Mixed(u8),
    /// Events were lost.
    Lost,
    /// The coroutine is stuck, certainly or likely.
    Stuck,
    /// The coroutine has kept its thread for long.
    Busy,
}

/// A bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bar {
    /// The left edge.
    pub x: u64,
    /// The width, at least 1.
    pub width: u64,
    /// How the bar is drawn.
    pub style: BarStyle,
    /// The piece that the bar shows.
    pub piece: Piece,
}

/// Returns the marks outside of merged pieces. A merged piece is only a shade, which marks would hide.
pub fn visible_marks<'a>(
    marks: &'a Marks,
    track: &'a PieceTrack,
) -> impl Iterator<Item = RowMark> + 'a {
    let all = marks.all().iter().copied();
    all.filter(|mark| track.distinguishes(mark.at))
}

/// Returns the visible wakes. The latest wake is always visible, because it matters most.
pub fn wakes(row: &Row, track: &PieceTrack, scale: &Scale) -> Vec<RowMark> {
    let mut wakes: Vec<RowMark> = visible_marks(&row.wakes, track).collect();
    wakes.extend(latest_wake(row, scale));
    wakes.dedup_by_key(|mark| scale.x(mark.at));
    wakes
}

fn latest_wake(row: &Row, scale: &Scale) -> Option<RowMark> {
    let wake = row
        .wake
        .filter(|wake| 0 < wake.count && scale.has(wake.at))?;
    let reported = row.called.filter(|(count, _)| *count == wake.count);
    Some(RowMark {
        at: wake.at,
        by: reported.map(|(_, by)| by),
    })
}

/// The bar of the open activity at the end.
pub fn open(row: &Row, scale: &Scale) -> Option<Bar> {
    let piece = row.open.as_ref()?;
    Some(bar(piece, at_the_end(piece, row.member.verdict), scale))
}

/// The bars of a track.
pub fn bars(track: &PieceTrack, scale: &Scale) -> Vec<Bar> {
    let pieces = track.pieces().iter();
    pieces
        .map(|piece| bar(piece, style_of(piece), scale))
        .collect()
}

fn bar(piece: &Piece, style: BarStyle, scale: &Scale) -> Bar {
    let (x, end) = (scale.x(piece.from), scale.x(piece.to));
    Bar {
        x,
        width: end.saturating_sub(x).max(1),
        style,
        piece: *piece,
    }
}

fn style_of(piece: &Piece) -> BarStyle {
    match piece.activity {
        PieceKind::Born => BarStyle::Born,
        PieceKind::Runs(_) => BarStyle::Runs,
        PieceKind::Waits(_, wait, _) => of_wait(wait),
        PieceKind::Lost(_) | PieceKind::Mixed { lost: 1.., .. } => BarStyle::Lost,
        PieceKind::Mixed { ran, .. } => {
            let quarters = 4 * u128::from(ran) / u128::from(piece.length().max(1));
            BarStyle::Mixed(u8::try_from(quarters).unwrap_or(4).min(4))
        }
    }
}

fn of_wait(wait: WaitKind) -> BarStyle {
    match wait {
        WaitKind::Readable | WaitKind::Writable => BarStyle::Fd,
        WaitKind::Timer => BarStyle::Timer,
        WaitKind::Lock => BarStyle::Lock,
        WaitKind::Channel => BarStyle::Channel,
        WaitKind::Coroutine => BarStyle::Join,
        WaitKind::Yield => BarStyle::Turn,
        _ => BarStyle::Unrecorded,
    }
}

/// The style of a wait that the program did not announce, by the leaf future.
pub fn of_leaf(kind: LeafKind) -> BarStyle {
    match kind {
        LeafKind::Io | LeafKind::Output => BarStyle::Fd,
        LeafKind::Timer => BarStyle::Timer,
        LeafKind::Lock | LeafKind::Semaphore => BarStyle::Lock,
        LeafKind::Room | LeafKind::Message | LeafKind::Reply => BarStyle::Channel,
        LeafKind::Notification => BarStyle::Notification,
        LeafKind::Task => BarStyle::Join,
        _ => BarStyle::Unrecorded,
    }
}

fn at_the_end(piece: &Piece, verdict: Verdict) -> BarStyle {
    match verdict {
        Verdict::Deadlock | Verdict::Stuck | Verdict::MaybeStuck => BarStyle::Stuck,
        Verdict::Busy => BarStyle::Busy,
        _ => style_of(piece),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctp_trace::record::Nanos;

    // CT-19: the shade shows the share of running time, and a loss always shows
    #[test]
    fn merged_pieces_are_shades() {
        let mixed = |ran, lost| {
            style_of(&Piece::new(
                0,
                100,
                PieceKind::Mixed {
                    pieces: 9,
                    ran,
                    lost,
                },
            ))
        };
        assert_eq!(mixed(0, 0), BarStyle::Mixed(0));
        assert_eq!(mixed(50, 0), BarStyle::Mixed(2));
        assert_eq!(mixed(100, 0), BarStyle::Mixed(4));
        assert_eq!(mixed(50, 1), BarStyle::Lost);
    }

    // CT-19
    #[test]
    fn bars_are_never_too_thin() {
        let scale = Scale::new(Nanos(0), Nanos(u64::MAX));
        let bar = bar(&Piece::new(7, 8, PieceKind::Born), BarStyle::Born, &scale);
        assert_eq!((bar.x, bar.width), (0, 1));
    }

    // CT-19: the verdict decides what the end of a row looks like
    #[test]
    fn only_a_verdict_makes_an_end_red() {
        let waits = Piece::new(
            0,
            9,
            PieceKind::Waits(ctp_trace::record::SiteId(1), WaitKind::Lock, 1),
        );
        assert_eq!(at_the_end(&waits, Verdict::MaybeStuck), BarStyle::Stuck);
        assert_eq!(at_the_end(&waits, Verdict::Waiting), BarStyle::Lock);
        assert_eq!(at_the_end(&waits, Verdict::Busy), BarStyle::Busy);
    }
}
