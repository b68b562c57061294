// Reading and writing by plain keys: the native implementation of `getitem` and `setitem` in clarray._numpy.indexing.subscripts.
#include "operands.hpp"
#include "places.hpp"

#include <cmath>

namespace clarray {

static bool is_dead(PyObject* reference) { return !referent_of(reference); }

bool note_view(PyObject* leaf) {
    constexpr Py_ssize_t FEW = 64;  // that are appended before Python looks whether there are too many
    PyObject* in = node.memory.of(leaf);
    if (memory.shared.of(in) == Py_True) return true;
    if (memory.views.of(in) == Py_None) {
        Ref none = Ref::steal(PyObject_CallNoArgs(python.views_type));
        if (!none) return false;
        if (memory.views.of(in) == Py_None) memory.views.put(in, none.release());
    }
    Ref views = Ref::share(memory.views.of(in)), view = Ref::steal(PyWeakref_NewRef(leaf, nullptr));
    const int added = view ? append_reference(views.get(), view.get(), is_dead) : -1;
    if (added < 0) return false;
    if (added && PyList_GET_SIZE(views.get()) % FEW == 0) {
        if (!Ref::steal(invoke(python.prune_views, views.get()))) return false;
    }
    if (memory.shared.of(in) != Py_True) return true;
    // by another thread, since
    Ref eager = Ref::steal(PyLong_FromLong(as_long(node.flags.of(leaf)) | EAGER));
    if (eager) node.flags.put(leaf, eager.release());
    return !PyErr_Occurred();
}

namespace {

bool is_plain(PyObject* item) { return PyLong_CheckExact(item) || PySlice_Check(item) || item == Py_None || item == Py_Ellipsis; }

bool is_plain_or_array(PyObject* item) { return is_plain(item) || Py_TYPE(item) == array_type; }

bool every_item(PyObject* key, bool (*holds)(PyObject*)) {
    if (!PyTuple_CheckExact(key)) return holds(key);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i)
        if (!holds(PyTuple_GET_ITEM(key, i))) return false;
    return true;
}

// Whether a key names a part of a pending value, so that it becomes memory: not of what has no axes.
bool is_computed_for(PyObject* key, PyObject* value) {
    return !is_selection(value) && PyTuple_GET_SIZE(node.shape.of(value)) && every_item(key, is_plain);
}

// What a key names of an array, which lies in memory then.
struct Part {
    Ref leaf, in;
    Place place;
};

Outcome part_of(PyObject* of, PyObject* key, Part& part) {
    if (!has_node(of)) return Outcome::FALLBACK;
    part.leaf = Ref::share(array.node.of(of));
    if (node.memory.of(part.leaf.get()) == Py_None) {
        if (!is_computed_for(key, part.leaf.get())) return Outcome::FALLBACK;
        if (!evaluate_node(part.leaf.get())) return Outcome::FAILED;
    }
    part.in = Ref::share(node.memory.of(part.leaf.get()));
    return index_plainly(part.leaf.get(), key, part.place);
}

// Whether an array is among what a key is made of.
bool names_arrays(PyObject* key) {
    if (!PyTuple_CheckExact(key)) return Py_TYPE(key) == array_type;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i)
        if (Py_TYPE(PyTuple_GET_ITEM(key, i)) == array_type) return true;
    return false;
}

Outcome get_plainly(PyObject* of, PyObject* key, Ref& result) {
    const Outcome pending = view_pending(of, key, result);
    if (pending != Outcome::FALLBACK) return pending;
    Part part;
    const Outcome is_known = part_of(of, key, part);
    if (is_known != Outcome::DONE) return is_known;
    const auto& [leaf, in, place] = part;
    if (place.ndim) {
        Ref view = view_leaf(leaf.get(), place);
        if (!view || !note_view(view.get())) return Outcome::FAILED;
        result = new_array(array_type, view.get());
        if (!result) return Outcome::FAILED;
        PyObject* base = array.base.of(of);
        array.base.set(result.get(), !base || base == Py_None ? of : base);
        return Outcome::DONE;
    }
    const bool at_hand = elements_at_hand && PyTuple_GET_SIZE(node.shape.of(leaf.get())) && is_host_memory(in.get()) && !names_arrays(key);
    if (at_hand) return host_element(leaf.get(), place.offset, result);
    Ref number;
    const Outcome read = known_element(leaf.get(), place.offset, number);
    if (read != Outcome::DONE) return read;
    result = new_array(array_type, number.get());
    return result ? Outcome::DONE : Outcome::FAILED;
}

constexpr Py_ssize_t MOST_HOLDERS = 2;  // of a value that is computed where it is assigned: its array, and the assignment

// Let an array whose value has been computed over its own operands be a copy of what lies there now. A count of one
// reference does not tell that the array is the statement's: arguments of a call that a tuple holds have no more, and
// later versions of Python lend what a variable holds.
bool become_copy(PyObject* value, PyObject* leaf, const Place& place) {
    PyObject* cast = cast_loop(node.dtype.of(leaf));
    if (!cast) return false;
    Ref target = view_leaf(leaf, place);
    Ref given = Ref::share(array.node.of(value));
    // Another thread has taken the node during the launch, so the node itself becomes the copy.
    if (target && Py_REFCNT(given.get()) > MOST_HOLDERS + 1) return bool(Ref::steal(invoke(python.become_copy, given.get(), target.get())));
    Ref copy = target ? grow_unary(cast, target.get()) : Ref();
    if (copy) array.node.set(value, copy.get());
    return bool(copy);
}

bool strides_descend(const Place& place) {
    long long last = LLONG_MAX;
    for (Py_ssize_t axis = 0; axis < place.ndim; ++axis) {
        const long long stride = place.strides[axis];
        if (stride < 0 || stride > last) return false;
        if (stride) last = stride;
    }
    return true;
}

// Whether a copy of a place lies in memory as a value computed by itself would.
bool is_laid_out_alike(PyObject* value, const Place& place) {
    if (place.ndim < 2) return true;
    for (PyObject* input : Inputs(value)) {
        if (node.memory.of(input) != Py_None && !strides_descend(place_of(input))) return false;
    }
    return strides_descend(place);
}

// Write a number to every element of a place.
Outcome fill(PyObject* leaf, const Place& place, Ref number) {
    PyObject* cast = cast_loop(node.dtype.of(leaf));
    Ref filled = cast ? grow_unary(cast, number.get()) : Ref();
    Ref shape = tuple_of(place.shape, place.ndim), size = Ref::steal(PyLong_FromLongLong(place.size()));
    if (!filled || !shape || !size) return Outcome::FAILED;
    node.shape.put(filled.get(), shape.release());
    node.size.put(filled.get(), size.release());
    return store(leaf, place, filled.get());
}

// The same of a Python number, of NumPy's scalar of the same dtype, or to one element.
Outcome put_value(PyObject* leaf, const Place& place, PyObject* value) {
    if (!place.ndim) return put_number(leaf, place.offset, value);
    Ref given = Ref::share(value);
    if (!PyFloat_CheckExact(value) && !PyLong_CheckExact(value)) {
        const Dtype* dtype = dtype_of(node.dtype.of(leaf));
        if (!dtype) return Outcome::FAILED;
        if (dtype->kind == 'c' || strong_dtype(Py_TYPE(value)) != node.dtype.of(leaf)) return PyErr_Occurred() ? Outcome::FAILED : Outcome::FALLBACK;
        given = python_number(value);
        if (!given) return Outcome::FAILED;
        if (PyFloat_CheckExact(given.get()) && !PyFloat_Check(value) && std::isnan(PyFloat_AS_DOUBLE(given.get())))
            return Outcome::FALLBACK;  // a signalling NaN keeps its bits
    }
    Ref number = constant_of(given.get(), node.dtype.of(leaf));
    if (!number) return PyErr_Occurred() ? Outcome::FAILED : Outcome::FALLBACK;
    return fill(leaf, place, std::move(number));
}

Outcome put_plainly(PyObject* of, PyObject* key, PyObject* value) {
    Part part;
    const Outcome is_known = part_of(of, key, part);
    if (is_known != Outcome::DONE) return is_known;
    const auto& [leaf, in, place] = part;
    if (!is_writeable(leaf.get())) return Outcome::FALLBACK;
    if (Py_TYPE(value) != array_type) return put_value(leaf.get(), place, value);
    if (!has_node(value)) return Outcome::FALLBACK;
    Ref given = Ref::share(array.node.of(value));
    if (node.dtype.of(given.get()) != node.dtype.of(leaf.get()) || as_long(node.flags.of(given.get())) & MASKED) return Outcome::FALLBACK;
    if (node.op.of(given.get()) == python.const_op && Py_TYPE(given.get()) == known_type) {
        if (known.device.of(given.get()) != memory.device.of(in.get())) return Outcome::FALLBACK;
        return put_value(leaf.get(), place, node.value.of(given.get()));
    }
    // Whoever holds the array goes on with a copy of what lies there now, so that it is computed once; what holds the node
    // itself is for Python.
    const bool pending = node.memory.of(given.get()) == Py_None, is_held = Py_REFCNT(value) > 1;
    if (pending && (Py_REFCNT(given.get()) > MOST_HOLDERS || (is_held && !is_laid_out_alike(given.get(), place)))) return Outcome::FALLBACK;
    const bool is_copied = pending && (is_held || is_read_by(in.get(), given.get()));
    const Outcome stored = store(leaf.get(), place, given.get());
    if (stored != Outcome::DONE || !is_copied || node.memory.of(given.get()) != Py_None) return stored;
    if (become_copy(value, leaf.get(), place)) return Outcome::DONE;
    const Interrupted interrupted;  // it would go on being of what has been overwritten
    if (!become_copy(value, leaf.get(), place)) PyErr_Clear();
    return Outcome::FAILED;
}

}  // namespace

PyObject* get_item(PyObject* of, PyObject* key) {
    if (PyObject_TypeCheck(of, array_type)) {
        Ref result;
        Outcome outcome = get_plainly(of, key, result);
        if (outcome == Outcome::FALLBACK) outcome = gather(of, key, result);
        if (outcome == Outcome::DONE) return result.release();
        if (outcome == Outcome::FAILED) return nullptr;
    }
    return invoke(python.captured_getitem, of, key);
}

namespace {

PyObject* put(PyObject* of, PyObject* key, PyObject* value) {
    if (PyObject_TypeCheck(of, array_type)) {
        const Outcome outcome = put_plainly(of, key, value);
        if (outcome == Outcome::DONE) Py_RETURN_NONE;
        if (outcome == Outcome::FAILED) return nullptr;
    }
    // a value that a plain key names the place of is computed there
    return names_arrays(key) ? invoke(python.captured_setitem, of, key, value) : invoke(python.setitem, of, key, value);
}

}  // namespace

// ``x[key] = y`` reads, computes and stores an array under one hold of the device's lock. What writes a number holds it itself,
// and for other keys `setitem` does, unless other code converts them.
PyObject* set_item(PyObject* of, PyObject* key, PyObject* value) {
    const bool is_array = Py_TYPE(value) == array_type && PyObject_TypeCheck(of, array_type) && has_node(of);
    PyObject* const lock = is_array && every_item(key, is_plain_or_array) ? lock_of(array.node.of(of)) : nullptr;
    if (!lock) return put(of, key, value);
    const Held held(lock);
    return held ? put(of, key, value) : nullptr;
}

}  // namespace clarray
