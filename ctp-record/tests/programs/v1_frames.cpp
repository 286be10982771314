// A plain cTP v1 peer with C++20 coroutines: `v1_frames TRUTH`. Each coroutine suspends once, at the address of its
// frame. TRUTH receives a line for each: probe id, the address, and the function that resumes the frame. The program
// ends as soon as the recorder sleeps, so that the recorder has read all events while the frames existed.
#include <atomic>
#include <coroutine>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

namespace {

constexpr size_t ALLOCATED = 0x10, SLEEPING = 0x14, STATION = 1024, SLOT = 0x40;

char* memory;
int doorbell = -1;
FILE* truth;

template <typename T> std::atomic_ref<T> at(size_t offset) { return std::atomic_ref<T>(*reinterpret_cast<T*>(memory + offset)); }

uint64_t now_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return uint64_t(now.tv_sec) * 1000000000 + now.tv_nsec;
}

void attach() {
    int file = open(getenv("CTP_SHM_PATH"), O_RDWR);
    struct stat status;
    if (file < 0 || fstat(file, &status) != 0) std::terminate();
    memory = static_cast<char*>(mmap(nullptr, status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    sockaddr_un address{AF_UNIX, {}};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", getenv("CTP_SOCK_PATH"));
    doorbell = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(doorbell, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) std::terminate();
}

void ring_if_asleep() {
    uint32_t asleep = 1;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (at<uint32_t>(SLEEPING).compare_exchange_strong(asleep, 0)) send(doorbell, "\1", 1, MSG_NOSIGNAL);
}

// The first event of a coroutine: it suspends at this address.
void suspends(void* frame) {
    uint32_t index = at<uint32_t>(ALLOCATED).fetch_add(1);
    size_t station = STATION * (1 + index), slot = station + SLOT;
    uint64_t probe_id = 0x7f0000000000 + station;
    at<uint64_t>(station).store(probe_id);
    at<uint64_t>(station + 8).store(now_ns());
    auto seq = at<uint64_t>(slot + 0x18);
    seq.store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    at<uint64_t>(slot).store(now_ns());
    at<uint64_t>(slot + 0x08).store(syscall(SYS_gettid));
    at<uint64_t>(slot + 0x10).store(reinterpret_cast<uint64_t>(frame));
    seq.store(2, std::memory_order_release);
    ring_if_asleep();
    fprintf(truth, "%lu %lu %lu\n", probe_id, reinterpret_cast<uint64_t>(frame), *static_cast<uint64_t*>(frame));
}

struct Task {
    struct promise_type {
        Task get_return_object() { return {}; }
        std::suspend_never initial_suspend() { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
};

struct Traced {
    bool await_ready() { return false; }
    void await_suspend(std::coroutine_handle<> waiting) { suspends(waiting.address()); }
    void await_resume() {}
};

int sink;

Task reads(int fd) {
    co_await Traced{};
    sink += fd;
}

Task writes(int fd) {
    co_await Traced{};
    sink -= fd;
}

}  // namespace

int main(int, char** arguments) {
    attach();
    truth = fopen(arguments[1], "w");
    for (int fd = 0; fd < 20; fd++) {
        reads(fd);
        writes(fd);
    }
    suspends(&sink);  // no frame
    fclose(truth);
    while (at<uint32_t>(SLEEPING).load() == 0) usleep(1000);
}
