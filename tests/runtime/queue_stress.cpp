// Launches by the core's threads, for a sanitizer: each reads what all groups of the one before have written.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "queue.hpp"

namespace {

using namespace clarray;

// in[g + 1] + 1 into out[g]: both buffers, and how many there are, are the arguments.
void shift(void** arguments, const void* told, size_t x, size_t y, size_t) {
    const Context& context = *static_cast<const Context*>(told);
    const size_t count = context.groups[0] * context.groups[1], group = y * context.groups[0] + x;
    const long* in = *static_cast<long**>(arguments[0]);
    long* out = *static_cast<long**>(arguments[1]);
    const long step = *static_cast<int*>(arguments[2]);
    out[group] = in[(group + 1) % count] + step;
}

void launch(std::vector<long>& in, std::vector<long>& out, size_t columns, size_t rows, size_t threads) {
    LaunchGrid* to;
    while (!(to = queue::begin(threads, QUEUE_ROOM))) queue::wait_for_room(QUEUE_ROOM);
    to->function = shift;
    to->context = Context();
    to->context.groups[0] = columns;
    to->context.groups[1] = rows;
    to->context.dimensions = 2;
    to->starts[0] = in.data();
    to->starts[1] = out.data();
    const int one = 1;
    *reinterpret_cast<int*>(to->numbers) = one;
    for (size_t k = 0; k < 2; ++k) to->pointers[k] = &to->starts[k];
    to->pointers[2] = to->numbers;
    queue::submit();
}

}  // namespace

int main(int count, char** given) {
    const size_t threads = count > 1 ? size_t(std::atoi(given[1])) : 3;
    const int rounds = count > 2 ? std::atoi(given[2]) : 2000;
    for (size_t columns : {1, 2, 7, 64, 1000}) {
        for (size_t rows : {1, 3}) {
            std::vector<long> first(columns * rows), second(columns * rows);
            for (int round = 0; round < rounds; ++round) {
                launch(first, second, columns, rows, threads);
                launch(second, first, columns, rows, threads);
                if (round % 97 == 0) queue::wait();
                if (round % 501 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the threads go to sleep
            }
            queue::wait();
            for (long value : first)
                if (value != 2L * rounds) return std::printf("%ld in place of %d\n", value, 2 * rounds), 1;
        }
    }
    return queue::is_idle() ? 0 : 1;
}
