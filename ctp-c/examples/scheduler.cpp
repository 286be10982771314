// A scheduler for coroutines of C++20 that wait for file descriptors, and a program with a fault on it.
// The lines that the recording needs end with "// ctp". Without them, the promise type has two more
// lines, with std::suspend_always for initial_suspend and final_suspend.
//
// Six sessions wait for a byte. Two get one, and end. The pipes of three others are closed by a part of
// the program that does not resume them. The last waits for a peer that never writes.
#include <poll.h>
#include <unistd.h>

#include <coroutine>
#include <cstdio>
#include <deque>
#include <exception>
#include <map>
#include <vector>

#include "ctp.hpp" // ctp

// A coroutine that the scheduler owns.
struct task {
    struct promise_type : ctp::traced { // ctp
        task get_return_object() {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
};

class scheduler {
public:
    // Waits until a descriptor is readable.
    struct readable {
        scheduler &owner;
        int fd;

        bool await_ready() const noexcept { return false; }
        ctp::wait ctp_wait() const noexcept { return ctp::readable(fd); } // ctp
        void await_suspend(std::coroutine_handle<task::promise_type> handle) {
            owner.readers_[fd] = {handle, handle.promise().waker()}; // ctp
        }
        void await_resume() const noexcept {}
    };

    readable until_readable(int fd) { return {*this, fd}; }

    void spawn(task task) { ready_.push_back(task.handle); }

    // Forgets who waits for a descriptor, without resuming it: the fault of this program.
    void forget(int fd) { readers_.erase(fd); }

    // Resumes coroutines, and waits for descriptors. A turn without a ready descriptor takes 10 ms.
    void run(int turns) {
        for (int turn = 0; turn < turns; turn++) {
            resume_ready();
            poll_readers();
        }
    }

private:
    struct reader {
        std::coroutine_handle<> handle;
        ctp::waker waker; // ctp
    };

    void resume_ready() {
        while (!ready_.empty()) {
            auto handle = ready_.front();
            ready_.pop_front();
            handle.resume();
            if (handle.done()) handle.destroy();
        }
    }

    void poll_readers() {
        std::vector<pollfd> polled;
        for (const auto &[fd, waiting] : readers_) polled.push_back({fd, POLLIN, 0});
        poll(polled.data(), polled.size(), 10);
        for (const pollfd &found : polled) {
            if (found.revents == 0) continue;
            reader woken = readers_.at(found.fd);
            readers_.erase(found.fd);
            woken.waker.wake(); // ctp
            ready_.push_back(woken.handle);
        }
    }

    std::deque<std::coroutine_handle<>> ready_;
    std::map<int, reader> readers_;
};

static task session(scheduler &scheduler, int fd) {
    char byte;
    co_await scheduler.until_readable(fd);
    if (read(fd, &byte, 1) == 1) std::printf("answered %d\n", fd);
}

// Closes the descriptor of a session that has been idle.
static void close_idle(scheduler &scheduler, int fd) {
    std::printf("forgotten %d\n", fd);
    scheduler.forget(fd);
    ctp::closed(ctp::readable(fd)); // ctp
    close(fd);
}

int main() {
    ctp_attach(); // ctp
    scheduler scheduler;
    int pipes[6][2];
    for (auto &ends : pipes) {
        if (pipe(ends) != 0) return 1;
        scheduler.spawn(session(scheduler, ends[0]));
    }
    scheduler.run(5);
    for (int i = 0; i < 2; i++)
        if (write(pipes[i][1], "x", 1) != 1) return 1;
    scheduler.run(5);
    for (int i = 2; i < 5; i++) close_idle(scheduler, pipes[i][0]);
    std::printf("waiting %d\n", pipes[5][0]);
    scheduler.run(200);
    return 0;
}
