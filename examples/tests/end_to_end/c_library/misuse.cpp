// Coroutines of C++20 that wait and end in unusual ways, one scene at a time. The program prints the
// events that the trace should have, as misuse.c does.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

#include "ctp.hpp"

static void expect(const char *name, const char *events) {
    std::printf("%s %s\n", name, events);
    std::fflush(stdout);
}

// A coroutine that its owner destroys. An exception in its body leaves resume().
struct task {
    struct promise_type : ctp::traced {
        task get_return_object() {
            return task(std::coroutine_handle<promise_type>::from_promise(*this));
        }
        void return_void() {}
        void unhandled_exception() { throw; }
    };

    explicit task(std::coroutine_handle<promise_type> handle) : handle(handle) {}
    task(task &&other) noexcept : handle(std::exchange(other.handle, nullptr)) {}
    ~task() {
        if (handle) handle.destroy();
    }

    std::coroutine_handle<promise_type> handle;
};

// A coroutine that another coroutine awaits. Its exception reaches the coroutine that awaits it.
struct step {
    struct promise_type : ctp::traced {
        struct last {
            bool await_ready() noexcept { return false; }
            std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> handle) noexcept {
                return handle.promise().continuation;
            }
            void await_resume() noexcept {}
        };
        step get_return_object() {
            return step{std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        ctp::ends<last> final_suspend() noexcept { return ends_with(last{}); }
        void return_void() {}
        void unhandled_exception() { error = std::current_exception(); }

        std::coroutine_handle<> continuation;
        std::exception_ptr error;
    };

    explicit step(std::coroutine_handle<promise_type> handle) : handle(handle) {}
    step(step &&other) noexcept : handle(std::exchange(other.handle, nullptr)) {}
    ~step() {
        if (handle) handle.destroy();
    }

    bool await_ready() const noexcept { return false; }
    ctp::wait ctp_wait() const noexcept { return ctp::coroutine(handle.promise().id()); }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> continuation) noexcept {
        handle.promise().continuation = continuation;
        return handle;
    }
    void await_resume() const {
        if (handle.promise().error) std::rethrow_exception(handle.promise().error);
    }

    std::coroutine_handle<promise_type> handle;
};

struct refuses {
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<>) const { throw std::runtime_error("refused"); }
    void await_resume() const noexcept {}
};

struct goes_on {
    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<>) const noexcept { return false; }
    void await_resume() const noexcept {}
};

// A coroutine that starts at once, and frees itself at its end.
struct eager {
    struct promise_type : ctp::traced {
        promise_type() : ctp::traced("eager") {}
        eager get_return_object() { return {}; }
        ctp::starts<std::suspend_never> initial_suspend(
            const char *function = __builtin_FUNCTION(), const char *file = __builtin_FILE(),
            std::uint_least32_t line = __builtin_LINE()) {
            return starts_with(std::suspend_never{}, function, {file, line});
        }
        ctp::ends<std::suspend_never> final_suspend() noexcept {
            return ends_with(std::suspend_never{});
        }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
};

// The coroutine that waits for a file.
static std::coroutine_handle<> reader;

// An awaiter that cannot be copied or moved, and that knows its descriptor.
struct file_awaiter {
    explicit file_awaiter(int fd) : fd(fd) {}
    file_awaiter(const file_awaiter &) = delete;
    bool await_ready() const noexcept { return fd < 0; }
    ctp::wait ctp_wait() const noexcept { return ctp::readable(fd); }
    void await_suspend(std::coroutine_handle<> handle) const noexcept { reader = handle; }
    int await_resume() const noexcept { return fd; }
    int fd;
};

struct file {
    int fd;
    file_awaiter operator co_await() && noexcept { return file_awaiter(fd); }
};

struct other_file {
    int fd;
};

static file_awaiter operator co_await(const other_file &file) noexcept {
    return file_awaiter(file.fd);
}

static eager reads_files() {
    other_file second{8};
    const int first = co_await file{7};
    if (first + co_await second != 15) std::abort();
    if (co_await file{-1} != -1) std::abort(); // is ready, so that nothing is recorded
}

static void awaiters_by_operator() {
    reads_files();
    reader.resume();
    reader.resume();
    expect("eager", "BRFRFRD");
}

static task waits_forever() { co_await std::suspend_always{}; }

static void destroyed_while_waiting() {
    {
        task task = waits_forever();
        task.handle.resume();
    }
    expect("waits_forever", "BRSD");
}

static task never_starts() { co_return; }

static void destroyed_before_the_start() {
    { task task = never_starts(); }
    expect("never_starts", "BD");
}

static task elsewhere() { co_await std::suspend_always{}; }

static void destroyed_on_another_thread() {
    task mine = elsewhere();
    mine.handle.resume();
    std::thread([&mine] { task taken = std::move(mine); }).join();
    expect("elsewhere", "BRSD");
}

static step fails() {
    co_await goes_on{};
    throw std::runtime_error("failed");
}

static task catches() {
    try {
        co_await fails();
    } catch (const std::runtime_error &) {
    }
    co_await std::suspend_always{};
}

// Symmetric transfer into a coroutine and back, with an exception on the way back.
static void exception_through_coroutines() {
    task task = catches();
    task.handle.resume();
    task.handle.resume();
    if (!task.handle.done()) std::abort();
    expect("fails", "BRSRD");
    expect("catches", "BRSRSRD");
}

static task is_refused() {
    try {
        co_await refuses{};
    } catch (const std::runtime_error &) {
    }
    co_await std::suspend_always{};
}

static void exception_in_await_suspend() {
    {
        task task = is_refused();
        task.handle.resume();
    }
    expect("is_refused", "BRSRSD");
}

static task throws() {
    co_await std::suspend_always{};
    throw std::runtime_error("left");
}

static void exception_leaves_resume() {
    {
        task task = throws();
        task.handle.resume();
        try {
            task.handle.resume();
            std::abort();
        } catch (const std::runtime_error &) {
        }
    }
    expect("throws", "BRSRD");
}

// A coroutine whose exception leaves resume(), and whose frame is never destroyed.
struct rethrowing {
    struct promise_type : ctp::traced {
        rethrowing get_return_object() {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        void return_void() {}
        void unhandled_exception() {
            ends_by_exception();
            throw;
        }
    };
    std::coroutine_handle<promise_type> handle;
};

static rethrowing rethrows() {
    throw std::runtime_error("left");
    co_return;
}

static void death_by_exception() {
    static rethrowing coroutine = rethrows();
    try {
        coroutine.handle.resume();
        std::abort();
    } catch (const std::runtime_error &) {
    }
    if (!coroutine.handle.done()) std::abort();
    expect("rethrows", "BRD");
}

static task ends_program() {
    std::exit(0);
    co_return;
}

static void exit_inside_a_coroutine() {
    expect("ends_program", "BR");
    task task = ends_program();
    task.handle.resume();
}

static task is_static() { co_await std::suspend_always{}; }

static void destroyed_after_main() {
    static task task = is_static();
    task.handle.resume();
    expect("is_static", "BRSD");
}

// A trace without a coroutine, and one that moves.
static void moved_traces() {
    ctp::trace empty;
    empty.run();
    empty.suspend(ctp::yield(), {nullptr, 0});
    ctp::trace first("moves", CTP_KIND_UNKNOWN, {__FILE__, __LINE__});
    ctp::trace second(std::move(first));
    first.run();
    second.run();
    empty = std::move(second);
    empty.suspend(ctp::user(7).idle(), {__FILE__, __LINE__});
    empty = ctp::trace();
    expect("moves", "BRSD");
}

int main(int count, char **arguments) {
    static const struct {
        const char *name;
        void (*play)();
    } scenes[] = {
        {"operator", awaiters_by_operator},
        {"destroy", destroyed_while_waiting},
        {"unstarted", destroyed_before_the_start},
        {"thread", destroyed_on_another_thread},
        {"exception", exception_through_coroutines},
        {"refused", exception_in_await_suspend},
        {"leaves", exception_leaves_resume},
        {"rethrown", death_by_exception},
        {"exit", exit_inside_a_coroutine},
        {"static", destroyed_after_main},
        {"trace", moved_traces},
    };
    ctp_attach();
    for (const auto &scene : scenes)
        if (count == 2 && std::strcmp(arguments[1], scene.name) == 0) {
            scene.play();
            return 0;
        }
    return 2;
}
