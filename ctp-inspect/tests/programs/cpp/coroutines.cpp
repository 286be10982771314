// C++20 coroutines of several kinds. The program prints the address, the caller and the function of each frame that it
// has not destroyed, then `ready`, and waits until its input ends.

#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

// What the program knows of a frame.
struct Known {
    std::string function;
    void *caller = nullptr;
    bool is_finished = false;
};

std::mutex lock;
std::map<void *, Known> frames;

void add(void *frame, const char *function) {
    std::lock_guard guard(lock);
    frames[frame].function = function;
}

void remove(void *frame) {
    std::lock_guard guard(lock);
    frames.erase(frame);
}

void set_caller(void *frame, void *caller) {
    std::lock_guard guard(lock);
    frames[frame].caller = caller;
}

void set_finished(void *frame) {
    std::lock_guard guard(lock);
    frames[frame].is_finished = true;
}

// A coroutine that another coroutine awaits. `Before` is what the promise has before the caller.
template <class Before> struct Task {
    struct promise_type {
        [[no_unique_address]] Before before;
        std::coroutine_handle<> caller;
        int result = 0;

        Task get_return_object() {
            return Task(std::coroutine_handle<promise_type>::from_promise(*this));
        }
        std::suspend_always initial_suspend() { return {}; }
        struct End {
            bool await_ready() noexcept { return false; }
            std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> self) noexcept {
                set_finished(self.address());
                auto caller = self.promise().caller;
                return caller ? caller : std::noop_coroutine();
            }
            void await_resume() noexcept {}
        };
        End final_suspend() noexcept { return {}; }
        void return_value(int value) { result = value; }
        void unhandled_exception() { std::abort(); }
    };

    explicit Task(std::coroutine_handle<promise_type> handle) : handle(handle) {}
    Task(Task &&other) : handle(std::exchange(other.handle, nullptr)) {}
    ~Task() {
        if (handle) {
            remove(handle.address());
            handle.destroy();
        }
    }

    bool await_ready() { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) {
        handle.promise().caller = caller;
        set_caller(handle.address(), caller.address());
        return handle;
    }
    int await_resume() { return handle.promise().result; }

    std::coroutine_handle<promise_type> handle;
};

struct Nothing {};
struct Bytes {
    char bytes[40] = {1};
};
using First = Task<Nothing>;
using Later = Task<Bytes>;

template <class T> T named(const char *function, T task) {
    add(task.handle.address(), function);
    return task;
}

// A coroutine that yields.
struct Generator {
    struct promise_type {
        int value = 0;

        Generator get_return_object() {
            return Generator{std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_always initial_suspend() { return {}; }
        std::suspend_always yield_value(int next) {
            value = next;
            return {};
        }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::abort(); }
    };

    std::coroutine_handle<promise_type> handle;
};

struct Forever {
    bool await_ready() { return false; }
    void await_suspend(std::coroutine_handle<>) {}
    void await_resume() {}
};

#define OUT_OF_LINE __attribute__((noinline))

namespace net {
OUT_OF_LINE First leaf(int value) {
    if (value < 0) {
        co_return value;
    }
    co_await Forever{};
    co_return value;
}

template <class T> OUT_OF_LINE First middle(T value) {
    int once = co_await named("net::leaf(int)", leaf(-1));
    co_return once + co_await named("net::leaf(int)", leaf(value));
}

struct Session {
    OUT_OF_LINE Later serve(int value);
};

Later Session::serve(int value) {
    co_return co_await named("net::middle<int>(int)", middle(value));
}
} // namespace net

OUT_OF_LINE Later accept_all(net::Session &session) {
    co_return co_await named("net::Session::serve(int)", session.serve(7));
}

OUT_OF_LINE First large(int value) {
    char bytes[400];
    bytes[value] = 1;
    co_await Forever{};
    co_return bytes[value + 1];
}

OUT_OF_LINE First huge(int value) {
    char bytes[300000];
    bytes[value] = 1;
    co_await Forever{};
    co_return bytes[value + 1];
}

OUT_OF_LINE First lost(int value) {
    co_return value;
}

OUT_OF_LINE Generator numbers(int from) {
    while (true) {
        co_yield from;
        from++;
    }
}

net::Session session;
std::vector<Later> roots;
std::vector<First> others;

void start(int count) {
    for (int n = 0; n < count; n++) {
        auto root = named("accept_all(net::Session&)", accept_all(session));
        root.handle.resume();
        std::lock_guard guard(lock);
        roots.push_back(std::move(root));
    }
}

template <class T> void start_one(std::vector<T> &list, const char *function, T task) {
    auto started = named(function, std::move(task));
    started.handle.resume();
    list.push_back(std::move(started));
}

// Coroutines that have run to their end, and whose handles are lost.
void lose(int count) {
    for (int n = 0; n < count; n++) {
        auto task = named("lost(int)", lost(n));
        task.handle.resume();
        std::exchange(task.handle, nullptr);
    }
}

// Frames that are destroyed again. Their memory keeps some of their words, and a part of it is used again without
// being overwritten.
void destroy(int count) {
    std::vector<First> few, many;
    for (int n = 0; n < count; n++) {
        start_one(few, "net::leaf(int)", net::leaf(1));
        start_one(many, "large(int)", large(1));
        start_one(many, "huge(int)", huge(1));
    }
    few.clear();
    many.clear();
    for (int n = 0; n < count; n++) {
        volatile char *used = static_cast<char *>(std::malloc(1000));
        used[999] = 1;
    }
}

int main() {
    destroy(50);
    start(20);
    lose(30);
    for (int n = 0; n < 40; n++) {
        start_one(others, "large(int)", large(1));
        if (n < 3) {
            start_one(others, "huge(int)", huge(1));
        }
        auto generator = numbers(n);
        add(generator.handle.address(), "numbers(int)");
        generator.handle.resume();
    }
    destroy(50);
    std::vector<std::thread> threads;
    for (int n = 0; n < 4; n++) {
        threads.emplace_back([] {
            start(15);
            lose(5);
            static std::mutex never;
            never.lock();
            while (true) {
                pause();
            }
        });
    }
    // The first thread gets the mutex, and the others wait for it.
    for (auto &thread : threads) {
        thread.detach();
    }
    while (true) {
        std::lock_guard guard(lock);
        if (roots.size() == 20 + 4 * 15 && frames.size() == 80 * 4 + 30 + 4 * 5 + 40 + 40 + 3) {
            break;
        }
    }
    usleep(100000);
    for (auto &[address, known] : frames) {
        std::printf("%s %p %p %s\n", known.is_finished ? "finished" : "live", address, known.caller,
                    known.function.c_str());
    }
    std::puts("ready");
    std::fflush(stdout);
    char byte;
    while (0 < read(0, &byte, 1)) {
    }
    _exit(0);
}
