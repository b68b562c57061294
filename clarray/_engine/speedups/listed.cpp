// Lists of launches for any memories: `Step` in clarray._engine.launch.listed.
#include "launch.hpp"

namespace clarray {

namespace {

struct Listed {
    PyObject *launched, *args, *places;
};

struct Place {
    size_t at, number;
};

Place place_of(PyObject* pair) {
    return {PyLong_AsSize_t(PyTuple_GET_ITEM(pair, 0)), PyLong_AsSize_t(PyTuple_GET_ITEM(pair, 1))};
}

// The arguments of a launch, buffers and the offsets after them in place; false where there are too many.
bool read_arguments(const Listed& step, PyObject* memories, PyObject* offsets, Argument* arguments) {
    const Py_ssize_t count = PyTuple_GET_SIZE(step.args);
    if (size_t(count) > MOST_ARGUMENTS) return false;
    for (Py_ssize_t i = 0; i < count; ++i) arguments[i] = {PyTuple_GET_ITEM(step.args, i), 0, false};
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(step.places); ++i) {
        const auto [at, number] = place_of(PyTuple_GET_ITEM(step.places, i));
        const long long further = as_wide(PyTuple_GET_ITEM(offsets, Py_ssize_t(number)));
        arguments[at + 1] = {nullptr, as_wide(arguments[at + 1].object) + further, false};
        arguments[at] = {PyTuple_GET_ITEM(memories, Py_ssize_t(number)), 0, true};
    }
    return true;
}

Outcome launch_listed(PyObject* on, const Listed& step, PyObject* memories, PyObject* offsets) {
    Argument arguments[MOST_ARGUMENTS];
    if (!read_arguments(step, memories, offsets, arguments)) return Outcome::RARE;
    PyObject* const local = PyTuple_GET_ITEM(step.launched, 2);
    size_t global[MOST_DIMENSIONS], items[MOST_DIMENSIONS];
    uint32_t dimensions;
    if (!read_extents(PyTuple_GET_ITEM(step.launched, 1), local, global, items, dimensions))
        return PyErr_Occurred() ? Outcome::FAILED : Outcome::RARE;
    Seen seen;
    const long long nbytes = as_wide(PyTuple_GET_ITEM(step.launched, 3));
    const Run run{PyTuple_GET_ITEM(step.launched, 0), local, false, &seen, step.launched, nbytes, dimensions, global, items};
    return enqueue_run(run, on, arguments, size_t(PyTuple_GET_SIZE(step.args)));
}

}  // namespace

PyObject* run_listed(PyObject*, PyObject* const* args, Py_ssize_t count) {
    PyObject *on, *steps, *memories, *offsets;
    Py_ssize_t done;
    if (count != 5) return PyErr_Format(PyExc_TypeError, "run_listed() takes 5 arguments");
    on = args[0], steps = args[1], done = PyLong_AsSsize_t(args[2]), memories = args[3], offsets = args[4];
    if (!PyTuple_Check(steps) || !PyTuple_Check(memories) || !PyTuple_Check(offsets))
        return PyErr_Format(PyExc_TypeError, "run_listed() takes tuples");
    return guarded([&]() -> PyObject* {
        while (done < PyTuple_GET_SIZE(steps) && can_launch(on)) {
            PyObject* const step = PyTuple_GET_ITEM(steps, done);
            const Listed listed{PyTuple_GET_ITEM(step, 0), PyTuple_GET_ITEM(step, 1), PyTuple_GET_ITEM(step, 2)};
            const Outcome outcome = launch_listed(on, listed, memories, offsets);
            if (outcome == Outcome::FAILED) return nullptr;
            if (outcome == Outcome::RARE) break;
            ++done;
        }
        return PyErr_Occurred() ? nullptr : PyLong_FromSsize_t(done);
    });
}

}  // namespace clarray
