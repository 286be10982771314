/* Six sessions wait for bytes on pipes. Two get some, and end. The pipes of three others are closed
 * by a part of the program that does not resume them. The last waits for a peer that never writes.
 *
 * The program prints what it did, so that the report can be compared with it. */
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "ctp.h"

enum { SESSIONS = 6, ANSWERED = 2, FORGOTTEN = 3 };

/* A coroutine without a stack: the scheduler calls it, and it returns where it waits. */
struct session {
    ctp_coroutine trace;
    ctp_waker waker;
    int read_end, write_end;
    bool is_closed, is_done;
};

static struct session sessions[SESSIONS];

static bool spawn(struct session *session) {
    int ends[2];
    if (pipe(ends) != 0) return false;
    session->read_end = ends[0];
    session->write_end = ends[1];
    ctp_born(&session->trace, "session");
    session->waker = ctp_waker_of(&session->trace);
    return true;
}

/* Continues a session until it waits or ends. */
static void resume(struct session *session, bool has_bytes) {
    char byte;
    ctp_run(&session->trace);
    if (has_bytes && read(session->read_end, &byte, 1) == 1) {
        session->is_done = true;
        ctp_died(&session->trace);
        return;
    }
    ctp_suspend(&session->trace, CTP_READABLE, session->read_end);
}

/* Closes a pipe, and does not resume its reader. */
static void close_idle(struct session *session) {
    ctp_closed(CTP_READABLE, session->read_end);
    close(session->read_end);
    session->is_closed = true;
    printf("forgotten %d\n", session->read_end);
}

/* Resumes the sessions that have bytes. */
static void poll_once(void) {
    for (int i = 0; i < SESSIONS; i++) {
        struct pollfd ready = {sessions[i].read_end, POLLIN, 0};
        if (sessions[i].is_closed || sessions[i].is_done || poll(&ready, 1, 0) != 1) continue;
        ctp_wake(&sessions[i].waker);
        resume(&sessions[i], true);
    }
}

int main(void) {
    ctp_attach();
    for (int i = 0; i < SESSIONS; i++) {
        if (!spawn(&sessions[i])) return 1;
        resume(&sessions[i], false);
    }
    for (int i = 0; i < ANSWERED; i++)
        if (write(sessions[i].write_end, "x", 1) != 1) return 1;
    poll_once();
    for (int i = ANSWERED; i < ANSWERED + FORGOTTEN; i++) close_idle(&sessions[i]);
    printf("waiting %d\n", sessions[SESSIONS - 1].read_end);
    sleep(2);
    poll_once();
    return 0;
}
