//! Describes in words what the recorder saw when it examined the file descriptor that a coroutine waits for.

use ctp_trace::model::Looked;
use ctp_trace::record::{Look, Nanos, Seen, Thing};

use crate::text::units;

/// The time and description of each observation of the descriptor, oldest first.
pub fn lines(looked: &Looked) -> Vec<(Nanos, String)> {
    let parts = [
        (looked.open, "when looked at"),
        (looked.first, "when looked at"),
        (looked.latest, "when looked at again"),
    ];
    let reported = parts
        .into_iter()
        .filter_map(|(look, when)| Some((look?, when)));
    reported
        .map(|(look, when)| (look.at, line(&look, when)))
        .collect()
}

/// Formats `fd 17: closed when looked at, 4.1 s into the wait`.
fn line(look: &Look, when: &str) -> String {
    format!(
        "fd {}: {} {when}, {} into the wait",
        look.fd,
        finding(look),
        units::duration(look.since.until(look.at))
    )
}

fn finding(look: &Look) -> String {
    match look.seen {
        Seen::Open => format!("open ({})", thing(look.thing)),
        Seen::Empty => format!("nothing to read ({})", thing(look.thing)),
        Seen::Unwatched(0) => "watched by no epoll".to_owned(),
        Seen::Unwatched(amount) => {
            format!("watched by no epoll, readable ({})", units::grouped(amount))
        }
        Seen::Closed => "closed".to_owned(),
        Seen::NumberClosed => "its number closed".to_owned(),
        Seen::ClosedAtFirst => "closed already".to_owned(),
        Seen::Replaced => "replaced".to_owned(),
        Seen::Readable(amount) => match look.thing {
            Thing::Event => format!("its counter at {}", units::grouped(amount)),
            _ => format!("readable ({})", units::grouped(amount)),
        },
        Seen::HungUp => "the other end closed".to_owned(),
        _ => "could not be observed".to_owned(),
    }
}

/// The name of a kind of file.
pub fn thing(thing: Thing) -> &'static str {
    match thing {
        Thing::Socket => "socket",
        Thing::Pipe => "pipe",
        Thing::Event => "eventfd",
        _ => "file",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn observations_have_their_time_in_the_wait() {
        let look = |at, seen| Look {
            since: Nanos(1_000_000_000),
            at: Nanos(at),
            fd: 17,
            thing: Thing::Socket,
            seen,
            ..Look::default()
        };
        let looked = Looked {
            open: Some(look(2_000_000_000, Seen::Open)),
            first: Some(look(3_000_000_000, Seen::Closed)),
            ..Looked::default()
        };
        let text: Vec<String> = lines(&looked).into_iter().map(|(_, text)| text).collect();
        assert_eq!(
            text,
            [
                "fd 17: open (socket) when looked at, 1.0 s into the wait",
                "fd 17: closed when looked at, 2.0 s into the wait",
            ]
        );
        let unread = line(&look(2_000_000_000, Seen::Readable(5)), "when looked at");
        assert_eq!(
            unread,
            "fd 17: readable (5) when looked at, 1.0 s into the wait"
        );
    }
}
