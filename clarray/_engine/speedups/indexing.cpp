// Reading and writing by plain keys: the twins of `getitem` and `setitem` in clarray._numpy.indexing.subscripts.
#include "places.hpp"

#include <cmath>
#include <climits>
#include <cstring>
#include <unordered_map>

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
Ref element_at(const char* at, const Kind& kind) {
    if (kind.letter == 'f') {
        if (kind.itemsize == 8) return Ref::steal(PyFloat_FromDouble(read<double>(at)));
        if (kind.itemsize != 4) return {};
        const float single = read<float>(at);
        // A signalling NaN would become a quiet one.
        return std::isnan(single) ? Ref() : Ref::steal(PyFloat_FromDouble(double(single)));
    }
    if (kind.letter == 'b') return Ref::share(*at ? Py_True : Py_False);
    const bool is_signed = kind.letter == 'i';
    if (!is_signed && kind.letter != 'u') return {};
    switch (kind.itemsize) {
        case 1: return Ref::steal(PyLong_FromLong(is_signed ? read<int8_t>(at) : read<uint8_t>(at)));
        case 2: return Ref::steal(PyLong_FromLong(is_signed ? read<int16_t>(at) : read<uint16_t>(at)));
        case 4: return Ref::steal(is_signed ? PyLong_FromLong(read<int32_t>(at)) : PyLong_FromUnsignedLong(read<uint32_t>(at)));
        default: return Ref::steal(is_signed ? PyLong_FromLongLong(read<int64_t>(at)) : PyLong_FromUnsignedLongLong(read<uint64_t>(at)));
    }
}

// Write a Python number as an element; false, with nothing written, where NumPy has to convert it or to refuse it.
bool put_element(char* at, const Kind& kind, PyObject* value) {
    const bool is_float = PyFloat_CheckExact(value);
    if (!is_float && !PyLong_CheckExact(value)) return false;
    if (kind.letter == 'f') {
        double wide;
        if (is_float) {
            wide = PyFloat_AS_DOUBLE(value);
        } else {
            int overflow = 0;
            const long long whole = PyLong_AsLongLongAndOverflow(value, &overflow);
            if (overflow || whole > (1LL << 53) || whole < -(1LL << 53)) return false;
            wide = double(whole);
        }
        if (kind.itemsize == 8) return write(at, wide);
        const float single = float(wide);
        if (kind.itemsize != 4 || (std::isinf(single) && !std::isinf(wide))) return false;
        return write(at, single);
    }
    if (is_float || (kind.letter != 'i' && kind.letter != 'u')) return false;
    int overflow = 0;
    const long long whole = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow) return false;
    const int bits = int(kind.itemsize * 8);
    const long long most = kind.letter == 'i' ? LLONG_MAX >> (64 - bits) : bits == 64 ? LLONG_MAX : (1LL << bits) - 1;
    const long long least = kind.letter == 'i' ? -most - 1 : 0;
    if (whole < least || whole > most) return false;
    switch (kind.itemsize) {
        case 1: return write(at, uint8_t(whole));
        case 2: return write(at, uint16_t(whole));
        case 4: return write(at, uint32_t(whole));
        default: return write(at, uint64_t(whole));
    }
}

// Where an element is in host memory; null where the device has memory of its own.
char* host_address(PyObject* in, long long offset, const Kind& kind) {
    char* start = static_cast<char*>(PyLong_AsVoidPtr(block.start.of(memory.block.of(in))));
    return start ? start + offset * kind.itemsize : nullptr;
}

// Note that a leaf looks at its memory, as `_seen` in clarray._core.views does.
bool note_view(PyObject* leaf) {
    static Reference* const first_view = reference_of("_first_of");
    constexpr Py_ssize_t FEW = 64;
    PyObject* in = node.memory.of(leaf);
    if (memory.shared.of(in) == Py_True) return true;
    Ref views = memory.views.of(in) == Py_None ? Ref::steal((*first_view)(in)) : Ref::share(memory.views.of(in));
    Ref view = Ref::steal(PyWeakref_NewRef(leaf, nullptr));
    if (!views || !view || PyList_Append(views.get(), view.get())) return false;
    if (PyList_GET_SIZE(views.get()) % FEW == 0) {
        static Reference* const look_after = reference_of("_look_after");
        if (!Ref::steal((*look_after)(views.get()))) return false;
    }
    if (memory.shared.of(in) == Py_True)  // by another thread, since
    {
        Ref eager = Ref::steal(PyLong_FromLong(as_long(node.flags.of(leaf)) | EAGER));
        if (!eager) return false;
        node.flags.put(leaf, eager.release());
    }
    return true;
}

Outcome get_plainly(PyObject* of, PyObject* key, Ref& found) {
    if (!has_node(of)) return Outcome::RARE;
    Ref leaf = Ref::share(array.node.of(of));
    Ref in = Ref::share(node.memory.of(leaf.get()));
    if (in.get() == Py_None) return Outcome::RARE;
    Place place;
    const Outcome known_place = index_plainly(leaf.get(), key, place);
    if (known_place != Outcome::DONE) return known_place;
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
    const Kind* kind = kind_of_elements(node.dtype.of(leaf.get()));
    if (!kind) return Outcome::FAILED;
    char* at = host_address(in.get(), place.offset, *kind);
    if (!at || device.pending.of(on) != Py_False || !can_launch(on)) return Outcome::RARE;
    Ref value = element_at(at, *kind);
    if (!value) return PyErr_Occurred() ? Outcome::FAILED : Outcome::RARE;
    Ref made = known_value(value.get(), node.dtype.of(leaf.get()), on);
    if (made) found = new_array(array_type, made.get());
    return found ? Outcome::DONE : Outcome::FAILED;
}

Outcome put_one(PyObject* leaf, PyObject* in, const Place& place, PyObject* value) {
    Ref on = Ref::share(memory.device.of(in));
    const Kind* kind = kind_of_elements(node.dtype.of(leaf));
    if (!kind) return Outcome::FAILED;
    char* at = host_address(in, place.offset, *kind);
    if (!at || !can_launch(on.get())) return Outcome::RARE;
    const Held held(device.lock.of(on.get()));  // a launch of another thread's may read its neighbours, and write them back
    if (!held) return Outcome::FAILED;
    if (device.pending.of(on.get()) != Py_False || has_other_readers(in, nullptr)) return Outcome::RARE;
    return put_element(at, *kind, value) ? Outcome::DONE : Outcome::RARE;
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
    static Reference* const cast_loop = reference_of("cast_loop");
    static std::unordered_map<PyObject*, PyObject*> casts;  // by dtype, as Python keeps them
    PyObject* dtype = node.dtype.of(leaf);
    if (!casts.count(dtype)) {
        PyObject* cast = (*cast_loop)(dtype);
        if (!cast) return false;
        casts[Py_NewRef(dtype)] = cast;
    }
    Ref target = view_leaf(leaf, place);
    Ref copy = target ? grow_unary(casts[dtype], target.get()) : Ref();
    if (copy) array.node.set(value, copy.get());
    return bool(copy);
}

Outcome put_plainly(PyObject* of, PyObject* key, PyObject* value) {
    static Reference* const marker = reference_of("CONST");
    if (!has_node(of)) return Outcome::RARE;
    Ref leaf = Ref::share(array.node.of(of));
    Ref in = Ref::share(node.memory.of(leaf.get()));
    if (in.get() == Py_None) return Outcome::RARE;
    Place place;
    const Outcome known_place = index_plainly(leaf.get(), key, place);
    if (known_place != Outcome::DONE) return known_place;
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

const Kind* kind_of_elements(PyObject* dtype) {
    static std::unordered_map<PyObject*, Kind> known;
    const auto found = known.find(dtype);
    if (found != known.end()) return &found->second;
    Ref letter = Ref::steal(PyObject_GetAttrString(dtype, "kind")), size = Ref::steal(PyObject_GetAttrString(dtype, "itemsize"));
    const char* text = letter ? PyUnicode_AsUTF8(letter.get()) : nullptr;
    if (!text || !size) return nullptr;
    return &(known[Py_NewRef(dtype)] = {text[0], as_wide(size.get())});
}

// The twin of `known` in clarray._engine.expr.node.
Ref known_value(PyObject* value, PyObject* dtype, PyObject* on) {
    static Reference* const marker = reference_of("CONST");
    static PyObject* const one = PyLong_FromLong(1);
    static PyObject* const zero = PyLong_FromLong(0);
    PyObject* signature = constant_signature(dtype);
    Ref made = signature ? Ref::steal(known_type->tp_alloc(known_type, 0)) : Ref();
    Ref readers = Ref::steal(PyList_New(0));
    if (!made || !readers) return {};
    PyObject* out = made.get();
    node.op.set(out, marker->function);
    node.args.set(out, empty_tuple);
    node.shape.set(out, empty_tuple);
    node.dtype.set(out, dtype);
    node.size.set(out, one);
    node.cost.set(out, one);
    node.flags.set(out, zero);
    node.sig.set(out, signature);
    node.inputs.set(out, empty_tuple);
    node.readers.put(out, readers.release());
    node.memory.set(out, Py_None);
    node.value.set(out, value);
    known.device.set(out, on);
    return made;
}

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
