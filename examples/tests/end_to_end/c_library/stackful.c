/* A coroutine with a stack of its own, which waits below three functions until the program ends. The program
 * prints these functions and their lines, innermost first. */
#include <stdio.h>
#include <ucontext.h>
#include <unistd.h>

#include "ctp.h"

static ctp_coroutine trace;
static ucontext_t scheduler, coroutine;
static char stack[1 << 16];

/* Keeps a call from becoming a jump. */
#define AND_THEN __asm__ volatile("")

static __attribute__((noinline)) void until_woken(void) {
    printf("until_woken %d\n", __LINE__ + 1);
    ctp_suspend_with_stack(&trace, CTP_USER, 1);
    swapcontext(&coroutine, &scheduler);
    AND_THEN;
}

static __attribute__((noinline)) void reads(void) {
    printf("reads %d\n", __LINE__ + 1);
    until_woken();
    AND_THEN;
}

static void serves(void) {
    printf("serves %d\n", __LINE__ + 1);
    reads();
    AND_THEN;
}

static void resume(void) {
    ctp_run(&trace);
    swapcontext(&scheduler, &coroutine);
}

int main(void) {
    ctp_attach();
    ctp_born_at(&trace, "stackful", CTP_KIND_STACKFUL, __FILE__, __LINE__);
    getcontext(&coroutine);
    coroutine.uc_stack.ss_sp = stack;
    coroutine.uc_stack.ss_size = sizeof stack;
    coroutine.uc_link = &scheduler;
    makecontext(&coroutine, serves, 0);
    resume();
    fflush(stdout);
    sleep(3);
    return 0;
}
