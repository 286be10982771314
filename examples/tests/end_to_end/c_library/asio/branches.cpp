// Coroutines of Boost.Asio with branches, one scene at a time. The program opens the gates that branches
// wait for, and prints the events that the trace should have: B, R and D, W for a run after a wake, and for
// a wait the number of the gate, or `?` if nothing is known of the wait. A wait with `+` is one of several.
#include <cstdio>
#include <cstring>
#include <deque>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include "ctp_asio.hpp"

namespace asio = boost::asio;
using asio::awaitable;
using asio::detached;
using namespace asio::experimental::awaitable_operators;
using namespace std::chrono_literals;

// Coroutines wait at a gate until the program opens it.
struct gate {
    gate(asio::io_context &context, std::uint64_t number) : timer(context, 1h), number(number) {}
    awaitable<void> pass() {
        co_await timer.async_wait(asio::as_tuple(ctp::awaiting(ctp::user(number))));
    }
    asio::steady_timer timer;
    std::uint64_t number;
};

// A coroutine, and its gates 1 to 4.
struct scene {
    scene() {
        for (int i = 1; i <= 4; i++) gates.emplace_back(*context, i);
    }
    awaitable<void> pass(int number) { return gates[number - 1].pass(); }
    awaitable<void> pass(int first, int second) {
        co_await pass(first);
        co_await pass(second);
    }
    awaitable<void> fails_at(int number) {
        co_await pass(number);
        throw std::runtime_error("failed");
    }
    awaitable<void> untraced(int number) {
        co_await gates[number - 1].timer.async_wait(asio::as_tuple(asio::use_awaitable));
    }

    // Starts the coroutine, and opens these gates, each when nothing else is to be done.
    void play(const char *name, awaitable<void> body, std::initializer_list<int> order, const char *events) {
        auto ended = [this](std::exception_ptr thrown) { has_failed = thrown != nullptr; };
        ctp::co_spawn(*context, std::move(body), ended, name);
        context->poll();
        for (int number : order) {
            gates[number - 1].timer.cancel();
            context->poll();
        }
        std::printf("%s %s\n", name, events);
    }
    ~scene() { gates.clear(); }

    std::optional<asio::io_context> context{std::in_place};
    std::deque<gate> gates;
    bool has_failed = false;
};

static awaitable<void> ignoring(awaitable<void> body) {
    try {
        co_await std::move(body);
    } catch (const std::runtime_error &) {
    }
}

template <class Awaitable> static awaitable<void> whole(Awaitable branches) {
    co_await std::move(branches);
}

// When a branch has ended, the wait is that of the other.
static void both() {
    scene last, first;
    last.play("last-ends-first", whole(last.pass(1) && last.pass(2)), {2, 1}, "BR1R2+W1WD");
    first.play("first-ends-first", whole(first.pass(1) && first.pass(2)), {1, 2}, "BR1R2+R2WD");
    scene three, goes_on, hidden;
    three.play("three", whole(three.pass(1) && three.pass(2) && three.pass(3)), {3, 1, 2}, "BR1R2+R3+W2+R2WD");
    goes_on.play("last-goes-on", whole(goes_on.pass(1) && goes_on.pass(2, 3)), {2, 3, 1}, "BR1R2+W3+W1WD");
    hidden.play("first-goes-on", whole(hidden.pass(1, 3) && hidden.pass(2)), {1, 2, 3}, "BR1R2+R3+R3WD");
}

// The branches that lose are cancelled, and their handlers run.
static void nested() {
    scene outer, inner;
    outer.play("outer-wins", whole((outer.pass(1) && outer.pass(2)) || outer.pass(3)), {3}, "BR1R2+R3+W2+R2WD");
    inner.play("inner-wins", whole((inner.pass(1) && inner.pass(2)) || inner.pass(3)), {1, 2},
               "BR1R2+R3+R3+R3WD");
    scene either;
    either.play("either", whole(either.pass(1) || either.pass(2)), {2}, "BR1R2+W1WD");
}

// A branch that fails cancels the other one.
static void exceptions() {
    scene first, last, caught;
    first.play("first-fails", whole(first.fails_at(1) && first.pass(2)), {1}, "BR1R2+R2WD");
    last.play("last-fails", whole(last.pass(1) && last.fails_at(2)), {2}, "BR1R2+W1WD");
    caught.play("caught", whole(caught.pass(1) && ignoring(caught.fails_at(2))), {2, 1}, "BR1R2+W1WD");
    if (!first.has_failed || !last.has_failed || caught.has_failed) std::abort();
}

// Branches that wait when their context is destroyed.
static void destroyed() {
    scene branches;
    branches.play("destroyed", whole(branches.pass(1) && branches.pass(2)), {}, "BR1R2+D");
    scene rest;
    rest.play("rest-destroyed", whole(rest.pass(1) && rest.pass(2)), {2}, "BR1R2+W1D");
}

// A wait without a token of ctp.
static void untraced() {
    scene alone, branch, before;
    alone.play("alone", alone.untraced(1), {1}, "BR?D");
    branch.play("branch", whole(branch.untraced(1) && branch.pass(2)), {1, 2}, "BR2WD");
    before.play("before", whole(before.pass(2) && before.untraced(1)), {2, 1}, "BR2W?D");
}

// The branches of eight coroutines run on four threads, also at the same time. The program acquires a lock of
// the coroutine in each of them, and another lock outside of coroutines.
static void hold(std::uint64_t number) {
    ctp::acquired(ctp::user(number));
    ctp::released(ctp::user(number));
}

static awaitable<void> hops(std::uint64_t number, int count) {
    for (int i = 0; i < count; i++) {
        co_await asio::post(co_await asio::this_coro::executor, ctp::awaiting(ctp::yield()));
        hold(number);
    }
}

static awaitable<void> three_branches(std::uint64_t number) {
    co_await (hops(number, 300) && hops(number, 200) && hops(number, 100));
    hold(number);
}

static void hold_between(asio::io_context &context, int count) {
    hold(1000);
    if (count > 0) asio::post(context, [&context, count] { hold_between(context, count - 1); });
}

static void threads() {
    asio::io_context context;
    static const char *const names[] = {"1", "2", "3", "4", "5", "6", "7", "8"};
    for (int i = 0; i < 8; i++) ctp::co_spawn(context, three_branches(i + 1), detached, names[i]);
    for (int i = 0; i < 4; i++) hold_between(context, 500);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++) threads.emplace_back([&context] { context.run(); });
    for (auto &thread : threads) thread.join();
}

// Each coroutine starts a quick and a slow branch again and again. In one of them, the quick branch, which
// suspended last, ends, and the slow one never does.
static awaitable<void> slow(bool is_last) {
    asio::steady_timer timer(co_await asio::this_coro::executor, is_last ? 1h : 2ms);
    co_await timer.async_wait(ctp::awaiting(ctp::user(7)));
}

static awaitable<void> quick() {
    asio::steady_timer timer(co_await asio::this_coro::executor, 1ms);
    co_await timer.async_wait(ctp::awaiting(ctp::user(8)));
}

static awaitable<void> rounds(int count) {
    for (int i = 1; i <= count; i++) co_await (slow(i == count) && quick());
}

// Waits for 2 ms without a token, and then for long.
static awaitable<void> naps() {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    for (int i = 0; i < 20; i++) {
        timer.expires_after(2ms);
        co_await timer.async_wait(asio::use_awaitable);
        co_await asio::post(co_await asio::this_coro::executor, ctp::awaiting(ctp::yield()));
    }
    timer.expires_after(1h);
    co_await timer.async_wait(asio::use_awaitable);
}

static void report() {
    asio::io_context context;
    ctp::co_spawn(context, rounds(20), detached, "stuck");
    ctp::co_spawn(context, rounds(1000000), detached, "healthy");
    ctp::co_spawn(context, naps(), detached, "naps");
    context.run_for(3s);
}

int main(int count, char **arguments) {
    static const struct {
        const char *name;
        void (*play)();
    } scenes[] = {
        {"both", both},           {"nested", nested},     {"exceptions", exceptions}, {"destroyed", destroyed},
        {"untraced", untraced},   {"threads", threads},   {"report", report},
    };
    ctp_attach();
    for (const auto &scene : scenes)
        if (count == 2 && std::strcmp(arguments[1], scene.name) == 0) {
            scene.play();
            std::fflush(stdout);
            return 0;
        }
    return 2;
}
