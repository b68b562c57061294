// Programs that Python holds and runs for any memories: `LaunchSequence` of clarray._engine.launch.sequence.
#include "program.hpp"

namespace clarray {

namespace {

struct Sequence {
    PyObject_HEAD
    Program* program;
    Py_ssize_t memories;
};

Sequence* of(PyObject* object) { return reinterpret_cast<Sequence*>(object); }

// Sequence(planned, device, memories): `memories` is their number.
PyObject* make(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject *planned, *device;
    Py_ssize_t memories;
    if (!PyArg_ParseTuple(args, "OOn", &planned, &device, &memories)) return nullptr;
    Ref self = Ref::steal(type->tp_alloc(type, 0));
    if (!self) return nullptr;
    return guarded([&]() -> PyObject* {
        of(self.get())->program = new Program();
        of(self.get())->memories = memories;
        if (read_steps(planned, device, *of(self.get())->program)) return self.release();
        return PyErr_Occurred() ? nullptr : PyErr_Format(PyExc_ValueError, "a launch of the sequence has too many arguments");
    });
}

void drop(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    delete of(object)->program;
    type->tp_free(object);
    Py_DECREF(type);
}

// run(memories, offsets): the lock of the memories' device is held.
PyObject* run_sequence(PyObject* object, PyObject* const* args, Py_ssize_t count) {
    if (count != 2 || !PyTuple_Check(args[0]) || !PyTuple_Check(args[1]))
        return PyErr_Format(PyExc_TypeError, "run() takes two tuples");
    const Py_ssize_t given = PyTuple_GET_SIZE(args[0]);
    if (!given || given != of(object)->memories || given != PyTuple_GET_SIZE(args[1]))
        return PyErr_Format(PyExc_TypeError, "the sequence runs with %zd memories and as many offsets", of(object)->memories);
    for (Py_ssize_t i = 0; i < given; ++i)
        if (Py_TYPE(PyTuple_GET_ITEM(args[0], i)) != memory_type) return PyErr_Format(PyExc_TypeError, "run() takes memories");
    return guarded([&]() -> PyObject* {
        std::vector<Ref> memories;
        std::vector<long long> offsets;
        for (Py_ssize_t i = 0; i < given; ++i) {
            memories.push_back(Ref::share(PyTuple_GET_ITEM(args[0], i)));
            offsets.push_back(as_wide(PyTuple_GET_ITEM(args[1], i)));
        }
        const Ref on = Ref::share(memory.device.of(memories[0].get()));
        Frame frame{on.get(), &memories, &offsets};
        if (PyErr_Occurred() || run(*of(object)->program, frame, Refused::BY_PYTHON) != Outcome::DONE) return nullptr;
        Py_RETURN_NONE;
    });
}

PyMethodDef methods[] = {
    {"run", (PyCFunction)(void (*)())run_sequence, METH_FASTCALL, "Launch all steps with these memories, so much further on in each."},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot slots[] = {
    {Py_tp_methods, methods},
    {Py_tp_new, (void*)make},
    {Py_tp_dealloc, (void*)drop},
    {0, nullptr},
};
PyType_Spec spec = {"clarray._engine.speedups._speedups.Sequence", sizeof(Sequence), 0, Py_TPFLAGS_DEFAULT, slots};

}  // namespace

bool add_sequence_type(PyObject* module) {
    Ref type = Ref::steal(PyType_FromSpec(&spec));
    return type && PyModule_AddObjectRef(module, "Sequence", type.get()) == 0;
}

}  // namespace clarray
