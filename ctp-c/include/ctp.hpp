// Coroutines of C++20 for ctp-record. See docs/c-and-cpp.md.
//
// A promise type that inherits from ctp::traced is recorded: births, runs, waits with the line of the
// co_await, and deaths, also of coroutines that are destroyed while they wait. The scheduler adds the
// wakes (ctp::waker) and what is closed (ctp::closed).
#ifndef CTP_HPP
#define CTP_HPP

#include <concepts>
#include <coroutine>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "ctp.h"

namespace ctp {

// A line of the program. Functions take file and line as default arguments of their own, which are
// those of the caller, as with std::source_location. Older versions of clang have the built-in functions
// but no std::source_location.
struct source_line {
    const char *file;
    std::uint_least32_t number;
};

// What a coroutine waits for.
struct wait {
    std::uint32_t kind = CTP_UNKNOWN;
    std::uint64_t resource = 0;

    // The wait is expected to be long, like that of a listener.
    constexpr wait idle() const noexcept { return {kind | CTP_IDLE, resource}; }
    // The coroutine waits for several things, and this is one.
    constexpr wait several() const noexcept { return {kind | CTP_SEVERAL, resource}; }
};

constexpr wait readable(int fd) noexcept { return {CTP_READABLE, static_cast<std::uint64_t>(fd)}; }
constexpr wait writable(int fd) noexcept { return {CTP_WRITABLE, static_cast<std::uint64_t>(fd)}; }
// A deadline in nanoseconds of CLOCK_MONOTONIC, or 0 if not known.
constexpr wait timer(std::uint64_t deadline_ns) noexcept { return {CTP_TIMER, deadline_ns}; }
inline wait lock(const void *address) noexcept {
    return {CTP_LOCK, reinterpret_cast<std::uintptr_t>(address)};
}
inline wait channel(const void *address) noexcept {
    return {CTP_CHANNEL, reinterpret_cast<std::uintptr_t>(address)};
}
// The end of the coroutine with this id, see traced::id().
constexpr wait coroutine(std::uint64_t id) noexcept { return {CTP_COROUTINE, id}; }
// A resource of the program, under a number of its choice.
constexpr wait user(std::uint64_t number) noexcept { return {CTP_USER, number}; }
constexpr wait yield() noexcept { return {CTP_YIELD, 0}; }

// Records wakes of a coroutine, from any thread, even after the coroutine's end. May be copied.
class waker {
public:
    waker() noexcept = default;
    explicit waker(const ctp_waker &handle) noexcept : handle_(handle) {}

    // Call this before the coroutine is queued or resumed.
    void wake(const char *file = __builtin_FILE(),
              std::uint_least32_t line = __builtin_LINE()) const noexcept {
        ctp_wake_at(&handle_, file, line);
    }

private:
    ctp_waker handle_{};
};

// The trace of a coroutine, to be a member of the coroutine. Its destruction is the coroutine's death.
class trace {
public:
    // A trace that records nothing.
    trace() noexcept = default;
    trace(const char *name, std::uint32_t kind, source_line at) noexcept {
        ctp_born_at(&handle_, name, kind, at.file, at.number);
    }
    // Born in the function with this first instruction.
    trace(const char *name, std::uint32_t kind, const void *function) noexcept {
        ctp_born_in(&handle_, name, kind, reinterpret_cast<std::uintptr_t>(function));
    }
    trace(trace &&other) noexcept { ctp_move(&handle_, &other.handle_); }
    trace &operator=(trace &&other) noexcept {
        if (this != &other) {
            died();
            ctp_move(&handle_, &other.handle_);
        }
        return *this;
    }
    ~trace() { died(); }

    void run() noexcept { ctp_run(&handle_); }
    void suspend(wait what, source_line at) noexcept {
        ctp_suspend_at(&handle_, what.kind, what.resource, at.file, at.number);
    }
    void died() noexcept { ctp_died(&handle_); }
    // Make the waker before the coroutine first waits, and record every wake from then on.
    ctp::waker waker() const noexcept { return ctp::waker(ctp_waker_of(&handle_)); }
    // The id that ctp::coroutine() takes.
    std::uint64_t id() const noexcept { return ctp_id(&handle_); }

private:
    ctp_coroutine handle_{};
};

namespace detail {

// The function that resumes a coroutine. With gcc and with clang, a frame begins with its address.
inline const void *function_of(std::coroutine_handle<> handle) noexcept {
    return *static_cast<const void *const *>(handle.address());
}

template <class Awaitable>
concept has_member_await = requires(Awaitable &&awaitable) {
    static_cast<Awaitable &&>(awaitable).operator co_await();
};

template <class Awaitable>
concept has_free_await = requires(Awaitable &&awaitable) {
    operator co_await(static_cast<Awaitable &&>(awaitable));
};

template <class Awaitable> decltype(auto) awaiter_of(Awaitable &&awaitable) {
    if constexpr (has_member_await<Awaitable>) {
        return static_cast<Awaitable &&>(awaitable).operator co_await();
    } else if constexpr (has_free_await<Awaitable>) {
        return operator co_await(static_cast<Awaitable &&>(awaitable));
    } else {
        return static_cast<Awaitable &&>(awaitable);
    }
}

template <class Awaitable>
concept describes_its_wait = requires(const Awaitable &awaitable) {
    { awaitable.ctp_wait() } -> std::convertible_to<wait>;
};

template <class Awaitable> wait wait_of(const Awaitable &awaitable) noexcept {
    if constexpr (describes_its_wait<Awaitable>) {
        return awaitable.ctp_wait();
    } else {
        return {};
    }
}

} // namespace detail

// Awaits, and records the suspend and the run. The coroutine is recorded as waiting before the inner
// awaiter can resume it from another thread.
template <class Awaitable> class awaited {
public:
    awaited(trace &owner, Awaitable &&awaitable, source_line at)
        : trace_(owner), at_(at), wait_(detail::wait_of(awaitable)),
          awaiter_(detail::awaiter_of(static_cast<Awaitable &&>(awaitable))) {
        if constexpr (!detail::describes_its_wait<Awaitable>) wait_ = detail::wait_of(awaiter_);
    }

    bool await_ready() noexcept(noexcept(std::declval<awaited &>().awaiter_.await_ready())) {
        return static_cast<bool>(awaiter_.await_ready());
    }

    // After the inner await_suspend, the coroutine may be running on another thread, or be destroyed.
    // Only an exception, or the answer that the coroutine goes on, mean that it is still here.
    // Not inlined, because older versions of clang would then keep the guard in the coroutine's frame.
    template <class Promise>
    [[gnu::noinline]] auto await_suspend(std::coroutine_handle<Promise> handle) {
        using result = decltype(awaiter_.await_suspend(handle));
        has_suspended_ = true;
        trace_.suspend(wait_, at_);
        goes_on_unless_dismissed guard{this};
        if constexpr (std::is_void_v<result>) {
            awaiter_.await_suspend(handle);
            guard.dismiss();
        } else if constexpr (std::is_same_v<result, bool>) {
            const bool suspends = awaiter_.await_suspend(handle);
            if (suspends) guard.dismiss();
            return suspends;
        } else {
            auto next = awaiter_.await_suspend(handle);
            guard.dismiss();
            return next;
        }
    }

    decltype(auto) await_resume() {
        if (has_suspended_) trace_.run();
        return awaiter_.await_resume();
    }

private:
    // Records a run when await_suspend ends by an exception, or does not suspend.
    struct goes_on_unless_dismissed {
        awaited *owner;
        void dismiss() noexcept { owner = nullptr; }
        ~goes_on_unless_dismissed() {
            if (owner == nullptr) return;
            owner->has_suspended_ = false;
            owner->trace_.run();
        }
    };

    trace &trace_;
    source_line at_;
    wait wait_;
    bool has_suspended_ = false;
    decltype(detail::awaiter_of(std::declval<Awaitable>())) awaiter_;
};

// The first suspension of a coroutine: its first run begins when it is resumed.
template <class Awaiter> struct starts {
    trace &trace_;
    Awaiter awaiter_;

    bool await_ready() { return static_cast<bool>(awaiter_.await_ready()); }
    template <class Promise> auto await_suspend(std::coroutine_handle<Promise> handle) {
        return awaiter_.await_suspend(handle);
    }
    decltype(auto) await_resume() {
        trace_.run();
        return awaiter_.await_resume();
    }
};

// The first suspension, with the function of the coroutine as the place of the birth.
struct starts_in_function {
    trace &trace_;
    const char *name_;

    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) noexcept {
        trace_ = trace(name_, CTP_KIND_STACKLESS, detail::function_of(handle));
    }
    void await_resume() noexcept { trace_.run(); }
};

// The last suspension of a coroutine: the coroutine has ended, and its frame lives on.
template <class Awaiter> struct ends {
    trace &trace_;
    Awaiter awaiter_;

    bool await_ready() noexcept {
        trace_.died();
        return static_cast<bool>(awaiter_.await_ready());
    }
    template <class Promise> auto await_suspend(std::coroutine_handle<Promise> handle) noexcept {
        return awaiter_.await_suspend(handle);
    }
    void await_resume() noexcept { awaiter_.await_resume(); }
};

// The base of a promise type:
//
//     struct promise_type : ctp::traced { /* get_return_object, return_void, unhandled_exception */ };
//
// A promise with an initial_suspend, final_suspend or await_transform of its own calls starts_with,
// ends_with or awaits there.
class traced {
public:
    // The coroutine's name is that of its function, or `name`, which must live as long as the promise.
    explicit traced(const char *name = nullptr) noexcept : name_(name) {}
    traced(const traced &) = delete;
    traced &operator=(const traced &) = delete;

    // A coroutine that starts when it is first resumed.
#if defined(__GNUC__) && !defined(__clang__)
    // For gcc, the line of this call is that of the function's end.
    starts_in_function initial_suspend(const char *function = __builtin_FUNCTION()) noexcept {
        return {trace_, name_ == nullptr ? function : name_};
    }
#else
    starts<std::suspend_always> initial_suspend(const char *function = __builtin_FUNCTION(),
                                                const char *file = __builtin_FILE(),
                                                std::uint_least32_t line = __builtin_LINE()) noexcept {
        return starts_with(std::suspend_always{}, function, {file, line});
    }
#endif

    // A coroutine whose frame lives until its handle is destroyed.
    ends<std::suspend_always> final_suspend() noexcept { return ends_with(std::suspend_always{}); }

    template <class Awaitable>
    awaited<Awaitable> await_transform(Awaitable &&awaitable,
                                       const char *file = __builtin_FILE(),
                                       std::uint_least32_t line = __builtin_LINE()) {
        return awaits(static_cast<Awaitable &&>(awaitable), {file, line});
    }

    // Records the birth. `std::suspend_never{}` starts the coroutine at once.
    template <class Awaiter>
    starts<Awaiter> starts_with(Awaiter awaiter, const char *function, source_line at) noexcept {
        trace_ = trace(name_ == nullptr ? function : name_, CTP_KIND_STACKLESS, at);
        return starts<Awaiter>{trace_, std::move(awaiter)};
    }

    // The same, with the function of this coroutine as the place of the birth, which has the line where the
    // function begins. With gcc, the default arguments of initial_suspend have the line where it ends.
    template <class Awaiter>
    starts<Awaiter> starts_with(Awaiter awaiter, const char *function, std::coroutine_handle<> handle) noexcept {
        trace_ = trace(name_ == nullptr ? function : name_, CTP_KIND_STACKLESS, detail::function_of(handle));
        return starts<Awaiter>{trace_, std::move(awaiter)};
    }

    // Records the death. The awaiter may continue another coroutine.
    template <class Awaiter> ends<Awaiter> ends_with(Awaiter awaiter) noexcept {
        return ends<Awaiter>{trace_, std::move(awaiter)};
    }

    // Records the death. Call this in an unhandled_exception that rethrows, before `throw;`: the coroutine
    // has ended then, and C++ does not call final_suspend.
    void ends_by_exception() noexcept { trace_.died(); }

    // Awaits with this line as that of the wait.
    template <class Awaitable> awaited<Awaitable> awaits(Awaitable &&awaitable, source_line at) {
        return awaited<Awaitable>(trace_, static_cast<Awaitable &&>(awaitable), at);
    }

    // Make the waker before the coroutine first waits, and record every wake from then on. Waker and id
    // exist once the coroutine was created: in get_return_object, the coroutine is not born yet.
    ctp::waker waker() const noexcept { return trace_.waker(); }
    // The id that ctp::coroutine() takes.
    std::uint64_t id() const noexcept { return trace_.id(); }

protected:
    ~traced() = default;

    trace trace_;

private:
    const char *name_;
};

// Records that a resource is closed: call this just before the call that closes it.
inline void closed(wait what, const char *file = __builtin_FILE(),
                   std::uint_least32_t line = __builtin_LINE()) noexcept {
    ctp_closed_at(what.kind, what.resource, file, line);
}

// Records that the coroutine that runs on this thread holds a lock from now on.
inline void acquired(wait what, const char *file = __builtin_FILE(),
                     std::uint_least32_t line = __builtin_LINE()) noexcept {
    ctp_acquired_at(what.kind, what.resource, file, line);
}

// The same, for a lock that others may hold at the same time.
inline void acquired_shared(wait what, const char *file = __builtin_FILE(),
                            std::uint_least32_t line = __builtin_LINE()) noexcept {
    ctp_acquired_shared_at(what.kind, what.resource, file, line);
}

// Records that a lock is released: call this just before the release.
inline void released(wait what, const char *file = __builtin_FILE(),
                     std::uint_least32_t line = __builtin_LINE()) noexcept {
    ctp_released_at(what.kind, what.resource, file, line);
}

} // namespace ctp

#endif // CTP_HPP
