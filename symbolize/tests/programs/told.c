/* Prints where its functions are, and its own maps. */
#include <stdio.h>

__attribute__((noinline)) static int hidden(int n) {
    return n * 3;
}

static inline __attribute__((always_inline)) int twice(int n) {
    __asm__ volatile("" : "+r"(n));
    return n * 2;
}

__attribute__((noinline)) int visible(int n) {
    return hidden(n) + 1;
}

__attribute__((noinline)) int caller_of_inlined(int n) {
    return twice(n);
}

int main(void) {
    char line[512];
    printf("function hidden %p\n", (void *)hidden);
    printf("function visible %p\n", (void *)visible);
    printf("function caller_of_inlined %p\n", (void *)caller_of_inlined);
    printf("function main %p\n", (void *)main);
    printf("function libc_puts %p\n", (void *)puts);
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        fputs(line, stdout);
    return visible(1) + caller_of_inlined(2) == 8 ? 0 : 1;
}
