//! The markers, and the categories that give them their colours.

use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, MarkerFieldFlags, MarkerFieldFormat, MarkerLocations, Profile,
    StaticSchemaMarker, StaticSchemaMarkerField, StringHandle,
};
use serde_json::Value;

use crate::views::tracks::sink::{Details, SliceKind};

/// What a coroutine or a thread did.
pub struct ActivityMarker {
    /// The row in the marker chart.
    pub row: StringHandle,
    /// The category.
    pub category: CategoryHandle,
    /// The text on the marker.
    pub what: StringHandle,
    /// All further fields, as text.
    pub details: StringHandle,
}

const fn text(key: &'static str, label: &'static str) -> StaticSchemaMarkerField {
    StaticSchemaMarkerField {
        key,
        label,
        format: MarkerFieldFormat::String,
        flags: MarkerFieldFlags::SEARCHABLE,
    }
}

impl StaticSchemaMarker for ActivityMarker {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "activity";
    const DESCRIPTION: Option<&'static str> = Some("What a coroutine or a thread did");
    const LOCATIONS: MarkerLocations = MarkerLocations::MARKER_CHART
        .union(MarkerLocations::MARKER_TABLE)
        .union(MarkerLocations::TIMELINE_OVERVIEW);
    const CHART_LABEL: Option<&'static str> = Some("{marker.data.what}");
    const TOOLTIP_LABEL: Option<&'static str> = Some("{marker.name}: {marker.data.what}");
    const TABLE_LABEL: Option<&'static str> = Some("{marker.name}: {marker.data.what}");
    const FIELDS: &'static [StaticSchemaMarkerField] =
        &[text("what", "What"), text("details", "Details")];

    fn name(&self, _: &mut Profile) -> StringHandle {
        self.row
    }

    fn category(&self, _: &mut Profile) -> CategoryHandle {
        self.category
    }

    fn string_field_value(&self, field: u32) -> StringHandle {
        match field {
            0 => self.what,
            _ => self.details,
        }
    }

    fn number_field_value(&self, _: u32) -> f64 {
        0.0 // there is no such field
    }
}

/// The categories, which are groups of rows.
pub struct Categories {
    stuck: CategoryHandle,
    wait: CategoryHandle,
    run: CategoryHandle,
    queued: CategoryHandle,
    open: CategoryHandle,
    /// Moments.
    pub mark: CategoryHandle,
}

impl Categories {
    /// Adds the categories to a profile.
    pub fn of(profile: &mut Profile) -> Self {
        let mut category = |name, color| profile.add_category(name, color);
        Categories {
            stuck: category(SliceKind::Stuck.word(), CategoryColor::Red),
            wait: category(SliceKind::Wait.word(), CategoryColor::LightBlue),
            run: category(SliceKind::Run.word(), CategoryColor::Green),
            queued: category(SliceKind::Queued.word(), CategoryColor::Yellow),
            open: category(SliceKind::Open.word(), CategoryColor::Gray),
            mark: category("mark", CategoryColor::Purple),
        }
    }

    /// The category of a slice.
    pub fn of_slice(&self, kind: SliceKind) -> CategoryHandle {
        match kind {
            SliceKind::Stuck => self.stuck,
            SliceKind::Wait => self.wait,
            SliceKind::Run => self.run,
            SliceKind::Queued => self.queued,
            SliceKind::Open => self.open,
        }
    }
}

/// Fields as a text: `tid 12; at src/main.rs:64`.
pub fn joined(details: &Details) -> String {
    let fields = details.iter().map(|(name, value)| match value {
        Value::String(text) => format!("{name} {text}"),
        value => format!("{name} {value}"),
    });
    fields.collect::<Vec<_>>().join("; ")
}
