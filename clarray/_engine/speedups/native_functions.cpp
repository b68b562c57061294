// Native functions as Python sees them: methods too, with the name, docstring and signature of their reference.
#include "core.hpp"

#include <vector>

namespace clarray {

namespace {

constexpr const char* TYPE_NAME = "clarray.function";  // `help` shows it

NativeFunction* of(PyObject* object) { return reinterpret_cast<NativeFunction*>(object); }

// Pickled, and copied, as the function is: by its name.
PyObject* reduce_native(PyObject* object, PyObject*) { return PyObject_GetAttrString(object, "__qualname__"); }

PyObject* repr_of_native(PyObject* object) {
    PyObject* qualname = of(object)->qualname;
    return qualname ? PyUnicode_FromFormat("<function %U at %p>", qualname, object) : PyObject_Repr(of(object)->reference);
}

PyObject* publish_native(PyObject* object, PyObject* args) {
    PyObject *module, *qualname;
    if (!PyArg_ParseTuple(args, "UU", &module, &qualname)) return nullptr;
    Py_XSETREF(of(object)->module, Py_NewRef(module));
    Py_XSETREF(of(object)->qualname, Py_NewRef(qualname));
    Py_RETURN_NONE;
}

PyMethodDef native_methods[] = {
    {"__reduce__", reduce_native, METH_NOARGS, "The name under which it is found."},
    {"_publish", publish_native, METH_VARARGS, "Set the module and the qualified name."},
    {nullptr, nullptr, 0, nullptr},
};

// As descriptors of the type: `pydoc` does not ask `tp_getattro` for a docstring.
PyObject* doc_of_native(PyObject* object, void*) { return PyObject_GetAttrString(of(object)->reference, "__doc__"); }

PyObject* qualname_of_native(PyObject* object, void*) {
    PyObject* qualname = of(object)->qualname;
    return qualname ? Py_NewRef(qualname) : PyObject_GetAttrString(of(object)->reference, "__qualname__");
}

PyGetSetDef native_attributes[] = {
    {"__doc__", doc_of_native, nullptr, nullptr, nullptr},
    {"__qualname__", qualname_of_native, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMemberDef native_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(NativeFunction, call), MEMBER_READ_ONLY, nullptr},
    {"__wrapped__", T_OBJECT_EX, offsetof(NativeFunction, reference), MEMBER_READ_ONLY, "the Python function"},
    {nullptr, 0, 0, 0, nullptr},
};

}  // namespace

PyObject* bind_native(PyObject* self, PyObject* object, PyObject*) {
    return object && object != Py_None ? PyMethod_New(self, object) : Py_NewRef(self);
}

PyObject* native_attribute(PyObject* object, PyObject* name) {
    PyObject *reference = of(object)->reference, *module = of(object)->module;
    if (PyUnicode_CompareWithASCIIString(name, "__module__") == 0)  // an attribute of the type, too
        return module ? Py_NewRef(module) : PyObject_GetAttr(reference, name);
    PyObject* attribute = PyObject_GenericGetAttr(object, name);
    if (attribute || !PyErr_ExceptionMatches(PyExc_AttributeError)) return attribute;
    PyErr_Clear();
    return PyObject_GetAttr(reference, name);
}

int traverse_native(PyObject* object, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(of(object)->reference);
    return 0;
}

void drop_native(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    Py_CLEAR(of(object)->reference);
    Py_CLEAR(of(object)->module);
    Py_CLEAR(of(object)->qualname);
    type->tp_free(object);
    Py_DECREF(type);
}

Ref new_native_type(const NativeType& kind) {
    PyType_Slot slots[] = {
        {Py_tp_dealloc, (void*)kind.drop},
        {Py_tp_traverse, (void*)kind.traverse},
        {Py_tp_call, (void*)PyVectorcall_Call},
        {Py_tp_descr_get, (void*)kind.bind},
        {Py_tp_getattro, (void*)kind.attribute},
        {Py_tp_members, native_members},
        {Py_tp_repr, (void*)repr_of_native},
        {Py_tp_methods, native_methods},
        {Py_tp_getset, native_attributes},
        {kind.make ? Py_tp_new : 0, (void*)kind.make},
        {0, nullptr},
    };
    unsigned long flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL;
    if (kind.is_method) flags |= Py_TPFLAGS_METHOD_DESCRIPTOR;
    if (!kind.make) flags |= Py_TPFLAGS_DISALLOW_INSTANTIATION;
    PyType_Spec spec = {TYPE_NAME, int(kind.size), 0, unsigned(flags), slots};
    return Ref::steal(PyType_FromSpec(&spec));
}

namespace {

// Native functions that were made before Python is bound, and their calls.
std::vector<std::pair<Ref, vectorcallfunc>>& waiting() {
    static auto* const all = new std::vector<std::pair<Ref, vectorcallfunc>>;  // for good: Python may be gone at its end
    return *all;
}

PyTypeObject* function_type() {
    static PyTypeObject* const type = reinterpret_cast<PyTypeObject*>(new_native_type({sizeof(NativeFunction)}).release());
    return type;
}

}  // namespace

void set_call(PyObject* native, vectorcallfunc call) {
    of(native)->call = python.is_bound ? call : call_reference;
    if (!python.is_bound) waiting().emplace_back(Ref::share(native), call);
}

void start_native_functions() {
    for (auto& [native, call] : waiting()) of(native.get())->call = call;
    waiting().clear();
}

bool is_native_function(PyObject* object) { return Py_TYPE(object) == function_type(); }

Ref new_native_function(vectorcallfunc call, PyObject* reference) {
    PyTypeObject* const type = function_type();
    Ref made = type ? Ref::steal(type->tp_alloc(type, 0)) : Ref();
    if (!made) return made;
    of(made.get())->reference = Py_NewRef(reference);
    set_call(made.get(), call);
    return made;
}

PyObject* call_reference(PyObject* native, PyObject* const* arguments, size_t flags, PyObject* names) {
    return PyObject_Vectorcall(of(native)->reference, arguments, flags, names);
}

}  // namespace clarray
