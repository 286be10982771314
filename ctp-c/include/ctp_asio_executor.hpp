// The executor that carries the trace of a coroutine of Boost.Asio. Part of ctp_asio.hpp.
#ifndef CTP_ASIO_EXECUTOR_HPP
#define CTP_ASIO_EXECUTOR_HPP

#include <type_traits>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/require.hpp>

#include "ctp_asio_trace.hpp"

namespace ctp {
namespace detail {

// The executor of a coroutine that is recorded: that of the user, with the trace of the coroutine. Asio makes
// copies with other properties in each operation. With the executor of an io_context, these need no memory of
// their own, because they fit into any_io_executor.
template <class Inner> class traced_executor {
public:
    traced_executor(Inner inner, asio_trace_ptr trace) noexcept
        : inner_(std::move(inner)), trace_(std::move(trace)) {}

    const Inner &inner() const noexcept { return inner_; }
    const asio_trace_ptr &trace() const noexcept { return trace_; }

    template <class Property>
        requires boost::asio::can_query<const Inner &, Property>::value
    typename boost::asio::query_result<const Inner &, Property>::type query(const Property &property) const {
        return boost::asio::query(inner_, property);
    }

    template <class Property>
        requires boost::asio::can_require<const Inner &, Property>::value
    auto require(const Property &property) const {
        return with(boost::asio::require(inner_, property));
    }

    template <class Property>
        requires boost::asio::can_prefer<const Inner &, Property>::value
    auto prefer(const Property &property) const {
        return with(boost::asio::prefer(inner_, property));
    }

    // The first function begins the first run. No handler of ctp_asio.hpp does.
    template <class Function> void execute(Function &&function) const {
        if (!trace_->takes_first_run()) {
            inner_.execute(std::forward<Function>(function));
            return;
        }
        inner_.execute([begin = std::decay_t<Function>(std::forward<Function>(function)),
                        trace = trace_]() mutable {
            const asio_run run(std::move(trace));
            std::move(begin)();
        });
    }

    friend bool operator==(const traced_executor &, const traced_executor &) noexcept = default;

private:
    template <class Other> traced_executor<Other> with(Other inner) const {
        return {std::move(inner), trace_};
    }

    Inner inner_;
    asio_trace_ptr trace_;
};

using io_executor = boost::asio::io_context::executor_type;

// The trace of the coroutine with this executor. Null for a coroutine that is not recorded.
inline asio_trace_ptr trace_of(const boost::asio::any_io_executor &executor) noexcept {
    if (const auto *traced = executor.target<traced_executor<io_executor>>()) return traced->trace();
    if (const auto *traced = executor.target<traced_executor<boost::asio::any_io_executor>>())
        return traced->trace();
    return nullptr;
}

template <class Executor> asio_trace_ptr trace_of(const Executor &) noexcept { return nullptr; }

// The executor of the user, with this trace. A coroutine that is spawned by a recorded coroutine has a trace of
// its own.
inline boost::asio::any_io_executor traced(const boost::asio::any_io_executor &executor, asio_trace_ptr trace) {
    using any = boost::asio::any_io_executor;
    if (const auto *plain = executor.target<io_executor>())
        return traced_executor<io_executor>(*plain, std::move(trace));
    if (const auto *other = executor.target<traced_executor<io_executor>>())
        return traced_executor<io_executor>(other->inner(), std::move(trace));
    const auto *other = executor.target<traced_executor<any>>();
    return traced_executor<any>(other == nullptr ? executor : other->inner(), std::move(trace));
}

} // namespace detail
} // namespace ctp

#endif // CTP_ASIO_EXECUTOR_HPP
