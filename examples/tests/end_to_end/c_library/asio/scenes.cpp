// Coroutines of Boost.Asio, one scene at a time. The program prints the events that the trace should
// have, as misuse.cpp does, and for the scene `server` the descriptors of the coroutines that wait.
#include <cstdio>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/write.hpp>

#include "ctp_asio.hpp"

namespace asio = boost::asio;
using asio::awaitable;
using asio::detached;
using asio::ip::tcp;
using namespace asio::experimental::awaitable_operators;
using namespace std::chrono_literals;

using channel = asio::experimental::channel<void(boost::system::error_code, int)>;

static void expect(const char *name, const std::string &events) {
    std::printf("%s %s\n", name, events.c_str());
    std::fflush(stdout);
}

// Waits in a function that the recorded coroutine awaits.
static awaitable<int> later(std::chrono::milliseconds time, int result) {
    asio::steady_timer timer(co_await asio::this_coro::executor, time);
    co_await timer.async_wait(ctp::expiry_of(timer));
    co_return result;
}

static awaitable<void> waits(std::chrono::milliseconds time) { co_await later(time, 0); }

static void nested_functions() {
    asio::io_context context;
    int result = 0;
    auto body = [&result]() -> awaitable<void> {
        result = co_await later(1ms, 1) + co_await later(1ms, 2);
    };
    ctp::co_spawn(context, body, detached, "nested");
    context.run();
    if (result == 3) expect("nested", "BRSRSRD");
}

static awaitable<void> fails() {
    co_await later(1ms, 0);
    throw std::runtime_error("failed");
}

static awaitable<void> catches() {
    try {
        co_await fails();
    } catch (const std::runtime_error &) {
    }
    co_await later(1ms, 0);
}

// An exception that the coroutine catches, and one that leaves the coroutine.
static void exceptions() {
    asio::io_context context;
    std::exception_ptr error;
    ctp::co_spawn(context, catches(), detached, "catches");
    ctp::co_spawn(context, fails(), [&error](std::exception_ptr thrown) { error = thrown; }, "fails");
    context.run();
    expect("catches", "BRSRSRD");
    if (error) expect("fails", "BRSRD");
}

// A coroutine that is cancelled while it waits, and one with adapters that make errors to results.
static void cancellation() {
    asio::io_context context;
    asio::cancellation_signal signal;
    asio::steady_timer timer(context, 1h);
    bool is_cancelled = false;
    auto aborted = [&is_cancelled](std::exception_ptr thrown) { is_cancelled = thrown != nullptr; };
    ctp::co_spawn(context, waits(1h), asio::bind_cancellation_slot(signal.slot(), aborted), "cancelled");
    auto body = [&timer]() -> awaitable<void> {
        auto [error] = co_await timer.async_wait(asio::as_tuple(ctp::expiry_of(timer)));
        if (!error) throw std::runtime_error("not cancelled");
        timer.expires_after(1ms);
        boost::system::error_code none;
        co_await timer.async_wait(asio::redirect_error(ctp::expiry_of(timer), none));
    };
    ctp::co_spawn(context, body, detached, "adapted");
    asio::post(context, [&] {
        signal.emit(asio::cancellation_type::terminal);
        timer.cancel();
    });
    context.run();
    if (is_cancelled) expect("cancelled", "BRSRD");
    expect("adapted", "BRSRSRD");
}

// The branches share the trace of their coroutine. The scenes of branches.cpp have more of them. With co_spawn,
// each branch has a trace of its own.
static void branches() {
    asio::io_context context;
    auto both = []() -> awaitable<void> { co_await (later(1ms, 1) && later(5ms, 2)); };
    auto either = []() -> awaitable<void> { co_await (waits(1ms) || waits(1h)); };
    auto separate = [&context]() -> awaitable<void> {
        co_await (ctp::co_spawn(context, waits(1ms), ctp::awaiting(), "first") &&
                  ctp::co_spawn(context, waits(5ms), ctp::awaiting(), "second"));
    };
    ctp::co_spawn(context, both, detached, "both");
    ctp::co_spawn(context, either, detached, "either");
    ctp::co_spawn(context, separate, detached, "separate");
    context.run();
    expect("both", "BRSRSRSRD");
    expect("either", "BRSRSRSRD");
    expect("separate", "BRSRSRSRD");
    expect("first", "BRSRD");
    expect("second", "BRSRD");
}

// Coroutines that wait when their context is destroyed, and one that has not started.
static void destroyed_contexts() {
    {
        asio::io_context context, idle;
        ctp::co_spawn(context, waits(1h), detached, "destroyed");
        ctp::co_spawn(idle, waits(1h), detached, "unstarted");
        context.poll();
    }
    expect("destroyed", "BRSD");
    expect("unstarted", "BD");
}

// Waits without a token of ctp have no line, and the run after them begins with the next wait.
static void untraced_waits() {
    asio::io_context context;
    auto body = [&context]() -> awaitable<void> {
        asio::steady_timer timer(context, 1ms);
        co_await timer.async_wait(asio::use_awaitable);
        co_await later(1ms, 0);
        timer.expires_after(1ms);
        co_await timer.async_wait(asio::use_awaitable);
    };
    ctp::co_spawn(context, body, detached, "untraced");
    context.run();
    expect("untraced", "BRSRSRSD");
}

// A coroutine that is spawned with the executor of another one has a trace of its own. The death does not
// depend on how long the executor lives.
static void channels() {
    asio::io_context context;
    std::optional<channel> numbers;
    auto receiver = [&numbers]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        [[maybe_unused]] static auto *kept = new auto(executor);
        numbers.emplace(executor);
        auto sender = [&numbers]() -> awaitable<void> {
            for (int i = 0; i < 3; i++)
                co_await numbers->async_send({}, i, ctp::through(*numbers));
        };
        ctp::co_spawn(executor, sender, detached, "sender");
        for (int i = 0; i < 3; i++)
            if (co_await numbers->async_receive(ctp::through(*numbers)) != i) std::abort();
    };
    ctp::co_spawn(context, receiver, detached, "receiver");
    context.run();
    expect("receiver", "BRSRSRSRD");
    expect("sender", "BRSRSRSRD");
}

static awaitable<void> hops(int count) {
    for (int i = 0; i < count; i++)
        co_await asio::post(co_await asio::this_coro::executor, ctp::awaiting(ctp::yield()));
}

static void run_on_four_threads(asio::io_context &context) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++) threads.emplace_back([&context] { context.run(); });
    for (auto &thread : threads) thread.join();
}

// Coroutines that move between threads, also within strands.
static void threads() {
    asio::io_context context;
    std::string hop = "SR", expected = "BR";
    for (int i = 0; i < 200; i++) expected += hop;
    static const char *const free[] = {"free-0", "free-1", "free-2", "free-3"};
    static const char *const ordered[] = {"strand-0", "strand-1", "strand-2", "strand-3"};
    auto strand = asio::make_strand(context);
    for (int i = 0; i < 4; i++) {
        ctp::co_spawn(context, hops(200), detached, free[i]);
        ctp::co_spawn(strand, hops(200), detached, ordered[i]);
    }
    run_on_four_threads(context);
    for (const char *name : free) expect(name, expected + "D");
    for (const char *name : ordered) expect(name, expected + "D");
}

// The branches of a coroutine run on several threads at a time.
static void parallel() {
    asio::io_context context;
    auto body = []() -> awaitable<void> { co_await (hops(500) && hops(500) && hops(500)); };
    for (int i = 0; i < 4; i++) ctp::co_spawn(context, body, detached, "parallel");
    run_on_four_threads(context);
    std::printf("parallel 4\n");
}

// Answers each byte, except 'n'.
static awaitable<void> session(tcp::socket socket) {
    char byte;
    while (co_await socket.async_read_some(asio::buffer(&byte, 1), ctp::reading(socket).idle()) == 1)
        if (byte != 'n')
            co_await asio::async_write(socket, asio::buffer(&byte, 1), ctp::writing(socket));
}

static awaitable<void> listen(tcp::acceptor &acceptor) {
    for (;;) {
        tcp::socket socket = co_await acceptor.async_accept(ctp::accepting(acceptor));
        ctp::co_spawn(acceptor.get_executor(), session(std::move(socket)), detached, "session");
    }
}

static awaitable<void> client(tcp::endpoint server, std::string requests) {
    tcp::socket socket(co_await asio::this_coro::executor, tcp::v4());
    co_await socket.async_connect(server, ctp::writing(socket));
    for (char &request : requests) {
        co_await asio::async_write(socket, asio::buffer(&request, 1), ctp::writing(socket));
        if (request == 'n') std::printf("unanswered %d\n", socket.native_handle());
        char answer;
        co_await socket.async_read_some(asio::buffer(&answer, 1), ctp::reading(socket));
    }
    co_await later(1h, 0);
}

static awaitable<void> work(channel &jobs) {
    for (;;) co_await jobs.async_receive(ctp::through(jobs));
}

static awaitable<void> plan(channel &jobs, int count) {
    for (int i = 0; i < count; i++) co_await jobs.async_send({}, co_await later(1ms, i), ctp::through(jobs));
}

// Three clients get answers, and one client of them waits for an answer that its server never sends. Two
// workers get jobs, but one of them gets none after the first second.
static void server() {
    asio::io_context context;
    channel few(context), many(context);
    for (channel *jobs : {&few, &many}) ctp::co_spawn(context, work(*jobs), detached, "worker");
    ctp::co_spawn(context, plan(few, 20), detached, "planner");
    ctp::co_spawn(context, plan(many, 1000000), detached, "planner");
    std::printf("abandoned %ju\n", reinterpret_cast<std::uintmax_t>(&few));
    tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
    ctp::co_spawn(context, listen(acceptor), detached, "listener");
    for (const char *requests : {"aaaa", "bbbb", "ccccn"})
        ctp::co_spawn(context, client(acceptor.local_endpoint(), requests), detached, "client");
    context.run_for(3s);
    std::fflush(stdout);
}

int main(int count, char **arguments) {
    static const struct {
        const char *name;
        void (*play)();
    } scenes[] = {
        {"nested", nested_functions},      {"exceptions", exceptions}, {"cancellation", cancellation},
        {"branches", branches},            {"destroyed", destroyed_contexts},
        {"untraced", untraced_waits},      {"channels", channels},     {"threads", threads},
        {"parallel", parallel},            {"server", server},
    };
    ctp_attach();
    for (const auto &scene : scenes)
        if (count == 2 && std::strcmp(arguments[1], scene.name) == 0) {
            scene.play();
            return 0;
        }
    return 2;
}
