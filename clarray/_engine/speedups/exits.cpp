// The `__exit__` of locks and of the collector, which is called however a `with` statement ends.
//
// CPython 3.14 handles signals between the return of `__enter__` and the block. An exception of a handler does not call `__exit__`
// then. But it drops what the statement has loaded as `__exit__`: an object of this statement alone, which ends the block if it has
// not been called.
#include "core.hpp"

namespace clarray {

#if PY_VERSION_HEX >= 0x030E0000 && PY_VERSION_HEX < 0x030F0000

namespace {

// The `__exit__` in the dictionary of a class.
struct Descriptor {
    PyObject_HEAD
    bool (*end)(PyObject*);
};

// The `__exit__` of an object, as one `with` has loaded it.
struct Exit {
    PyObject_HEAD
    PyObject* of;
    bool (*end)(PyObject*);
    unsigned long thread;
    bool is_due;  // the block has begun
};

PyTypeObject *descriptor_type = nullptr, *exit_type = nullptr;
Exit* loaded = nullptr;  // by a `with` that calls `__enter__` next; no other thread runs Python before that

PyObject* load(PyObject* descriptor, PyObject* object, PyObject*) {
    if (!object || object == Py_None) return Py_NewRef(descriptor);
    Exit* self = reinterpret_cast<Exit*>(exit_type->tp_alloc(exit_type, 0));
    if (!self) return nullptr;
    self->of = Py_NewRef(object);
    self->end = reinterpret_cast<Descriptor*>(descriptor)->end;
    self->thread = PyThread_get_thread_ident();
    loaded = self;
    return reinterpret_cast<PyObject*>(self);
}

PyObject* call(PyObject* object, PyObject*, PyObject*) {
    Exit* self = reinterpret_cast<Exit*>(object);
    self->is_due = false;
    return self->end(self->of) ? Py_NewRef(Py_None) : nullptr;
}

// As a function of the class: `Lock.__exit__(lock, ...)`.
PyObject* call_of_class(PyObject* descriptor, PyObject* args, PyObject*) {
    if (!PyTuple_GET_SIZE(args)) return PyErr_Format(PyExc_TypeError, "__exit__() takes an object");
    const Ref bound = Ref::steal(PyObject_GetAttrString(PyTuple_GET_ITEM(args, 0), "__exit__"));
    if (!bound || Py_TYPE(bound.get()) != exit_type || reinterpret_cast<Exit*>(bound.get())->end != reinterpret_cast<Descriptor*>(descriptor)->end)
        return PyErr_Occurred() ? nullptr : PyErr_Format(PyExc_TypeError, "__exit__() takes an object of its class");
    return PyObject_CallNoArgs(bound.get());
}

void drop(PyObject* object) {
    Exit* self = reinterpret_cast<Exit*>(object);
    if (loaded == self) loaded = nullptr;
    if (self->is_due) {
        const Interrupted interrupted;
        if (!self->end(self->of)) PyErr_WriteUnraisable(object);
    }
    Py_DECREF(self->of);
    PyTypeObject* type = Py_TYPE(object);
    type->tp_free(object);
    Py_DECREF(type);
}

PyType_Slot exit_slots[] = {{Py_tp_call, (void*)call}, {Py_tp_dealloc, (void*)drop}, {0, nullptr}};
PyType_Spec exit_spec = {"clarray._engine.speedups._speedups.Exit", sizeof(Exit), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, exit_slots};
PyType_Slot descriptor_slots[] = {{Py_tp_call, (void*)call_of_class}, {Py_tp_descr_get, (void*)load}, {0, nullptr}};
PyType_Spec descriptor_spec = {"clarray._engine.speedups._speedups.ExitDescriptor", sizeof(Descriptor), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, descriptor_slots};

bool make_types() {
    if (!exit_type) exit_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&exit_spec));
    if (exit_type && !descriptor_type) descriptor_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&descriptor_spec));
    return descriptor_type;
}

}  // namespace

Entering::Entering(PyObject* of) {
    Exit* exit = std::exchange(loaded, nullptr);
    if (exit && exit->of == of && exit->thread == PyThread_get_thread_ident()) exit_ = reinterpret_cast<PyObject*>(exit);
}

void Entering::note() const {
    if (exit_) reinterpret_cast<Exit*>(exit_)->is_due = true;
}

bool add_exit(PyTypeObject* type, bool (*end)(PyObject*)) {
    if (!make_types()) return false;
    const Ref descriptor = Ref::steal(descriptor_type->tp_alloc(descriptor_type, 0));
    if (!descriptor) return false;
    reinterpret_cast<Descriptor*>(descriptor.get())->end = end;
    return PyObject_SetAttrString(reinterpret_cast<PyObject*>(type), "__exit__", descriptor.get()) == 0;
}

#else

Entering::Entering(PyObject*) {}
void Entering::note() const {}
bool add_exit(PyTypeObject*, bool (*)(PyObject*)) { return true; }

#endif

}  // namespace clarray
