//! Probes that break one rule each: those of the page, with one piece changed.

/// A rule, a piece of the page, and what stands there instead in a probe that breaks the rule.
pub type Break = (&'static str, &'static str, &'static str);

/// In the plain probe.
pub const PLAIN: &[Break] = &[
    (
        "count",
        "    attach();\n",
        "    attach(); header->allocated_count += 3000;\n",
    ),
    ("close-on-exec", "SOCK_STREAM | SOCK_CLOEXEC", "SOCK_STREAM"),
    (
        "connected",
        "            dial(secure_getenv(\"CTP_SOCK_PATH\"));\n",
        "",
    ),
    ("id", "(uint64_t)getpid() << 32 | number", "0"),
    ("unique ids", "(uint64_t)getpid() << 32 | number", "7"),
    ("no gap", "n / 8 * 2 + 2", "n / 8 * 4 + 2"),
    (
        "even when complete",
        "&s->seq, done, memory",
        "&s->seq, done - (n % 8 == 3), memory",
    ),
    (
        "numbers never fall",
        "usleep(500)) ",
        "usleep(500)) if (i == 200) c[1].n -= 40; else ",
    ),
    (
        "finished",
        "&s->seq, done, memory_order_release);\n",
        "&s->seq, done - (n == 20), memory_order_release); if (n == 20) usleep(1500000), _exit(0);\n",
    ),
    (
        "one writer",
        "&s->seq, done - 1, memory_order_relaxed);\n",
        "&s->seq, done - 1, memory_order_relaxed);\n\
         if (n % 8 == 4) { s[1].seq = done - 1; usleep(3000); }\n",
    ),
    ("clock", "CLOCK_MONOTONIC", "CLOCK_REALTIME"),
    ("clock", "CLOCK_MONOTONIC", "CLOCK_PROCESS_CPUTIME_ID"),
    (
        "time order",
        "timestamp, now(),",
        "timestamp, now() - (n % 16 == 15) * 15000000,",
    ),
    (
        "thread id",
        "(uint64_t)syscall(SYS_gettid)",
        "(uint64_t)pthread_self()",
    ),
    (
        "own thread",
        "(uint64_t)syscall(SYS_gettid)",
        "(uint64_t)getppid()",
    ),
    (
        "own thread",
        "(uint64_t)syscall(SYS_gettid)",
        "(uint64_t)ended_process()",
    ),
    (
        "one process",
        "usleep(500)) ",
        "usleep(500)) if (i == 150) FORK(c[0]) else ",
    ),
    (
        "is_active",
        "is_active, is_active,",
        "is_active, is_active * 2,",
    ),
    ("is_active", "is_active, is_active,", "is_active, 0,"),
    ("is_active", "is_active, is_active,", "is_active, 1,"),
    (
        "is_dead",
        "died(&c[i]);\n",
        "died(&c[i]), usleep(90000), event(&c[i], 1, 0), usleep(90000);\n",
    ),
    (
        "is_dead",
        "died(&c[i]);\n",
        "died(&c[i]), usleep(90000), c[i].station->is_dead = 0, usleep(90000);\n",
    ),
    (
        "free bytes",
        "    ring();\n",
        "    s->free_bytes[3] = 9; ring();\n",
    ),
    ("rings", "    ring();\n", ""),
    (
        "ring bytes sent",
        "(void)!send(bell, \"\", 1,",
        "(void)!send(bell, \"\", 0,",
    ),
    (
        "no needless rings",
        "    ring();\n",
        "    ring(); if (bell >= 0) (void)!send(bell, \"\", 1, MSG_DONTWAIT);\n",
    ),
];

/// In the extended probe.
pub const EXTENDED: &[Break] = &[
    (
        "unique ids",
        "(uint64_t)(use & 0xFFFFFF) << 24 | (index + 1)",
        "(index + 1)",
    ),
    (
        "numbers never fall",
        "n = GET(U64(s, STATION_EVENT_HEAD))",
        "n = t->plain.n++",
    ),
    (
        "is_active",
        "(kind != SUSPEND) << 56",
        "(kind == RUN) << 56",
    ),
    (
        "extension",
        "STATION_OWNER), (uint32_t)attach_id)",
        "STATION_OWNER), 900)",
    ),
    (
        "extension",
        "STATION_WAKE), use << 20)",
        "STATION_WAKE), 0)",
    ),
    (
        "generation",
        "    RELEASE(U32(s, STATION_GENERATION), generation);",
        "",
    ),
    (
        "generation",
        "/* B2 */\n",
        "if (index == 4) usleep(1500000), _exit(0);\n",
    ),
    (
        "event kind",
        "    SET(U32(slot, SLOT_GENERATION), t->generation);\n",
        "",
    ),
    ("event kind", "kind | wait.kind", "0 | wait.kind"),
    (
        "event head",
        "STATION_IS_DEAD), 1); /* D1 */\n",
        "STATION_IS_DEAD), 1), SET(U64(t->station, STATION_EVENT_HEAD), 0);\n",
    ),
    ("names", "STATION_META), meta)", "STATION_META), 4000)"),
    ("entries", "RELEASE(U32(e, INTERNED_READY), 1);", ";"),
    (
        "sites",
        "1ull << 63 | wait.site : 0",
        "1ull << 63 | 4000 : 0",
    ),
    (
        "sites",
        "1ull << 63 | wait.site : 0",
        "1ull << 63 | 5000 : 0",
    ),
];

/// Helpers for the broken probes: the id of an ended process, and a fork that continues at the
/// event number of its parent, which then continues after the fork.
pub const HELP: &str = r"
#include <sys/wait.h>
static pid_t ended_process(void) {
    static pid_t pid;
    if (!pid && !(pid = fork())) _exit(0);
    waitpid(pid, NULL, 0);
    return pid;
}
#define FORK(c) { \
    Header *kept = header; \
    if (!fork()) { header = kept; event(&c, 1, 0); usleep(90000); _exit(0); } \
    wait(NULL); \
    c.n++; \
}
";
