// The trace of a coroutine of Boost.Asio, and the executor that carries the trace. Part of ctp_asio.hpp.
#ifndef CTP_ASIO_TRACE_HPP
#define CTP_ASIO_TRACE_HPP

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/require.hpp>

#include "ctp.hpp"

namespace ctp {
namespace detail {

// The trace of a coroutine that co_spawn started. Branches of the coroutine (of && and ||) share the
// trace, and may use it on several threads at a time.
class asio_trace {
public:
    asio_trace(const char *name, source_line at)
        : trace_(name, CTP_KIND_STACKLESS, at), spawned_at_(at) {}

    // True once: for the function that begins the first run.
    bool takes_first_run() noexcept {
        return !has_started_.load(std::memory_order_relaxed) && !has_started_.exchange(true);
    }

    // The first run.
    void start() noexcept {
        std::lock_guard<std::mutex> lock(mutex_);
        run();
    }

    // A coroutine with several branches waits for several things, and runs before each new wait.
    void suspend(wait what, source_line at) noexcept {
        std::lock_guard<std::mutex> lock(mutex_);
        if (!is_running_) run();
        trace_.suspend(waits_ == 0 ? what : what.several(), at);
        is_running_ = false;
        waits_++;
    }

    // An operation has completed. While other branches wait, the coroutine is recorded as waiting.
    // Returns the number of the run that begins.
    std::uint64_t resume() noexcept {
        std::lock_guard<std::mutex> lock(mutex_);
        if (waits_ > 0) waits_--;
        if (waits_ == 0) {
            waker_.wake();
            run();
        }
        return runs_;
    }

    // The handler that began this run has returned. A coroutine that still runs waits for an operation
    // without one of the tokens of this file.
    void leave(std::uint64_t run) noexcept {
        std::lock_guard<std::mutex> lock(mutex_);
        if (!is_running_ || runs_ != run) return;
        trace_.suspend(wait{}, spawned_at_);
        is_running_ = false;
    }

    void end() noexcept {
        std::lock_guard<std::mutex> lock(mutex_);
        trace_.died();
        is_running_ = false;
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
        is_running_ = true;
        runs_++;
    }

    std::atomic<bool> has_started_ = false;
    std::mutex mutex_;
    trace trace_;
    ctp::waker waker_;
    source_line spawned_at_;
    std::uint64_t runs_ = 0;
    std::uint32_t waits_ = 0;
    bool is_running_ = false;
    bool has_waker_ = false;
};

using asio_trace_ptr = std::shared_ptr<asio_trace>;

// The executor of a coroutine that is recorded: that of the user, with the trace of the coroutine.
class traced_executor {
public:
    using inner_type = boost::asio::any_io_executor;

    traced_executor(inner_type inner, asio_trace_ptr trace) noexcept
        : inner_(std::move(inner)), trace_(std::move(trace)) {}

    const inner_type &inner() const noexcept { return inner_; }
    const asio_trace_ptr &trace() const noexcept { return trace_; }

    template <class Property>
        requires boost::asio::can_query<const inner_type &, Property>::value
    typename boost::asio::query_result<const inner_type &, Property>::type
    query(const Property &property) const {
        return boost::asio::query(inner_, property);
    }

    template <class Property>
        requires boost::asio::can_require<const inner_type &, Property>::value
    traced_executor require(const Property &property) const {
        return {boost::asio::require(inner_, property), trace_};
    }

    template <class Property>
        requires boost::asio::can_prefer<const inner_type &, Property>::value
    traced_executor prefer(const Property &property) const {
        return {boost::asio::prefer(inner_, property), trace_};
    }

    // The first function begins the first run. No handler of this file does.
    template <class Function> void execute(Function &&function) const {
        if (!trace_->takes_first_run()) {
            inner_.execute(std::forward<Function>(function));
            return;
        }
        inner_.execute([begin = std::decay_t<Function>(std::forward<Function>(function)),
                        trace = trace_]() mutable {
            std::move(begin)();
            trace->leave(1);
        });
    }

    friend bool operator==(const traced_executor &, const traced_executor &) noexcept = default;

private:
    inner_type inner_;
    asio_trace_ptr trace_;
};

// The trace of the coroutine with this executor. Null for a coroutine that is not recorded.
inline asio_trace_ptr trace_of(const boost::asio::any_io_executor &executor) noexcept {
    const auto *traced = executor.target<traced_executor>();
    return traced == nullptr ? nullptr : traced->trace();
}

template <class Executor> asio_trace_ptr trace_of(const Executor &) noexcept { return nullptr; }

// The executor of the user. A coroutine that is spawned by a recorded coroutine has a trace of its own.
inline boost::asio::any_io_executor untraced(const boost::asio::any_io_executor &executor) {
    const auto *traced = executor.target<traced_executor>();
    return traced == nullptr ? executor : traced->inner();
}

} // namespace detail
} // namespace ctp

#endif // CTP_ASIO_TRACE_HPP
