// Views of pending values: the native implementation of `pending_view` in clarray._core.views for keys of Python's integers and
// slices, and of `view_memory` in clarray._engine.expr.build for such views.
#include "operands.hpp"
#include "places.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace clarray {

namespace {

constexpr size_t MOST_OPERATIONS = 4096;

// The operation of a view by a key, with the view's shape and size.
struct ViewOperation {
    Ref operation, shape, size;
};
// By the shape and the dtype of what is viewed, and the key. Python is gone when static objects are.
auto& operations = *new std::unordered_map<std::string, ViewOperation>;

template <typename Number>
void append(std::string& words, Number number) {
    words.append(reinterpret_cast<const char*>(&number), sizeof number);
}

// Append an integer or None; false for any other object.
bool append_bound(std::string& words, PyObject* item) {
    words.push_back(item == Py_None ? 'n' : 'i');
    if (item == Py_None) return true;
    if (!PyLong_CheckExact(item)) return false;
    int overflow = 0;
    append(words, PyLong_AsLongLongAndOverflow(item, &overflow));
    return !overflow;
}

bool append_item(std::string& words, PyObject* item) {
    if (item == Py_Ellipsis) {
        words.push_back('e');
        return true;
    }
    if (!PySlice_Check(item)) return append_bound(words, item);
    const auto* slice = reinterpret_cast<PySliceObject*>(item);
    words.push_back(':');
    return append_bound(words, slice->start) && append_bound(words, slice->stop) && append_bound(words, slice->step);
}

bool append_key(std::string& words, PyObject* key) {
    if (!PyTuple_CheckExact(key)) return append_item(words, key);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i)
        if (!append_item(words, PyTuple_GET_ITEM(key, i))) return false;
    return true;
}

// The operation that views a value by a key; null after an error, or for a key of other objects.
const ViewOperation* operation_of(PyObject* value, PyObject* key) {
    std::string words;
    PyObject* shape = node.shape.of(value);
    append(words, node.dtype.of(value));
    append(words, PyTuple_GET_SIZE(shape));
    for (Py_ssize_t axis = 0; axis < PyTuple_GET_SIZE(shape); ++axis) append(words, as_wide(PyTuple_GET_ITEM(shape, axis)));
    if (!append_key(words, key)) return nullptr;
    const auto entry = operations.find(words);
    if (entry != operations.end()) return &entry->second;
    const Ref made = Ref::steal(invoke(python.view_operation, value, key));
    if (!made) return nullptr;
    if (operations.size() >= MOST_OPERATIONS) operations.clear();
    PyObject* all = made.get();
    ViewOperation of{Ref::share(PyTuple_GET_ITEM(all, 0)), Ref::share(PyTuple_GET_ITEM(all, 1)), Ref::share(PyTuple_GET_ITEM(all, 2))};
    return &operations.emplace(std::move(words), std::move(of)).first->second;
}

// The number of elements in the pending views of a value, and of their views, and how many such views there are.
long long size_of_views(PyObject* of, long long& count) {
    long long size = 0;
    PyObject* readers = node.readers.of(of);
    for (Py_ssize_t i = 0; PyList_CheckExact(readers) && i < PyList_GET_SIZE(readers); ++i) {
        const Ref reader = referent_of(PyList_GET_ITEM(readers, i));
        if (!reader || !is_pending_view(reader.get())) continue;
        size += as_wide(node.size.of(reader.get())) + size_of_views(reader.get(), count);
        ++count;
    }
    return size;
}

bool is_index_view(PyObject* of) { return is_pending_view(of) && transform.key.of(node.op.of(of)) != Py_None; }

// As `_is_cheap` in clarray._engine.expr.pending_views.
bool is_cheap(PyObject* source, long long size) {
    while (is_pending_view(source)) source = PyTuple_GET_ITEM(node.args.of(source), 0);
    if (node.memory.of(source) != Py_None || !PyTuple_GET_SIZE(node.args.of(source))) return false;
    std::vector<PyObject*> waiting{source}, memories;
    const long long whole = as_wide(node.size.of(source));
    long long weight = 0, views = 0;
    while (!waiting.empty()) {
        PyObject* of = waiting.back();
        waiting.pop_back();
        PyObject *in = node.memory.of(of), *args = node.args.of(of);
        if (in != Py_None) {
            const bool is_new = std::find(memories.begin(), memories.end(), in) == memories.end();
            if (is_new && 2 * as_wide(node.size.of(of)) > whole) memories.push_back(in);
            if (!steps_in_c_order(of)) return false;
        } else if (PyTuple_GET_SIZE(args)) {
            const bool is_view = is_index_view(of);
            weight += !is_view;
            if (weight > python.view_weight) return false;
            if (!is_view && (Py_TYPE(node.op.of(of)) != loop_type || as_long(loop.weight.of(node.op.of(of))) > 1)) return false;
            for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) waiting.push_back(PyTuple_GET_ITEM(args, i));
        }
    }
    const long long total = size + size_of_views(source, views);
    const auto reads = (long long)(memories.size());  // none by constants and positions alone: see there
    return 0 < reads && reads <= python.view_reads && views < python.most_views && weight * total <= python.view_weight * whole;
}

// As `_restores_axes` there.
bool restores_axes(PyObject* source, PyObject* operation) {
    PyObject* added = transform.added_axes.of(operation);
    if (added == Py_None || !(as_long(node.flags.of(source)) & REDUCES)) return false;
    std::vector<PyObject*> waiting{source};
    long long count = 0, reductions = 0;
    while (!waiting.empty()) {
        PyObject* of = waiting.back();
        waiting.pop_back();
        PyObject* args = node.args.of(of);
        if (node.memory.of(of) != Py_None || !PyTuple_GET_SIZE(args)) continue;
        PyObject *op = node.op.of(of), *shape = node.shape.of(of);
        ++count;
        if (Py_TYPE(op) == reduction_type) {
            ++reductions;
            const Py_ssize_t kept = PyTuple_GET_SIZE(node.shape.of(PyTuple_GET_ITEM(args, 0))) - PyTuple_GET_SIZE(added);
            if (PyTuple_GET_SIZE(shape) != kept || !is_same_shape(reduction.axes.of(op), added) || !is_same_shape(shape, node.shape.of(source))) return false;
        } else if (Py_TYPE(op) != loop_type || count > python.view_weight) {
            return false;
        } else {
            for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) waiting.push_back(PyTuple_GET_ITEM(args, i));
        }
    }
    return reductions > 0;
}

// Turn a view of a leaf into one of its memory.
Outcome view_memory(PyObject* of, PyObject* source, PyObject* key) {
    Ref in = Ref::share(node.memory.of(source));
    if (in.get() == Py_None || memory.shared.of(in.get()) == Py_True) return Outcome::FALLBACK;
    Place place;
    const Outcome known = index_plainly(source, key, place);
    if (known != Outcome::DONE) return known;
    Ref strides = place.stride_tuple(), offset = Ref::steal(PyLong_FromLongLong(place.offset));
    if (!strides || !offset || !become_leaf(of, in.get(), strides.get(), place.is_contiguous(), offset.get())) return Outcome::FAILED;
    return note_view(of) ? Outcome::DONE : Outcome::FAILED;
}

}  // namespace

bool is_pending_view(PyObject* of) {
    PyObject* operation = node.op.of(of);
    return Py_TYPE(operation) == transform_type && transform.take_view.of(operation) != Py_None;
}

bool has_pending_views(PyObject* of) {
    long long count = 0;
    size_of_views(of, count);
    return count > 0;
}

Outcome evaluate_view(PyObject* of) {
    PyObject* key = transform.key.of(node.op.of(of));
    Ref source = Ref::share(PyTuple_GET_ITEM(node.args.of(of), 0));
    PyObject* on = device_of(of);
    if (key == Py_None || !on) return PyErr_Occurred() ? Outcome::FAILED : Outcome::FALLBACK;
    const Held held(device.lock.of(on));
    if (!held || !evaluate_node(source.get())) return Outcome::FAILED;
    if (node.memory.of(of) != Py_None) return Outcome::DONE;  // another thread has evaluated it
    const Ref kept = Ref::share(key);
    return view_memory(of, source.get(), kept.get());
}

Outcome view_pending(PyObject* of, PyObject* key, Ref& result) {
    constexpr long OTHERS = EAGER | MASKED;
    if (Py_TYPE(of) != array_type || !has_node(of)) return Outcome::FALLBACK;
    Ref value = Ref::share(array.node.of(of));
    if (node.memory.of(value.get()) != Py_None) return Outcome::FALLBACK;
    PyTypeObject* kind = Py_TYPE(node.op.of(value.get()));
    if (kind != loop_type && kind != reduction_type && !is_pending_view(value.get())) return Outcome::FALLBACK;
    if (as_long(node.flags.of(value.get())) & OTHERS || !PyTuple_GET_SIZE(node.shape.of(value.get()))) return Outcome::FALLBACK;
    if (profiling_state && recorder.capture.of(profiling_state) != Py_None) return Outcome::FALLBACK;
    const ViewOperation* const known = operation_of(value.get(), key);
    if (!known) return PyErr_Occurred() ? Outcome::FAILED : Outcome::FALLBACK;
    if (!PyTuple_GET_SIZE(known->shape.get())) return Outcome::FALLBACK;
    if (!restores_axes(value.get(), known->operation.get()) && !is_cheap(value.get(), as_wide(known->size.get()))) return Outcome::FALLBACK;
    const Ref operation = Ref::share(known->operation.get()), shape = Ref::share(known->shape.get()), size = Ref::share(known->size.get());
    Ref view = grow_view(operation.get(), value.get(), shape.get(), size.get());
    result = view ? new_array(array_type, view.get()) : Ref();
    if (!result) return Outcome::FAILED;
    PyObject* base = array.base.of(of);
    array.base.set(result.get(), !base || base == Py_None ? of : base);
    return Outcome::DONE;
}

}  // namespace clarray
