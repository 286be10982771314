/* A program and a plugin, each with a copy of the library of its own. Compiled twice: with PLUGIN
 * defined, this is the plugin. Prints the events that the trace should have, as misuse.c does. */
#include <dlfcn.h>
#include <stdio.h>

#include "ctp.h"

void plugin(ctp_coroutine *of_program, const ctp_waker *waker);

#ifdef PLUGIN

void plugin(ctp_coroutine *of_program, const ctp_waker *waker) {
    ctp_coroutine coroutine;
    ctp_attach();
    ctp_born(&coroutine, "of-plugin");
    ctp_run(&coroutine);
    ctp_suspend(&coroutine, CTP_USER, 1);
    ctp_run(of_program); /* of another copy of the library: records nothing */
    ctp_wake(waker);
    ctp_died(of_program);
    ctp_died(&coroutine);
    printf("of-plugin BRSD\n");
}

#else

int main(int count, char **arguments) {
    ctp_coroutine coroutine;
    void (*call)(ctp_coroutine *, const ctp_waker *) = 0;
    void *library = count == 2 ? dlopen(arguments[1], RTLD_NOW) : 0;
    if (!library) return 2;
    *(void **)&call = dlsym(library, "plugin");
    ctp_attach();
    ctp_born(&coroutine, "of-program");
    ctp_waker waker = ctp_waker_of(&coroutine);
    ctp_run(&coroutine);
    ctp_suspend(&coroutine, CTP_USER, 1);
    call(&coroutine, &waker);
    ctp_run(&coroutine);
    ctp_died(&coroutine);
    printf("of-program BRSRD\n");
    return 0;
}

#endif
