// What NumPy reads and makes where arrays lie: the twins of functions of clarray._core.small_operands.
#include "operands.hpp"

#include <cstring>

namespace clarray {

namespace {

// The block under a memory as an ndarray of a dtype, borrowed; null where there is none yet.
PyObject* typed_elements(PyObject* in, PyObject* dtype) {
    Dtype* known = dtype_of(dtype);
    if (known && !known->letter) known->letter = PyObject_GetAttrString(dtype, "char");
    PyObject* typed = block.typed.of(memory.block.of(in));
    return known && known->letter && PyDict_Check(typed) ? PyDict_GetItemWithError(typed, known->letter) : nullptr;
}

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

// New memory of a device's that is in the host; empty, without an error, where Python has to say more.
Ref new_memory(PyObject* on, long long nbytes) {
    static PyObject* const names[] = {PyUnicode_InternFromString("pool"), PyUnicode_InternFromString("_bins"),
                                      PyUnicode_InternFromString("_global_bytes")};
    Ref pool = Ref::steal(PyObject_GetAttr(on, names[0]));
    if (!pool) return {};
    Prepared with{};
    with.bins = Ref::steal(PyObject_GetAttr(pool.get(), names[1]));
    Ref all = Ref::steal(PyObject_GetAttr(pool.get(), names[2]));
    if (!with.bins || !all) return {};
    with.global_bytes = as_wide(all.get());
    return allocate(with, on, nbytes);
}

// A leaf of all of a new memory, in C order.
Ref new_leaf(PyObject* in, PyObject* dtype, const Py_buffer& view) {
    static PyObject* const zero = PyLong_FromLong(0);
    Place place;
    place.ndim = view.ndim;
    long long step = 1;
    for (Py_ssize_t axis = view.ndim - 1; axis >= 0; --axis) {
        place.shape[axis] = view.shape[axis];
        place.strides[axis] = step;
        if (view.shape[axis]) step *= view.shape[axis];
    }
    PyObject* signature = leaf_signature(dtype);
    Ref made = blank_node(), shape = tuple_of(place.shape, place.ndim), strides = place.stride_tuple();
    Ref size = Ref::steal(PyLong_FromLongLong(place.size()));
    if (!signature || !made || !shape || !strides || !size) return {};
    PyObject* out = made.get();
    node.op.set(out, Py_None);
    node.args.set(out, empty_tuple);
    node.shape.put(out, shape.release());
    node.dtype.set(out, dtype);
    node.size.put(out, size.release());
    node.cost.set(out, memory.cost.of(in));
    node.flags.set(out, zero);
    node.sig.set(out, signature);
    node.inputs.set(out, empty_tuple);
    node.readers.set(out, memory.readers.of(in));
    node.memory.set(out, in);
    node.offset.set(out, zero);
    node.strides.put(out, strides.release());
    node.contiguous.set(out, Py_True);
    return made;
}

}  // namespace

Outcome host_window(PyObject* of, Ref& found) {
    static PyObject* const reshape = PyUnicode_InternFromString("reshape");
    if (is_selection(of)) return Outcome::RARE;
    if (node.memory.of(of) == Py_None && !evaluate_node(of)) return Outcome::FAILED;
    if (node.contiguous.of(of) != Py_True) return Outcome::RARE;
    PyObject* whole = typed_elements(node.memory.of(of), node.dtype.of(of));
    if (!whole) return PyErr_Occurred() ? Outcome::FAILED : Outcome::RARE;
    Ref shape = Ref::share(node.shape.of(of)), elements = Ref::share(whole);
    found = part_of(elements.get(), as_wide(node.offset.of(of)), as_wide(node.size.of(of)));
    if (found && PyTuple_GET_SIZE(shape.get()) != 1)
        found = Ref::steal(PyObject_CallMethodOneArg(found.get(), reshape, shape.get()));
    return found ? Outcome::DONE : Outcome::FAILED;
}

Outcome host_copy(PyObject* value, PyObject* dtype, PyObject* on, Ref& found) {
    if (!can_launch(on)) return Outcome::RARE;
    const Bytes bytes(value);
    if (!bytes) {
        PyErr_Clear();
        return Outcome::RARE;
    }
    if (bytes.view().ndim > MOST_AXES) return Outcome::RARE;
    Ref in = new_memory(on, bytes.view().len);
    if (!in) return Outcome::FAILED;
    void* to = PyLong_AsVoidPtr(block.start.of(memory.block.of(in.get())));
    if (!to) return PyErr_Occurred() ? Outcome::FAILED : Outcome::RARE;
    std::memcpy(to, bytes.view().buf, size_t(bytes.view().len));
    Ref leaf = new_leaf(in.get(), dtype, bytes.view());
    found = leaf ? new_array(array_type, leaf.get()) : Ref();
    return found ? Outcome::DONE : Outcome::FAILED;
}

}  // namespace clarray
