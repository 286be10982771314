// Coroutines of Boost.Asio (boost::asio::awaitable) for ctp-record. See docs/c-and-cpp.md.
//
// ctp::co_spawn starts a coroutine that is recorded. The completion tokens below take the place of
// boost::asio::use_awaitable: they record the line of the co_await, what it waits for, the wake and the
// run. Only documented interfaces of Asio are used, from version 1.81 of Boost on.
#ifndef CTP_ASIO_HPP
#define CTP_ASIO_HPP

#include <chrono>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/associator.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "ctp_asio_executor.hpp"

namespace ctp {
namespace detail {

// Resumes the coroutine. Its executor, allocator and cancellation slot are those of the inner handler.
template <class Handler> struct traced_handler {
    Handler inner;
    asio_pending pending;

    template <class... Results> void operator()(Results &&...results) {
        const asio_run run(std::move(pending)); // the inner handler may destroy this handler
        std::move(inner)(std::forward<Results>(results)...);
    }
};

// Records the suspend, and then begins the operation.
template <class Initiation> struct traced_initiation {
    Initiation inner;
    wait what;
    source_line at;

    template <class Handler, class... Args> void operator()(Handler &&handler, Args &&...args) {
        asio_trace_ptr trace = trace_of(boost::asio::get_associated_executor(handler));
        if (trace == nullptr) {
            std::move(inner)(std::forward<Handler>(handler), std::forward<Args>(args)...);
            return;
        }
        asio_pending pending(std::move(trace), what, at);
        std::move(inner)(
            traced_handler<std::decay_t<Handler>>{std::forward<Handler>(handler), std::move(pending)},
            std::forward<Args>(args)...);
    }
};

// Records the death when the coroutine's frame is destroyed, also if the coroutine never started.
class ends_trace {
public:
    explicit ends_trace(asio_trace_ptr trace) noexcept : trace_(std::move(trace)) {}
    ends_trace(ends_trace &&other) noexcept = default;
    ends_trace &operator=(ends_trace &&) = delete;
    ~ends_trace() {
        if (trace_ != nullptr) trace_->end(asio_run::innermost());
    }

private:
    asio_trace_ptr trace_;
};

template <class T> boost::asio::awaitable<T> traced_body([[maybe_unused]] ends_trace trace,
                                       boost::asio::awaitable<T> body) {
    co_return co_await std::move(body);
}

// The function object lives as long as the coroutine.
template <class Function> std::invoke_result_t<Function &> traced_call([[maybe_unused]] ends_trace trace,
                                            Function function) {
    co_return co_await function();
}

template <class Where> boost::asio::any_io_executor executor_of(Where &where) {
    if constexpr (std::is_convertible_v<Where &, boost::asio::execution_context &>) {
        return where.get_executor();
    } else {
        return where;
    }
}

} // namespace detail

// A completion token: suspends the coroutine, as boost::asio::use_awaitable does, and records the wait.
struct await_token {
    wait what;
    source_line at;

    // The wait is expected to be long, like that for the next request of a client.
    await_token idle() const noexcept { return {what.idle(), at}; }
};

// For any operation. Without `what`, only the line is known.
inline await_token awaiting(wait what = {}, const char *file = __builtin_FILE(),
                            std::uint_least32_t line = __builtin_LINE()) noexcept {
    return {what, {file, line}};
}

// For operations that read from a socket, a pipe or another object with a descriptor.
template <class Stream>
await_token reading(Stream &stream, const char *file = __builtin_FILE(),
                    std::uint_least32_t line = __builtin_LINE()) {
    return {readable(stream.native_handle()), {file, line}};
}

// For operations that write to an object with a descriptor, and for connecting an open socket.
template <class Stream>
await_token writing(Stream &stream, const char *file = __builtin_FILE(),
                    std::uint_least32_t line = __builtin_LINE()) {
    return {writable(stream.native_handle()), {file, line}};
}

// For async_accept. That wait is expected to be long.
template <class Acceptor>
await_token accepting(Acceptor &acceptor, const char *file = __builtin_FILE(),
                      std::uint_least32_t line = __builtin_LINE()) {
    return {readable(acceptor.native_handle()).idle(), {file, line}};
}

// For async_wait of a timer. The deadline is known for timers of std::chrono::steady_clock.
template <class Timer>
await_token expiry_of(const Timer &timer, const char *file = __builtin_FILE(),
                      std::uint_least32_t line = __builtin_LINE()) {
    std::uint64_t deadline_ns = 0;
    if constexpr (std::is_same_v<typename Timer::clock_type, std::chrono::steady_clock>) {
        const std::chrono::nanoseconds since_boot = timer.expiry().time_since_epoch();
        // A timer that never expires is a condition variable: it ends by cancel().
        const bool expires = timer.expiry() != Timer::time_point::max();
        if (expires && since_boot.count() > 0) deadline_ns = static_cast<std::uint64_t>(since_boot.count());
    }
    return {ctp::timer(deadline_ns), {file, line}};
}

// For async_send and async_receive of a channel.
template <class Channel>
await_token through(const Channel &channel, const char *file = __builtin_FILE(),
                    std::uint_least32_t line = __builtin_LINE()) noexcept {
    return {ctp::channel(&channel), {file, line}};
}

namespace detail {

// A wait for the end of a coroutine names that coroutine.
template <class Token> decltype(auto) naming(const asio_trace &child, Token &&token) {
    if constexpr (std::is_same_v<std::decay_t<Token>, await_token>) {
        return await_token{token.what.kind == CTP_UNKNOWN ? coroutine(child.id()) : token.what, token.at};
    } else {
        return std::forward<Token>(token);
    }
}

} // namespace detail

// boost::asio::co_spawn, with a coroutine that is recorded, from its birth at this line to its death.
// The body is an awaitable, or a function that returns one. `name` is copied.
template <class Where, class Body, class Token>
auto co_spawn(Where &&where, Body &&body, Token &&token, const char *name = nullptr,
              const char *file = __builtin_FILE(), std::uint_least32_t line = __builtin_LINE()) {
    using body_type = std::decay_t<Body>;
    auto trace = std::make_shared<detail::asio_trace>(name, source_line{file, line});
    detail::ends_trace ends(trace);
    const boost::asio::any_io_executor executor = detail::traced(detail::executor_of(where), trace);
    if constexpr (std::is_invocable_v<body_type &>) {
        return boost::asio::co_spawn(
            executor, detail::traced_call<body_type>(std::move(ends), std::forward<Body>(body)),
            detail::naming(*trace, std::forward<Token>(token)));
    } else {
        return boost::asio::co_spawn(executor,
                                     detail::traced_body(std::move(ends), std::forward<Body>(body)),
                                     detail::naming(*trace, std::forward<Token>(token)));
    }
}

} // namespace ctp

template <template <class, class> class Associator, class Handler, class Default>
struct boost::asio::associator<Associator, ctp::detail::traced_handler<Handler>, Default>
    : Associator<Handler, Default> {
    static auto get(const ctp::detail::traced_handler<Handler> &handler) noexcept {
        return Associator<Handler, Default>::get(handler.inner);
    }
    static auto get(const ctp::detail::traced_handler<Handler> &handler, const Default &fallback) noexcept {
        return Associator<Handler, Default>::get(handler.inner, fallback);
    }
};

template <class... Signatures> class boost::asio::async_result<ctp::await_token, Signatures...> {
public:
    // Adapters need this type.
    using return_type =
        typename boost::asio::async_result<boost::asio::use_awaitable_t<>, Signatures...>::return_type;

    template <class Initiation, class... Args>
    static auto initiate(Initiation &&initiation, ctp::await_token token, Args &&...args) {
        using traced = ctp::detail::traced_initiation<std::decay_t<Initiation>>;
        return boost::asio::async_initiate<const boost::asio::use_awaitable_t<> &, Signatures...>(
            traced{std::forward<Initiation>(initiation), token.what, token.at},
            boost::asio::use_awaitable, std::forward<Args>(args)...);
    }
};

#endif // CTP_ASIO_HPP
