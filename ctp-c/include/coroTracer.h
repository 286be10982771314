// The names of coroTracer's SDK for C++20, recorded by ctp. See docs/c-and-cpp.md.
//
// A program that was written for that SDK includes this header in place of the SDK's header, and links
// libctp. Its promise types, which inherit from corotracer::PromiseMixin, are then recorded with the
// line of each co_await. ctp.hpp explains what else a program can record.
#ifndef CTP_COROTRACER_H
#define CTP_COROTRACER_H

#include "ctp.hpp"

// Programs may rely on these headers, because the SDK's header includes them.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace corotracer {

// Attaches to the recorder that started this program, and does nothing without a recorder. Call this
// first in main, before there are threads.
inline void InitTracer() { ctp_attach(); }

template <class InnerAwaiter> class TracedAwaiter;

// The base of a promise type. Its constructor does not know the coroutine's function, so the birth is
// recorded at the first co_await, with the line of that co_await. The promise's destruction is the death.
class PromiseMixin : ctp::traced {
public:
    template <class Awaitable>
    TracedAwaiter<Awaitable> await_transform(Awaitable &&awaitable,
                                             const char *function = __builtin_FUNCTION(),
                                             const char *file = __builtin_FILE(),
                                             std::uint_least32_t line = __builtin_LINE()) {
        return {static_cast<Awaitable &&>(awaitable), this, function, file, line};
    }

    // Records a run, or a suspend at the line of the caller. The address is not used.
    void write_trace(std::uint64_t, bool is_active, const char *file = __builtin_FILE(),
                     std::uint_least32_t line = __builtin_LINE()) noexcept {
        if (!is_active) {
            begin(nullptr, {file, line}).suspend({}, {file, line});
        } else if (has_begun_) {
            trace_.run();
        } else {
            begin(nullptr, {file, line});
        }
    }

    // The following functions are those of ctp::traced, which the SDK does not have. An initial_suspend
    // that calls starts_with records the birth earlier. Before the birth, waker() returns a waker that
    // records nothing, and id() returns 0.
    using traced::ends_by_exception;
    using traced::ends_with;
    using traced::id;
    using traced::waker;

    template <class Awaiter>
    ctp::starts<Awaiter> starts_with(Awaiter awaiter, const char *function,
                                     ctp::source_line at) noexcept {
        has_begun_ = true;
        return traced::starts_with(std::move(awaiter), function, at);
    }

private:
    template <class InnerAwaiter> friend class TracedAwaiter;

    // Records the birth and the first run, if they are not recorded yet.
    ctp::trace &begin(const char *function, ctp::source_line at) noexcept {
        if (!has_begun_) starts_with(std::suspend_never{}, function, at).await_resume();
        return trace_;
    }

    bool has_begun_ = false;
};

namespace detail {

template <class Awaitable> struct owned {
    Awaitable awaitable;
};

} // namespace detail

// Owns what the coroutine awaits, and records the suspend and the run.
template <class InnerAwaiter>
class TracedAwaiter : detail::owned<InnerAwaiter>, public ctp::awaited<InnerAwaiter> {
public:
    TracedAwaiter(InnerAwaiter inner, PromiseMixin *tracer, const char *function = __builtin_FUNCTION(),
                  const char *file = __builtin_FILE(), std::uint_least32_t line = __builtin_LINE())
        : detail::owned<InnerAwaiter>{static_cast<InnerAwaiter &&>(inner)},
          ctp::awaited<InnerAwaiter>(tracer->begin(function, {file, line}),
                                     static_cast<InnerAwaiter &&>(this->awaitable), {file, line}) {}
    TracedAwaiter(const TracedAwaiter &) = delete;
    TracedAwaiter &operator=(const TracedAwaiter &) = delete;
};

} // namespace corotracer

#endif // CTP_COROTRACER_H
