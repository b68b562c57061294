// Reading few elements of host memory by an array of indices: the native implementation of `picked` in clarray._core.small_indexing.
#include "operands.hpp"

#include <cstring>

namespace clarray {

namespace {

// What is read, by what, and to where: runs of elements that follow each other, one for each index.
struct Gathering {
    Place source, index, made;
    const char *from, *by;
    long long run, apart;  // bytes of a run, and from one to the next
    const Dtype* integer;
};

template <typename Integer>
bool copy_runs(const Gathering& g, char* to) {
    const long long extent = g.source.shape[0], size = g.index.size();
    long long at[MOST_AXES] = {}, element = 0;
    for (long long i = 0; i < size; ++i, to += g.run) {
        Integer index;
        std::memcpy(&index, g.by + element * (long long)sizeof index, sizeof index);
        long long number = (long long)index;
        if (number < 0) number += extent;
        if (number < 0 || number >= extent) return false;  // also what is too large for a signed number
        const char* run = g.from + number * g.apart;
        if (g.run == 8) std::memcpy(to, run, 8);
        else if (g.run == 4) std::memcpy(to, run, 4);
        else std::memcpy(to, run, size_t(g.run));
        for (Py_ssize_t axis = g.index.ndim; axis-- > 0;) {
            element += g.index.strides[axis];
            if (++at[axis] < g.index.shape[axis]) break;
            element -= at[axis] * g.index.strides[axis];
            at[axis] = 0;
        }
    }
    return true;
}

bool copy(const Gathering& g, char* to) {
    const bool is_signed = g.integer->kind == 'i';
    switch (g.integer->itemsize) {
        case 8: return is_signed ? copy_runs<int64_t>(g, to) : copy_runs<uint64_t>(g, to);
        case 4: return is_signed ? copy_runs<int32_t>(g, to) : copy_runs<uint32_t>(g, to);
        case 2: return is_signed ? copy_runs<int16_t>(g, to) : copy_runs<uint16_t>(g, to);
        default: return is_signed ? copy_runs<int8_t>(g, to) : copy_runs<uint8_t>(g, to);
    }
}

// Lay out what is read; false where that is nothing or more than a few, or an index names elements that lie apart.
bool lay_out(Gathering& g, long long itemsize) {
    const long long MOST = python.most_gathered;
    if (!g.source.ndim || !g.index.ndim || g.index.ndim + g.source.ndim - 1 > MOST_AXES) return false;
    g.made.ndim = g.index.ndim;
    for (Py_ssize_t axis = 0; axis < g.index.ndim; ++axis) g.made.shape[axis] = g.index.shape[axis];
    long long follow = 1;
    for (Py_ssize_t axis = g.source.ndim; axis-- > 1;) {
        if (g.source.shape[axis] != 1 && g.source.strides[axis] != follow) return false;
        follow *= g.source.shape[axis];
        if (follow > MOST) return false;
    }
    for (Py_ssize_t axis = 1; axis < g.source.ndim; ++axis) g.made.shape[g.made.ndim++] = g.source.shape[axis];
    g.made.lay_in_c_order();
    g.run = follow * itemsize;
    g.apart = g.source.strides[0] * itemsize;
    const long long named = g.index.size();
    return named > 0 && follow > 0 && named <= MOST / follow;
}

// Whether anything is computed without kernels: see clarray._engine.launch.host_tier.
bool are_first_calls_on() {
    static PyObject* const on = PyUnicode_InternFromString("on");
    return Ref::steal(PyObject_GetAttr(python.host_tier, on)).get() == Py_True;
}

// A leaf that has been computed, and whose memory is its device's.
bool is_in_memory(PyObject* of) { return node.memory.of(of) != Py_None && !(as_long(node.flags.of(of)) & MASKED); }

}  // namespace

Outcome gather(PyObject* of, PyObject* key, Ref& result) {
    static PyObject* const zero = PyLong_FromLong(0);
    if (Py_TYPE(of) != array_type || Py_TYPE(key) != array_type || !has_node(of) || !has_node(key)) return Outcome::FALLBACK;
    Ref leaf = Ref::share(array.node.of(of)), index = Ref::share(array.node.of(key));
    if (!is_in_memory(leaf.get()) || !is_in_memory(index.get())) return Outcome::FALLBACK;
    const Dtype *dtype = dtype_of(node.dtype.of(leaf.get())), *integer = dtype_of(node.dtype.of(index.get()));
    if (!dtype || !integer) return Outcome::FAILED;
    if (!is_integer(*integer)) return Outcome::FALLBACK;
    if (!are_first_calls_on()) return PyErr_Occurred() ? Outcome::FAILED : Outcome::FALLBACK;
    PyObject *source_in = node.memory.of(leaf.get()), *index_in = node.memory.of(index.get());
    Ref on = Ref::share(memory.device.of(source_in));
    if (memory.device.of(index_in) != on.get() || !can_launch(on.get())) return Outcome::FALLBACK;
    Gathering g;
    g.source = place_of(leaf.get()), g.index = place_of(index.get()), g.integer = integer;
    if (!lay_out(g, dtype->itemsize)) return Outcome::FALLBACK;
    g.from = host_address(source_in, g.source.offset, *dtype), g.by = host_address(index_in, g.index.offset, *integer);
    if (!g.from || !g.by) return PyErr_Occurred() ? Outcome::FAILED : Outcome::FALLBACK;
    const Held held(device.lock.of(on.get()));
    if (!held) return Outcome::FAILED;
    if (wait_for(on.get()) != Outcome::DONE) return Outcome::FALLBACK;
    Ref in = allocate(on.get(), g.made.size() * dtype->itemsize);
    if (!in) return Outcome::FAILED;
    char* to = host_address(in.get(), 0, *dtype);
    if (!to || !copy(g, to)) return PyErr_Occurred() ? Outcome::FAILED : Outcome::FALLBACK;  // Python says what is out of bounds
    PyObject* of_dtype = node.dtype.of(leaf.get());
    PyObject* signature = leaf_signature(of_dtype);
    Ref made = signature ? placed_leaf(in.get(), g.made, {of_dtype, signature, zero}) : Ref();
    result = made ? new_array(array_type, made.get()) : Ref();
    return result ? Outcome::DONE : Outcome::FAILED;
}

}  // namespace clarray
