// Reductions of arrays by a ufunc: the native implementation of `ufunc_reduce` in clarray._numpy.reduction.reduce_calls.
#include "places.hpp"

#include <map>
#include <tuple>

namespace clarray {

namespace {

constexpr size_t MOST_ROWS = 4096;
constexpr long ALL_AXES = LONG_MIN;

using Key = std::tuple<PyObject*, PyObject*, Py_ssize_t, long>;  // ufunc, dtype, number of axes and axis
using Rows = std::map<Key, PyObject*>;

void drop_all(Rows& rows) {
    Rows dropped;
    dropped.swap(rows);  // what goes may run anything
    for (const auto& [key, operation] : dropped) {
        Py_DECREF(std::get<0>(key));
        Py_DECREF(std::get<1>(key));
        Py_DECREF(operation);
    }
}

// The reduction by a ufunc of a dtype, a number of axes and an axis, as Python has it; null after an error.
PyObject* operation_of(PyObject* ufunc, PyObject* of, long axis, PyObject* axis_object) {
    static auto& rows = *new Rows;  // Python is gone when static objects are
    const Key key{ufunc, node.dtype.of(of), PyTuple_GET_SIZE(node.shape.of(of)), axis};
    const auto entry = rows.find(key);
    if (entry != rows.end()) return Py_NewRef(entry->second);
    PyObject* operation = invoke(python.plain_reduction, ufunc, of, axis_object);
    if (operation && rows.size() >= MOST_ROWS) drop_all(rows);
    if (operation) {
        Py_INCREF(ufunc);  // so that no other has its address
        Py_INCREF(node.dtype.of(of));
        rows.emplace(key, Py_NewRef(operation));
    }
    return operation;
}

// The shape without an axis.
Ref shape_without(PyObject* shape, long axis) {
    const Py_ssize_t ndim = PyTuple_GET_SIZE(shape);
    if (axis == ALL_AXES || ndim == 1) return Ref::share(empty_tuple);
    Ref kept = Ref::steal(PyTuple_New(ndim - 1));
    for (Py_ssize_t from = 0, to = 0; kept && from < ndim; ++from)
        if (from != axis) PyTuple_SET_ITEM(kept.get(), to++, Py_NewRef(PyTuple_GET_ITEM(shape, from)));
    return kept;
}

// Whether a call says nothing that it would not do without.
bool is_plain(PyObject* const* given, Py_ssize_t count) {  // dtype, out, keepdims, initial, where
    PyObject* const usual[] = {Py_None, Py_None, Py_False, python.no_value, Py_True};
    for (Py_ssize_t i = 0; i < count; ++i)
        if (given[i] != usual[i]) return false;
    return true;
}

Outcome reduce_plainly(PyObject* const* given, Py_ssize_t count, Ref& result) {
    constexpr Py_ssize_t PLACES = 3, MOST = 8;  // ufunc, array and axis; and all
    if (count < PLACES || count > MOST || Py_TYPE(given[1]) != array_type || !has_node(given[1])) return Outcome::FALLBACK;
    if (!is_plain(given + PLACES, count - PLACES)) return Outcome::FALLBACK;
    Ref of = Ref::share(array.node.of(given[1]));
    if (is_selection(of.get())) return Outcome::FALLBACK;
    const Py_ssize_t ndim = PyTuple_GET_SIZE(node.shape.of(of.get()));
    if (!ndim || as_wide(node.size.of(of.get())) == 0) return Outcome::FALLBACK;
    long axis = ALL_AXES;
    if (given[2] != Py_None) {
        if (!PyLong_CheckExact(given[2])) return Outcome::FALLBACK;
        int overflow = 0;
        axis = PyLong_AsLongAndOverflow(given[2], &overflow);
        if (overflow || axis < -ndim || axis >= ndim) return Outcome::FALLBACK;
        if (axis < 0) axis += ndim;
    }
    Ref operation = Ref::steal(operation_of(given[0], of.get(), axis, given[2]));
    if (!operation) return Outcome::FAILED;
    if (Py_TYPE(operation.get()) != reduction_type) return Outcome::FALLBACK;
    Ref shape = shape_without(node.shape.of(of.get()), axis);
    Ref made = shape ? grow_reduction(operation.get(), of.get(), shape.get()) : Ref();
    if (!made || !evaluate_if_costly(made.get())) return Outcome::FAILED;
    result = new_array(array_type, made.get());
    return result ? Outcome::DONE : Outcome::FAILED;
}

}  // namespace

PyObject* ufunc_reduce(PyObject* self, PyObject* const* given, size_t flags, PyObject* names) {
    Ref result;
    const Outcome done = names ? Outcome::FALLBACK : reduce_plainly(given, PyVectorcall_NARGS(flags), result);
    return done == Outcome::FALLBACK ? call_reference(self, given, flags, names) : result.release();
}

}  // namespace clarray
