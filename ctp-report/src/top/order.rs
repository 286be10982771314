//! The order of the table: which rows come first, and which of them are shown.

use std::cmp::{Ordering, Reverse};
use std::collections::HashMap;

use ctp_trace::record::Nanos;
use ctp_trace::verdict::Verdict;

use super::interval::Interval;
use super::row::{Rates, Row, RowId, RowPlace};
use super::rows::Rows;
use crate::config::TopSort;

/// An entry of the table: a row, or the rows of a place with the same verdict.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// The row, or the row that has been in its state for longest.
    pub id: RowId,
    /// How many rows the entry stands for.
    pub count: usize,
    /// The verdict of the rows.
    pub verdict: Verdict,
    /// Since when the row has been in its state.
    pub since: Nanos,
    /// The sum of the rates.
    pub rates: Rates,
}

/// How the table is ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// The column that decides.
    pub sort: TopSort,
    /// Whether the order is reversed.
    pub is_reversed: bool,
    /// Whether the rows of a place are one entry.
    pub is_grouped: bool,
}

/// The first entries of the table, and how many entries there are.
#[derive(Debug, Default)]
pub struct Entries {
    /// The first entries, in order.
    pub first: Vec<Entry>,
    /// The number of all entries.
    pub count: usize,
}

/// The first `limit` entries of the rows that the filters admit. `name` returns the texts by which entries are
/// sorted that are sorted by a name.
pub fn first_entries(
    rows: &Rows,
    interval: Interval,
    (order, limit): (Order, usize),
    name: impl FnMut(&Entry) -> String,
) -> Entries {
    let all = rows.with_rates(interval);
    let admitted = all.filter(|(row, _)| row.is_admitted);
    let entries = admitted.map(|(row, rates)| (row.place, Entry::of(row, rates)));
    match (order.is_grouped, order.sort) {
        (true, _) => sorted(grouped(entries), (order, limit), name),
        (false, TopSort::Name | TopSort::Function) => {
            let entries = entries.map(|(_, entry)| entry).collect();
            sorted(entries, (order, limit), name)
        }
        (false, _) => best(entries.map(|(_, entry)| entry), order, limit),
    }
}

fn grouped(entries: impl Iterator<Item = (RowPlace, Entry)>) -> Vec<Entry> {
    let mut groups: HashMap<(RowPlace, Verdict), Entry> = HashMap::new();
    for (place, entry) in entries {
        groups
            .entry((place, entry.verdict))
            .and_modify(|group| group.add(&entry))
            .or_insert(entry);
    }
    groups.into_values().collect()
}

/// Sorts all entries, and keeps the first.
fn sorted(
    mut entries: Vec<Entry>,
    (order, limit): (Order, usize),
    mut name: impl FnMut(&Entry) -> String,
) -> Entries {
    if matches!(order.sort, TopSort::Name | TopSort::Function) {
        entries.sort_by_cached_key(|entry| (name(entry), entry.id));
        if order.is_reversed {
            entries.reverse();
        }
    } else {
        entries.sort_unstable_by(|a, b| order.compare(a, b));
    }
    let count = entries.len();
    entries.truncate(limit);
    Entries {
        first: entries,
        count,
    }
}

/// Finds the first entries in a single pass. Nearly all entries are compared once, with the last that counts so far.
fn best(entries: impl Iterator<Item = Entry>, order: Order, limit: usize) -> Entries {
    let room = limit.saturating_mul(2).max(ROOM);
    let mut first: Vec<Entry> = Vec::new();
    let (mut last, mut count) = (None, 0);
    for entry in entries {
        count += 1;
        if last.is_some_and(|last| order.compare(&entry, &last) != Ordering::Less) {
            continue;
        }
        first.push(entry);
        if room <= first.len() {
            first.sort_unstable_by(|a, b| order.compare(a, b));
            first.truncate(limit);
            last = first.last().copied();
        }
    }
    first.sort_unstable_by(|a, b| order.compare(a, b));
    first.truncate(limit);
    Entries { first, count }
}

/// How many entries are collected before they are sorted, at least.
const ROOM: usize = 256;

impl Entry {
    /// The entry of a single row.
    pub fn of(row: &Row, rates: Rates) -> Self {
        Entry {
            id: row.id,
            count: 1,
            verdict: row.verdict,
            since: row.since,
            rates,
        }
    }

    fn add(&mut self, other: &Entry) {
        if (other.since, other.id) < (self.since, self.id) {
            (self.id, self.since) = (other.id, other.since);
        }
        self.count += other.count;
        self.rates.polls += other.rates.polls;
        self.rates.wakes += other.rates.wakes;
        self.rates.running += other.rates.running;
    }
}

impl Order {
    /// Whether `a` comes before `b`, unless names decide.
    pub fn compare(self, a: &Entry, b: &Entry) -> Ordering {
        let usual = self
            .compare_column(a, b)
            .then_with(|| severity(a).cmp(&severity(b)));
        if self.is_reversed {
            usual.reverse()
        } else {
            usual
        }
    }

    /// The usual order of a column: the largest figures first.
    fn compare_column(self, a: &Entry, b: &Entry) -> Ordering {
        match self.sort {
            TopSort::Wait => a.since.cmp(&b.since),
            TopSort::Polls => b.rates.polls.total_cmp(&a.rates.polls),
            TopSort::Wakes => b.rates.wakes.total_cmp(&a.rates.wakes),
            TopSort::Run => b.rates.running.total_cmp(&a.rates.running),
            TopSort::Count => b.count.cmp(&a.count),
            TopSort::Id => a.id.cmp(&b.id),
            TopSort::Verdict | TopSort::Name | TopSort::Function => Ordering::Equal,
        }
    }
}

/// The worst verdict first. Of those that are stuck, the longest wait comes first; of groups, the largest.
fn severity(entry: &Entry) -> impl Ord + use<> {
    let is_unnotable = matches!(entry.verdict, Verdict::Waiting | Verdict::Over);
    let size = Reverse(if is_unnotable { entry.count } else { 1 });
    (entry.verdict, size, entry.since, entry.id)
}

#[cfg(test)]
mod tests {
    use ctp_trace::record::CoroutineId;

    use super::*;

    fn entry(id: u32, verdict: Verdict, since: u64, polls: f64) -> Entry {
        Entry {
            id: RowId::Coroutine(CoroutineId(id)),
            count: 1,
            verdict,
            since: Nanos(since),
            rates: Rates {
                polls,
                ..Rates::default()
            },
        }
    }

    fn entries() -> Vec<Entry> {
        vec![
            entry(1, Verdict::Waiting, 5, 0.0),
            entry(2, Verdict::MaybeStuck, 9, 0.0),
            entry(3, Verdict::Waiting, 3, 7.0),
            entry(4, Verdict::Deadlock, 10, 0.0),
            entry(5, Verdict::MaybeStuck, 8, 1.0),
        ]
    }

    /// The ids of the first `count` entries.
    fn first(order: Order, count: usize) -> Vec<u32> {
        let name = |entry: &Entry| format!("{}", 9 - entry.id.number());
        let found = match order.sort {
            TopSort::Name => sorted(entries(), (order, count), name),
            _ => best(entries().into_iter(), order, count),
        };
        assert_eq!(found.count, 5);
        found.first.iter().map(|entry| entry.id.number()).collect()
    }

    #[test]
    fn first_entries_are_those_of_all_sorted_entries() {
        let many = (0..5000u32).map(|number| {
            let mixed = number.wrapping_mul(0x9e37_79b9) >> 7;
            let verdict = if mixed % 50 == 0 {
                Verdict::Stuck
            } else {
                Verdict::Waiting
            };
            entry(
                number,
                verdict,
                u64::from(mixed % 1000),
                f64::from(mixed % 9),
            )
        });
        let many: Vec<Entry> = many.collect();
        for sort in [TopSort::Verdict, TopSort::Wait, TopSort::Polls] {
            for limit in [0, 1, 20, 300, 9999] {
                let fast = best(many.iter().copied(), by(sort), limit);
                let plain = sorted(many.clone(), (by(sort), limit), |_| String::new());
                assert_eq!(fast.first, plain.first);
            }
        }
    }

    fn by(sort: TopSort) -> Order {
        Order {
            sort,
            is_reversed: false,
            is_grouped: false,
        }
    }

    #[test]
    fn stuck_entries_come_first() {
        assert_eq!(first(by(TopSort::Verdict), 5), [4, 5, 2, 3, 1]);
        assert_eq!(first(by(TopSort::Verdict), 2), [4, 5]);
    }

    #[test]
    fn columns_decide_the_order() {
        assert_eq!(first(by(TopSort::Wait), 3), [3, 1, 5]);
        assert_eq!(first(by(TopSort::Polls), 2), [3, 5]);
        assert_eq!(first(by(TopSort::Id), 3), [1, 2, 3]);
        assert_eq!(first(by(TopSort::Name), 3), [5, 4, 3]);
    }

    #[test]
    fn reversed_order_begins_with_the_last() {
        for sort in [TopSort::Verdict, TopSort::Wait, TopSort::Name] {
            let mut usual = first(by(sort), 5);
            usual.reverse();
            let order = Order {
                is_reversed: true,
                ..by(sort)
            };
            assert_eq!(first(order, 5), usual);
        }
    }

    #[test]
    fn groups_have_the_longest_wait_and_all_rates() {
        let mut group = entries()[1];
        group.add(&entries()[4]);
        assert_eq!(
            (group.count, group.id.number(), group.since),
            (2, 5, Nanos(8))
        );
        assert!((group.rates.polls - 1.0).abs() < f64::EPSILON);
    }
}
