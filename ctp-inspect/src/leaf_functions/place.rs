//! Where an await chain is in the source. The compiler may duplicate code, such as that of a `select!`
//! with branches in random order. Then several chains are at the same place.

use ctp_trace::record::{Chain, Module, ProcessId};
use symbolize::{Avma, Frame, Lookup, is_standard_library};

use super::{LeafFunctions, MAX_ADDRESSES, is_of_library, module_of, with_path};

/// The place of an await chain: two chains of a process with equal places are copies of the same code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ChainPlace {
    /// The lines of the program itself, the innermost first.
    lines: Vec<Line>,
    /// The library function that the innermost line awaits.
    within: Option<String>,
}

/// A line of a function.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Line {
    function: String,
    file: String,
    line: u32,
    column: Option<u32>,
}

impl LeafFunctions {
    /// The place of an await chain. `None` if its outermost functions are missing, or if some line of the
    /// program is not known. The modules are those of all processes.
    pub fn place(
        &mut self,
        process: ProcessId,
        chain: &Chain,
        modules: &[Module],
    ) -> Option<ChainPlace> {
        self.set_mappings(process, modules);
        if !chain.is_whole || MAX_ADDRESSES < chain.addresses.len() {
            return None;
        }
        let mut place = ChainPlace::default();
        // The first address is in the probe.
        for &address in chain.addresses.iter().skip(1) {
            let resolved = self
                .symbolizer
                .resolve(Avma(address), Lookup::ReturnAddress);
            for frame in &resolved.ok()?.frames {
                place.add(frame)?;
            }
        }
        Some(place).filter(|place| !place.lines.is_empty())
    }
}

impl ChainPlace {
    /// Adds the next function outwards. `None` if its name or, in the program itself, its line is not known.
    fn add(&mut self, frame: &Frame) -> Option<()> {
        let function = frame.function.as_deref()?;
        if is_elsewhere(function, frame.file.as_deref()) {
            if self.lines.is_empty() {
                self.within = Some(function.to_owned());
            }
            return Some(());
        }
        self.lines.push(Line {
            function: function.to_owned(),
            file: frame.file.as_deref()?.to_owned(),
            line: frame.line?,
            column: frame.column,
        });
        Some(())
    }
}

/// Whether a function is not of the program itself.
fn is_elsewhere(function: &str, file: Option<&str>) -> bool {
    let is_of_package =
        file.is_some_and(|file| is_standard_library(file) || module_of(file).is_some());
    is_of_package || is_of_library(&with_path(function, file))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKIO: &str =
        "/home/a/.cargo/registry/src/index.crates.io-1949cf8c/tokio-1.54.1/src/io/a.rs";

    fn frame(function: &str, file: &str, line: Option<u32>) -> Frame {
        Frame {
            function: Some(function.into()),
            file: Some(file.into()),
            line,
            column: Some(9),
            inlined: false,
        }
    }

    fn place(frames: &[Frame]) -> Option<ChainPlace> {
        let mut place = ChainPlace::default();
        let mut all = frames.iter();
        all.try_for_each(|frame| place.add(frame)).map(|()| place)
    }

    // CT-15
    #[test]
    fn copies_of_code_are_at_the_same_place() {
        let ready = |line| frame("tokio::io::poll_ready", TOKIO, Some(line));
        let read = frame("tokio::io::ReadU32::poll", TOKIO, Some(80));
        let awaits = |line| frame("app::read_frame", "/app/src/main.rs", Some(line));
        let [first, copy] = [1, 2].map(|line| place(&[ready(line), read.clone(), awaits(13)]));
        assert!(first.is_some());
        assert_eq!(first, copy);
        assert_ne!(first, place(&[ready(1), read.clone(), awaits(14)]));
        let other = frame("tokio::io::ReadExact::poll", TOKIO, Some(80));
        assert_ne!(first, place(&[ready(1), other, awaits(13)]));
    }

    // CT-15
    #[test]
    fn place_without_lines_is_unknown() {
        let read = frame("tokio::io::ReadU32::poll", TOKIO, None);
        assert!(
            place(&[
                read.clone(),
                frame("app::read", "/app/src/main.rs", Some(1))
            ])
            .is_some()
        );
        assert_eq!(
            place(&[read, frame("app::read", "/app/src/main.rs", None)]),
            None
        );
    }
}
