// Functions whose errors have no frames of clarray's; see clarray._core.own_frames.
#include "core.hpp"

namespace clarray {

namespace {

PyObject* call(PyObject* self, PyObject* const* arguments, size_t flags, PyObject* names) {
    return hide_own_frames(call_reference(self, arguments, flags, names));
}

PyObject* make(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject* reference;
    if (!PyArg_ParseTuple(args, "O", &reference)) return nullptr;
    PyObject* self = type->tp_alloc(type, 0);
    if (!self) return nullptr;
    reinterpret_cast<NativeFunction*>(self)->reference = Py_NewRef(reference);
    set_call(self, call);
    return self;
}

}  // namespace

PyObject* hide_own_frames_of_error() {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace) PyException_SetTraceback(value, trace);
    if (Ref::steal(invoke(python.hide_own_frames, value))) {
        Py_XDECREF(trace);
        trace = PyException_GetTraceback(value);
        PyErr_Restore(type, value, trace);
    } else {  // a signal handler's error goes first
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(trace);
    }
    return nullptr;
}

bool add_boundary_type(PyObject* module) {
    Ref type = new_native_type({sizeof(NativeFunction), make});
    return type && PyModule_AddObjectRef(module, "Boundary", type.get()) == 0;
}

}  // namespace clarray
