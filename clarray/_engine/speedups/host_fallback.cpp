// Public functions whose calls NumPy computes when an operand has a dtype that no device holds.
#include "core.hpp"

namespace clarray {

namespace {

struct HostFallback {
    NativeFunction native;
    PyObject* theirs;  // NumPy's function
    bool binds;        // whether it becomes a method in a class, as NumPy's does
};

HostFallback* of(PyObject* object) { return reinterpret_cast<HostFallback*>(object); }

PyObject* compute_by_numpy(PyObject* theirs, PyObject* const* arguments, size_t flags, PyObject* names) {
    const Py_ssize_t count = PyVectorcall_NARGS(flags), more = names ? PyTuple_GET_SIZE(names) : 0;
    Ref given = Ref::steal(PyTuple_New(count)), named = Ref::steal(PyDict_New());
    if (!given || !named) return nullptr;
    for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(given.get(), i, Py_NewRef(arguments[i]));
    for (Py_ssize_t i = 0; i < more; ++i)
        if (PyDict_SetItem(named.get(), PyTuple_GET_ITEM(names, i), arguments[count + i]) < 0) return nullptr;
    return invoke(python.by_numpy, theirs, given.get(), named.get());
}

PyObject* call(PyObject* self, PyObject* const* arguments, size_t flags, PyObject* names) {
    PyObject* result = PyObject_Vectorcall(of(self)->native.reference, arguments, flags, names);
    if (result || !PyErr_ExceptionMatches(python.host_only_error)) return hide_own_frames(result);
    PyErr_Clear();
    return hide_own_frames(compute_by_numpy(of(self)->theirs, arguments, flags, names));
}

PyObject* bind(PyObject* self, PyObject* object, PyObject* type) {
    return of(self)->binds ? bind_native(self, object, type) : Py_NewRef(self);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(of(self)->theirs);
    return traverse_native(self, visit, arg);
}

void drop(PyObject* self) {
    Py_CLEAR(of(self)->theirs);
    drop_native(self);
}

PyObject* make(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject *reference, *theirs;
    int binds;
    if (!PyArg_ParseTuple(args, "OOp", &reference, &theirs, &binds)) return nullptr;
    PyObject* self = type->tp_alloc(type, 0);
    if (!self) return nullptr;
    of(self)->native.reference = Py_NewRef(reference);
    set_call(self, call);
    of(self)->theirs = Py_NewRef(theirs);
    of(self)->binds = binds;
    return self;
}

}  // namespace

bool add_host_fallback_type(PyObject* module) {
    NativeType kind = {sizeof(HostFallback), make, drop, traverse};
    kind.bind = bind;
    kind.is_method = false;
    Ref type = new_native_type(kind);
    return type && PyModule_AddObjectRef(module, "HostFallback", type.get()) == 0;
}

}  // namespace clarray
