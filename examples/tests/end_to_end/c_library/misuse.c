/* Calls that a program should not make, one scene at a time. The program prints the events that the
 * trace should have: a coroutine's name, and a letter for each of its events. B is a birth, R a run, D a
 * death, F a suspend for a readable descriptor, and S any other suspend. */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctp.h"

static void expect(const char *name, const char *events) {
    printf("%s %s\n", name, events);
    fflush(stdout);
}

/* A coroutine with a run and a wait. */
static void begin(ctp_coroutine *coroutine, const char *name) {
    ctp_born(coroutine, name);
    ctp_run(coroutine);
    ctp_suspend(coroutine, CTP_USER, 1);
}

/* Null pointers everywhere, and memory of zeroes. */
static void nothing(void) {
    ctp_coroutine empty = {0};
    ctp_waker no_waker = {0};
    ctp_coroutine *handles[] = {NULL, &empty};
    const ctp_waker *wakers[] = {NULL, &no_waker};
    ctp_born(NULL, "null");
    for (int i = 0; i < 2; i++) {
        ctp_run(handles[i]);
        ctp_suspend(handles[i], CTP_READABLE, 1);
        ctp_suspend_with_stack(handles[i], CTP_READABLE, 1);
        ctp_switch(handles[i], CTP_READABLE, 1, handles[1 - i]);
        ctp_wake(wakers[i]);
        ctp_move(NULL, handles[i]);
        ctp_move(handles[i], NULL);
        ctp_waker_of(handles[i]);
        if (ctp_id(handles[i]) != 0) abort();
        ctp_died(handles[i]);
    }
    /* A switch with a single coroutine has the event of that coroutine. */
    ctp_coroutine one;
    ctp_born(&one, "one");
    ctp_switch(NULL, CTP_YIELD, 0, &one);
    ctp_switch(&one, CTP_YIELD, 0, NULL);
    ctp_switch(&empty, CTP_YIELD, 0, &one);
    ctp_switch(&one, CTP_YIELD, 0, &one);
    ctp_died(&one);
    expect("one", "BRSRSRD");
}

/* Texts and numbers without a meaning. */
static void texts(void) {
    ctp_coroutine nameless, broken;
    ctp_born_at(&nameless, NULL, 77, NULL, 0);
    ctp_suspend_at(&nameless, UINT_MAX, UINT64_MAX, NULL, UINT_MAX);
    ctp_suspend_at(&nameless, 0x1F, 0, "", 0);
    ctp_closed_at(99, 5, NULL, 3);
    ctp_acquired_at(UINT_MAX, 5, "no\xffname", 3);
    ctp_released_at(UINT_MAX, 5, "no\xffname", 3);
    expect("", "BSS");
    ctp_born(&broken, "\xff" "broken\xfe!");
    const uint64_t nowhere[] = {1, UINT64_MAX, 7};
    ctp_suspend_stack_at(&broken, CTP_USER, 1, nowhere, "file", 1);
    ctp_run(&broken);
    ctp_suspend_stack_at(&broken, CTP_USER, 1, NULL, "file", 1);
    expect("broken", "BSRS");
}

/* Calls after the death, also of a waker. */
static void dead(void) {
    ctp_coroutine coroutine;
    begin(&coroutine, "dead");
    ctp_waker waker = ctp_waker_of(&coroutine);
    ctp_died(&coroutine);
    ctp_run(&coroutine);
    ctp_suspend(&coroutine, CTP_USER, 2);
    ctp_wake(&waker);
    ctp_died(&coroutine);
    expect("dead", "BRSD");
    begin(&coroutine, "next");
    ctp_wake(&waker); /* not a wake of the next coroutine */
    expect("next", "BRS");
}

/* A copy of a handle has no coroutine, and a moved coroutine lives in its new handle only. */
static void copies(void) {
    ctp_coroutine first, second;
    begin(&first, "moved");
    memcpy(&second, &first, sizeof second);
    ctp_run(&second);
    ctp_died(&second);
    ctp_move(&second, &first);
    ctp_run(&first);
    ctp_died(&first);
    ctp_run(&second);
    ctp_move(&second, &second);
    ctp_died(&second);
    expect("moved", "BRSRD");
}

/* A birth in the handle of a coroutine that lives. */
static void born_twice(void) {
    ctp_coroutine coroutine;
    begin(&coroutine, "forgotten");
    begin(&coroutine, "second");
    ctp_died(&coroutine);
    expect("forgotten", "BRS");
    expect("second", "BRSD");
}

/* The child has handles of its parent, and a coroutine of its own. */
static void forked(void) {
    ctp_coroutine of_parent, of_child;
    begin(&of_parent, "parent");
    ctp_waker waker = ctp_waker_of(&of_parent);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        ctp_run(&of_parent);
        ctp_wake(&waker);
        ctp_died(&of_parent);
        begin(&of_child, "child");
        ctp_died(&of_child);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    ctp_run(&of_parent);
    ctp_died(&of_parent);
    expect("parent", "BRSRD");
    expect("child", "BRSD");
}

static ctp_coroutine at_exit;

static void died_at_exit(void) { ctp_died(&at_exit); }

/* A coroutine ends the program, and a handler of atexit ends the coroutine. */
static void exits(void) {
    atexit(died_at_exit);
    ctp_born(&at_exit, "at-exit");
    ctp_run(&at_exit);
    expect("at-exit", "BRD");
    exit(0);
}

static void *end_there(void *coroutine) {
    ctp_died(coroutine);
    ctp_thread_ends();
    ctp_thread_ends();
    return NULL;
}

/* Another thread ends a coroutine that waits, and then a coroutine that runs here. */
static void other_thread(void) {
    static ctp_coroutine waiting, running, last;
    pthread_t thread;
    begin(&waiting, "waiting");
    pthread_create(&thread, NULL, end_there, &waiting);
    pthread_join(thread, NULL);
    ctp_born(&running, "running");
    ctp_run(&running);
    pthread_create(&thread, NULL, end_there, &running);
    pthread_join(thread, NULL);
    begin(&last, "last");
    expect("waiting", "BRSD");
    expect("running", "BRD");
    expect("last", "BRS");
}

int main(int count, char **arguments) {
    static const struct {
        const char *name;
        void (*play)(void);
    } scenes[] = {
        {"nothing", nothing}, {"texts", texts},   {"dead", dead},   {"copies", copies},
        {"twice", born_twice}, {"fork", forked}, {"exit", exits}, {"thread", other_thread},
    };
    ctp_attach();
    ctp_attach();
    for (unsigned i = 0; i < sizeof scenes / sizeof *scenes; i++)
        if (count == 2 && strcmp(arguments[1], scenes[i].name) == 0) {
            scenes[i].play();
            return 0;
        }
    return 2;
}
