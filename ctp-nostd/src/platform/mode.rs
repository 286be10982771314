//! Recording modes. Code on the event path exists once per mode, with a const parameter `MODE`, so
//! that an event does not check what the mode already determines.

use crate::sync::HAS_LANES;

/// One of the constants below.
pub(crate) type RecordingMode = u8;

/// The mode of most recordings: history in lanes that are not overwritten, without aggregates,
/// under a recorder that orders events and its own sleep (see [`crate::doorbell`]).
pub(crate) const USUAL: RecordingMode = 0;
/// Like [`USUAL`], but lanes are overwritten, and there are aggregates.
pub(crate) const USUAL_FLIGHT: RecordingMode = 1;
/// Any recording, including the two above.
pub(crate) const ANY: RecordingMode = 2;

/// The mode of a probe with this mode. Where threads have no lanes it is known, so that the code for the
/// other modes is not compiled.
#[inline(always)]
pub(crate) const fn known(mode: RecordingMode) -> RecordingMode {
    if HAS_LANES { mode } else { ANY }
}

/// Evaluates an expression with a constant for the mode of a probe.
macro_rules! in_mode {
    ($probe:expr, $mode:ident => $call:expr) => {
        match $crate::platform::mode::known($probe.mode) {
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
