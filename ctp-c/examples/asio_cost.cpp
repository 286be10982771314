// What ctp_asio.hpp costs: the same coroutines of Boost.Asio as they are, and recorded, in turns. Without
// ctp-record, the second figure is the cost of a program that could be recorded.
//
//     g++ -std=c++20 -O2 -pthread asio_cost.cpp -o asio_cost $(pkg-config --cflags --libs ctp)
//     ./asio_cost
//     ctp-record --flight-recorder -- ./asio_cost
//
// Each figure is the median of 101 rounds: processor time, in nanoseconds an operation. The ratio is the
// median of the ratios of the rounds.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <ctp_asio.hpp>

namespace asio = boost::asio;
using asio::awaitable;
using stream = asio::local::stream_protocol::socket;

// Coroutines as they are without ctp.
struct plain {
    template <class Body> static void spawn(asio::io_context &context, Body &&body) {
        asio::co_spawn(context, std::forward<Body>(body), asio::detached);
    }
    static auto posting() { return asio::use_awaitable; }
    static auto reading(stream &) { return asio::use_awaitable; }
    static auto writing(stream &) { return asio::use_awaitable; }
    static auto expiry_of(asio::steady_timer &) { return asio::use_awaitable; }
};

// The same coroutines, recorded.
struct recorded {
    template <class Body> static void spawn(asio::io_context &context, Body &&body) {
        ctp::co_spawn(context, std::forward<Body>(body), asio::detached, "cost");
    }
    static auto posting() { return ctp::awaiting(ctp::yield()); }
    static auto reading(stream &socket) { return ctp::reading(socket); }
    static auto writing(stream &socket) { return ctp::writing(socket); }
    static auto expiry_of(asio::steady_timer &timer) { return ctp::expiry_of(timer); }
};

template <class Way> static awaitable<void> posts(int count) {
    const auto executor = co_await asio::this_coro::executor;
    for (int i = 0; i < count; i++) co_await asio::post(executor, Way::posting());
}

template <class Way> static awaitable<void> timers(asio::io_context &context, int count) {
    asio::steady_timer timer(context);
    for (int i = 0; i < count; i++) {
        timer.expires_after(std::chrono::nanoseconds(0));
        co_await timer.async_wait(Way::expiry_of(timer));
    }
}

// Timers whose executor is that of the coroutine.
template <class Way> static awaitable<void> own_timers(int count) {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    for (int i = 0; i < count; i++) {
        timer.expires_after(std::chrono::nanoseconds(0));
        co_await timer.async_wait(Way::expiry_of(timer));
    }
}

template <class Way> static awaitable<void> sends(stream &socket, int count) {
    char byte = 0;
    for (int i = 0; i < count; i++) {
        co_await socket.async_write_some(asio::buffer(&byte, 1), Way::writing(socket));
        co_await socket.async_read_some(asio::buffer(&byte, 1), Way::reading(socket));
    }
}

template <class Way> static awaitable<void> answers(stream &socket, int count) {
    char byte = 0;
    for (int i = 0; i < count; i++) {
        co_await socket.async_read_some(asio::buffer(&byte, 1), Way::reading(socket));
        co_await socket.async_write_some(asio::buffer(&byte, 1), Way::writing(socket));
    }
}

static awaitable<void> nothing() { co_return; }

// Where the coroutines run, and what they wait for.
struct place {
    place() { asio::local::connect_pair(first, second); }
    asio::io_context context{1};
    stream first{context}, second{context};
};

// The workloads. Each is for `count` operations.
template <class Way> static void post(place &place, int count) {
    Way::spawn(place.context, posts<Way>(count));
}
template <class Way> static void timer(place &place, int count) {
    Way::spawn(place.context, timers<Way>(place.context, count));
}
template <class Way> static void own_timer(place &place, int count) {
    Way::spawn(place.context, own_timers<Way>(count));
}
template <class Way> static void socket_pair(place &place, int count) {
    Way::spawn(place.context, sends<Way>(place.first, count / 4));
    Way::spawn(place.context, answers<Way>(place.second, count / 4));
}
template <class Way> static void spawn(place &place, int count) {
    for (int i = 0; i < count; i++) Way::spawn(place.context, nothing());
}

using workload = void (*)(place &, int);

// Processor time of this thread, on which all coroutines run.
static double nanoseconds() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static double nanoseconds_each(workload load, place &place, int count) {
    const double begin = nanoseconds();
    load(place, count);
    place.context.restart();
    place.context.run();
    return (nanoseconds() - begin) / count;
}

static double median(std::vector<double> figures) {
    std::nth_element(figures.begin(), figures.begin() + figures.size() / 2, figures.end());
    return figures[figures.size() / 2];
}

static void compare(const char *what, workload plainly, workload recordedly, int rounds) {
    const int count = 4000;
    place place;
    std::vector<double> before, after, ratios;
    for (int i = 0; i < rounds; i++) {
        before.push_back(nanoseconds_each(plainly, place, count));
        after.push_back(nanoseconds_each(recordedly, place, count));
        ratios.push_back(after.back() / before.back());
    }
    std::printf("%-28s %8.0f %8.0f %8.2f\n", what, median(before), median(after), median(ratios));
}

int main(int count, char **arguments) {
    ctp_attach();
    const int rounds = count == 2 ? std::atoi(arguments[1]) : 101;
    std::printf("%-28s %8s %8s %8s\n", "ns an operation", "plain", "ctp", "ratio");
    compare("post", post<plain>, post<recorded>, rounds);
    compare("timer of the context", timer<plain>, timer<recorded>, rounds);
    compare("timer of the coroutine", own_timer<plain>, own_timer<recorded>, rounds);
    compare("read or write, socket pair", socket_pair<plain>, socket_pair<recorded>, rounds);
    compare("coroutine that ends at once", spawn<plain>, spawn<recorded>, rounds);
}
