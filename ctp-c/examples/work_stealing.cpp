// A scheduler like that of brpc: many fibers on a few worker threads that steal from each other, with
// waits on counters ("butex") and on file descriptors. The stacks of the fibers are switched by
// Boost.Context. The lines that the recording needs end with "// ctp".
//
// The program on it has a fault: 47 connections are closed without waking the fibers that read from them,
// while other fibers run. It prints its connections, and what its fibers did.
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/context/fiber.hpp>

#include "ctp.hpp" // ctp

struct fiber {
    ctp_coroutine trace; // ctp
    ctp_waker waker; // ctp
    boost::context::fiber own;    // where the fiber goes on
    boost::context::fiber worker; // where the worker goes on
    int ran_on = -1;
};

// What a worker does after a fiber has switched to it.
enum class remains { nothing, to_unlock, to_queue };

struct worker {
    int number;
    std::mutex mutex;
    std::deque<fiber *> bound, ready; // others steal only from the second
    fiber *running = nullptr;
    remains remaining = remains::nothing;
    std::mutex *locked = nullptr;
};

static std::deque<worker> workers;
static thread_local worker *of_this_thread;
static std::atomic<int> migrations, healthy_ended;
static std::atomic<bool> is_stopping;

// A fiber goes on with another worker after each switch. In a function of its own, so that the compiler
// cannot keep the address of the thread-local variable from before a switch.
[[gnu::noinline]] static worker *this_worker() {
    __asm__ volatile("");
    return of_this_thread;
}

static void ready_to_run(fiber *fiber) {
    worker &chosen = this_worker() != nullptr ? *this_worker() : workers.front();
    std::lock_guard<std::mutex> lock(chosen.mutex);
    chosen.ready.push_back(fiber);
}

// Only this worker can take the fiber.
static void ready_to_run_on(worker &chosen, fiber *fiber) {
    std::lock_guard<std::mutex> lock(chosen.mutex);
    chosen.bound.push_back(fiber);
}

// Suspends the fiber that runs, at the line of the caller.
[[gnu::noinline]] static void switch_to_worker(remains remaining, std::mutex *locked, ctp::wait what,
                                               ctp::source_line at) {
    fiber *self = this_worker()->running;
    this_worker()->remaining = remaining;
    this_worker()->locked = locked;
    ctp_suspend_with_stack_at(&self->trace, what.kind, what.resource, at.file, at.number); // ctp
    self->worker = std::move(self->worker).resume();
}

// Lets other fibers run, and goes on on the next worker.
static void yield(const char *file = __builtin_FILE(), std::uint_least32_t line = __builtin_LINE()) {
    switch_to_worker(remains::to_queue, nullptr, ctp::yield(), {file, line});
}

// A counter on which fibers wait, like a futex.
struct butex {
    std::mutex mutex;
    std::atomic<int> value = 0;
    std::deque<fiber *> waiting;
};

// Waits unless the value has changed. The worker unlocks the butex after the switch, so that no other
// worker resumes the fiber before.
static void butex_wait(butex &butex, int expected, ctp::wait what, ctp::source_line at) {
    butex.mutex.lock();
    if (butex.value != expected) {
        butex.mutex.unlock();
        return;
    }
    butex.waiting.push_back(this_worker()->running);
    switch_to_worker(remains::to_unlock, &butex.mutex, what, at);
}

static void butex_wake_all(butex &butex) {
    std::deque<fiber *> woken;
    {
        std::lock_guard<std::mutex> lock(butex.mutex);
        butex.value++;
        woken.swap(butex.waiting);
    }
    for (fiber *fiber : woken) {
        ctp_wake(&fiber->waker); // ctp
        ready_to_run(fiber);
    }
}

static void start(const char *name, std::function<void()> body, const char *file = __builtin_FILE(),
                  std::uint_least32_t line = __builtin_LINE()) {
    fiber *started = new fiber{};
    ctp_born_at(&started->trace, name, CTP_KIND_STACKFUL, file, line); // ctp
    started->waker = ctp_waker_of(&started->trace); // ctp
    started->own = boost::context::fiber([started, body](boost::context::fiber &&worker) {
        started->worker = std::move(worker);
        body();
        ctp_died(&started->trace); // ctp
        return std::move(started->worker);
    });
    ready_to_run(started);
}

static fiber *take_from(worker &owner, std::deque<fiber *> &queue) {
    std::lock_guard<std::mutex> lock(owner.mutex);
    if (queue.empty()) return nullptr;
    fiber *taken = queue.front();
    queue.pop_front();
    return taken;
}

static fiber *take_or_steal(worker &self) {
    if (fiber *own = take_from(self, self.bound)) return own;
    for (std::size_t i = 0; i < workers.size(); i++) {
        worker &owner = workers[(self.number + i) % workers.size()];
        if (fiber *taken = take_from(owner, owner.ready)) return taken;
    }
    return nullptr;
}

static void run(worker &self, fiber *next) {
    if (next->ran_on >= 0 && next->ran_on != self.number) migrations++;
    next->ran_on = self.number;
    self.running = next;
    ctp_run(&next->trace); // ctp
    next->own = std::move(next->own).resume();
    const remains remaining = std::exchange(self.remaining, remains::nothing);
    if (!next->own) delete next;
    else if (remaining == remains::to_queue) ready_to_run_on(workers[(self.number + 1) % workers.size()], next);
    else if (remaining == remains::to_unlock) self.locked->unlock();
}

static void work(worker &self) {
    of_this_thread = &self;
    while (!is_stopping)
        if (fiber *next = take_or_steal(self)) run(self, next);
        else std::this_thread::sleep_for(std::chrono::microseconds(100));
}

// The butex of each descriptor on which a fiber has waited.
static std::mutex descriptors_mutex;
static std::map<int, butex> descriptors;

static butex &butex_of(int fd) {
    std::lock_guard<std::mutex> lock(descriptors_mutex);
    return descriptors[fd];
}

static void until_readable(int fd, const char *file = __builtin_FILE(),
                           std::uint_least32_t line = __builtin_LINE()) {
    butex &changes = butex_of(fd);
    const int seen = changes.value;
    pollfd polled{fd, POLLIN, 0};
    if (poll(&polled, 1, 0) == 0) butex_wait(changes, seen, ctp::readable(fd), {file, line});
}

// Wakes the fibers that wait for a descriptor on which something was written.
static void send_to(int fd, int reader) {
    if (write(fd, "x", 1) == 1) butex_wake_all(butex_of(reader));
}

[[gnu::noinline]] static void read_request(int fd) {
    until_readable(fd); // waits here
    char byte;
    if (read(fd, &byte, 1) != 1) std::abort();
}

[[gnu::noinline]] static void serve(int fd) {
    read_request(fd); // serves here
    __asm__ volatile(""); // keeps the call from becoming a jump
}

static void hop(int count) {
    for (int i = 0; i < count; i++) yield();
    healthy_ended++;
}

// Closes a connection without waking the fiber that reads from it: the fault of this program.
static void close_idle(int fd) {
    std::printf("forgotten %d\n", fd);
    ctp::closed(ctp::readable(fd)); // ctp
    close(fd);
}

static bool has_reader(int fd) {
    std::lock_guard<std::mutex> lock(butex_of(fd).mutex);
    return !butex_of(fd).waiting.empty();
}

static void expect(const std::string &name, int hops) {
    std::string events = "BR";
    for (int i = 0; i < hops; i++) events += "SR";
    std::printf("%s %sD\n", name.c_str(), events.c_str());
}

int main() {
    ctp_attach(); // ctp
    for (int i = 0; i < 4; i++) workers.emplace_back().number = i;
    std::vector<std::thread> threads;
    for (worker &worker : workers) threads.emplace_back(work, std::ref(worker));
    static int pipes[50][2];
    for (auto &ends : pipes) {
        if (pipe(ends) != 0) return 1;
        start("connection", [&ends] { serve(ends[0]); });
    }
    for (int i = 0; i < 20; i++) {
        const std::string name = "healthy-" + std::to_string(i);
        start(name.c_str(), [] { hop(500); });
        expect(name, 500);
    }
    for (auto &ends : pipes)
        while (!has_reader(ends[0])) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    for (int i = 0; i < 3; i++) send_to(pipes[i][1], pipes[i][0]);
    for (int i = 3; i < 50; i++) close_idle(pipes[i][0]);
    std::this_thread::sleep_for(std::chrono::seconds(4));
    while (healthy_ended < 20) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    is_stopping = true;
    for (auto &thread : threads) thread.join();
    std::printf("migrations %d\n", migrations.load());
    std::fflush(stdout);
    _exit(0);
}
