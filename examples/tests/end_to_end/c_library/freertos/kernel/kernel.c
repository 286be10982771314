#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "FreeRTOS.h"

#define STACK_BYTES (64 * 1024)
#define MAX_TASKS 16

/* Which list a task is in. */
struct item {
    const void *list;
};

struct task {
    struct item xStateListItem;
    UBaseType_t uxPriority;
    char pcTaskName[configMAX_TASK_NAME_LEN];
    TaskFunction_t function;
    TickType_t wakes_at;
    ucontext_t context;
};

struct queue {
    const int *uxQueueType;
    UBaseType_t uxItemSize;
    UBaseType_t length, count;
    union {
        struct {
            TaskHandle_t xMutexHolder;
        } xSemaphore;
    } u;
    char items[64];
};

#define queueQUEUE_IS_MUTEX NULL
#define listIS_CONTAINED_WITHIN(of_priority, item) ((item)->list == (of_priority) ? pdTRUE : pdFALSE)

static const int is_queue = 1;
static int pxReadyTasksLists[configMAX_PRIORITIES];
static int delayed;
static struct task tasks[MAX_TASKS];
static size_t task_count;
static TickType_t now;
static struct task *pxCurrentTCB;

static void make_ready(struct task *task) {
    traceMOVED_TASK_TO_READY_STATE(task);
    task->xStateListItem.list = &pxReadyTasksLists[task->uxPriority];
}

static void make_all_ready(const void *list) {
    for (size_t i = 0; i < task_count; i++)
        if (tasks[i].xStateListItem.list == list && tasks[i].wakes_at <= now) make_ready(&tasks[i]);
}

static bool is_ready(const struct task *task) {
    return task->xStateListItem.list == &pxReadyTasksLists[task->uxPriority];
}

/* The next ready task after the current task, of the highest priority. The idle task is always ready. */
static struct task *select_task(void) {
    struct task *selected = NULL;
    for (size_t i = 1; i <= task_count; i++) {
        struct task *task = &tasks[((size_t)(pxCurrentTCB - tasks) + i) % task_count];
        bool is_better = selected == NULL || task->uxPriority > selected->uxPriority;
        if (is_ready(task) && is_better) selected = task;
    }
    return selected;
}

void kernel_switch(void) {
    struct task *previous = pxCurrentTCB;
    traceTASK_SWITCHED_OUT();
    pxCurrentTCB = select_task();
    traceTASK_SWITCHED_IN();
    if (pxCurrentTCB != previous) swapcontext(&previous->context, &pxCurrentTCB->context);
}

static void wait_in(const void *list, TickType_t wakes_at) {
    pxCurrentTCB->xStateListItem.list = list;
    pxCurrentTCB->wakes_at = wakes_at;
    portYIELD_WITHIN_API();
}

static void start(void) { pxCurrentTCB->function(NULL); }

BaseType_t xTaskCreate(TaskFunction_t function, const char *name, UBaseType_t stack_words,
                       void *argument, UBaseType_t priority, TaskHandle_t *created) {
    struct task *task = &tasks[task_count++];
    (void)stack_words, (void)argument, (void)created;
    task->function = function;
    task->uxPriority = priority;
    strncpy(task->pcTaskName, name, sizeof task->pcTaskName - 1);
    getcontext(&task->context);
    task->context.uc_stack.ss_sp = malloc(STACK_BYTES);
    task->context.uc_stack.ss_size = STACK_BYTES;
    makecontext(&task->context, start, 0);
    traceTASK_CREATE(task);
    make_ready(task);
    return pdPASS;
}

void vTaskDelay(TickType_t ticks) {
    traceTASK_DELAY();
    wait_in(&delayed, now + ticks);
}

void vTaskDelete(TaskHandle_t task) {
    (void)task;
    traceTASK_DELETE(pxCurrentTCB);
    wait_in(NULL, 0);
}

static void idle(void *unused) {
    (void)unused;
    for (;;) {
        usleep(1000);
        now++;
        traceTASK_INCREMENT_TICK(now);
        make_all_ready(&delayed);
        portYIELD();
    }
}

void vTaskStartScheduler(void) {
    xTaskCreate(idle, "IDLE", STACK_BYTES, NULL, 0, NULL);
    pxCurrentTCB = &tasks[0];
    traceTASK_SWITCHED_IN();
    setcontext(&pxCurrentTCB->context);
}

QueueHandle_t xQueueCreate(UBaseType_t length, UBaseType_t item_size) {
    struct queue *queue = calloc(1, sizeof *queue);
    queue->uxQueueType = &is_queue;
    queue->length = length;
    queue->uxItemSize = item_size;
    return queue;
}

BaseType_t xQueueSend(QueueHandle_t queue, const void *item, TickType_t ticks) {
    (void)ticks;
    while (queue->count == queue->length) {
        traceBLOCKING_ON_QUEUE_SEND(queue);
        wait_in(queue, 0);
    }
    traceQUEUE_SEND(queue);
    queue->u.xSemaphore.xMutexHolder = NULL;
    if (item != NULL) memcpy(&queue->items[queue->count * queue->uxItemSize], item, queue->uxItemSize);
    queue->count++;
    make_all_ready(queue);
    return pdPASS;
}

BaseType_t xQueueReceive(QueueHandle_t queue, void *item, TickType_t ticks) {
    (void)ticks;
    while (queue->count == 0) {
        traceBLOCKING_ON_QUEUE_RECEIVE(queue);
        wait_in(queue, 0);
    }
    traceQUEUE_RECEIVE(queue);
    queue->count--;
    if (item != NULL) {
        memcpy(item, queue->items, queue->uxItemSize);
        memmove(queue->items, &queue->items[queue->uxItemSize], queue->count * queue->uxItemSize);
    }
    make_all_ready(queue);
    return pdPASS;
}

SemaphoreHandle_t xSemaphoreCreateMutex(void) {
    struct queue *mutex = xQueueCreate(1, 0);
    mutex->uxQueueType = queueQUEUE_IS_MUTEX;
    xQueueSend(mutex, NULL, 0);
    return mutex;
}

BaseType_t xSemaphoreTake(SemaphoreHandle_t mutex, TickType_t ticks) {
    xQueueReceive(mutex, NULL, ticks);
    mutex->u.xSemaphore.xMutexHolder = pxCurrentTCB;
    return pdPASS;
}
