// Kernels that Python has prepared, and what a launch of one needs.
#pragma once
#include "core.hpp"
#include "queue.hpp"

#include <cstring>
#include <string>
#include <vector>

namespace clarray {

struct MemorySlots {
    Slot buffer{"buffer"}, handle{"handle"}, nbytes{"nbytes"}, device{"device"}, shared{"shared"},
        writeable{"writeable"}, readers{"readers"}, views{"views"}, facts{"facts"}, mirror{"mirror"}, cost{"cost"},
        block{"_block"}, keep{"_keep"};
};
struct BlockSlots {
    Slot buffer{"buffer"}, handle{"handle"}, size{"size"}, host{"host"}, home{"home"}, typed{"typed"}, start{"start"};
};
struct KernelSlots {
    Slot main{"_main"}, in_line{"_inline"}, note{"_note"}, code{"code"};
};
struct BoundSlots {
    Slot handle{"handle"}, queue_handle{"queue_handle"}, codes{"codes"}, places{"places"}, seen{"seen"};
};
struct CodeSlots {
    Slot address{"address"}, codes{"codes"}, places{"places"};
};
struct DeviceSlots {
    Slot lock{"lock"}, pending{"pending"}, called{"called"}, closed{"closed"}, begun{"begun"}, dropped{"_dropped"},
        queued{"queued"}, main_handle{"main_handle"};
};
struct RecorderSlots {
    Slot recorder{"recorder"}, capture{"capture"};
};
extern MemorySlots memory;
extern BlockSlots block;
extern KernelSlots kernel;
extern BoundSlots bound;
extern CodeSlots code;
extern DeviceSlots device;
extern RecorderSlots recorder;
extern PyTypeObject* memory_type;
extern PyObject* profiling_state;

// What new memory of a device comes from.
struct Pool {
    Ref bins;
    long long global_bytes;
    long long last = 0;     // bytes, of which there was a block
    Ref asked, cost, bin{};  // and what belongs to them: the pool keeps each list of blocks for good
};
bool read_pool(PyObject* device, Pool& pool);  // false after an error

// New memory, as `Pool.allocate` gives it.
Ref allocate(Pool& pool, PyObject* device, long long nbytes);
inline Ref allocate(PyObject* device, long long nbytes) {
    Pool pool;
    return read_pool(device, pool) ? allocate(pool, device, nbytes) : Ref();
}

// What has been looked up of a kernel.
struct Seen {
    PyObject* bound = nullptr;  // that has been launched often enough; compared, not used
    Ref code{};                 // its machine code, where that may be called
};

constexpr size_t MOST_ARGUMENTS = 512;
constexpr long long HELD_BELOW = 16384;  // bytes of work for which letting other threads run Python is not worth it

// An argument: a buffer, or a number as Python has it.
struct Argument {
    PyObject* object;  // borrowed, a buffer's memory; null where `number` counts
    long long number;  // of a buffer: where it lies in host memory
    bool is_buffer;
};

// A number as a kernel takes it; no bytes where its type is for Python.
struct Plain {
    char bytes[sizeof(double)];
    size_t size = 0;

    template <typename Number>
    void put(Number number) {
        std::memcpy(bytes, &number, size = sizeof number);
    }
};
Plain plain_number(char code, const Argument& argument);

// Go through arguments as a kernel takes them (`ArgumentLayout`): each goes to its place by `buffer`,
// or by `bytes`, numbers alone or all in the structure, which is the last. False where a type is for Python, or either says so.
template <typename Buffer, typename Bytes>
bool pass_arguments(const char* codes, PyObject* places, const Argument* arguments, size_t count, char* structure,
                    const Buffer& buffer, const Bytes& bytes) {
    const bool together = PyBytes_GET_SIZE(places);
    const auto place_of = [&](size_t k) {
        uint16_t place;
        std::memcpy(&place, PyBytes_AS_STRING(places) + k * sizeof place, sizeof place);
        return size_t(place);
    };
    size_t last = 0;
    for (size_t k = 0; k < count; ++k) {
        if (arguments[k].is_buffer != (codes[k] == '*')) return false;
        const size_t place = together ? place_of(k) : k;
        if (arguments[k].is_buffer) {
            if (!buffer(place, arguments[k])) return false;
            ++last;
            continue;
        }
        const Plain plain = plain_number(codes[k], arguments[k]);
        if (!plain.size) return false;
        if (together) std::memcpy(structure + place, plain.bytes, plain.size);
        else if (!bytes(place, plain.bytes, plain.size)) return false;
    }
    return !together || bytes(last, structure, place_of(count));
}

enum class Outcome { DONE, FALLBACK, FAILED };  // FALLBACK: for the Python function; FAILED: an error is set

// Hold a lock, if the acquiring raises no error.
class Held {
public:
    explicit Held(PyObject* lock, bool waits = true);  // empty, with no error, where it would have to wait and does not
    ~Held();
    explicit operator bool() const { return bool(lock_); }
    bool has_waited() const { return has_waited_; }  // for another thread

private:
    bool has_waited_ = false;
    Ref lock_;
};

// Whether launches are the core's: a profile, a recording, and a device that is closed, are for Python.
bool can_launch(PyObject* device);

constexpr uint32_t MOST_DIMENSIONS = 3;

// The extents of a launch from its groups and the items of one, tuples; false where they are none, perhaps with an error.
bool read_extents(PyObject* groups, PyObject* local, size_t* global, size_t* items, uint32_t& dimensions);

// One run of a kernel, but for its arguments.
struct Run {
    PyObject *kernel, *local;
    bool in_line;
    Seen* seen;
    PyObject* noted;  // as `Device.recent` has it
    long long nbytes;
    uint32_t dimensions;
    const size_t *global, *items;
};

// Whether nothing is queued on a device; that the core's own queue has done all since is noted.
bool rests(PyObject* device);
// Wait for the core's queue; FALLBACK where the device's own has something, which is for Python.
Outcome wait_for(PyObject* device);
// The device's lock is held. Wait for either queue, until both are empty at the return; false after an error.
bool finish(PyObject* device);
// Wait after the launch of a value that reads memory of the host, which may write to it after the statement.
Outcome finish_if_eager(long flags, PyObject* device, Outcome launched);
// The device's lock is held. Wait for the device's own queue; FALLBACK where Python has to.
Outcome finish_queue(PyObject* device);
// The device's lock is held. Set every byte of a memory to zero; FAILED after an error. At once if the memory is the host's.
Outcome fill_zero(PyObject* memory, PyObject* device);
Outcome enqueue_run(const Run& run, PyObject* device, const Argument* arguments, size_t count);

// As `Memory.forget`: what is known of the values in a memory is not, once they are written; the device's lock is held.
inline void forget(PyObject* in) {
    if (memory.facts.of(in) != Py_None) memory.facts.set(in, Py_None);
    if (memory.mirror.of(in) != Py_None) memory.mirror.set(in, Py_None);
}

// Return the block of a memory to the pool: the native implementation of `give_back` in clarray._engine.runtime.memory.
Outcome give_back(PyObject* memory);

// Have objects of a class that has been laid out be dropped by the core, where it knows all that they hold.
void drop_quickly(PyTypeObject* kind);

void lend_opencl(unsigned long long set_argument, unsigned long long enqueue, unsigned long long finish);

}  // namespace clarray
