// The launch itself, through the OpenCL library's own functions, and memory from the pool.
#include "code.hpp"

#include <algorithm>
#include <cstring>

namespace clarray {

MemorySlots memory;
BlockSlots block;
KernelSlots kernel;
BoundSlots bound;
DeviceSlots device;
RecorderSlots recorder;
PyTypeObject* memory_type = nullptr;
PyObject* profiling_state = nullptr;

namespace {

// clSetKernelArg, clEnqueueNDRangeKernel and clFinish, of the library that pyopencl has loaded.
using SetArgument = int32_t (*)(void*, uint32_t, size_t, const void*);
using Enqueue = int32_t (*)(void*, void*, uint32_t, const size_t*, const size_t*, const size_t*, uint32_t, const void*, void**);
using Finish = int32_t (*)(void*);
SetArgument set_argument = nullptr;
Enqueue enqueue = nullptr;
Finish finish_commands = nullptr;

void* pointer_of(PyObject* handle) { return PyLong_AsVoidPtr(handle); }

// Set all arguments; false where a type is for Python, or the runtime refuses one.
bool set_arguments(void* to, const char* codes, PyObject* places, const Argument* arguments, size_t count) {
    char structure[MOST_ARGUMENTS * sizeof(Plain::bytes)];
    const auto set = [to](size_t place, const void* value, size_t nbytes) {
        return set_argument(to, uint32_t(place), nbytes, value) == 0;
    };
    const auto set_buffer = [&set](size_t place, const Argument& argument) {
        void* const buffer = pointer_of(memory.handle.of(argument.object));
        return set(place, &buffer, sizeof buffer);
    };
    return pass_arguments(codes, places, arguments, count, structure, set_buffer, set);
}

// Look for a kernel's machine code, until there is some; false after an error.
bool find_code(const Run& run) {
    PyObject* const all = kernel.code.of(run.kernel);
    if (run.seen->code || !PyDict_GET_SIZE(all)) return true;
    run.seen->code = Ref::share(PyDict_GetItemWithError(all, run.local));
    return run.seen->code || !PyErr_Occurred();
}

// As `size_class` in clarray._engine.runtime.memory.
long long size_class(long long nbytes) {
    if (nbytes <= python.fine_blocks) return (nbytes + python.smallest_block - 1) & -python.smallest_block;
    int bits = 0;
    while ((nbytes - 1) >> bits) ++bits;
    const long long step = 1LL << (bits - 4);
    return (nbytes + step - 1) / step * step;
}

}  // namespace

Plain plain_number(char code, const Argument& argument) {
    Plain plain;
    if (argument.object && PyFloat_CheckExact(argument.object)) {
        const double value = PyFloat_AS_DOUBLE(argument.object);
        if (code == 'd') plain.put(value);
        if (code == 'f') plain.put(float(value));
        return plain;
    }
    long long value = argument.number;
    if (argument.object) {
        if (!PyLong_CheckExact(argument.object)) return plain;
        if (code == 'Q') {
            const unsigned long long wide = PyLong_AsUnsignedLongLong(argument.object);
            if (PyErr_Occurred()) PyErr_Clear();
            else plain.put(wide);
            return plain;
        }
        int overflow = 0;
        value = PyLong_AsLongLongAndOverflow(argument.object, &overflow);
        if (overflow) return plain;
    }
    switch (code) {
        case 'b': plain.put(int8_t(value)); break;
        case 'B': plain.put(uint8_t(value)); break;
        case 'h': plain.put(int16_t(value)); break;
        case 'H': plain.put(uint16_t(value)); break;
        case 'i': plain.put(int32_t(value)); break;
        case 'I': plain.put(uint32_t(value)); break;
        case 'q': plain.put(int64_t(value)); break;
        case 'Q': plain.put(uint64_t(value)); break;
    }
    return plain;
}

bool read_extents(PyObject* groups, PyObject* local, size_t* global, size_t* items, uint32_t& dimensions) {
    dimensions = uint32_t(PyTuple_GET_SIZE(groups));
    if (!dimensions || dimensions > MOST_DIMENSIONS || PyTuple_GET_SIZE(local) != Py_ssize_t(dimensions)) return false;
    for (uint32_t axis = 0; axis < dimensions; ++axis) {
        items[axis] = PyLong_AsSize_t(PyTuple_GET_ITEM(local, axis));
        global[axis] = items[axis] * PyLong_AsSize_t(PyTuple_GET_ITEM(groups, axis));
    }
    return !PyErr_Occurred();
}

bool can_launch(PyObject* on) {
    return set_argument && device.closed.of(on) == Py_False && recorder.recorder.of(profiling_state) == Py_None &&
           recorder.capture.of(profiling_state) == Py_None;
}

bool rests(PyObject* on) {
    if (device.pending.of(on) == Py_False) return true;
    if (device.called.of(on) != Py_True || !queue::is_idle() || PyList_GET_SIZE(device.dropped.of(on))) return false;
    device.pending.set(on, Py_False);
    device.called.set(on, Py_False);
    return true;
}

Outcome wait_for(PyObject* on) {
    if (rests(on)) return Outcome::DONE;
    if (device.called.of(on) != Py_True) return Outcome::FALLBACK;
    Py_BEGIN_ALLOW_THREADS
    queue::wait();
    Py_END_ALLOW_THREADS
    return Outcome::DONE;
}

Outcome finish_queue(PyObject* on) {
    void* const queue = pointer_of(device.main_handle.of(on));
    const bool is_plain = queue && finish_commands && can_launch(on) && !PyList_GET_SIZE(device.dropped.of(on));
    const Ref mark = is_plain ? Ref::steal(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type))) : Ref();
    if (!mark) {
        PyErr_Clear();
        return Outcome::FALLBACK;
    }
    device.pending.set(on, mark.get());
    int32_t status;
    Py_BEGIN_ALLOW_THREADS
    status = finish_commands(queue);
    Py_END_ALLOW_THREADS
    if (status) return Outcome::FALLBACK;  // Python waits again, and says what is wrong
    if (device.pending.of(on) != mark.get()) return Outcome::FALLBACK;  // a call of the same thread has launched meanwhile
    static PyObject* const zero = PyLong_FromLong(0);
    device.pending.set(on, Py_False);
    device.called.set(on, Py_False);
    device.queued.set(on, zero);
    return Outcome::DONE;
}

bool finish(PyObject* on) {
    static PyObject* const name = PyUnicode_InternFromString("finish");
    while (true) {  // Python may run a signal handler after its wait, which launches
        wait_for(on);
        if (rests(on)) return true;
        if (!Ref::steal(PyObject_CallMethodNoArgs(on, name))) return false;
    }
}

Outcome finish_if_eager(long flags, PyObject* on, Outcome done) {
    return done == Outcome::DONE && flags & EAGER && !finish(on) ? Outcome::FAILED : done;
}

Outcome fill_zero(PyObject* in, PyObject* on) {
    static PyObject* const name = PyUnicode_InternFromString("fill_zero");
    void* const start = PyLong_AsVoidPtr(block.start.of(memory.block.of(in)));
    if (!start) return PyErr_Occurred() || !Ref::steal(PyObject_CallMethodOneArg(on, name, in)) ? Outcome::FAILED : Outcome::DONE;
    if (!finish(on)) return Outcome::FAILED;
    const long long nbytes = as_wide(memory.nbytes.of(in));
    PyThreadState* const others = nbytes < HELD_BELOW ? nullptr : PyEval_SaveThread();
    std::memset(start, 0, size_t(nbytes));
    if (others) PyEval_RestoreThread(others);
    return Outcome::DONE;
}

namespace {

// Wait for the queue once much is in it, since a thread that wants a value waits for all of it. Only where the device works in host
// memory: others are done with as many bytes in no time. As `_limit_queue` in clarray._engine.runtime.launch.
bool limit_queue(PyObject* on, const Argument* arguments, size_t count, long long nbytes) {
    static PyObject* last = nullptr;  // compared, not used
    static long long queued = 0;
    if (on != last || !nbytes) queued = 0;
    last = on;
    queued += nbytes;
    if (queued < python.most_queued) return true;
    queued = 0;
    for (size_t k = 0; k < count; ++k)
        if (arguments[k].is_buffer && arguments[k].object)
            return !PyLong_AsVoidPtr(block.start.of(memory.block.of(arguments[k].object))) || finish(on);
    return true;
}

}  // namespace

Outcome enqueue_run(const Run& run, PyObject* on, const Argument* arguments, size_t count) {
    // for the error that tells of a lost device
    if (!Ref::steal(PyObject_CallOneArg(kernel.note.of(run.kernel), run.noted))) return Outcome::FAILED;
    if (!find_code(run)) return Outcome::FAILED;
    if (run.seen->code) {
        const Outcome done = run_code(run, on, arguments, count);
        if (done != Outcome::FALLBACK) return done;
    }
    PyObject* use = (run.in_line ? kernel.in_line : kernel.main).of(run.kernel);
    if (use == Py_None) return Outcome::FALLBACK;
    if (run.seen->bound != use) {
        const int known = PySet_Contains(bound.seen.of(use), run.local);
        if (known <= 0) return known ? Outcome::FAILED : Outcome::FALLBACK;
        run.seen->bound = use;
    }
    Ref alive = Ref::share(use);
    PyObject* codes = bound.codes.of(use);
    if (size_t(PyBytes_GET_SIZE(codes)) != count) return Outcome::FALLBACK;
    if ((run.in_line || device.called.of(on) == Py_True) && !finish(on)) return Outcome::FAILED;
    void* to = pointer_of(bound.handle.of(use));
    if (!set_arguments(to, PyBytes_AS_STRING(codes), bound.places.of(use), arguments, count)) return Outcome::FALLBACK;
    const bool was_idle = device.pending.of(on) == Py_False;
    if (!run.in_line) device.pending.set(on, Py_True);
    void* queue = pointer_of(bound.queue_handle.of(use));
    int32_t status;
    Py_BEGIN_ALLOW_THREADS
    status = enqueue(queue, to, run.dimensions, nullptr, run.global, run.items, 0, nullptr, nullptr);
    Py_END_ALLOW_THREADS
    if (status) return Outcome::FALLBACK;  // Python launches again, and says what is wrong
    return run.in_line || limit_queue(on, arguments, count, was_idle ? 0 : run.nbytes) ? Outcome::DONE : Outcome::FAILED;
}

bool read_pool(PyObject* of, Pool& pool) {
    static PyObject* const names[] = {PyUnicode_InternFromString("pool"), PyUnicode_InternFromString("_bins"),
                                      PyUnicode_InternFromString("_global_bytes")};
    Ref from = Ref::steal(PyObject_GetAttr(of, names[0]));
    Ref bins = from ? Ref::steal(PyObject_GetAttr(from.get(), names[1])) : Ref();
    Ref nbytes = bins ? Ref::steal(PyObject_GetAttr(from.get(), names[2])) : Ref();
    if (!nbytes) return false;
    pool.bins = std::move(bins);
    pool.global_bytes = as_wide(nbytes.get());
    return true;
}

namespace {

// Find the free blocks for so many bytes; false, perhaps without an error, where there are none.
bool find_blocks(Pool& pool, long long nbytes) {
    if (nbytes <= 0) return false;
    if (pool.last != nbytes) {
        Ref size = Ref::steal(PyLong_FromLongLong(size_class(nbytes)));
        pool.last = 0;
        pool.bin = size ? Ref::share(PyDict_GetItemWithError(pool.bins.get(), size.get())) : Ref();
        pool.asked = Ref::steal(PyLong_FromLongLong(nbytes));
        pool.cost = Ref::steal(PyLong_FromLongLong(std::max(python.least_of_memory, nbytes * python.weight_of_all / pool.global_bytes)));
        if (!pool.bin || !pool.asked || !pool.cost) return false;
        pool.last = nbytes;
    }
    return PyList_GET_SIZE(pool.bin.get());
}

// As `list.pop`: what is left keeps its room.
Ref taken_from(PyObject* bin) {
    const Py_ssize_t last = PyList_GET_SIZE(bin) - 1;
    Ref taken = Ref::steal(PyList_GET_ITEM(bin, last));
    Py_SET_SIZE(reinterpret_cast<PyVarObject*>(bin), last);
    return taken;
}

}  // namespace

Ref allocate(Pool& pool, PyObject* on, long long nbytes) {
    static PyObject* const allocate = PyUnicode_InternFromString("allocate");
    Ref readers = Ref::steal(PyList_New(0));
    if (!readers) return readers;
    if (!find_blocks(pool, nbytes)) {
        Ref asked = PyErr_Occurred() ? Ref() : Ref::steal(PyLong_FromLongLong(nbytes));
        return asked ? Ref::steal(PyObject_CallMethodOneArg(on, allocate, asked.get())) : Ref();
    }
    Ref taken = taken_from(pool.bin.get()), asked = Ref::share(pool.asked.get()), cost = Ref::share(pool.cost.get());
    Ref made = new_object(memory_type);  // may collect garbage, which may ask this pool for other bytes
    if (!made) return made;
    PyObject* out = made.get();
    memory.buffer.set(out, block.buffer.of(taken.get()));
    memory.handle.set(out, block.handle.of(taken.get()));
    memory.nbytes.put(out, asked.release());
    memory.device.set(out, on);
    memory.shared.set(out, Py_False);
    memory.writeable.set(out, Py_True);
    memory.readers.put(out, readers.release());
    memory.views.set(out, Py_None);
    memory.facts.set(out, Py_None);
    memory.mirror.set(out, Py_None);
    memory.cost.put(out, cost.release());
    memory.block.put(out, taken.release());
    memory.keep.set(out, Py_None);
    return made;
}

void lend_opencl(unsigned long long argument_setter, unsigned long long enqueuer, unsigned long long finisher) {
    set_argument = reinterpret_cast<SetArgument>(argument_setter);
    enqueue = reinterpret_cast<Enqueue>(enqueuer);
    finish_commands = reinterpret_cast<Finish>(finisher);
}

}  // namespace clarray
