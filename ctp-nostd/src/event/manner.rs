//! In which manner events are recorded. What is on an event's path is there once for each, as a
//! parameter of it, so that none of what is known of that manner is asked for at an event.

/// One of those below.
pub(crate) type Manner = u8;

/// As most recordings are: history in lanes that are not written over, without aggregates, under a
/// recorder of ours that orders events and its sleep.
pub(crate) const USUAL: Manner = 0;
/// The same, but in lanes that are written over, and with aggregates.
pub(crate) const FLIGHT: Manner = 1;
/// Of a recording that may be anything, also as above.
pub(crate) const ANY: Manner = 2;

/// Evaluates an expression with a constant for the manner of a probe.
macro_rules! in_manner {
    ($probe:expr, $manner:ident => $call:expr) => {
        match $probe.manner {
            $crate::event::manner::USUAL => {
                const $manner: $crate::event::manner::Manner = $crate::event::manner::USUAL;
                $call
            }
            $crate::event::manner::FLIGHT => {
                const $manner: $crate::event::manner::Manner = $crate::event::manner::FLIGHT;
                $call
            }
            _ => {
                const $manner: $crate::event::manner::Manner = $crate::event::manner::ANY;
                $call
            }
        }
    };
}
pub(crate) use in_manner;
