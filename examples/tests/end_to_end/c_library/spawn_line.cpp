// A coroutine whose promise has an initial_suspend of its own. It waits when the program ends.
#include <chrono>
#include <exception>
#include <thread>

#include "ctp.hpp"

struct task {
    struct promise_type : ctp::traced {
        auto initial_suspend(const char *function = __builtin_FUNCTION()) {
            return starts_with(std::suspend_never{}, function,
                               std::coroutine_handle<promise_type>::from_promise(*this));
        }
        auto final_suspend() noexcept { return ends_with(std::suspend_never{}); }
        task get_return_object() { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
};

static task waits(int count) {
    for (int i = 0; i < count; i++) {
        co_await std::suspend_always{};
    }
}

int main() {
    ctp_attach();
    waits(3);
    // The recorder reads meanwhile where the program's code is.
    std::this_thread::sleep_for(std::chrono::seconds(1));
}
