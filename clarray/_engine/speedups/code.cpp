#include "code.hpp"

#include <cstring>

namespace clarray {

CodeSlots code;

namespace {

// What it may have been compiled for is a grid of fewer work-items along each dimension.
constexpr size_t SMALL_GRID = 0xFFFF, MOST_GROUPS = size_t(1) << 31;

// A launch of so many bytes takes long enough to prepare the next one meanwhile. More launches ahead of the device would only make
// other threads wait longer for theirs.
constexpr long long LARGE_BYTES = 1 << 20;
constexpr size_t MOST_LARGE_LAUNCHES = 2;

// Where a buffer lies; null where it is in no host memory.
void* start_of(const Argument& buffer) {
    if (!buffer.object) return reinterpret_cast<void*>(buffer.number);
    return PyLong_AsVoidPtr(block.start.of(memory.block.of(buffer.object)));
}

// Write arguments as a work-group takes them; false where one is for Python, or memory is not the host's.
bool write_arguments(const char* codes, PyObject* places, const Argument* arguments, size_t count, LaunchGrid& to) {
    const auto put = [&to](size_t place, const void* value, size_t nbytes) {
        char* const at = value == to.numbers ? to.numbers : to.numbers + place * NUMBER_BYTES;  // the structure, or one
        if (value != to.numbers) std::memcpy(at, value, nbytes);
        to.pointers[place] = at;
        return true;
    };
    const auto put_buffer = [&to](size_t place, const Argument& argument) {
        to.starts[place] = start_of(argument);
        to.pointers[place] = &to.starts[place];
        return to.starts[place] != nullptr;
    };
    return pass_arguments(codes, places, arguments, count, to.numbers, put_buffer, put);
}

// Write all of a launch; false where it has to be enqueued.
bool write(const Run& run, const Argument* arguments, size_t count, LaunchGrid& to) {
    PyObject* const from = run.seen->code.get();
    to.function = reinterpret_cast<Function>(PyLong_AsVoidPtr(code.address.of(from)));
    to.context = Context();
    to.context.dimensions = run.dimensions;
    for (uint32_t axis = 0; axis < run.dimensions; ++axis) {
        if (run.global[axis] >= SMALL_GRID) return false;
        to.context.items[axis] = run.items[axis];
        to.context.groups[axis] = run.global[axis] / run.items[axis];
    }
    if (to.count() >= MOST_GROUPS) return false;
    return write_arguments(PyBytes_AS_STRING(code.codes.of(from)), code.places.of(from), arguments, count, to);
}

}  // namespace

Outcome run_code(const Run& run, PyObject* on, const Argument* arguments, size_t count) {
    PyObject* const codes = code.codes.of(run.seen->code.get());
    if (count > MOST_GIVEN || size_t(PyBytes_GET_SIZE(codes)) != count) return Outcome::FALLBACK;
    // what is little is done at once, unless it would have to wait
    const bool alone = run.in_line && (rests(on) || device.called.of(on) != Py_True);
    const size_t threads = alone ? 0 : own_threads;
    if ((!threads || device.called.of(on) != Py_True) && !finish(on)) return Outcome::FAILED;
    if (threads) {
        LaunchGrid* to;
        const size_t most = run.nbytes < LARGE_BYTES ? QUEUE_ROOM : MOST_LARGE_LAUNCHES;
        while (!(to = queue::begin(threads, most))) {
            Py_BEGIN_ALLOW_THREADS
            queue::wait_for_room(most);
            Py_END_ALLOW_THREADS
        }
        if (!write(run, arguments, count, *to)) return Outcome::FALLBACK;
        queue::submit();
        device.pending.set(on, Py_True);
        device.called.set(on, Py_True);
        return Outcome::DONE;
    }
    LaunchGrid groups;
    if (!write(run, arguments, count, groups)) return Outcome::FALLBACK;
    PyThreadState* const others = run.nbytes < HELD_BELOW ? nullptr : PyEval_SaveThread();
    groups.run(0, groups.count());
    if (others) PyEval_RestoreThread(others);
    return Outcome::DONE;
}

namespace {

// Read an argument that Python gives a launch.
bool read_argument(PyObject* given, char code, Argument& argument) {
    static PyObject* const start = PyUnicode_InternFromString("start");
    argument = {given, 0, code == '*'};
    if (!argument.is_buffer) return true;
    Ref address = Ref::steal(PyObject_GetAttr(given, start));
    argument = {nullptr, address ? as_wide(address.get()) : 0, true};
    return bool(address);
}

}  // namespace

PyObject* run_for_python(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (count != 7) return PyErr_Format(PyExc_TypeError, "run() takes 7 arguments");
    Ref given = Ref::steal(PySequence_Fast(args[3], "a launch takes a sequence"));
    if (!given) return nullptr;
    const size_t given_count = size_t(PySequence_Fast_GET_SIZE(given.get()));
    PyObject* const codes = code.codes.of(args[0]);
    if (given_count > MOST_GIVEN || given_count != size_t(PyBytes_GET_SIZE(codes))) Py_RETURN_FALSE;
    Argument arguments[MOST_GIVEN];
    for (size_t k = 0; k < given_count; ++k) {
        PyObject* const one = PySequence_Fast_GET_ITEM(given.get(), Py_ssize_t(k));
        if (!read_argument(one, PyBytes_AS_STRING(codes)[k], arguments[k])) return nullptr;
    }
    size_t global[MOST_DIMENSIONS], items[MOST_DIMENSIONS];
    uint32_t dimensions;
    if (!read_extents(args[1], args[2], global, items, dimensions))
        return PyErr_Occurred() ? nullptr : Py_NewRef(Py_False);
    Seen seen{nullptr, Ref::share(args[0])};
    const Run run{nullptr, args[2], args[5] == Py_True, &seen, nullptr, as_wide(args[6]), dimensions, global, items};
    return guarded([&]() -> PyObject* {
        const Outcome done = run_code(run, args[4], arguments, given_count);
        if (done == Outcome::FAILED) return nullptr;
        if (done != Outcome::DONE) Py_RETURN_FALSE;
        // counted here: an interrupt may come before the launch, in finish(), and as soon as this returns
        Ref counted = Ref::steal(PyLong_FromLongLong(as_wide(device.begun.of(args[4])) + 1));
        if (!counted) return nullptr;
        device.begun.set(args[4], counted.get());
        Py_RETURN_TRUE;
    });
}

PyObject* wait_for_python(PyObject*, PyObject*) {
    Py_BEGIN_ALLOW_THREADS
    queue::wait();
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

PyObject* is_idle_for_python(PyObject*, PyObject*) { return PyBool_FromLong(queue::is_idle()); }

}  // namespace clarray
