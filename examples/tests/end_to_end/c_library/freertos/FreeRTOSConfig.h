/* The configuration of the tasks in program.c, for FreeRTOS and for the kernel in kernel/. */
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

#include <stdlib.h>

#define configASSERT(holds) \
    do { \
        if (!(holds)) abort(); \
    } while (0)
#define configIDLE_SHOULD_YIELD 1
#define configMAX_PRIORITIES 5
#define configMAX_TASK_NAME_LEN 16
#define configMINIMAL_STACK_SIZE 4096
#define configTICK_RATE_HZ 1000
#define configTOTAL_HEAP_SIZE (1024 * 1024)
#define configUSE_16_BIT_TICKS 0
#define configUSE_IDLE_HOOK 0
#define configUSE_MUTEXES 1
#define configUSE_PREEMPTION 1
#define configUSE_TICK_HOOK 0
#define INCLUDE_vTaskDelay 1
#define INCLUDE_vTaskDelete 1
#define INCLUDE_vTaskSuspend 1

#include <ctp_freertos.h>

#endif
