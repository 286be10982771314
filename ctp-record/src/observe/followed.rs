//! [`FollowedWait`]: a wait that is observed several times. Decides which of the observations are recorded.

use ctp_trace::record::{Look, Nanos, Seen};

use crate::proc::descriptor::{Descriptor, DescriptorState};

/// A wait under observation.
#[derive(Clone, Copy, Debug)]
pub(super) struct FollowedWait {
    /// The start of the wait.
    pub since: Nanos,
    /// The file of the descriptor at the first observation; `None` if the descriptor was closed.
    pub descriptor: Option<Descriptor>,
    /// The time of the first observation.
    first_at: Nanos,
    reported: Option<Reported>,
    /// The latest observation, if there was nothing to read.
    empty: Option<Look>,
}

/// The state in the latest record, and since when it has lasted.
#[derive(Clone, Copy, Debug)]
struct Reported {
    seen: Seen,
    /// The time of the first observation of this state.
    first: Nanos,
    /// The time of the latest record.
    last: Nanos,
}

impl FollowedWait {
    /// A wait that was observed for the first time; `None` if the descriptor's state is unknown.
    pub fn of(since: Nanos, state: &DescriptorState, at: Nanos) -> Option<Self> {
        let descriptor = match *state {
            DescriptorState::Open(descriptor) => Some(descriptor),
            DescriptorState::Closed => None,
            _ => return None,
        };
        Some(FollowedWait {
            since,
            descriptor,
            first_at: at,
            reported: None,
            empty: None,
        })
    }

    /// Whether a descriptor that was open has changed, according to the main descriptor table of the process.
    pub fn is_changed(&self, state: &DescriptorState) -> bool {
        match state {
            DescriptorState::Open(_) => self.descriptor.is_some() && !self.is_same_file(state),
            state => self.descriptor.is_some() && *state == DescriptorState::Closed,
        }
    }

    /// Whether the descriptor number, which was closed at each earlier observation, is now in use.
    pub fn has_opened(&self, state: &DescriptorState) -> bool {
        self.descriptor.is_none() && matches!(state, DescriptorState::Open(_))
    }

    fn is_same_file(&self, state: &DescriptorState) -> bool {
        let descriptor = self.descriptor;
        matches!(state, DescriptorState::Open(open) if descriptor == Some(*open))
    }

    /// Notes an observation, and returns the records to write for it.
    ///
    /// A lasting state is recorded twice, and then each time that its duration has doubled. That there is nothing to read
    /// is recorded each time that the wait has grown by half. To save room, this is recorded only at the end
    /// ([`unrecorded`](Self::unrecorded)).
    pub fn note(&mut self, state: &DescriptorState, look: Look, saves_room: bool) -> Vec<Look> {
        let seen = match state {
            DescriptorState::Open(_) if !self.is_same_file(state) => Seen::Replaced,
            DescriptorState::Closed if self.descriptor.is_none() => Seen::ClosedAtFirst,
            _ => look.seen,
        };
        let look = Look {
            seen,
            thing: self.descriptor.map(Descriptor::thing).unwrap_or_default(),
            ..look
        };
        self.empty = (seen == Seen::Empty).then_some(look);
        let reported = self.reported.filter(|reported| reported.seen.is_like(seen));
        match (reported, self.reported) {
            (None, None) if seen == Seen::Open => Vec::new(),
            (None, None) if seen == Seen::Empty && saves_room => Vec::new(),
            (None, None) => self.begin(look, true),
            (None, Some(_)) => self.begin(look, false),
            (Some(reported), _) => self.go_on(reported, look),
        }
    }

    fn begin(&mut self, look: Look, is_news: bool) -> Vec<Look> {
        let Look { seen, at, .. } = look;
        self.reported = (seen != Seen::Open).then_some(Reported {
            seen,
            first: at,
            last: at,
        });
        let open = Look {
            seen: Seen::Open,
            at: self.first_at,
            ..look
        };
        let is_change = is_news && self.first_at < at && seen != Seen::Empty;
        let was_open = is_change && self.descriptor.is_some();
        was_open.then_some(open).into_iter().chain([look]).collect()
    }

    fn go_on(&mut self, reported: Reported, look: Look) -> Vec<Look> {
        if !self.is_due(reported, look.at) {
            return Vec::new();
        }
        let last = look.at;
        self.reported = Some(Reported { last, ..reported });
        vec![look]
    }

    fn is_due(&self, reported: Reported, at: Nanos) -> bool {
        let (since, halves) = match reported.seen {
            Seen::Empty => (self.since, 3),
            _ => (reported.first, 4),
        };
        let (so_far, by_now) = (since.until(reported.last), since.until(at));
        so_far.0.saturating_mul(halves) <= by_now.0.saturating_mul(2)
    }

    /// The latest observation, if there was nothing to read and no record says so yet.
    pub fn unrecorded(&self) -> Option<Look> {
        let recorded_at = self.reported.map(|reported| reported.last);
        self.empty.filter(|look| recorded_at != Some(look.at))
    }

    /// Whether the latest record says that no epoll watches the descriptor.
    pub fn was_unwatched(&self) -> bool {
        let reported = self.reported.map(|reported| reported.seen);
        matches!(reported, Some(Seen::Unwatched(_)))
    }

    /// Whether the latest record is remarkable.
    pub fn is_suspect(&self) -> bool {
        self.reported
            .is_some_and(|reported| reported.seen != Seen::Empty)
    }

    /// Whether the latest record is remarkable and the first of this state.
    pub fn is_seen_once(&self) -> bool {
        let reported = self.reported.filter(|_| self.is_suspect());
        reported.is_some_and(|reported| reported.first == reported.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOCKET: DescriptorState = DescriptorState::Open(Descriptor::Socket(4711));
    const OTHER: DescriptorState = DescriptorState::Open(Descriptor::Socket(4712));

    /// The records of these observations.
    fn reported(looks: &[(u64, DescriptorState, Seen)]) -> Vec<(u64, Seen)> {
        let first = looks[0];
        let mut followed =
            FollowedWait::of(Nanos(5), &first.1, Nanos(first.0)).expect("an open descriptor");
        let mut reported = Vec::new();
        for (at, state, seen) in looks {
            let look = Look {
                at: Nanos(*at),
                seen: *seen,
                ..Look::default()
            };
            reported.extend(followed.note(state, look, false));
        }
        reported
            .into_iter()
            .map(|look| (look.at.0, look.seen))
            .collect()
    }

    #[test]
    fn a_descriptor_closed_at_first_is_recorded_as_such() {
        let closed = [
            (10, DescriptorState::Closed, Seen::Closed),
            (20, DescriptorState::Closed, Seen::Closed),
        ];
        let recorded = [(10, Seen::ClosedAtFirst), (20, Seen::ClosedAtFirst)];
        assert_eq!(reported(&closed), recorded);
        let unknown = FollowedWait::of(Nanos(5), &DescriptorState::Unknown, Nanos(10));
        assert!(unknown.is_none());
    }

    #[test]
    fn a_lasting_state_is_recorded_twice_then_rarely() {
        let quiet = [(10, SOCKET, Seen::Open), (20, SOCKET, Seen::Open)];
        assert_eq!(reported(&quiet), []);
        let closed = |at| (at, DescriptorState::Closed, Seen::Closed);
        let looks: Vec<_> = quiet
            .into_iter()
            .chain((3..20).map(|i| closed(10 * i)))
            .collect();
        let times: Vec<u64> = reported(&looks).iter().map(|(at, _)| *at).collect();
        assert_eq!(times, [10, 30, 40, 50, 70, 110, 190]);
        assert_eq!(reported(&looks)[0].1, Seen::Open);
    }

    #[test]
    fn empty_is_recorded_less_and_less_often_and_at_the_end() {
        let mut followed =
            FollowedWait::of(Nanos(0), &SOCKET, Nanos(10)).expect("an open descriptor");
        let looks = (1..100).map(|i| Look {
            at: Nanos(10 * i),
            seen: Seen::Empty,
            ..Look::default()
        });
        let reported: Vec<Look> = looks
            .flat_map(|look| followed.note(&SOCKET, look, false))
            .collect();
        let times: Vec<u64> = reported.iter().map(|look| look.at.0).collect();
        assert_eq!(times, [10, 20, 30, 50, 80, 120, 180, 270, 410, 620, 930]);
        assert!(!followed.is_suspect() && !followed.is_seen_once());
        assert_eq!(followed.unrecorded().map(|look| look.at), Some(Nanos(990)));
        let empty = Look {
            seen: Seen::Empty,
            ..Look::default()
        };
        let mut saving =
            FollowedWait::of(Nanos(0), &SOCKET, Nanos(10)).expect("an open descriptor");
        assert_eq!(saving.note(&SOCKET, empty, true), []);
        assert!(saving.unrecorded().is_some());
    }

    #[test]
    fn an_ended_state_is_withdrawn_and_the_next_recorded() {
        let looks = [
            (10, SOCKET, Seen::Readable(3)),
            (20, SOCKET, Seen::Open),
            (30, SOCKET, Seen::Open),
            (40, SOCKET, Seen::Empty),
            (50, SOCKET, Seen::Open),
            (60, OTHER, Seen::Open),
        ];
        let seen: Vec<Seen> = reported(&looks).iter().map(|(_, seen)| *seen).collect();
        let expected = [
            Seen::Readable(3),
            Seen::Open,
            Seen::Empty,
            Seen::Open,
            Seen::Open,
            Seen::Replaced,
        ];
        assert_eq!(seen, expected);
    }
}
