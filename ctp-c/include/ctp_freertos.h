/* Records the tasks of FreeRTOS, in the port for POSIX. See docs/c-and-cpp.md.
 *
 * Include this at the end of FreeRTOSConfig.h, and call ctp_attach first in main. The header defines
 * trace macros of FreeRTOS. The kernel expands them where its own structures are visible. A program that
 * defines some of them already has to combine both definitions. */

#ifndef CTP_FREERTOS_H
#define CTP_FREERTOS_H

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "ctp.h"

/* Tasks that are recorded at the same time. Further tasks are not. */
#ifndef CTP_FREERTOS_TASKS
#define CTP_FREERTOS_TASKS 64
#endif

/* The name of the task that runs when no other can. That task is not recorded. */
#ifdef configIDLE_TASK_NAME
#define CTP_FREERTOS_IDLE configIDLE_TASK_NAME
#else
#define CTP_FREERTOS_IDLE "IDLE"
#endif

/* Stands for a file name, because the kernel does not know the line of its caller. Waits are compared
 * with those of tasks with the same name. */
struct ctp_freertos_place {
    char text[32];
};

/* A task. Memory of zeroes is an entry without a task. */
struct ctp_freertos_task {
    const void *control_block;
    const char *place;
    ctp_coroutine trace;
    ctp_waker waker;
    /* Whether the run is recorded. Another thread selects the task, and the task's own thread records. */
    bool is_run;
    /* What the task is about to wait for. */
    bool is_blocking;
    uint32_t wait;
    uint64_t resource;
    /* Where the task has called the scheduler, if it did. */
    bool has_position;
    uint64_t position[3];
};

/* Shared by all files that include this header. Used only by the task that runs, in a critical section,
 * or with the scheduler suspended. */
__attribute__((weak)) struct ctp_freertos_task ctp_freertos_tasks[CTP_FREERTOS_TASKS];
__attribute__((weak)) struct ctp_freertos_task *ctp_freertos_current;
/* Each is written once, because the probe keeps the address. */
__attribute__((weak)) struct ctp_freertos_place ctp_freertos_places[CTP_FREERTOS_TASKS];

/* The entry of a task, or of no task. NULL if there is none. */
static inline struct ctp_freertos_task *ctp_freertos_entry(const void *control_block) {
    for (size_t i = 0; i < CTP_FREERTOS_TASKS; i++)
        if (ctp_freertos_tasks[i].control_block == control_block) return &ctp_freertos_tasks[i];
    return NULL;
}

/* The place of tasks with this name. NULL after too many different names. */
static inline const char *ctp_freertos_place_of(const char *name) {
    struct ctp_freertos_place wanted = {{0}};
    snprintf(wanted.text, sizeof wanted.text, "task %s", name);
    for (size_t i = 0; i < CTP_FREERTOS_TASKS; i++) {
        struct ctp_freertos_place *place = &ctp_freertos_places[i];
        if (place->text[0] == 0) *place = wanted;
        if (strcmp(place->text, wanted.text) == 0) return place->text;
    }
    return NULL;
}

/* Records the run of the current task, from its own thread. A tick may interrupt this. */
static inline void ctp_freertos_runs(void) {
    struct ctp_freertos_task *task = ctp_freertos_current;
    if (task != NULL && !__atomic_exchange_n(&task->is_run, true, __ATOMIC_RELAXED))
        ctp_run(&task->trace);
}

static inline void ctp_freertos_created(const void *control_block, const char *name) {
    struct ctp_freertos_task *task = ctp_freertos_entry(NULL);
    if (task == NULL || strcmp(name, CTP_FREERTOS_IDLE) == 0) return;
    ctp_freertos_runs();
    memset(task, 0, sizeof *task);
    task->control_block = control_block;
    task->place = ctp_freertos_place_of(name);
    ctp_born_at(&task->trace, name, CTP_KIND_STACKFUL, task->place, 0);
    task->waker = ctp_waker_of(&task->trace);
}

static inline void ctp_freertos_deleted(const void *control_block) {
    struct ctp_freertos_task *task = ctp_freertos_entry(control_block);
    if (task == NULL) return;
    ctp_freertos_runs();
    ctp_died(&task->trace);
    task->control_block = NULL;
    if (task == ctp_freertos_current) ctp_freertos_current = NULL;
}

/* The current task is about to wait. The kernel may still find that it need not. */
static inline void ctp_freertos_blocks(uint32_t wait, uint64_t resource) {
    struct ctp_freertos_task *task = ctp_freertos_current;
    if (task == NULL) return;
    ctp_freertos_runs();
    task->wait = wait;
    task->resource = resource;
    task->is_blocking = true;
}

static inline void ctp_freertos_readied(const void *control_block, const char *file, uint32_t line) {
    struct ctp_freertos_task *task = ctp_freertos_entry(control_block);
    if (task == NULL) return;
    task->is_blocking = false;
    ctp_wake_at(&task->waker, file, line);
}

/* The current task leaves the processor. A task that is ready could continue, and is woken at once. */
static inline void ctp_freertos_switched_out(bool is_ready, const char *file, uint32_t line) {
    struct ctp_freertos_task *task = ctp_freertos_current;
    if (task == NULL) return;
    ctp_freertos_runs();
    if (is_ready) {
        ctp_suspend_at(&task->trace, CTP_YIELD, 0, task->place, 0);
        ctp_wake_at(&task->waker, file, line);
    } else {
        /* Only the kernel's own tasks wait without a macro. */
        uint32_t wait = task->is_blocking ? task->wait : CTP_UNKNOWN | CTP_IDLE;
        uint64_t resource = task->is_blocking ? task->resource : 0;
        ctp_suspend_stack_at(&task->trace, wait, resource, task->has_position ? task->position : NULL,
                             task->place, 0);
        task->is_blocking = false;
    }
    task->is_run = false;
}

/* Another thread calls this than that of the selected task, unless the task goes on. */
static inline void ctp_freertos_switched_in(const void *control_block) {
    struct ctp_freertos_task *task = ctp_freertos_entry(control_block);
    bool goes_on = task != NULL && task == ctp_freertos_current;
    ctp_freertos_current = task;
    if (goes_on) ctp_freertos_runs();
}

static inline void ctp_freertos_yields(const uint64_t *position) {
    struct ctp_freertos_task *task = ctp_freertos_current;
    if (task == NULL) return;
    if (position != NULL) memcpy(task->position, position, sizeof task->position);
    task->has_position = position != NULL;
}

/* The task continues, on its own thread. */
static inline void ctp_freertos_returns(void) {
    if (ctp_freertos_current != NULL) ctp_freertos_current->has_position = false;
    ctp_freertos_runs();
}

/* The position of the caller, for ctp_freertos_yields. Its functions have not returned while it waits. */
#ifdef CTP_READ_POSITION
#define CTP_FREERTOS_YIELDS() \
    do { \
        uint64_t ctp_position[3]; \
        __asm__ volatile(CTP_READ_POSITION \
                         : "=&r"(ctp_position[0]), "=&r"(ctp_position[1]), "=&r"(ctp_position[2])); \
        ctp_freertos_yields(ctp_position); \
    } while (0)
#else
#define CTP_FREERTOS_YIELDS() ctp_freertos_yields(NULL)
#endif
#define portYIELD_WITHIN_API() \
    do { \
        CTP_FREERTOS_YIELDS(); \
        portYIELD(); \
        portENTER_CRITICAL(); \
        ctp_freertos_returns(); \
        portEXIT_CRITICAL(); \
    } while (0)

/* Tasks. */
#define traceTASK_CREATE(task) ctp_freertos_created((task), (task)->pcTaskName)
#define traceTASK_DELETE(task) ctp_freertos_deleted((task))
#define traceMOVED_TASK_TO_READY_STATE(task) ctp_freertos_readied((task), __FILE__, __LINE__)
#define traceTASK_SWITCHED_IN() ctp_freertos_switched_in(pxCurrentTCB)
#define traceTASK_SWITCHED_OUT() \
    ctp_freertos_switched_out( \
        listIS_CONTAINED_WITHIN(&pxReadyTasksLists[pxCurrentTCB->uxPriority], \
                                &pxCurrentTCB->xStateListItem) != pdFALSE, \
        __FILE__, __LINE__)
#define traceTASK_INCREMENT_TICK(ticks) ctp_freertos_runs()

/* Waits. */
#define traceTASK_DELAY() ctp_freertos_blocks(CTP_TIMER, 0)
#define traceTASK_DELAY_UNTIL(ticks) ctp_freertos_blocks(CTP_TIMER, 0)
#define traceTASK_SUSPEND(task) \
    do { \
        if ((task) == pxCurrentTCB) ctp_freertos_blocks(CTP_UNKNOWN, 0); \
    } while (0)
#define traceTASK_NOTIFY_TAKE_BLOCK(index) ctp_freertos_blocks(CTP_USER, (uintptr_t)pxCurrentTCB)
#define traceTASK_NOTIFY_WAIT_BLOCK(index) ctp_freertos_blocks(CTP_USER, (uintptr_t)pxCurrentTCB)
#define traceEVENT_GROUP_WAIT_BITS_BLOCK(group, bits) ctp_freertos_blocks(CTP_USER, (uintptr_t)(group))
#define traceEVENT_GROUP_SYNC_BLOCK(group, set, bits) ctp_freertos_blocks(CTP_USER, (uintptr_t)(group))

/* Queues, semaphores and mutexes, which all are queues of the kernel. */
#define CTP_FREERTOS_IS_MUTEX(queue) ((queue)->uxQueueType == queueQUEUE_IS_MUTEX)
#define CTP_FREERTOS_WAIT(queue) \
    (CTP_FREERTOS_IS_MUTEX(queue) ? CTP_LOCK : (queue)->uxItemSize == 0 ? CTP_USER : CTP_CHANNEL)
#define CTP_FREERTOS_BLOCKS(queue) ctp_freertos_blocks(CTP_FREERTOS_WAIT(queue), (uintptr_t)(queue))
#define traceBLOCKING_ON_QUEUE_RECEIVE(queue) CTP_FREERTOS_BLOCKS(queue)
#define traceBLOCKING_ON_QUEUE_PEEK(queue) CTP_FREERTOS_BLOCKS(queue)
#define traceBLOCKING_ON_QUEUE_SEND(queue) CTP_FREERTOS_BLOCKS(queue)
#define traceQUEUE_DELETE(queue) ctp_closed(CTP_FREERTOS_WAIT(queue), (queue))
#define traceQUEUE_RECEIVE(queue) \
    do { \
        if (CTP_FREERTOS_IS_MUTEX(queue)) { \
            ctp_freertos_runs(); \
            ctp_acquired(CTP_LOCK, (queue)); \
        } \
    } while (0)
/* A new mutex is given by its creator, which has not taken it. */
#define traceQUEUE_SEND(queue) \
    do { \
        if (CTP_FREERTOS_IS_MUTEX(queue) && (queue)->u.xSemaphore.xMutexHolder != NULL) \
            ctp_released(CTP_LOCK, (queue)); \
    } while (0)

#endif /* CTP_FREERTOS_H */
