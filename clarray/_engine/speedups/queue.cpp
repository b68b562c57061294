#include "queue.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#define CLARRAY_HAS_SIGNALS
#include <cerrno>
#include <csignal>
#include <pthread.h>
#include <unistd.h>
#endif

namespace clarray {

namespace {

using Clock = std::chrono::steady_clock;

// How long a thread looks for more to do before it sleeps: waking takes 20 to 50 us on a virtual machine.
constexpr std::chrono::microseconds AWAKE{60};
constexpr int LOOKS = 64;               // between two looks at the clock
constexpr int MOST_LOOKS = 64 * LOOKS;  // for the end of others' work, before the processor is offered to them
constexpr uint64_t ROOM = QUEUE_ROOM;
constexpr size_t PARTS = 16;            // that a thread takes of a launch, where it has so many groups

void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) && defined(__GNUC__)
    asm volatile("yield");
#endif
}

// A launch in the queue. `next` has its number in the upper half and the next group in the lower one, so that who comes
// late takes nothing of the launch that has its place by then.
struct alignas(64) Place {
    LaunchGrid groups;
    std::atomic<uint32_t> count, at_once;
    std::atomic<uint64_t> next;
    std::atomic<uint32_t> finished;
};

struct alignas(64) Helper {
    std::atomic<bool> sleeps{false};
    std::mutex mutex;
    std::condition_variable called;
};

class ThreadPool {
public:
    explicit ThreadPool(size_t count) {
        for (size_t i = 0; i < count; ++i) helpers_.push_back(std::make_unique<Helper>());
        for (size_t i = 0; i < count; ++i)
            if (!start(i)) break;
    }

    bool is_full(size_t most) const { return last_ - done_ >= most; }
    bool is_idle() const { return last_ == done_; }
    Place& next_place() { return places_[last_ % ROOM]; }

    void submit() {
        Place& place = next_place();
        const size_t groups = place.groups.count();
        place.count = uint32_t(groups);
        place.at_once = uint32_t(std::max<size_t>(1, groups / ((helpers_.size() + 1) * PARTS)));
        place.finished = 0;
        place.next = last_.load() << 32;
        ++last_;
        wake(groups);
    }

    // Do some of the first launch that is not done; whether there was any to be taken.
    bool help() {
        const uint64_t number = done_.load(std::memory_order_acquire);
        if (number == last_.load(std::memory_order_acquire)) return false;
        Place& place = places_[number % ROOM];
        const uint64_t mine = number << 32 >> 32;
        uint64_t next = place.next.load(std::memory_order_acquire);
        uint32_t count, first, end;
        do {
            count = place.count;
            first = uint32_t(next);
            if (next >> 32 != mine || first >= count) return false;
            end = std::min(count, first + place.at_once);
        } while (!place.next.compare_exchange_weak(next, (mine << 32) | end, std::memory_order_acq_rel));
        place.groups.run(first, end);
        if (place.finished.fetch_add(end - first, std::memory_order_acq_rel) + (end - first) == count) {
            done_ = number + 1;
            if (number + 1 != last_) wake(places_[(number + 1) % ROOM].count);
        }
        return true;
    }

    void wait_for(uint64_t number) {
        for (int looks = 0; done_.load(std::memory_order_acquire) < number;) {
            if (help()) looks = 0;
            else if (++looks < MOST_LOOKS) pause();
            else std::this_thread::yield();
        }
    }
    void wait() { wait_for(last_); }
    void wait_for_room(size_t most) { wait_for(last_ - most + 1); }

private:
    bool start(size_t number) {
#ifdef CLARRAY_HAS_SIGNALS
        sigset_t others, before;  // signals are for the threads of Python, but for those of what a thread does itself
        sigfillset(&others);
        for (const int own : {SIGFPE, SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT}) sigdelset(&others, own);
        pthread_sigmask(SIG_SETMASK, &others, &before);
#endif
        bool started = true;
        try {
            std::thread(&ThreadPool::work, this, number).detach();
        } catch (const std::system_error&) {  // the process has too many
            started = false;
        }
#ifdef CLARRAY_HAS_SIGNALS
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
#endif
        return started;
    }

    // Wake two threads that sleep, if there are: each that wakes does so too.
    void wake(size_t groups) {
        size_t left = std::min(groups, size_t(2));
        for (size_t i = 0; left && sleeping_ && i < helpers_.size(); ++i) {
            if (!helpers_[i]->sleeps) continue;
            const std::lock_guard<std::mutex> held(helpers_[i]->mutex);
            helpers_[i]->called.notify_one();
            --left;
        }
    }

    void work(size_t number) {
        for (;;) {
            while (help()) {}
            if (is_called_soon()) continue;
            sleep(*helpers_[number]);
            if (const size_t groups = untaken()) wake(groups - 1);
        }
    }

    void sleep(Helper& self) {
        std::unique_lock<std::mutex> held(self.mutex);
        self.sleeps = true;
        ++sleeping_;
        self.called.wait(held, [this] { return untaken() != 0; });
        --sleeping_;
        self.sleeps = false;
    }

    // LaunchGrid of the first launch that is not done which nobody has taken.
    size_t untaken() const {
        const uint64_t number = done_;
        if (number == last_) return 0;
        const Place& place = places_[number % ROOM];
        const uint32_t next = uint32_t(place.next.load(std::memory_order_relaxed)), count = place.count;
        return count - std::min(next, count);
    }

    bool is_called_soon() const {
        const auto until = Clock::now() + AWAKE;
        do {
            for (int look = 0; look < LOOKS; ++look) {
                if (untaken()) return true;
                pause();
            }
        } while (Clock::now() < until);
        return false;
    }

    std::vector<std::unique_ptr<Helper>> helpers_;
    Place places_[ROOM];
    alignas(64) std::atomic<uint64_t> last_{0};  // how many have been submitted
    alignas(64) std::atomic<uint64_t> done_{0};
    alignas(64) std::atomic<int> sleeping_{0};
};

// They live as long as the process does, and nothing of this is ever freed.
std::atomic<ThreadPool*> of_process{nullptr};

#ifdef CLARRAY_HAS_SIGNALS
void forget_in_child() { of_process = nullptr; }  // a forked process has none of the threads
#endif

ThreadPool& helpers(size_t threads) {
    if (!of_process) {
#ifdef CLARRAY_HAS_SIGNALS
        static const int once = pthread_atfork(nullptr, nullptr, forget_in_child);
        (void)once;
#endif
        of_process = new ThreadPool(threads);
    }
    return *of_process;
}

// What the work-groups of one thread print, until it is written where PoCL writes it.
class Printed {
public:
    void place(Context& to) {
        to.printed = text_.get();
        to.printed_so_far = &length_;
        to.printable = text_ ? ROOM : 0;
    }
    void write() {
        if (!length_) return;
#ifdef CLARRAY_HAS_SIGNALS
        for (uint32_t from = 0; from < length_;) {
            const ssize_t written = ::write(STDOUT_FILENO, text_.get() + from, length_ - from);
            if (written < 0 && errno != EINTR) break;
            if (written > 0) from += uint32_t(written);
        }
#endif
        length_ = 0;
    }

private:
    static constexpr uint32_t ROOM = 1 << 20;  // bytes for one work-group, which take no memory until it prints

    std::unique_ptr<char[]> text_{new (std::nothrow) char[ROOM]};
    uint32_t length_ = 0;
};

}  // namespace

void LaunchGrid::run(size_t first, size_t end) {
    thread_local Printed printed;
    Context told = context;
    printed.place(told);
    const size_t *groups = told.groups;
    for (size_t k = first; k < end; ++k) {
        function(pointers, &told, k % groups[0], k / groups[0] % groups[1], k / groups[0] / groups[1]);
        printed.write();
    }
}

namespace queue {

LaunchGrid* begin(size_t threads, size_t most) {
    ThreadPool& own = helpers(threads);
    return own.is_full(most) ? nullptr : &own.next_place().groups;
}

void submit() { of_process.load()->submit(); }

void wait_for_room(size_t most) { of_process.load()->wait_for_room(most); }

void wait() {
    if (ThreadPool* own = of_process) own->wait();
}

bool is_idle() {
    const ThreadPool* own = of_process;
    return !own || own->is_idle();
}

}  // namespace queue

}  // namespace clarray
