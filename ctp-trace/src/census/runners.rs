//! Whether the others went on: who began to run last in a process.

use crate::record::{CoroutineId, Nanos};

/// The latest starts of runs in one process, by two different coroutines.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Runners {
    latest: Option<(CoroutineId, Nanos)>,
    other: Option<(CoroutineId, Nanos)>,
}

impl Runners {
    pub(super) fn ran(&mut self, who: CoroutineId, at: Nanos) {
        match self.latest {
            Some((latest, since)) if latest == who => self.latest = Some((who, since.max(at))),
            Some((_, since)) if at < since => self.other = later(self.other, (who, at)),
            latest => (self.latest, self.other) = (Some((who, at)), latest),
        }
    }

    /// The latest start of a run by anybody but this one.
    pub(super) fn besides(&self, one: CoroutineId) -> Option<Nanos> {
        let besides = |who: &(CoroutineId, Nanos)| who.0 != one;
        self.latest
            .filter(besides)
            .or(self.other.filter(besides))
            .map(|(_, at)| at)
    }
}

fn later(
    known: Option<(CoroutineId, Nanos)>,
    new: (CoroutineId, Nanos),
) -> Option<(CoroutineId, Nanos)> {
    Some(known.filter(|known| new.1 < known.1).unwrap_or(new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coroutine_is_no_company_to_itself() {
        let mut runners = Runners::default();
        runners.ran(CoroutineId(1), Nanos(10));
        assert_eq!(runners.besides(CoroutineId(1)), None);
        runners.ran(CoroutineId(2), Nanos(5));
        runners.ran(CoroutineId(1), Nanos(20));
        assert_eq!(runners.besides(CoroutineId(1)), Some(Nanos(5)));
        assert_eq!(runners.besides(CoroutineId(2)), Some(Nanos(20)));
        assert_eq!(runners.besides(CoroutineId(3)), Some(Nanos(20)));
    }
}
