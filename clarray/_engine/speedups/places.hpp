// Where the elements of an array lie, and what a key of integers and slices names of it.
#pragma once
#include "launch.hpp"

namespace clarray {

constexpr Py_ssize_t MOST_AXES = 64;

Ref tuple_of(const long long* numbers, Py_ssize_t count);

struct Place {
    Py_ssize_t ndim = 0;
    long long shape[MOST_AXES], strides[MOST_AXES], offset = 0;

    long long size() const;
    bool is_contiguous() const;
    bool has_shape(PyObject* tuple) const;
    Ref stride_tuple() const;
    void lay_in_c_order();  // give the axes such strides
    // First and last element that are touched; of an empty place the last is before the first.
    void extent(long long& first, long long& last) const;
};

// Where a leaf lies.
Place place_of(PyObject* leaf);

// Whether the strides and shape are those of a leaf, so that both have the same element at every index.
bool is_same_place(const Place& place, PyObject* leaf);

// Whether the elements of a leaf may be written; false also where Python has to say.
bool is_writeable(PyObject* leaf);

// Take the place of a key of ints and slices; FALLBACK for any other, and where it is out of bounds.
Outcome index_plainly(PyObject* leaf, PyObject* key, Place& place);

// Note that a leaf looks at its memory, as `_seen` in clarray._core.views does; false after an error.
bool note_view(PyObject* leaf);

// A leaf that lies in a memory: what it is, and where its elements are; all borrowed.
struct LeafKind {
    PyObject *dtype, *signature, *flags;
};
struct LeafPlace {
    PyObject *shape, *size, *offset, *strides;
    bool contiguous;
};
Ref new_leaf(PyObject* in, const LeafPlace& place, const LeafKind& kind);
Ref placed_leaf(PyObject* in, const Place& place, const LeafKind& kind);

// A leaf that looks at a place in the memory of another.
Ref view_leaf(PyObject* of, const Place& place);

// Where an element is in host memory; null where the device has memory of its own.
char* host_address(PyObject* in, long long offset, const Dtype& dtype);

// The block under a memory as an ndarray of a dtype, borrowed; null where there is none yet.
PyObject* typed_elements(PyObject* in, PyObject* dtype);

bool is_host_memory(PyObject* in);

// Whether NumPy has a number in the place of an array, which no operator changes: the native implementation of `is_number` of clarray._core.
bool is_number(PyObject* of);

// An element of host memory as NumPy's scalar; FALLBACK where it cannot be read at once.
Outcome host_element(PyObject* leaf, long long offset, Ref& number);

// An element of a leaf as a value of its own, and a Python number written as one; FALLBACK where either cannot be done at once.
Outcome known_element(PyObject* leaf, long long offset, Ref& result);
Outcome put_number(PyObject* leaf, long long offset, PyObject* value);

// Write a known number to memory of its own: the native implementation of `_place` in clarray._engine.evaluate.
Outcome place_number(PyObject* number);

// The native implementations of `computed_number` in clarray._core.elements and of `scalar` in clarray._core.conversion.
PyObject* computed_number(PyObject* node);
PyObject* scalar(PyObject* array, PyObject* kind);

PyObject* ufunc_reduce(PyObject* self, PyObject* const* given, size_t flags, PyObject* names);
PyObject* vector_product(PyObject* self, PyObject* const* given, size_t flags, PyObject* names);

// Compute a value into a place of a leaf's memory. FALLBACK, with nothing done, where that takes more than a launch.
// A pending value must be nobody else's.
Outcome store(PyObject* leaf, const Place& target, PyObject* value);

// Whether an expression has a memory among its inputs.
bool is_read_by(PyObject* memory, PyObject* value);

// Whether a pending expression reads a memory, but for one and those that only it is grown from.
bool has_other_readers(PyObject* memory, PyObject* value);

// A node's elements as an ndarray where they are, and a new array of an ndarray's elements; see clarray._core.small_operands.
Outcome host_window(PyObject* node, Ref& result);
Outcome host_copy(PyObject* value, PyObject* dtype, PyObject* device, Ref& result);

// The elements that an array of indices names, where they are few; FALLBACK also where one is out of bounds.
Outcome gather(PyObject* of, PyObject* key, Ref& result);

// A leaf of new memory; `given` as of `new_leaf` in clarray._core.host_data, the first three at least.
Outcome blank_leaf(PyObject* const* given, Py_ssize_t count, Ref& result);

// ``array[key]`` and ``array[key] = value``.
PyObject* get_item(PyObject* of, PyObject* key);
PyObject* set_item(PyObject* of, PyObject* key, PyObject* value);

}  // namespace clarray
