// A queue of launches that threads of the core's own work off, in order, and whoever waits for it with them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace clarray {

constexpr size_t MOST_GIVEN = 64;  // arguments of a launch by the core's threads
constexpr size_t NUMBER_BYTES = 8;
constexpr size_t QUEUE_ROOM = 32;  // in the queue

// What PoCL 3.0 tells a work-group of its launch, as its `pocl_context` has it.
struct Context {
    size_t groups[3] = {1, 1, 1}, offset[3] = {}, items[3] = {1, 1, 1};
    void *printed = nullptr, *printed_so_far = nullptr;  // each thread has its own
    uint32_t printable = 0, dimensions = 1;
};

// The function that runs a work-group: its arguments, what it is told of the launch, and which group.
using Function = void (*)(void**, const void*, size_t, size_t, size_t);

// A launch, which stays where it is: arguments are told by where they lie.
struct LaunchGrid {
    Function function;
    Context context;
    void* pointers[MOST_GIVEN + 1];
    void* starts[MOST_GIVEN];                             // of buffers
    alignas(64) char numbers[MOST_GIVEN * NUMBER_BYTES];  // the structure of all of them, or each at its place

    size_t count() const { return context.groups[0] * context.groups[1] * context.groups[2]; }
    void run(size_t first, size_t end);
};

// The queue of the process. One thread launches at a time, with the GIL from the beginning of a launch to its submission.
namespace queue {

LaunchGrid* begin(size_t threads, size_t most);  // where the next launch is to be written; null while there are `most` launches
void submit();                   // what has been written there
void wait_for_room(size_t most); // helping meanwhile, as the other one does; neither needs the GIL
void wait();                     // for all that has been submitted
bool is_idle();

}  // namespace queue

}  // namespace clarray
