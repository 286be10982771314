//! Sums over the waits and runs of a coroutine: those that the program kept, otherwise those of the events.

use ctp_trace::hash::Map;
use ctp_trace::model::{Coroutine, Total};
use ctp_trace::record::{Aggregate, CoroutineId, Durations};

use crate::tables::value::Value;

/// The latest totals that programs kept for coroutines without a row.
#[derive(Default)]
pub struct Aggregates(Map<CoroutineId, Sums>);

/// The waits and runs of a coroutine that ended.
pub struct Sums {
    waits: Sum,
    runs: Sum,
}

struct Sum {
    count: u64,
    sum_ns: u64,
    longest_ns: u64,
}

impl Aggregates {
    /// Notes the totals of a coroutine, which replace earlier totals.
    pub fn note(&mut self, aggregate: &Aggregate) {
        let sums = Sums {
            waits: Sum::of_program(&aggregate.waiting),
            runs: Sum::of_program(&aggregate.running),
        };
        self.0.insert(aggregate.coroutine, sums);
    }

    /// The sums of a coroutine, which gets its row now.
    pub fn take(&mut self, coroutine: &Coroutine) -> Sums {
        let of_program = self.0.remove(&coroutine.id);
        of_program.unwrap_or_else(|| Sums {
            waits: Sum::of_events(&coroutine.waits.waited),
            runs: Sum::of_events(&coroutine.waits.ran),
        })
    }
}

impl Sums {
    /// The values of the six columns.
    pub fn values(&self) -> [Value<'static>; 6] {
        let numbers = [&self.waits, &self.runs].map(|sum| [sum.count, sum.sum_ns, sum.longest_ns]);
        let [[waits, waiting, longest_wait], [runs, running, longest_run]] = numbers;
        [waits, waiting, longest_wait, runs, running, longest_run].map(Value::count)
    }
}

impl Sum {
    fn of_program(durations: &Durations) -> Self {
        Sum {
            count: durations.count,
            sum_ns: durations.sum.0,
            longest_ns: durations.max.0,
        }
    }

    fn of_events(total: &Total) -> Self {
        Sum {
            count: total.count,
            sum_ns: total.sum.0,
            longest_ns: total.longest.0,
        }
    }
}
