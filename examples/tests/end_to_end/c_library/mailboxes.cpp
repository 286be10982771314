// Coroutines that wait for letters, written for coroTracer's SDK. Three of them are forgotten when their
// mailbox is closed. Others get letters for three seconds more. The program prints how many there are of
// each. WITH_WAKES adds what that SDK does not have.
#include <coroTracer.h>

#include <chrono>
#include <coroutine>
#include <cstdio>
#include <exception>
#include <thread>
#include <vector>

struct task {
    struct promise_type : public corotracer::PromiseMixin {
        task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
};

struct mailbox {
    std::vector<std::coroutine_handle<task::promise_type>> waiting;

    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<task::promise_type> handle) {
        waiting.push_back(handle);
#ifdef WITH_WAKES
        wakers.push_back(handle.promise().waker());
#endif
    }
    void await_resume() const noexcept {}

#ifdef WITH_WAKES
    std::vector<ctp::waker> wakers;
    ctp::wait ctp_wait() const noexcept { return ctp::channel(this); }
#endif
};

static task recipient(mailbox &mailbox, int *letters) {
    co_await mailbox;
    ++*letters;
}

static void resume(std::coroutine_handle<> handle) {
    handle.resume();
    if (handle.done()) handle.destroy();
}

static void deliver(mailbox &mailbox) {
    auto handle = mailbox.waiting.back();
    mailbox.waiting.pop_back();
#ifdef WITH_WAKES
    mailbox.wakers.back().wake();
    mailbox.wakers.pop_back();
#endif
    resume(handle);
}

static void close(mailbox &mailbox) {
    std::printf("forgotten %zu\n", mailbox.waiting.size());
#ifdef WITH_WAKES
    ctp::closed(ctp::channel(&mailbox));
#endif
    mailbox.waiting.clear();
}

int main() {
    corotracer::InitTracer();
    mailbox closed, busy;
    int letters = 0;
    for (int i = 0; i < 3; i++) resume(recipient(closed, &letters).handle);
    close(closed);
    for (int i = 0; i < 30; i++) {
        resume(recipient(busy, &letters).handle);
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        deliver(busy);
    }
    std::printf("ended %d\n", letters);
}
