// The operations that a coroutine of Boost.Asio waits for at the same time. Part of ctp_asio.hpp.
#ifndef CTP_ASIO_WAITS_HPP
#define CTP_ASIO_WAITS_HPP

#include <new>

#include "ctp.hpp"

namespace ctp {
namespace detail {

// The wait for an operation that has not completed. Each entry is in a single list.
struct asio_wait {
    wait what{};
    source_line at{};
    asio_wait *earlier = nullptr;
    asio_wait *later = nullptr;
};

// The waits of a coroutine, in the order in which they began. A coroutine has as many waits as branches,
// and each entry is used again, so that an operation allocates nothing.
class asio_waits {
public:
    asio_waits() noexcept = default;
    asio_waits(const asio_waits &) = delete;
    asio_waits &operator=(const asio_waits &) = delete;
    ~asio_waits() {
        free(latest_);
        free(unused_);
    }

    // Returns null if there is no memory. The wait is not in the list then.
    asio_wait *begin(wait what, source_line at) noexcept {
        asio_wait *entry = unused_;
        if (entry != nullptr) {
            unused_ = entry->earlier;
        } else if ((entry = new (std::nothrow) asio_wait) == nullptr) {
            return nullptr;
        }
        *entry = {what, at, latest_, nullptr};
        if (latest_ != nullptr) latest_->later = entry;
        return latest_ = entry;
    }

    // Takes a wait out of the list. `ended` may be null.
    void end(asio_wait *ended) noexcept {
        if (ended == nullptr) return;
        (ended->later == nullptr ? latest_ : ended->later->earlier) = ended->earlier;
        if (ended->earlier != nullptr) ended->earlier->later = ended->later;
        ended->earlier = unused_;
        unused_ = ended;
    }

    // The wait that began last. Null if there is none.
    const asio_wait *latest() const noexcept { return latest_; }
    bool are_several() const noexcept { return latest_ != nullptr && latest_->earlier != nullptr; }

private:
    void free(asio_wait *last) noexcept {
        while (last != nullptr) {
            asio_wait *freed = last;
            last = last->earlier;
            if (freed != &only_) delete freed;
        }
    }

    // The entry of a coroutine without branches.
    asio_wait only_;
    asio_wait *latest_ = nullptr;
    asio_wait *unused_ = &only_;
};

} // namespace detail
} // namespace ctp

#endif // CTP_ASIO_WAITS_HPP
