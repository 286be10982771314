use ctp_trace::record::CoroutineId;

use super::*;

const SIZES: Sizes = Sizes {
    visible: 10,
    entries: 25,
};

fn choices() -> Choices {
    Choices::new(Order {
        sort: TopSort::Verdict,
        is_reversed: false,
        is_grouped: false,
    })
}

/// What was chosen after these keys.
fn after(keys: &[Key]) -> Choices {
    let mut choices = choices();
    for key in keys {
        choices.press(*key, SIZES);
    }
    choices
}

fn typed(text: &str) -> Vec<Key> {
    text.chars().map(Key::Char).collect()
}

#[test]
fn arrows_and_pages_select_a_row() {
    use Key::{Down, End, Home, PageDown, PageUp, Up};
    let cases: [(&[Key], usize); 7] = [
        (&[Up], 0),
        (&[Down, Down, Up], 1),
        (&[PageDown], 10),
        (&[PageDown, PageDown, PageDown], 24),
        (&[End], 24),
        (&[End, PageUp], 14),
        (&[End, Home], 0),
    ];
    for (keys, selected) in cases {
        assert_eq!(after(keys).selected(), selected, "{keys:?}");
    }
    let nothing = Sizes {
        visible: 0,
        entries: 0,
    };
    let mut choices = choices();
    choices.press(End, nothing);
    assert!(matches!(choices.press(Key::Enter, nothing), Action::Draw));
    assert_eq!(choices.selected(), 0);
}

#[test]
fn letters_change_the_order() {
    let choices = after(&typed("srg"));
    assert_eq!(choices.order.sort, TopSort::Wait);
    assert!(choices.order.is_reversed && choices.order.is_grouped);
    let all = after(&typed(&"s".repeat(SORTS.len())));
    assert_eq!(all.order.sort, TopSort::Verdict);
    assert!(after(&typed("p")).is_paused && !after(&typed("pp")).is_paused);
}

#[test]
fn patterns_are_typed_and_cleared() {
    let mut choices = after(&typed("/se{"));
    assert_eq!(choices.mode, Mode::Pattern("se{".to_owned()));
    choices.press(Key::Backspace, SIZES);
    let action = choices.press(Key::Enter, SIZES);
    assert!(matches!(action, Action::Filter(Some(pattern)) if pattern.is_match("session")));
    assert_eq!(
        (choices.pattern.as_str(), &choices.mode),
        ("se", &Mode::Table)
    );
    assert!(matches!(
        choices.press(Key::Escape, SIZES),
        Action::Filter(None)
    ));
    assert!(choices.pattern.is_empty());
    // Escape leaves the earlier pattern.
    let kept = after(
        &[
            &typed("/a")[..],
            &[Key::Enter],
            &typed("/b"),
            &[Key::Escape],
        ]
        .concat(),
    );
    assert_eq!(kept.pattern, "a");
}

#[test]
fn invalid_patterns_are_rejected() {
    let mut choices = after(&typed("/("));
    assert!(matches!(choices.press(Key::Enter, SIZES), Action::Draw));
    assert_eq!(choices.mode, Mode::Pattern("(".to_owned()));
    assert!(choices.complaint.is_some() && choices.pattern.is_empty());
    assert!(after(&typed(&format!("/{}", "a".repeat(1000)))).mode != Mode::Table);
}

#[test]
fn pages_are_scrolled_and_left() {
    let mut choices = choices();
    assert!(matches!(
        choices.press(Key::Enter, SIZES),
        Action::OpenProof
    ));
    let lines = vec![String::new(); 15];
    let open = |first| {
        Mode::Page(TextPage {
            lines: lines.clone(),
            first,
            ..TextPage::default()
        })
    };
    choices.mode = open(0);
    choices.press(Key::PageDown, SIZES);
    assert_eq!(choices.mode, open(5));
    choices.press(Key::Up, SIZES);
    assert_eq!(choices.mode, open(4));
    choices.press(Key::Char('q'), SIZES);
    assert_eq!(choices.mode, Mode::Table);
}

#[test]
fn wakes_are_shown_of_a_row_or_of_the_row_of_a_page() {
    let wakes = Key::Char('w');
    let mut choices = choices();
    let selected = choices.press(wakes, SIZES);
    assert!(matches!(selected, Action::OpenWakeChain(None)));
    let row = RowId::Coroutine(CoroutineId(7));
    let page = |row| {
        Mode::Page(TextPage {
            row,
            ..TextPage::default()
        })
    };
    choices.mode = page(Some(row));
    let of_page = choices.press(wakes, SIZES);
    assert!(matches!(of_page, Action::OpenWakeChain(Some(shown)) if shown == row));
    choices.mode = page(None);
    assert!(matches!(choices.press(wakes, SIZES), Action::Draw));
    assert_eq!(choices.mode, page(None));
}

#[test]
fn a_page_that_is_being_made_can_be_left() {
    for key in [Key::Escape, Key::Char('q'), Key::Enter] {
        let mut choices = choices();
        choices.mode = Mode::Page(TextPage {
            is_pending: true,
            ..TextPage::default()
        });
        assert!(matches!(choices.press(Key::Down, SIZES), Action::Draw));
        assert!(choices.awaits_page());
        assert!(matches!(choices.press(key, SIZES), Action::Draw));
        assert_eq!(choices.mode, Mode::Table);
        assert!(!choices.awaits_page());
    }
}

#[test]
fn some_keys_work_everywhere() {
    for keys in ["", "/abc", "h"] {
        let mut choices = after(&typed(keys));
        assert!(matches!(
            choices.press(Key::Suspend, SIZES),
            Action::Suspend
        ));
        assert!(matches!(choices.press(Key::Interrupt, SIZES), Action::Quit));
    }
    assert!(matches!(
        after(&[]).press(Key::Char('q'), SIZES),
        Action::Quit
    ));
    let action = after(&[]).press(Key::Char('v'), SIZES);
    assert!(matches!(action, Action::Judge));
    assert_eq!(after(&typed("h")).mode, Mode::Help);
    assert_eq!(after(&typed("hx")).mode, Mode::Table);
}

#[test]
fn the_selected_row_is_on_the_screen() {
    assert_eq!(scrolled(0, 5, 10), 0);
    assert_eq!(scrolled(0, 10, 10), 1);
    assert_eq!(scrolled(7, 3, 10), 3);
    assert_eq!(scrolled(7, 3, 0), 4);
}
