//! From pieces of time to bars on the line of time.

use ctp_trace::record::WaitKind;
use ctp_trace::verdict::Verdict;

use super::marks::{By, Mark};
use super::row::Row;
use super::track::{Doing, Piece, Track};
use crate::time_scale::Scale;

/// How a bar looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Look {
    /// Born, and never run so far.
    Born,
    /// It ran.
    Runs,
    /// It waited for a file descriptor.
    Fd,
    /// It waited for a timer.
    Timer,
    /// It waited for others of its program: a lock, a channel, a coroutine.
    Others,
    /// It gave way.
    Turn,
    /// It waited for something of its own, or did not tell what for.
    Untold,
    /// Both, too often to be drawn: in so many quarters of the time it ran.
    Mixed(u8),
    /// What happened is lost.
    Lost,
    /// It is stuck, certainly or likely.
    Stuck,
    /// It has kept its thread for long.
    Busy,
}

/// A bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bar {
    /// Its left edge.
    pub x: u64,
    /// Its width, at least 1.
    pub width: u64,
    /// How it looks.
    pub look: Look,
    /// What it stands for.
    pub piece: Piece,
}

/// A mark on the line of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pin {
    /// Where it stands in the lane.
    pub x: u64,
    /// Who made it, if that was told.
    pub by: Option<By>,
}

/// What is drawn in one row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lane {
    /// What can be seen from afar.
    pub far: Layer,
    /// What is seen instead from near by, if that is more.
    pub near: Option<Layer>,
    /// What it does at the end.
    pub open: Option<Bar>,
    /// Where what it waited for was closed.
    pub closes: Vec<Pin>,
    /// Where it was born, if that is in sight.
    pub birth: Option<u64>,
    /// Where it ended, if it did.
    pub death: Option<u64>,
}

/// Bars and marks that are seen at one distance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layer {
    /// Bars, in the order of time.
    pub bars: Vec<Bar>,
    /// Where it was woken.
    pub wakes: Vec<Pin>,
    /// Where it went to another thread.
    pub moves: Vec<u64>,
}

/// The geometry of a row.
pub fn lane(row: &Row, scale: &Scale) -> Lane {
    let open = |piece: &Piece| bar(piece, at_the_end(piece, row.member.verdict), scale);
    Lane {
        far: layer(row, &row.far, scale),
        near: row.has_more().then(|| layer(row, &row.near, scale)),
        open: row.open.as_ref().map(open),
        closes: pins(row.closes.all().iter(), scale),
        birth: Some(row.member.born)
            .filter(|at| scale.has(*at))
            .map(|at| scale.x(at)),
        death: row.death(scale).map(|at| scale.x(at)),
    }
}

/// Where bars are only shades, marks would hide them and show too few; the latest wake tells most.
fn layer(row: &Row, track: &Track, scale: &Scale) -> Layer {
    let seen = |marks: &[Mark]| {
        let seen = marks.iter().filter(|mark| track.tells_apart(mark.at));
        pins(seen, scale)
    };
    let mut wakes = seen(row.wakes.all());
    wakes.extend(latest_wake(row, scale));
    wakes.dedup_by_key(|pin| pin.x);
    let moves = seen(row.moves.all());
    Layer {
        bars: bars(track, scale),
        wakes,
        moves: moves.iter().map(|pin| pin.x).collect(),
    }
}

fn latest_wake(row: &Row, scale: &Scale) -> Option<Pin> {
    let wake = row
        .wake
        .filter(|wake| 0 < wake.count && scale.has(wake.at))?;
    let told = row.called.filter(|(count, _)| *count == wake.count);
    Some(Pin {
        x: scale.x(wake.at),
        by: told.map(|(_, by)| by),
    })
}

fn pins<'a>(marks: impl Iterator<Item = &'a Mark>, scale: &Scale) -> Vec<Pin> {
    let pin = |mark: &Mark| Pin {
        x: scale.x(mark.at),
        by: mark.by,
    };
    marks.map(pin).collect()
}

fn bars(track: &Track, scale: &Scale) -> Vec<Bar> {
    let pieces = track.pieces().iter();
    pieces.map(|piece| bar(piece, look(piece), scale)).collect()
}

fn bar(piece: &Piece, look: Look, scale: &Scale) -> Bar {
    let (x, end) = (scale.x(piece.from), scale.x(piece.to));
    Bar {
        x,
        width: end.saturating_sub(x).max(1),
        look,
        piece: *piece,
    }
}

fn look(piece: &Piece) -> Look {
    match piece.doing {
        Doing::Born => Look::Born,
        Doing::Runs(_) => Look::Runs,
        Doing::Waits(_, wait, _) => of_wait(wait),
        Doing::Lost(_) | Doing::Mixed { lost: 1.., .. } => Look::Lost,
        Doing::Mixed { ran, .. } => {
            let quarters = 4 * u128::from(ran) / u128::from(piece.length().max(1));
            Look::Mixed(u8::try_from(quarters).unwrap_or(4).min(4))
        }
    }
}

fn of_wait(wait: WaitKind) -> Look {
    match wait {
        WaitKind::Readable | WaitKind::Writable => Look::Fd,
        WaitKind::Timer => Look::Timer,
        WaitKind::Lock | WaitKind::Channel | WaitKind::Coroutine => Look::Others,
        WaitKind::Yield => Look::Turn,
        _ => Look::Untold,
    }
}

fn at_the_end(piece: &Piece, verdict: Verdict) -> Look {
    match verdict {
        Verdict::Deadlock | Verdict::Stuck | Verdict::MaybeStuck => Look::Stuck,
        Verdict::Busy => Look::Busy,
        _ => look(piece),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctp_trace::record::Nanos;

    // CT-19: a shade says how much of a mixed piece it ran, and a loss is never shaded over
    #[test]
    fn what_is_too_thin_is_a_shade() {
        let mixed = |ran, lost| {
            look(&Piece::new(
                0,
                100,
                Doing::Mixed {
                    pieces: 9,
                    ran,
                    lost,
                },
            ))
        };
        assert_eq!(mixed(0, 0), Look::Mixed(0));
        assert_eq!(mixed(50, 0), Look::Mixed(2));
        assert_eq!(mixed(100, 0), Look::Mixed(4));
        assert_eq!(mixed(50, 1), Look::Lost);
    }

    // CT-19
    #[test]
    fn a_bar_can_always_be_seen() {
        let scale = Scale::new(Nanos(0), Nanos(u64::MAX));
        let bar = bar(&Piece::new(7, 8, Doing::Born), Look::Born, &scale);
        assert_eq!((bar.x, bar.width), (0, 1));
    }

    // CT-19: the rule decides what the end of a row looks like
    #[test]
    fn only_a_verdict_makes_an_end_red() {
        let waits = Piece::new(
            0,
            9,
            Doing::Waits(ctp_trace::record::SiteId(1), WaitKind::Lock, 1),
        );
        assert_eq!(at_the_end(&waits, Verdict::MaybeStuck), Look::Stuck);
        assert_eq!(at_the_end(&waits, Verdict::Waiting), Look::Others);
        assert_eq!(at_the_end(&waits, Verdict::Busy), Look::Busy);
    }
}
