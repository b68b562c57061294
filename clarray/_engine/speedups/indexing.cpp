// Reading and writing by plain keys: the twins of `getitem` and `setitem` in clarray._numpy.indexing.subscripts.
#include "places.hpp"

#include <cmath>
#include <climits>
#include <cstring>

namespace clarray {

namespace {

template <typename Number>
Number read(const char* at) {
    Number number;
    std::memcpy(&number, at, sizeof number);
    return number;
}

template <typename Number>
bool write(char* at, Number number) {
    std::memcpy(at, &number, sizeof number);
    return true;
}

// An element as a Python number; empty, without an error, where it is of a kind that is left to NumPy.
Ref element_at(const char* at, const Dtype& dtype) {
    if (dtype.kind == 'f') {
        if (dtype.itemsize == 8) return Ref::steal(PyFloat_FromDouble(read<double>(at)));
        if (dtype.itemsize != 4) return {};
        const float single = read<float>(at);
        // A signalling NaN would become a quiet one.
        return std::isnan(single) ? Ref() : Ref::steal(PyFloat_FromDouble(double(single)));
    }
    if (dtype.kind == 'b') return Ref::share(*at ? Py_True : Py_False);
    if (!is_integer(dtype)) return {};
    const bool is_signed = dtype.kind == 'i';
    switch (dtype.itemsize) {
        case 1: return Ref::steal(PyLong_FromLong(is_signed ? read<int8_t>(at) : read<uint8_t>(at)));
        case 2: return Ref::steal(PyLong_FromLong(is_signed ? read<int16_t>(at) : read<uint16_t>(at)));
        case 4: return Ref::steal(is_signed ? PyLong_FromLong(read<int32_t>(at)) : PyLong_FromUnsignedLong(read<uint32_t>(at)));
        default: return Ref::steal(is_signed ? PyLong_FromLongLong(read<int64_t>(at)) : PyLong_FromUnsignedLongLong(read<uint64_t>(at)));
    }
}

// Write a Python number as an element; false, with nothing written, where NumPy has to convert it or to refuse it.
bool put_element(char* at, const Dtype& dtype, PyObject* value) {
    const bool is_float = PyFloat_CheckExact(value);
    if (!is_float && !PyLong_CheckExact(value)) return false;
    if (dtype.kind == 'f') {
        double wide;
        if (is_float) {
            wide = PyFloat_AS_DOUBLE(value);
        } else {
            int overflow = 0;
            const long long whole = PyLong_AsLongLongAndOverflow(value, &overflow);
            if (overflow || whole > (1LL << 53) || whole < -(1LL << 53)) return false;
            wide = double(whole);
        }
        if (dtype.itemsize == 8) return write(at, wide);
        const float single = float(wide);
        if (dtype.itemsize != 4 || (std::isinf(single) && !std::isinf(wide))) return false;
        return write(at, single);
    }
    if (is_float || !is_integer(dtype)) return false;
    int overflow = 0;
    const long long whole = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow) return false;
    const int bits = int(dtype.itemsize * 8);
    const long long most = dtype.kind == 'i' ? LLONG_MAX >> (64 - bits) : bits == 64 ? LLONG_MAX : (1LL << bits) - 1;
    const long long least = dtype.kind == 'i' ? -most - 1 : 0;
    if (whole < least || whole > most) return false;
    switch (dtype.itemsize) {
        case 1: return write(at, uint8_t(whole));
        case 2: return write(at, uint16_t(whole));
        case 4: return write(at, uint32_t(whole));
        default: return write(at, uint64_t(whole));
    }
}

// Where an element is in host memory; null where the device has memory of its own.
char* host_address(PyObject* in, long long offset, const Dtype& dtype) {
    char* start = static_cast<char*>(PyLong_AsVoidPtr(block.start.of(memory.block.of(in))));
    return start ? start + offset * dtype.itemsize : nullptr;
}

// Note that a leaf looks at its memory, as `_seen` in clarray._core.views does.
bool note_view(PyObject* leaf) {
    static Reference* const first_view = reference_of("_first_of");
    constexpr Py_ssize_t FEW = 64;  // that are appended before Python looks whether there are too many
    PyObject* in = node.memory.of(leaf);
    if (memory.shared.of(in) == Py_True) return true;
    Ref views = memory.views.of(in) == Py_None ? Ref::steal((*first_view)(in)) : Ref::share(memory.views.of(in));
    Ref view = Ref::steal(PyWeakref_NewRef(leaf, nullptr));
    if (!views || !view || PyList_Append(views.get(), view.get())) return false;
    if (PyList_GET_SIZE(views.get()) % FEW == 0) {
        static Reference* const look_after = reference_of("_look_after");
        if (!Ref::steal((*look_after)(views.get()))) return false;
    }
    if (memory.shared.of(in) != Py_True) return true;
    // by another thread, since
    Ref eager = Ref::steal(PyLong_FromLong(as_long(node.flags.of(leaf)) | EAGER));
    if (eager) node.flags.put(leaf, eager.release());
    return !PyErr_Occurred();
}

// What a key names of an array that lies in memory.
struct Part {
    Ref leaf, in;
    Place place;
};

Outcome part_of(PyObject* of, PyObject* key, Part& found) {
    if (!has_node(of)) return Outcome::RARE;
    found.leaf = Ref::share(array.node.of(of));
    found.in = Ref::share(node.memory.of(found.leaf.get()));
    return found.in.get() == Py_None ? Outcome::RARE : index_plainly(found.leaf.get(), key, found.place);
}

Outcome get_plainly(PyObject* of, PyObject* key, Ref& found) {
    Part part;
    const Outcome is_known = part_of(of, key, part);
    if (is_known != Outcome::DONE) return is_known;
    const auto& [leaf, in, place] = part;
    if (place.ndim) {
        Ref view = view_leaf(leaf.get(), place);
        if (!view || !note_view(view.get())) return Outcome::FAILED;
        found = new_array(array_type, view.get());
        if (!found) return Outcome::FAILED;
        PyObject* base = array.base.of(of);
        array.base.set(found.get(), !base || base == Py_None ? of : base);
        return Outcome::DONE;
    }
    PyObject* on = memory.device.of(in.get());
    const Dtype* dtype = dtype_of(node.dtype.of(leaf.get()));
    if (!dtype) return Outcome::FAILED;
    char* at = host_address(in.get(), place.offset, *dtype);
    if (!at || device.pending.of(on) != Py_False || !can_launch(on)) return Outcome::RARE;
    Ref value = element_at(at, *dtype);
    if (!value) return PyErr_Occurred() ? Outcome::FAILED : Outcome::RARE;
    Ref made = known_value(value.get(), node.dtype.of(leaf.get()), on);
    if (made) found = new_array(array_type, made.get());
    return found ? Outcome::DONE : Outcome::FAILED;
}

Outcome put_one(PyObject* leaf, PyObject* in, const Place& place, PyObject* value) {
    Ref on = Ref::share(memory.device.of(in));
    const Dtype* dtype = dtype_of(node.dtype.of(leaf));
    if (!dtype) return Outcome::FAILED;
    char* at = host_address(in, place.offset, *dtype);
    if (!at || !can_launch(on.get())) return Outcome::RARE;
    const Held held(device.lock.of(on.get()));  // a launch of another thread's may read its neighbours, and write them back
    if (!held) return Outcome::FAILED;
    if (device.pending.of(on.get()) != Py_False || has_other_readers(in, nullptr)) return Outcome::RARE;
    return put_element(at, *dtype, value) ? Outcome::DONE : Outcome::RARE;
}

// Whether an expression has a memory among its inputs.
bool is_read_by(PyObject* in, PyObject* value) {
    PyObject* inputs = node.inputs.of(value);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); ++i)
        if (node.memory.of(PyTuple_GET_ITEM(inputs, i)) == in) return true;
    return false;
}

// Let an array whose value has been computed over its own operands be a copy of what lies there now. A count of one
// reference does not tell that the array is the statement's: arguments of a call that a tuple holds have no more, and
// later versions of Python lend what a variable holds.
bool become_copy(PyObject* value, PyObject* leaf, const Place& place) {
    PyObject* cast = cast_loop(node.dtype.of(leaf));
    if (!cast) return false;
    Ref target = view_leaf(leaf, place);
    Ref copy = target ? grow_unary(cast, target.get()) : Ref();
    if (copy) array.node.set(value, copy.get());
    return bool(copy);
}

Outcome put_plainly(PyObject* of, PyObject* key, PyObject* value) {
    static Reference* const marker = reference_of("CONST");
    Part part;
    const Outcome is_known = part_of(of, key, part);
    if (is_known != Outcome::DONE) return is_known;
    const auto& [leaf, in, place] = part;
    if (!is_writeable(leaf.get())) return Outcome::RARE;
    if (Py_TYPE(value) != array_type) return place.ndim ? Outcome::RARE : put_one(leaf.get(), in.get(), place, value);
    if (!has_node(value)) return Outcome::RARE;
    Ref given = Ref::share(array.node.of(value));
    if (node.dtype.of(given.get()) != node.dtype.of(leaf.get()) || as_long(node.flags.of(given.get())) & MASKED) return Outcome::RARE;
    if (node.op.of(given.get()) == marker->function && Py_TYPE(given.get()) == known_type) {
        if (place.ndim || known.device.of(given.get()) != memory.device.of(in.get())) return Outcome::RARE;
        return put_one(leaf.get(), in.get(), place, node.value.of(given.get()));
    }
    // what somebody holds besides the statement is for Python, which computes it once
    const bool pending = node.memory.of(given.get()) == Py_None;
    if (pending && (Py_REFCNT(value) > 1 || Py_REFCNT(given.get()) > 2)) return Outcome::RARE;
    const bool reads_target = pending && is_read_by(in.get(), given.get());
    const Outcome stored = store(leaf.get(), place, given.get());
    if (stored != Outcome::DONE || !reads_target) return stored;
    return become_copy(value, leaf.get(), place) ? Outcome::DONE : Outcome::FAILED;
}

}  // namespace

PyObject* get_item(PyObject* of, PyObject* key) {
    static Reference* const getitem = reference_of("getitem");
    if (PyObject_TypeCheck(of, array_type)) {
        Ref found;
        const Outcome outcome = get_plainly(of, key, found);
        if (outcome == Outcome::DONE) return found.release();
        if (outcome == Outcome::FAILED) return nullptr;
    }
    return (*getitem)(of, key);
}

PyObject* set_item(PyObject* of, PyObject* key, PyObject* value) {
    static Reference* const setitem = reference_of("setitem");
    if (PyObject_TypeCheck(of, array_type)) {
        const Outcome outcome = put_plainly(of, key, value);
        if (outcome == Outcome::DONE) Py_RETURN_NONE;
        if (outcome == Outcome::FAILED) return nullptr;
    }
    return (*setitem)(of, key, value);
}

}  // namespace clarray
