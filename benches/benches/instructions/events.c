/* A coroutine that runs and waits: events --do STEP ROUNDS. The steps are those of instructions.rs. */
#include <stdlib.h>
#include <string.h>

#include "ctp.h"

int main(int count, char **arguments) {
    static ctp_coroutine coroutine;
    if (count != 4) return 2;
    if (strncmp(arguments[2], "not attached", 12) != 0 && !ctp_attach()) return 1;
    ctp_born(&coroutine, "one");
    for (int rounds = atoi(arguments[3]); rounds > 0; rounds--) {
        ctp_run(&coroutine);
        ctp_suspend(&coroutine, CTP_READABLE, 3);
    }
    return 0;
}
