/* A small kernel with the names of FreeRTOS that program.c and ctp_freertos.h use. The trace macros
 * are called where the documentation of FreeRTOS says. All tasks run on one thread. */
#ifndef FREERTOS_H
#define FREERTOS_H

#include <stdint.h>

#include "FreeRTOSConfig.h"

#define pdFALSE 0
#define pdTRUE 1
#define pdPASS 1
#define portMAX_DELAY ((TickType_t)-1)
#define portYIELD() kernel_switch()
#define portENTER_CRITICAL() ((void)0)
#define portEXIT_CRITICAL() ((void)0)

typedef long BaseType_t;
typedef unsigned long UBaseType_t;
typedef unsigned long TickType_t;
typedef void (*TaskFunction_t)(void *);
typedef struct task *TaskHandle_t;
typedef struct queue *QueueHandle_t;
typedef struct queue *SemaphoreHandle_t;

void kernel_switch(void);

/* Every wait is without a limit. All stacks have the same size. */
BaseType_t xTaskCreate(TaskFunction_t function, const char *name, UBaseType_t stack_words,
                       void *argument, UBaseType_t priority, TaskHandle_t *created);
void vTaskDelay(TickType_t ticks);
void vTaskDelete(TaskHandle_t task);
void vTaskStartScheduler(void);

QueueHandle_t xQueueCreate(UBaseType_t length, UBaseType_t item_size);
BaseType_t xQueueSend(QueueHandle_t queue, const void *item, TickType_t ticks);
BaseType_t xQueueReceive(QueueHandle_t queue, void *item, TickType_t ticks);
SemaphoreHandle_t xSemaphoreCreateMutex(void);
BaseType_t xSemaphoreTake(SemaphoreHandle_t mutex, TickType_t ticks);

#endif
