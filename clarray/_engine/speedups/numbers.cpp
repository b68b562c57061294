// What the core knows of dtypes, and numbers as nodes: the native implementation of `constant` and `known` in clarray._engine.expr.node.
#include "core.hpp"

#include <limits>
#include <unordered_map>

namespace clarray {

namespace {

// Fill a node in as a constant.
Ref filled(Ref made, PyObject* value, PyObject* dtype, PyObject* readers) {
    static PyObject* const one = PyLong_FromLong(1);
    static PyObject* const zero = PyLong_FromLong(0);
    PyObject* signature = constant_signature(dtype);
    if (!made || !signature) return {};
    PyObject* out = made.get();
    node.op.set(out, python.const_op);
    node.args.set(out, empty_tuple);
    node.shape.set(out, empty_tuple);
    node.dtype.set(out, dtype);
    node.size.set(out, one);
    node.flags.set(out, zero);
    node.sig.set(out, signature);
    node.inputs.set(out, empty_tuple);
    node.readers.set(out, readers);
    node.memory.set(out, Py_None);
    node.value.set(out, value);
    return made;
}

constexpr double LARGEST_FLOAT = std::numeric_limits<float>::max();
constexpr long EXACT_IN_HALF = 2048;  // integers up to here are exact in every float dtype

// A Python number as kernels take it for a dtype, as `scalar_value` gives it; empty where that has to judge.
Ref scalar_value(PyObject* number, const Dtype& dtype) {
    if (PyFloat_CheckExact(number)) {
        const double value = PyFloat_AS_DOUBLE(number);
        const bool exact = dtype.itemsize == 8 || (dtype.itemsize == 4 && -LARGEST_FLOAT < value && value < LARGEST_FLOAT);
        return dtype.kind == 'f' && exact ? Ref::share(number) : Ref();
    }
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow) return {};
    if (dtype.kind == 'f')
        return -EXACT_IN_HALF <= value && value <= EXACT_IN_HALF ? Ref::steal(PyFloat_FromDouble(double(value))) : Ref();
    return is_integer(dtype) && holds(dtype, value) ? Ref::share(number) : Ref();
}

}  // namespace

Dtype* dtype_of(PyObject* dtype) {
    static std::unordered_map<PyObject*, Dtype> all;  // whose places stay
    static std::pair<PyObject*, Dtype*> last;
    if (last.first == dtype) return last.second;
    const auto entry = all.find(dtype);
    if (entry != all.end()) return (last = {dtype, &entry->second}).second;
    Ref kind = Ref::steal(PyObject_GetAttrString(dtype, "kind")), size = Ref::steal(PyObject_GetAttrString(dtype, "itemsize"));
    const char* text = kind ? PyUnicode_AsUTF8(kind.get()) : nullptr;
    if (!text || !size) return nullptr;
    return &(all[Py_NewRef(dtype)] = {text[0], as_wide(size.get())});
}

PyObject* letter_of(PyObject* dtype) {
    Dtype* known = dtype_of(dtype);
    if (known && !known->letter) known->letter = PyObject_GetAttrString(dtype, "char");
    return known ? known->letter : nullptr;
}

PyObject* scalar_class_of(PyObject* dtype) {
    Dtype* known = dtype_of(dtype);
    if (known && !known->scalar) known->scalar = PyObject_GetAttrString(dtype, "type");
    return known ? known->scalar : nullptr;
}

PyObject* leaf_signature(PyObject* dtype) {
    Dtype* known = dtype_of(dtype);
    if (known && !known->leaf) known->leaf = invoke(python.leaf_signature, dtype);
    return known ? known->leaf : nullptr;
}

PyObject* constant_signature(PyObject* dtype) {
    Dtype* known = dtype_of(dtype);
    if (known && !known->constant) known->constant = invoke(python.constant_signature, dtype);
    return known ? known->constant : nullptr;
}

PyObject* cast_loop(PyObject* dtype) {
    Dtype* known = dtype_of(dtype);
    if (known && !known->cast) known->cast = invoke(python.cast_loop, dtype);
    return known ? known->cast : nullptr;
}

Ref new_constant(PyObject* value, PyObject* dtype) {
    Ref made = filled(blank_node(), value, dtype, python.unread);
    if (made) PyObject_GC_UnTrack(made.get());  // it refers to nothing that refers to it
    return made;
}

PyObject* strong_dtype(PyTypeObject* kind) {
    return PyDict_GetItemWithError(python.strong_dtypes, reinterpret_cast<PyObject*>(kind));
}

Ref python_number(PyObject* scalar) {
    static PyObject* const item = PyUnicode_InternFromString("item");
    if (PyFloat_Check(scalar)) return Ref::steal(PyFloat_FromDouble(PyFloat_AS_DOUBLE(scalar)));
    return Ref::steal(PyObject_CallMethodNoArgs(scalar, item));
}

Ref constant_of(PyObject* number, PyObject* dtype) {
    const Dtype* known = dtype_of(dtype);
    Ref value = known ? scalar_value(number, *known) : Ref();
    return value ? new_constant(value.get(), dtype) : Ref();
}

Ref known_value(PyObject* value, PyObject* dtype, PyObject* on) {
    Ref readers = Ref::steal(PyList_New(0));
    if (!readers) return {};
    Ref made = filled(new_object(known_type), value, dtype, readers.get());
    if (made) known.device.set(made.get(), on);
    return made;
}

}  // namespace clarray
