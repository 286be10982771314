//! In which mode events are recorded. What is on an event's path is there once for each, as a parameter
//! `MODE` of it, so that none of what is known of that mode is asked for at an event.

/// One of those below.
pub(crate) type RecordingMode = u8;

/// As most recordings are: history in lanes that are not written over, without aggregates, under a
/// recorder of ours that orders events and its sleep.
pub(crate) const USUAL: RecordingMode = 0;
/// As [`USUAL`], but in lanes that are written over, and with aggregates.
pub(crate) const USUAL_FLIGHT: RecordingMode = 1;
/// Of a recording that may be anything, also as above.
pub(crate) const ANY: RecordingMode = 2;

/// Evaluates an expression with a constant for the mode of a probe.
macro_rules! in_mode {
    ($probe:expr, $mode:ident => $call:expr) => {
        match $probe.mode {
            $crate::platform::mode::USUAL => {
                const $mode: $crate::platform::mode::RecordingMode = $crate::platform::mode::USUAL;
                $call
            }
            $crate::platform::mode::USUAL_FLIGHT => {
                const $mode: $crate::platform::mode::RecordingMode =
                    $crate::platform::mode::USUAL_FLIGHT;
                $call
            }
            _ => {
                const $mode: $crate::platform::mode::RecordingMode = $crate::platform::mode::ANY;
                $call
            }
        }
    };
}
pub(crate) use in_mode;
