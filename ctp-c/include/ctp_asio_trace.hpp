// The trace of a coroutine of Boost.Asio. Part of ctp_asio.hpp.
#ifndef CTP_ASIO_TRACE_HPP
#define CTP_ASIO_TRACE_HPP

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "ctp.hpp"
#include "ctp_asio_waits.hpp"

namespace ctp {
namespace detail {

class asio_run;

// The trace of a coroutine that co_spawn started. Branches of the coroutine (of && and ||) share the
// trace, and may use it on several threads at a time.
//
// A run is recorded by the handler that begins it, and its end on the same thread: by the wait in which
// that handler suspends the coroutine, or when the handler returns. Until then, other branches that
// run or begin to wait, on other threads, add no events. While no handler's run is recorded, the
// recorded wait is that which began last of those that have not ended.
class asio_trace {
public:
    asio_trace(const char *name, source_line at) : trace_(name, CTP_KIND_STACKLESS, at) {}

    // True once: for the function that begins the first run.
    bool takes_first_run() noexcept {
        return !has_started_.load(std::memory_order_relaxed) && !has_started_.exchange(true);
    }

    // A handler begins to run the coroutine. `ended` is the wait that this handler ends, or null.
    void enter(const asio_run *handler, asio_wait *ended) noexcept {
        std::lock_guard<std::mutex> lock(mutex_);
        const bool is_recorded = ended != nullptr && ended == recorded_;
        waits_.end(ended);
        if (is_recorded) recorded_ = nullptr;
        if (runner_ != nullptr) return;
        // A wake ends the recorded wait. A run without a wake is that of another branch.
        if (is_recorded) waker_.wake();
        run();
        runner_ = handler;
    }

    // A handler has returned. If the coroutine has not suspended in it, another branch waits, or an operation
    // without one of the tokens of ctp_asio.hpp.
    void leave(const asio_run *handler) noexcept {
        std::lock_guard<std::mutex> lock(mutex_);
        if (runner_ != handler) return;
        runner_ = nullptr;
        if (has_ended_) {
            trace_.died();
        } else {
            record_wait();
        }
    }

    // A branch begins to wait, in the innermost handler of this thread.
    asio_wait *suspend(wait what, source_line at, const asio_run *innermost) noexcept {
        std::lock_guard<std::mutex> lock(mutex_);
        asio_wait *entry = waits_.begin(what, at);
        if (runner_ != nullptr && runner_ != innermost) return entry;
        if (runner_ == nullptr) run();
        runner_ = nullptr;
        record_wait();
        return entry;
    }

    // An operation was destroyed, and will not complete.
    void abandon(asio_wait *wait) noexcept {
        std::lock_guard<std::mutex> lock(mutex_);
        if (recorded_ == wait) recorded_ = nullptr;
        waits_.end(wait);
    }

    // The coroutine has ended. If the recorded run is that of a handler that has not returned yet, on another
    // thread, the death is recorded when that handler returns.
    void end(const asio_run *innermost) noexcept {
        std::lock_guard<std::mutex> lock(mutex_);
        has_ended_ = true;
        if (runner_ != nullptr && runner_ != innermost) return;
        runner_ = nullptr;
        trace_.died();
    }

    std::uint64_t id() const noexcept { return trace_.id(); }

private:
    void run() noexcept {
        trace_.run();
        // Not in the constructor: the recorder may come later.
        if (!has_waker_) {
            waker_ = trace_.waker();
            has_waker_ = trace_.id() != 0;
        }
    }

    // A wait that is not known has no line, and is not compared with other waits.
    void record_wait() noexcept {
        recorded_ = waits_.latest();
        if (recorded_ == nullptr) {
            trace_.suspend(wait{}.idle(), source_line{nullptr, 0});
        } else {
            trace_.suspend(waits_.are_several() ? recorded_->what.several() : recorded_->what, recorded_->at);
        }
    }

    std::atomic<bool> has_started_ = false;
    bool has_waker_ = false;
    bool has_ended_ = false;
    std::mutex mutex_;
    trace trace_;
    ctp::waker waker_;
    asio_waits waits_;
    // The wait of the latest suspend, while it has not ended.
    const asio_wait *recorded_ = nullptr;
    // The handler whose run is recorded. Null while the coroutine is recorded as waiting.
    const asio_run *runner_ = nullptr;
};

using asio_trace_ptr = std::shared_ptr<asio_trace>;

// The wait for an operation, which the operation's handler owns.
class asio_pending {
public:
    // Records the suspend.
    inline asio_pending(asio_trace_ptr trace, wait what, source_line at) noexcept;
    asio_pending(asio_pending &&other) noexcept = default;
    asio_pending &operator=(asio_pending &&) = delete;
    ~asio_pending() {
        if (trace_ != nullptr) trace_->abandon(wait_);
    }

private:
    friend class asio_run;
    asio_trace_ptr trace_;
    asio_wait *wait_;
};

// A handler that runs code of a coroutine on this thread. A handler may run inside another handler.
class asio_run {
public:
    explicit asio_run(asio_trace_ptr trace) noexcept : asio_run(std::move(trace), nullptr) {}
    explicit asio_run(asio_pending &&completed) noexcept
        : asio_run(std::move(completed.trace_), completed.wait_) {}
    asio_run(const asio_run &) = delete;
    asio_run &operator=(const asio_run &) = delete;
    ~asio_run() {
        trace_->leave(this);
        innermost() = outer_;
    }

    // The innermost handler of this thread. Null outside of handlers of recorded coroutines.
    static const asio_run *&innermost() noexcept {
        static thread_local const asio_run *run = nullptr;
        return run;
    }

private:
    asio_run(asio_trace_ptr trace, asio_wait *ended) noexcept
        : trace_(std::move(trace)), outer_(innermost()) {
        innermost() = this;
        trace_->enter(this, ended);
    }

    asio_trace_ptr trace_;
    const asio_run *outer_;
};

inline asio_pending::asio_pending(asio_trace_ptr trace, wait what, source_line at) noexcept
    : trace_(std::move(trace)), wait_(trace_->suspend(what, at, asio_run::innermost())) {}

} // namespace detail
} // namespace ctp

#endif // CTP_ASIO_TRACE_HPP
