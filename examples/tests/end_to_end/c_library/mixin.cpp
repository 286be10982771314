// Coroutines with a promise type of coroTracer's SDK, one scene at a time. The program prints the events
// that the trace should have, as misuse.cpp does.
#include <coroTracer.h>

#include <array>
#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

static void expect(const char *name, const char *events) {
    std::printf("%s %s\n", name, events);
    std::fflush(stdout);
}

static void require(bool holds) {
    if (!holds) std::abort();
}

// A coroutine that starts at once, and whose frame is freed at its end.
struct eager {
    struct promise_type : public corotracer::PromiseMixin {
        eager get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
};

// An awaitable that returns what it owns.
struct letter {
    std::array<int, 64> pages;

    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    int await_resume() const noexcept { return pages[63]; }
};

static letter letter_with(int page) {
    letter written{};
    written.pages.fill(page);
    return written;
}

static eager reads_letters() {
    letter kept = letter_with(1);
    require(co_await kept == 1);
    require(co_await letter_with(2) == 2);
    co_await std::suspend_never{};
}

static void scene_awaits() {
    expect("reads_letters", "BRSRSRD");
    auto handle = reads_letters().handle;
    handle.resume();
    handle.resume();
}

static void scene_destroy() {
    expect("reads_letters", "BRSD");
    reads_letters().handle.destroy();
}

// A promise that turns numbers into letters.
struct converting {
    struct promise_type : public corotracer::PromiseMixin {
        converting get_return_object() {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        auto await_transform(int page) { return PromiseMixin::await_transform(letter_with(page)); }
        auto await_transform(letter written) {
            return corotracer::TracedAwaiter<letter>{written, this};
        }
        auto await_transform(char page, const char *function = __builtin_FUNCTION(),
                             const char *file = __builtin_FILE(),
                             std::uint_least32_t line = __builtin_LINE()) {
            return PromiseMixin::await_transform(letter_with(page), function, file, line);
        }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
};

static converting awaits_numbers() {
    require(co_await 3 == 3);
    require(co_await letter_with(4) == 4);
}

static converting awaits_characters() { require(co_await 'a' == 'a'); }

static void scene_converts() {
    expect("await_transform", "BRSRSRD");
    auto handle = awaits_numbers().handle;
    handle.resume();
    handle.resume();
    expect("awaits_characters", "BRSRD");
    awaits_characters().handle.resume();
}

// An awaiter that writes the events itself.
struct writing {
    struct promise_type : public corotracer::PromiseMixin {
        writing get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        struct pause {
            promise_type *promise;
            bool await_ready() const noexcept { return false; }
            void await_suspend(std::coroutine_handle<> handle) const noexcept {
                promise->write_trace(reinterpret_cast<std::uint64_t>(handle.address()), false);
            }
            void await_resume() const noexcept { promise->write_trace(0, true); }
        };
        pause await_transform(int) { return {this}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
};

static writing pauses() { co_await 0; }

static void scene_writes() {
    expect("", "BRSRD");
    pauses().handle.resume();
}

// What the SDK does not have: a birth before the first run, and a death before the frame is freed.
struct kept {
    struct promise_type : public corotracer::PromiseMixin {
        kept get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        auto initial_suspend(const char *function = __builtin_FUNCTION(),
                             const char *file = __builtin_FILE(),
                             std::uint_least32_t line = __builtin_LINE()) noexcept {
            return starts_with(std::suspend_always{}, function, {file, line});
        }
        auto final_suspend() noexcept { return ends_with(std::suspend_always{}); }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
};

static kept is_kept() { co_await std::suspend_never{}; }
static kept is_unstarted() { co_return; }

static void scene_kept() {
    expect("is_kept", "BRD");
    auto ended = is_kept().handle;
    ended.resume();
    require(ended.done());
    expect("is_unstarted", "BD");
    is_unstarted().handle.destroy();
}

struct scene {
    const char *name;
    void (*run)();
};

static const scene scenes[] = {
    {"awaits", scene_awaits}, {"destroy", scene_destroy}, {"converts", scene_converts},
    {"writes", scene_writes}, {"kept", scene_kept},
};

int main(int argc, char **argv) {
    corotracer::InitTracer();
    for (const scene &scene : scenes)
        if (argc == 2 && std::strcmp(argv[1], scene.name) == 0) {
            scene.run();
            return 0;
        }
    return 2;
}
