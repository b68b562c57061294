// How the objects go that every statement makes: nodes, arrays and memory. Python's own way, of any class with slots, goes
// through the descriptors of each base and calls `__del__` as a method.
#include "launch.hpp"
#include "spare.hpp"

namespace clarray {

namespace {

// Have the block go back to the pool, once; false where somebody has taken the memory up again.
bool finalize_memory(PyObject* object) {
    if (PyObject_GC_IsFinalized(object) || (!PyErr_Occurred() && give_back(object) == Outcome::DONE)) return true;
    PyObject_GC_Track(object);
    if (PyObject_CallFinalizerFromDealloc(object) < 0) return false;
    PyObject_GC_UnTrack(object);
    return true;
}

Spare* spare_of(PyTypeObject* kind) {
    static Spare nodes, arrays, numbers, memories;
    if (kind == node_type) return &nodes;
    if (kind == array_type) return &arrays;
    if (kind == known_type) return &numbers;
    return kind == memory_type ? &memories : nullptr;
}

void clear_weak_references(PyObject* object) {
    const Py_ssize_t offset = Py_TYPE(object)->tp_weaklistoffset;  // negative where the interpreter keeps the list itself
    if (offset <= 0 || *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + offset)) PyObject_ClearWeakRefs(object);
}

template <typename Slots>
void clear(PyObject* object, const Slots& slots) {
    const Slot* first = reinterpret_cast<const Slot*>(&slots);
    for (const Slot* slot = first; slot != first + sizeof(Slots) / sizeof(Slot); ++slot) slot->put(object, nullptr);
}

// Also of an object of a class made from this one, when what that class has added is gone. However long a chain of these
// is, there are tuples in it, which do not go one within the other.
template <typename... Slots>
void drop(PyObject* object, const Slots&... slots) {
    PyTypeObject* type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    clear_weak_references(object);
    (clear(object, slots), ...);
    Spare* spare = spare_of(type);
    const bool is_kept = spare && !PyObject_GC_IsFinalized(object) && spare->put(object);  // a mark that stays
    if (!is_kept) type->tp_free(object);
    Py_DECREF(type);
}

void drop_node(PyObject* object) { drop(object, node); }
void drop_known(PyObject* object) { drop(object, node, known); }
void drop_array(PyObject* object) { drop(object, array); }

void drop_memory(PyObject* object) {
    PyObject_GC_UnTrack(object);
    if (finalize_memory(object)) drop(object, memory);
}

// Whether these are all that an object of a class holds.
template <typename... Slots>
bool are_all(PyTypeObject* kind, const Slots&... slots) {
    const size_t pointers = (sizeof(slots) + ...) / sizeof(Slot) + (kind->tp_weaklistoffset > 0);
    return size_t(kind->tp_basicsize) == sizeof(PyObject) + pointers * sizeof(PyObject*) && kind->tp_dictoffset == 0;
}

}  // namespace

Outcome give_back(PyObject* object) {
    PyObject* of = memory.block.of(object);
    PyObject* home = of ? block.home.of(of) : nullptr;
    if (!home || !PyList_CheckExact(home) || as_wide(block.size.of(of)) >= python.checked_bytes) return Outcome::FALLBACK;
    return PyList_Append(home, of) == 0 ? Outcome::DONE : Outcome::FAILED;
}

Ref new_object(PyTypeObject* kind) {
    Spare* spare = spare_of(kind);
    PyObject* object = spare ? spare->take() : nullptr;
    if (!object) return Ref::steal(kind->tp_alloc(kind, 0));
    PyObject_Init(object, kind);
    PyObject_GC_Track(object);
    return Ref::steal(object);
}

void drop_quickly(PyTypeObject* kind) {
    if (kind == node_type && are_all(kind, node)) kind->tp_dealloc = drop_node;
    if (kind == known_type && are_all(kind, node, known)) kind->tp_dealloc = drop_known;
    if (kind == array_type && are_all(kind, array)) kind->tp_dealloc = drop_array;
    if (kind == memory_type && are_all(kind, memory)) kind->tp_dealloc = drop_memory;
}

}  // namespace clarray
