// What NumPy reads and makes where arrays lie, and new arrays: the native implementation of functions of clarray._core.small_operands,
// and of `new_leaf` and `host_copy` in clarray._core.host_data.
#include "operands.hpp"

#include <cstring>

namespace clarray {

PyObject* typed_elements(PyObject* in, PyObject* dtype) {
    PyObject* letter = letter_of(dtype);
    PyObject* typed = block.typed.of(memory.block.of(in));
    return letter && PyDict_Check(typed) ? PyDict_GetItemWithError(typed, letter) : nullptr;
}

namespace {

Ref part_of(PyObject* whole, long long start, long long size) {
    Ref first = Ref::steal(PyLong_FromLongLong(start)), end = Ref::steal(PyLong_FromLongLong(start + size));
    Ref range = first && end ? Ref::steal(PySlice_New(first.get(), end.get(), nullptr)) : Ref();
    return range ? Ref::steal(PyObject_GetItem(whole, range.get())) : Ref();
}

// Bytes of an ndarray in C order; given back at the end of the scope.
class Bytes {
public:
    explicit Bytes(PyObject* of) : held_(PyObject_GetBuffer(of, &view_, PyBUF_C_CONTIGUOUS) == 0) {}
    ~Bytes() {
        if (held_) PyBuffer_Release(&view_);
    }
    Bytes(const Bytes&) = delete;
    Bytes& operator=(const Bytes&) = delete;
    explicit operator bool() const { return held_; }
    const Py_buffer& view() const { return view_; }

private:
    Py_buffer view_;
    bool held_;
};

// Where elements lie, one after the other from the start of a memory.
Place place_in_c_order(const Py_buffer& view) {
    Place place;
    place.ndim = view.ndim;
    for (Py_ssize_t axis = 0; axis < view.ndim; ++axis) place.shape[axis] = view.shape[axis];
    place.lay_in_c_order();
    return place;
}

}  // namespace

Outcome host_window(PyObject* of, Ref& result) {
    static PyObject* const reshape = PyUnicode_InternFromString("reshape");
    if (is_selection(of)) return Outcome::FALLBACK;
    if (node.memory.of(of) == Py_None && !evaluate_node(of)) return Outcome::FAILED;
    if (node.contiguous.of(of) != Py_True) return Outcome::FALLBACK;
    PyObject* whole = typed_elements(node.memory.of(of), node.dtype.of(of));
    if (!whole) return PyErr_Occurred() ? Outcome::FAILED : Outcome::FALLBACK;
    Ref shape = Ref::share(node.shape.of(of)), elements = Ref::share(whole);
    result = part_of(elements.get(), as_wide(node.offset.of(of)), as_wide(node.size.of(of)));
    if (result && PyTuple_GET_SIZE(shape.get()) != 1)
        result = Ref::steal(PyObject_CallMethodOneArg(result.get(), reshape, shape.get()));
    return result ? Outcome::DONE : Outcome::FAILED;
}

Outcome blank_leaf(PyObject* const* given, Py_ssize_t count, Ref& result) {
    static PyObject* const zero = PyLong_FromLong(0);
    constexpr long long MOST = 1LL << 40;  // elements
    PyObject *on = given[0], *shape = given[1], *dtype = given[2];
    const bool in_c_order = count == 3 || (PyUnicode_Check(given[3]) && PyUnicode_CompareWithASCIIString(given[3], "C") == 0);
    const Dtype* known = dtype_of(dtype);
    if (!known) return Outcome::FAILED;
    if (!in_c_order || !PyTuple_CheckExact(shape) || PyTuple_GET_SIZE(shape) > MOST_AXES || !can_launch(on)) return Outcome::FALLBACK;
    Place place;
    place.ndim = PyTuple_GET_SIZE(shape);
    long long size = 1;
    for (Py_ssize_t axis = 0; axis < place.ndim; ++axis) {
        PyObject* extent = PyTuple_GET_ITEM(shape, axis);
        place.shape[axis] = PyLong_CheckExact(extent) ? as_wide(extent) : 0;
        if (place.shape[axis] <= 0 || place.shape[axis] > MOST / size) return PyErr_Clear(), Outcome::FALLBACK;
        size *= place.shape[axis];
    }
    place.lay_in_c_order();
    const long long nbytes = size * known->itemsize;
    Ref in = allocate(on, nbytes);
    if (!in) return Outcome::FAILED;
    if (count > 5 && given[5] == Py_True) {
        const Held held(device.lock.of(on));
        if (!held || fill_zero(in.get(), on) != Outcome::DONE) return Outcome::FAILED;
    }
    PyObject* signature = leaf_signature(dtype);
    result = signature ? placed_leaf(in.get(), place, {dtype, signature, zero}) : Ref();
    return result ? Outcome::DONE : Outcome::FAILED;
}

Outcome host_copy(PyObject* value, PyObject* dtype, PyObject* on, Ref& result) {
    static PyObject* const zero = PyLong_FromLong(0);
    if (!can_launch(on)) return Outcome::FALLBACK;
    const Bytes bytes(value);
    if (!bytes) {
        PyErr_Clear();
        return Outcome::FALLBACK;
    }
    if (bytes.view().ndim > MOST_AXES) return Outcome::FALLBACK;
    Ref in = allocate(on, bytes.view().len);
    if (!in) return Outcome::FAILED;
    if (!finish(on)) return Outcome::FAILED;  // now that the block is ours: what is queued may have used it
    void* to = PyLong_AsVoidPtr(block.start.of(memory.block.of(in.get())));
    if (!to) return PyErr_Occurred() ? Outcome::FAILED : Outcome::FALLBACK;
    std::memcpy(to, bytes.view().buf, size_t(bytes.view().len));
    PyObject* signature = leaf_signature(dtype);
    Ref leaf = signature ? placed_leaf(in.get(), place_in_c_order(bytes.view()), {dtype, signature, zero}) : Ref();
    result = leaf ? new_array(array_type, leaf.get()) : Ref();
    if (result && !bytes.view().ndim) array.no_number.set(result.get(), Py_True);
    return result ? Outcome::DONE : Outcome::FAILED;
}

}  // namespace clarray
