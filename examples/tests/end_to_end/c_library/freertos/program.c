/* Tasks of FreeRTOS: a producer and a consumer, a task that ends, a task that waits for a queue to which
 * no task sends, and two tasks that take two mutexes in different orders. Prints the queue. */
#include <FreeRTOS.h>
#include <queue.h>
#include <semphr.h>
#include <task.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static QueueHandle_t numbers, orders;
static SemaphoreHandle_t first, second;

static void producer(void *unused) {
    (void)unused;
    for (int number = 0;; number++) {
        xQueueSend(numbers, &number, portMAX_DELAY);
        vTaskDelay(20);
    }
}

static void consumer(void *unused) {
    int number;
    (void)unused;
    for (;;) xQueueReceive(numbers, &number, portMAX_DELAY);
}

static void waiter(void *unused) {
    int order;
    (void)unused;
    xQueueReceive(orders, &order, portMAX_DELAY); /* no task sends */
    abort();
}

static void takes_both(SemaphoreHandle_t earlier, SemaphoreHandle_t later) {
    xSemaphoreTake(earlier, portMAX_DELAY);
    vTaskDelay(50);
    xSemaphoreTake(later, portMAX_DELAY); /* never */
    abort();
}

static void in_order(void *unused) {
    (void)unused;
    takes_both(first, second);
}

static void in_reverse(void *unused) {
    (void)unused;
    takes_both(second, first);
}

static void brief(void *unused) {
    (void)unused;
    vTaskDelay(5);
    vTaskDelete(NULL);
}

static void ends_the_program(void *unused) {
    (void)unused;
    vTaskDelay(3000);
    printf("orders %llu\n", (unsigned long long)(uintptr_t)orders);
    fflush(stdout);
    _exit(0);
}

static void create(TaskFunction_t function, const char *name) {
    if (xTaskCreate(function, name, 8192, NULL, 2, NULL) != pdPASS) abort();
}

int main(void) {
    ctp_attach();
    numbers = xQueueCreate(4, sizeof(int));
    orders = xQueueCreate(4, sizeof(int));
    first = xSemaphoreCreateMutex();
    second = xSemaphoreCreateMutex();
    create(producer, "producer");
    create(consumer, "consumer");
    create(waiter, "waiter");
    create(in_order, "in order");
    create(in_reverse, "in reverse");
    create(brief, "brief");
    create(ends_the_program, "end");
    vTaskStartScheduler();
}
