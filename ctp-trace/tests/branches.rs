//! Waits with several branches, as in a `select!`. Times are in milliseconds.

use ctp_trace::TraceModel;
use ctp_trace::record::*;
use ctp_trace::verdict::{Confidence, Judgement, Reason, Verdict};

const FRAME: SiteId = SiteId(1);
const TICK: SiteId = SiteId(2);
/// The same branches, in the two orders of a `select!`.
const SELECT: [SiteId; 2] = [SiteId(3), SiteId(4)];
const ALONE: SiteId = SiteId(5);
/// Waits for the body of a frame, beside ticks.
const BODY: SiteId = SiteId(6);
const BODY_SELECT: SiteId = SiteId(7);
/// Copies of the branches, each of which the `select!` polls in one of its orders.
const COPIES: [SiteId; 2] = [SiteId(8), SiteId(9)];
const COPIED_SELECT: SiteId = SiteId(10);
const THRESHOLD: Nanos = Nanos(1_000_000_000);

/// A coroutine that waits for frames beside ticks.
struct Host {
    trace_model: TraceModel,
    events: u64,
    wakes: u16,
}

impl Host {
    /// The frames are part of some work.
    fn new() -> Self {
        Host::waits_for(LeafKind::Reply)
    }

    /// A frame is of this kind.
    fn waits_for(kind: LeafKind) -> Self {
        let mut trace_model = TraceModel::new();
        let orders = [
            (SELECT[0], [FRAME, TICK]),
            (SELECT[1], [TICK, FRAME]),
            (BODY_SELECT, [BODY, TICK]),
            (COPIED_SELECT, COPIES),
        ];
        for (site, sites) in orders {
            trace_model.consume(&Record::Branches(Branches {
                site,
                sites: sites.to_vec(),
            }));
        }
        for (site, kind) in [(FRAME, kind), (TICK, LeafKind::Timer), (BODY, LeafKind::Io)] {
            let same_as = site;
            trace_model.consume(&Record::Leaf(Leaf {
                site,
                kind,
                same_as,
            }));
        }
        let events = 0;
        Host {
            trace_model,
            events,
            wakes: 0,
        }
    }

    fn event(&mut self, at: u64, kind: EventKind, site: SiteId, arg: u64) {
        self.event_of(1, at, kind, site, arg);
    }

    fn event_of(&mut self, coroutine: u32, at: u64, kind: EventKind, site: SiteId, arg: u64) {
        self.trace_model.consume(&Record::Event(Event {
            coroutine: CoroutineId(coroutine),
            n: self.events,
            at: Nanos(at * 1_000_000),
            kind,
            site,
            arg,
            wake_seen: self.wakes,
            ..Event::default()
        }));
        self.events += 1;
    }

    /// A poll ends in the `select!`. The bits of `stayed` are in the order of these branches.
    fn poll(&mut self, at: u64, order: usize, stayed: u64) {
        self.event(at, EventKind::Run, SiteId(0), 0);
        self.event(at, EventKind::Suspend, SELECT[order], stayed);
    }

    /// Ten frames come, one each 10 ms, in polls with either order.
    fn receive_frames(&mut self) {
        for round in 0..10 {
            self.poll(10 * round, round as usize % 2, 0);
        }
    }

    /// Another coroutine in the `select!` receives a frame at this time.
    fn receive_elsewhere(&mut self, at: u64) {
        for _ in 0..2 {
            self.event_of(2, at, EventKind::Run, SiteId(0), 0);
            self.event_of(2, at, EventKind::Suspend, SELECT[0], 0);
        }
    }

    /// A tick each 100 ms up to this time; the frame stays.
    fn tick_until(&mut self, end: u64) {
        for at in (200..=end).step_by(100) {
            let order = at as usize / 100 % 2;
            let frame = [0b01, 0b10][order];
            self.poll(at, order, frame);
        }
    }

    fn judge(&mut self, at: u64) -> Judgement {
        self.trace_model.advance_to(Nanos(at * 1_000_000));
        let all = self.trace_model.judge(THRESHOLD);
        let first = all
            .iter()
            .find(|(coroutine, _)| *coroutine == CoroutineId(1));
        first.expect("the coroutine").1
    }
}

// CT-15
#[test]
fn branch_that_never_ends_is_stuck_beside_ticks() {
    let mut host = Host::new();
    host.receive_frames();
    host.tick_until(5_000);
    host.receive_elsewhere(4_000);
    let judgement = host.judge(5_050);
    let Reason::Branch { site, .. } = judgement.reason else {
        panic!("{judgement:?}");
    };
    assert_eq!(site, FRAME);
    assert_eq!(judgement.verdict, Verdict::MaybeStuck);
    assert_eq!(judgement.confidence, Confidence::Likely);
    assert_eq!(judgement.age, Nanos(4_960_000_000));
    let ages: Vec<_> = host.trace_model.branches(CoroutineId(1)).collect();
    assert!(ages.contains(&(TICK, Nanos(5_000_000_000))), "{ages:?}");
}

// CT-15
#[test]
fn branch_without_work_waits() {
    let mut host = Host::new();
    host.receive_frames();
    host.tick_until(5_000);
    assert_eq!(host.judge(5_050).verdict, Verdict::Waiting);
    host.receive_elsewhere(500);
    assert_eq!(host.judge(5_050).verdict, Verdict::Waiting);
}

// CT-15
#[test]
fn a_silent_client_is_healthy_beside_active_clients() {
    for kind in [LeafKind::Message, LeafKind::Io, LeafKind::Timer] {
        let mut host = Host::waits_for(kind);
        host.receive_frames();
        host.tick_until(5_000);
        host.receive_elsewhere(4_000);
        assert_eq!(host.judge(5_050).verdict, Verdict::Waiting, "{kind:?}");
    }
}

// CT-15
#[test]
fn a_frame_that_is_restarted_is_lost() {
    for wakes in [1, 2] {
        let mut host = Host::waits_for(LeafKind::Io);
        host.receive_frames();
        host.event(150, EventKind::Run, SiteId(0), 0);
        host.event(150, EventKind::Suspend, BODY_SELECT, 0);
        // The tick drops the body of the frame, and the next frame is awaited. A second wake may be of
        // the body.
        host.wakes += wakes;
        host.poll(160, 0, 0);
        host.tick_until(5_000);
        host.receive_elsewhere(4_000);
        let expected = [Verdict::MaybeStuck, Verdict::Waiting][usize::from(wakes) - 1];
        assert_eq!(host.judge(5_050).verdict, expected, "{wakes} wakes");
    }
}

// CT-15
#[test]
fn frame_is_lost_if_its_poll_overlaps_a_tick() {
    for departed in [0b01, 0] {
        let mut host = Host::waits_for(LeafKind::Io);
        host.receive_frames();
        host.event(150, EventKind::Run, SiteId(0), 0);
        // The waker of the tick was called during this poll, so only the body has a waker.
        host.event(150, EventKind::Suspend, BODY, 0);
        host.wakes += 1;
        host.poll(160, 0, departed << 8);
        host.tick_until(5_000);
        host.receive_elsewhere(4_000);
        let expected = [Verdict::Waiting, Verdict::MaybeStuck][departed as usize];
        assert_eq!(host.judge(5_050).verdict, expected, "{departed}");
    }
}

#[test]
fn branches_in_any_order_are_a_single_place() {
    let mut host = Host::new();
    host.receive_frames();
    let sites = SELECT.map(|site| host.trace_model.site(site, WaitKind::Unknown));
    let [first, second] = sites.map(|site| site.map_or(0, |site| site.waits.count()));
    assert_eq!((first, second), (9, 0));
}

#[test]
fn woken_branch_begins_a_new_wait() {
    let mut host = Host::new();
    host.receive_frames();
    host.tick_until(4_000);
    host.poll(4_500, 0, 0);
    assert_ne!(host.judge(4_600).verdict, Verdict::MaybeStuck);
}

#[test]
fn branch_is_not_judged_across_missing_events() {
    let mut host = Host::new();
    host.receive_frames();
    host.tick_until(4_000);
    host.events += 2;
    host.poll(4_100, 0, 0b01);
    assert_eq!(host.judge(4_200).verdict, Verdict::Waiting);
}

#[test]
fn wait_elsewhere_ends_all_branches() {
    let mut host = Host::new();
    host.receive_frames();
    host.tick_until(4_000);
    host.event(4_100, EventKind::Run, SiteId(0), 0);
    host.event(4_100, EventKind::Suspend, ALONE, 0);
    assert_eq!(host.trace_model.branches(CoroutineId(1)).count(), 0);
    host.poll(4_200, 0, 0b01);
    assert_eq!(host.judge(4_300).verdict, Verdict::Waiting);
}

/// Ticks each 100 ms up to this time. The order of the branches changes, and the code of each order is a
/// copy. The frame stays.
fn tick_in_copies(host: &mut Host, end: u64) {
    tick_in_copies_each(host, 100, end);
}

fn tick_in_copies_each(host: &mut Host, period: u64, end: u64) {
    for at in (200..=end).step_by(period as usize) {
        let is_copy = (at / period).is_multiple_of(2);
        host.event(at, EventKind::Run, SiteId(0), 0);
        let site = if is_copy { COPIED_SELECT } else { SELECT[1] };
        // The frame is the second branch of one order, and the first of the other.
        let departed = if is_copy { 0b10 } else { 0b01 };
        host.event(at, EventKind::Suspend, site, departed << 8);
    }
}

/// The recorder has found that the copies are at the same places.
fn examined(host: &mut Host, same_as: [SiteId; 2]) {
    let places = [FRAME, TICK].map(|site| (site, site));
    for (site, same_as) in places
        .into_iter()
        .chain([(COPIES[0], same_as[0]), (COPIES[1], same_as[1])])
    {
        let kind = if same_as == FRAME {
            LeafKind::Reply
        } else {
            LeafKind::Timer
        };
        host.trace_model.consume(&Record::Leaf(Leaf {
            site,
            kind,
            same_as,
        }));
    }
}

// CT-15
#[test]
fn branch_waits_through_copies_of_its_code() {
    for is_examined_first in [true, false] {
        let mut host = Host::new();
        host.receive_frames();
        if is_examined_first {
            examined(&mut host, [FRAME, TICK]);
        }
        tick_in_copies(&mut host, 5_000);
        host.receive_elsewhere(4_000);
        if !is_examined_first {
            examined(&mut host, [FRAME, TICK]);
        }
        let judgement = host.judge(5_050);
        assert_eq!(judgement.verdict, Verdict::MaybeStuck, "{judgement:?}");
        assert_eq!(judgement.age, Nanos(4_960_000_000));
        let ages: Vec<_> = host.trace_model.branches(CoroutineId(1)).collect();
        assert!(ages.contains(&(TICK, Nanos(5_000_000_000))), "{ages:?}");
    }
}

// CT-15
#[test]
fn polls_are_kept_until_places_are_known() {
    let mut host = Host::new();
    host.receive_frames();
    tick_in_copies_each(&mut host, 2, 5_000);
    host.receive_elsewhere(4_000);
    examined(&mut host, [FRAME, TICK]);
    let judgement = host.judge(5_050);
    assert_eq!(judgement.verdict, Verdict::MaybeStuck, "{judgement:?}");
}

// CT-15
#[test]
fn branches_at_different_places_are_no_copies() {
    let mut host = Host::new();
    host.receive_frames();
    examined(&mut host, COPIES);
    tick_in_copies(&mut host, 5_000);
    host.receive_elsewhere(4_000);
    assert_eq!(host.judge(5_050).verdict, Verdict::Waiting);
}

#[test]
fn copies_of_branches_are_a_single_place() {
    let mut host = Host::new();
    examined(&mut host, [FRAME, TICK]);
    host.receive_frames();
    tick_in_copies(&mut host, 1_000);
    let copied = host.trace_model.site(COPIED_SELECT, WaitKind::Unknown);
    assert_eq!(copied.map(|site| site.waits.count()), None);
}

#[test]
fn branches_of_one_wait_are_no_copies_of_each_other() {
    let mut host = Host::new();
    examined(&mut host, [FRAME, FRAME]);
    host.event(100, EventKind::Run, SiteId(0), 0);
    host.event(100, EventKind::Suspend, COPIED_SELECT, 0);
    host.event(200, EventKind::Run, SiteId(0), 0);
    host.event(200, EventKind::Suspend, COPIED_SELECT, 0b01);
    let ages: Vec<_> = host.trace_model.branches(CoroutineId(1)).collect();
    assert_eq!(
        ages,
        [
            (COPIES[0], Nanos(100_000_000)),
            (COPIES[1], Nanos(200_000_000))
        ]
    );
}
