// Kernels called as functions, where their machine code is known: what a launch by PoCL does, without its queue.
#pragma once
#include "launch.hpp"

namespace clarray {

// Run a kernel's work-groups by its machine code, which the run has seen; FALLBACK where they have to be enqueued. The lock of
// the device is held.
Outcome run_code(const Run& run, PyObject* device, const Argument* arguments, size_t count);

// run(code, groups, local, args, device, inline, nbytes): the same, as Python's launches tell it; false where it has to be
// enqueued.
PyObject* run_for_python(PyObject* module, PyObject* const* args, Py_ssize_t count);

PyObject* wait_for_python(PyObject* module, PyObject*);     // wait(): for all that has been run so
PyObject* is_idle_for_python(PyObject* module, PyObject*);  // is_idle(): whether all of it has been done

}  // namespace clarray
