// Products with a vector: the native implementation of `vector_product` in clarray._numpy.products.vectors.
#include "operands.hpp"

#include <map>
#include <tuple>

namespace clarray {

namespace {

// The multiplication and the sum of a dtype and the operands' numbers of axes, borrowed; null after an error.
struct Steps {
    PyObject *multiplication = nullptr, *sum = nullptr;
};

Steps steps_of(PyObject* dtype, Py_ssize_t first, Py_ssize_t second) {
    static std::map<std::tuple<PyObject*, Py_ssize_t, Py_ssize_t>, Steps> all;
    if (!dtype_of(dtype)) return {};  // which keeps it
    Steps& known = all[{dtype, first, second}];
    if (known.sum) return known;
    Ref ndims = Ref::steal(Py_BuildValue("(nn)", first, second));
    Ref told = ndims ? Ref::steal(invoke(python.vector_product_steps, dtype, ndims.get())) : Ref();
    if (told) known = {Py_NewRef(PyTuple_GET_ITEM(told.get(), 0)), Py_NewRef(PyTuple_GET_ITEM(told.get(), 1))};
    return known;
}

// Whether all that is read lies on one device.
bool is_on_one_device(PyObject* one, PyObject* other) {
    PyObject* device = nullptr;
    for (PyObject* root : {one, other}) {
        const Inputs inputs(root);
        const bool is_input = inputs.begin() == inputs.end();
        for (PyObject* input : std::vector<PyObject*>(is_input ? &root : inputs.begin(), is_input ? &root + 1 : inputs.end())) {
            PyObject* in = node.memory.of(input);
            PyObject* on = in != Py_None ? memory.device.of(in) : Py_TYPE(input) == known_type ? known.device.of(input) : device;
            if (device && on != device) return false;
            device = on;
        }
    }
    return device;
}

// A vector as a column; empty, without an error, where it is pending.
Ref column_of(PyObject* vector) {
    if (node.memory.of(vector) == Py_None) return {};
    Place place = place_of(vector);
    place.shape[1] = 1;
    place.strides[1] = 0;
    place.ndim = 2;
    Ref leaf = view_leaf(vector, place);
    return leaf && note_view(leaf.get()) ? std::move(leaf) : Ref();
}

Outcome multiply(PyObject* a, PyObject* b, Ref& result) {
    if (Py_TYPE(a) != array_type || Py_TYPE(b) != array_type || !has_node(a) || !has_node(b)) return Outcome::FALLBACK;
    Ref left = Ref::share(array.node.of(a)), right = Ref::share(array.node.of(b));
    PyObject* dtype = node.dtype.of(left.get());
    if (node.dtype.of(right.get()) != dtype || is_selection(left.get()) || is_selection(right.get())) return Outcome::FALLBACK;
    Ref mine = Ref::share(node.shape.of(left.get())), theirs = Ref::share(node.shape.of(right.get()));
    const Py_ssize_t first = PyTuple_GET_SIZE(mine.get()), second = PyTuple_GET_SIZE(theirs.get());
    if (!first || !second || first + second > 3) return Outcome::FALLBACK;
    const long long length = as_wide(PyTuple_GET_ITEM(theirs.get(), 0));
    if (as_wide(PyTuple_GET_ITEM(mine.get(), first - 1)) != length) return Outcome::FALLBACK;
    if (!as_wide(node.size.of(left.get())) || !as_wide(node.size.of(right.get()))) return Outcome::FALLBACK;
    if (!is_on_one_device(left.get(), right.get())) return Outcome::FALLBACK;
    if (second == 2) left = column_of(left.get());
    if (!left) return PyErr_Occurred() ? Outcome::FAILED : Outcome::FALLBACK;
    const Steps steps = steps_of(dtype, first, second);
    if (!steps.sum) return Outcome::FAILED;
    if (Py_TYPE(steps.multiplication) != loop_type || Py_TYPE(steps.sum) != reduction_type) return Outcome::FALLBACK;
    const bool is_number = first == 1 && second == 1;
    PyObject* extent = PyTuple_GET_ITEM(first == 2 ? mine.get() : theirs.get(), second - 1);
    Ref shape = is_number ? Ref::share(empty_tuple) : Ref::steal(PyTuple_Pack(1, extent));
    Ref products = shape ? grow_binary(steps.multiplication, left.get(), right.get()) : Ref();
    Ref made = products ? grow_reduction(steps.sum, products.get(), shape.get()) : Ref();
    if (made && node.dtype.of(made.get()) != dtype) {
        PyObject* cast = cast_loop(dtype);
        made = cast ? grow_unary(cast, made.get()) : Ref();
    }
    if (made && is_number) made = Ref::steal(computed_number(made.get()));
    if (!made || !evaluate_if_costly(made.get())) return Outcome::FAILED;
    result = new_array(array_type, made.get());
    return result ? Outcome::DONE : Outcome::FAILED;
}

}  // namespace

PyObject* vector_product(PyObject* self, PyObject* const* given, size_t flags, PyObject* names) {
    if (PyVectorcall_NARGS(flags) != 2 || names) return call_reference(self, given, flags, names);
    Ref result;
    const Outcome done = multiply(given[0], given[1], result);
    return done == Outcome::FALLBACK ? call_reference(self, given, flags, names) : result.release();
}

}  // namespace clarray
