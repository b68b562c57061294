// The garbage collector, off while any thread is in a block: the native implementation of `_Collector` in clarray._engine.threads. No signal
// handler runs between the end of a block and the moment at which the collector is on again.
#include "core.hpp"

namespace clarray {

namespace {

long blocks = 0;  // that have begun and not ended, in all threads
bool was_on = false;

PyObject* enter(PyObject* self, PyObject*) {
    const Entering entering(self);
    if (blocks++ == 0) was_on = PyGC_Disable();
    entering.note();
    Py_RETURN_NONE;
}

bool leave(PyObject*) {
    if (--blocks == 0 && was_on) PyGC_Enable();
    return true;
}

PyObject* exit(PyObject* self, PyObject*) { return leave(self) ? Py_NewRef(Py_None) : nullptr; }

void drop(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    type->tp_free(object);
    Py_DECREF(type);
}

PyMethodDef methods[] = {
    {"__enter__", enter, METH_NOARGS, "Turn the collector off."},
    {"__exit__", exit, METH_VARARGS, "Turn it on again where no block is left and it was on."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot slots[] = {{Py_tp_methods, methods}, {Py_tp_dealloc, (void*)drop}, {0, nullptr}};
PyType_Spec spec = {"clarray._engine.speedups._speedups.Collector", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT, slots};

}  // namespace

bool add_collector_type(PyObject* module) {
    Ref type = Ref::steal(PyType_FromSpec(&spec));
    return type && add_exit(reinterpret_cast<PyTypeObject*>(type.get()), leave) && PyModule_AddObjectRef(module, "Collector", type.get()) == 0;
}

}  // namespace clarray
