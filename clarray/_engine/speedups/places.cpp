// Views by plain index arithmetic: the native implementation of `index_plainly` and `view_leaf`.
#include "places.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace clarray {

Ref tuple_of(const long long* numbers, Py_ssize_t count) {
    Ref tuple = Ref::steal(PyTuple_New(count));
    for (Py_ssize_t i = 0; tuple && i < count; ++i) {
        PyObject* number = PyLong_FromLongLong(numbers[i]);
        if (!number) return {};
        PyTuple_SET_ITEM(tuple.get(), i, number);
    }
    return tuple;
}

long long Place::size() const {
    long long product = 1;
    for (Py_ssize_t axis = 0; axis < ndim; ++axis) product *= shape[axis];
    return product;
}

bool Place::has_shape(PyObject* tuple) const {
    if (PyTuple_GET_SIZE(tuple) != ndim) return false;
    for (Py_ssize_t axis = 0; axis < ndim; ++axis)
        if (as_wide(PyTuple_GET_ITEM(tuple, axis)) != shape[axis]) return false;
    return true;
}

Ref Place::stride_tuple() const { return tuple_of(strides, ndim); }

void Place::lay_in_c_order() {
    long long step = 1;
    for (Py_ssize_t axis = ndim - 1; axis >= 0; --axis) {
        strides[axis] = step;
        if (shape[axis]) step *= shape[axis];
    }
}

bool Place::is_contiguous() const {
    long long step = 1;
    if (size() == 0) return true;
    for (Py_ssize_t axis = ndim - 1; axis >= 0; --axis) {
        if (shape[axis] == 1) continue;
        if (strides[axis] != step) return false;
        step *= shape[axis];
    }
    return true;
}

void Place::extent(long long& first, long long& last) const {
    first = last = offset;
    for (Py_ssize_t axis = 0; axis < ndim; ++axis) {
        if (shape[axis] == 0) {
            last = (first = offset) - 1;
            return;
        }
        (strides[axis] < 0 ? first : last) += (shape[axis] - 1) * strides[axis];
    }
}

Place place_of(PyObject* leaf) {
    Place laid;
    PyObject *shape = node.shape.of(leaf), *strides = node.strides.of(leaf);
    laid.ndim = PyTuple_GET_SIZE(shape);
    laid.offset = as_wide(node.offset.of(leaf));
    for (Py_ssize_t axis = 0; axis < laid.ndim; ++axis) {
        laid.shape[axis] = as_wide(PyTuple_GET_ITEM(shape, axis));
        laid.strides[axis] = as_wide(PyTuple_GET_ITEM(strides, axis));
    }
    return laid;
}

bool is_same_place(const Place& place, PyObject* leaf) {
    const Place other = place_of(leaf);
    if (place.ndim != other.ndim || place.offset != other.offset) return false;
    for (Py_ssize_t axis = 0; axis < place.ndim; ++axis) {
        if (place.shape[axis] != other.shape[axis]) return false;
        if (place.shape[axis] != 1 && place.strides[axis] != other.strides[axis]) return false;
    }
    return true;
}

bool is_writeable(PyObject* leaf) {
    if (memory.writeable.of(node.memory.of(leaf)) != Py_True || as_long(node.flags.of(leaf)) & READONLY) return false;
    if (node.contiguous.of(leaf) == Py_True) return true;
    const Place all = place_of(leaf);
    std::pair<long long, long long> axes[MOST_AXES];  // how far each steps, and reaches
    Py_ssize_t count = 0;
    for (Py_ssize_t axis = 0; axis < all.ndim; ++axis) {
        const long long step = std::llabs(all.strides[axis]);
        if (all.shape[axis] != 1) axes[count++] = {step, (all.shape[axis] - 1) * step};
    }
    std::sort(axes, axes + count);
    long long reach = 0;  // of the axes that step less far
    for (Py_ssize_t axis = 0; axis < count; reach += axes[axis++].second)
        if (axes[axis].first <= reach) return false;
    return true;
}

bool steps_in_c_order(PyObject* leaf) {
    if (node.contiguous.of(leaf) == Py_True) return true;
    PyObject *shape = node.shape.of(leaf), *strides = node.strides.of(leaf);
    if (!shape || !strides) return false;
    long long last = 0;
    for (Py_ssize_t axis = PyTuple_GET_SIZE(shape); axis--;) {
        const long long step = std::llabs(as_wide(PyTuple_GET_ITEM(strides, axis)));
        if (as_wide(PyTuple_GET_ITEM(shape, axis)) == 1 || !step) continue;
        if (step < last) return false;
        last = step;
    }
    return true;
}

// The integer that an item of a key is: Python's, NumPy's, or one that an array is known to be; empty of any other object.
static Ref integer_of(PyObject* item) {
    if (PyLong_CheckExact(item)) return Ref::share(item);
    if (Py_TYPE(item) == array_type && has_node(item)) {
        PyObject* of = array.node.of(item);
        if (Py_TYPE(of) != known_type || node.memory.of(of) != Py_None) return {};
        return PyLong_CheckExact(node.value.of(of)) ? Ref::share(node.value.of(of)) : Ref();
    }
    PyObject* strong = strong_dtype(Py_TYPE(item));
    const Dtype* dtype = strong ? dtype_of(strong) : nullptr;
    return dtype && is_integer(*dtype) ? Ref::steal(PyNumber_Index(item)) : Ref();
}

Outcome index_plainly(PyObject* leaf, PyObject* key, Place& place) {
    PyObject* const* items = &key;
    Py_ssize_t count = 1;
    if (PyTuple_CheckExact(key)) {
        items = &PyTuple_GET_ITEM(key, 0);
        count = PyTuple_GET_SIZE(key);
    }
    const Place all = place_of(leaf);
    Py_ssize_t added = 0, left_out = 0;
    for (Py_ssize_t i = 0; i < count; ++i) {
        added += items[i] == Py_None;
        left_out += items[i] == Py_Ellipsis;
    }
    const Py_ssize_t whole = all.ndim - (count - added - left_out);  // axes that no item names
    if (whole < 0 || left_out > 1 || all.ndim + added > MOST_AXES) return Outcome::FALLBACK;
    place.offset = all.offset;
    Py_ssize_t axis = 0;
    const auto keep_axis = [&] {
        place.shape[place.ndim] = all.shape[axis];
        place.strides[place.ndim++] = all.strides[axis++];
    };
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* item = items[i];
        if (item == Py_None) {
            place.shape[place.ndim] = 1;
            place.strides[place.ndim++] = 0;
            continue;
        }
        if (item == Py_Ellipsis) {
            for (Py_ssize_t each = 0; each < whole; ++each) keep_axis();
            continue;
        }
        const long long extent = all.shape[axis], stride = all.strides[axis];
        ++axis;
        if (const Ref number = integer_of(item)) {
            int overflow = 0;
            long long at = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
            if (at < 0) at += extent;
            if (overflow || at < 0 || at >= extent) return Outcome::FALLBACK;
            place.offset += at * stride;
        } else if (PySlice_Check(item)) {
            Py_ssize_t start, stop, step;
            if (PySlice_Unpack(item, &start, &stop, &step) < 0) return Outcome::FAILED;
            const Py_ssize_t length = PySlice_AdjustIndices(Py_ssize_t(extent), &start, &stop, step);
            if (length > 0) place.offset += start * stride;  // an empty one stays where it is
            place.shape[place.ndim] = length;
            place.strides[place.ndim++] = length > 1 ? stride * step : stride;
        } else {
            return Outcome::FALLBACK;
        }
    }
    while (axis < all.ndim) keep_axis();
    return left_out && !place.ndim ? Outcome::FALLBACK : Outcome::DONE;  // an Ellipsis gives a view, also of one element
}

Ref new_leaf(PyObject* in, const LeafPlace& place, const LeafKind& kind) {
    Ref made = blank_node();
    PyObject* out = made.get();
    if (!out) return made;
    node.op.set(out, Py_None);
    node.args.set(out, empty_tuple);
    node.shape.set(out, place.shape);
    node.dtype.set(out, kind.dtype);
    node.size.set(out, place.size);
    node.flags.set(out, kind.flags);
    node.sig.set(out, kind.signature);
    node.inputs.set(out, empty_tuple);
    node.readers.set(out, memory.readers.of(in));
    node.memory.set(out, in);
    node.offset.set(out, place.offset);
    node.strides.set(out, place.strides);
    node.contiguous.set(out, place.contiguous ? Py_True : Py_False);
    return made;
}

Ref placed_leaf(PyObject* in, const Place& place, const LeafKind& kind) {
    Ref shape = tuple_of(place.shape, place.ndim), strides = place.stride_tuple();
    Ref size = Ref::steal(PyLong_FromLongLong(place.size())), offset = Ref::steal(PyLong_FromLongLong(place.offset));
    if (!shape || !strides || !size || !offset) return {};
    return new_leaf(in, {shape.get(), size.get(), offset.get(), strides.get(), place.is_contiguous()}, kind);
}

Ref view_leaf(PyObject* of, const Place& place) {
    return placed_leaf(node.memory.of(of), place, {node.dtype.of(of), node.sig.of(of), node.flags.of(of)});
}

}  // namespace clarray
