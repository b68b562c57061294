// The structure that Python passes, and where its classes keep their attributes.
#include "launch.hpp"

namespace clarray {

Python python;
NodeSlots node;
LoopSlots loop;
TransformSlots transform;
ReductionSlots reduction;
ArraySlots array;
KnownSlots known;
PyTypeObject* known_type = nullptr;
PyTypeObject* node_type = nullptr;
PyTypeObject* loop_type = nullptr;
PyTypeObject* reduction_type = nullptr;
PyTypeObject* transform_type = nullptr;
PyTypeObject* array_type = nullptr;
bool elements_at_hand = false;
long long weight_limit = 0;
size_t own_threads = 0;

namespace {

// Find where a class keeps an attribute, from the descriptor that `__slots__` has made.
bool find_slot(PyObject* kind, Slot& slot) {
    Ref descriptor = Ref::steal(PyObject_GetAttrString(kind, slot.name));
    if (!descriptor) return false;
    if (Py_TYPE(descriptor.get()) != &PyMemberDescr_Type) {
        PyErr_Format(PyExc_TypeError, "%R has no slot %s", kind, slot.name);
        return false;
    }
    slot.offset = reinterpret_cast<PyMemberDescrObject*>(descriptor.get())->d_member->offset;
    return true;
}

PyTypeObject* type_of(PyObject* kind) { return reinterpret_cast<PyTypeObject*>(kind); }

bool find_all_slots() {
    node_type = type_of(python.blank);
    known_type = type_of(python.known);
    loop_type = type_of(python.loop);
    reduction_type = type_of(python.reduction);
    transform_type = type_of(python.transform);
    array_type = type_of(python.device_array);
    memory_type = type_of(python.memory);
    return find_slots(python.blank, node) && find_slots(python.known, known) && find_slots(python.loop, loop) &&
           find_slots(python.reduction, reduction) && find_slots(python.transform, transform) && find_slots(python.device_array, array) && find_slots(python.memory, memory) &&
           find_slots(python.block, block) && find_slots(python.kernel, kernel) && find_slots(python.bound, bound) &&
           find_slots(python.machine_code, code) && find_slots(python.device, device);
}

bool read_object(PyObject* interface, const char* name, PyObject*& field) {
    PyObject* value = PyObject_GetAttrString(interface, name);
    if (value && is_native_function(value)) Py_SETREF(value, Py_NewRef(reinterpret_cast<NativeFunction*>(value)->reference));
    return (field = value);
}

bool read_number(PyObject* interface, const char* name, long long& field) {
    Ref value = Ref::steal(PyObject_GetAttrString(interface, name));
    if (value) field = as_wide(value.get());
    return value && !PyErr_Occurred();
}

bool read_fields(PyObject* interface, Python& fields) {
    Py_ssize_t count = 0;
#define READ(name) \
    if (++count, !read_object(interface, #name, fields.name)) return false;
    CLARRAY_CLASSES(READ)
    CLARRAY_FUNCTIONS(READ)
    CLARRAY_OBJECTS(READ)
#undef READ
#define READ(name) \
    if (++count, !read_number(interface, #name, fields.name)) return false;
    CLARRAY_NUMBERS(READ)
#undef READ
    if (PyTuple_GET_SIZE(interface) == count) return true;
    PyErr_Format(PyExc_TypeError, "the interface has %zd fields, and the core reads %zd", PyTuple_GET_SIZE(interface), count);
    return false;
}

}  // namespace

bool find_slots(PyObject* kind, Slot* first, Slot* end) {
    for (Slot* slot = first; slot != end; ++slot)
        if (!find_slot(kind, *slot)) return false;
    return true;
}

PyObject* bind_python(PyObject*, PyObject* interface) {
    if (!PyTuple_Check(interface)) return PyErr_Format(PyExc_TypeError, "bind() takes a named tuple");
    Python fields;
    if (!read_fields(interface, fields)) return nullptr;
    fields.is_bound = python.is_bound;
    python = fields;
    if (!find_all_slots()) return nullptr;
    for (PyTypeObject* type : {node_type, known_type, array_type, memory_type}) drop_quickly(type);
    start_native_functions();
    python.is_bound = true;
    Py_RETURN_NONE;
}

}  // namespace clarray
