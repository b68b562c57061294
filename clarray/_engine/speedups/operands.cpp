// The operands of a kernel: its first arguments, and the key by which its launch is found.
#include "operands.hpp"

#include <algorithm>

namespace clarray {

namespace {

template <typename Number>
void append(std::string& key, Number number) {
    key.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void append_shape(std::string& key, PyObject* shape) {
    const Py_ssize_t ndim = PyTuple_GET_SIZE(shape);
    append(key, ndim);
    for (Py_ssize_t axis = 0; axis < ndim; ++axis) append(key, as_wide(PyTuple_GET_ITEM(shape, axis)));
}

// How the elements of an operand lie; strides of axes of one element tell nothing.
void append_place(std::string& key, PyObject* operand) {
    PyObject *shape = node.shape.of(operand), *strides = node.strides.of(operand);
    const Py_ssize_t ndim = PyTuple_GET_SIZE(shape);
    append(key, ndim);
    for (Py_ssize_t axis = 0; axis < ndim; ++axis) {
        const long long extent = as_wide(PyTuple_GET_ITEM(shape, axis));
        append(key, extent);
        append(key, extent == 1 ? 0LL : as_wide(PyTuple_GET_ITEM(strides, axis)));
    }
}

bool is_aligned(long long offset, long long itemsize) {
    static const long long alignment = told("ALIGNMENT");
    return offset * itemsize % alignment == 0;
}

bool is_aligned(PyObject* operand) { return is_aligned(as_wide(node.offset.of(operand)), itemsize_of(operand)); }

// Whether a constant is no device's, or of the only one that is known of so far.
bool is_at_home(PyObject* constant, Operands& found) {
    if (Py_TYPE(constant) != known_type) return true;
    PyObject* on = known.device.of(constant);
    if (found.device && found.device != on) return false;
    found.device = on;
    return true;
}

// The rest of the key, where loops go over strides: everything that they are made of.
void append_layout(PyObject* root, Operands& found) {
    append_shape(found.key, node.shape.of(root));
    for (size_t i = 0; i < found.distinct; ++i)
        if (node.memory.of(found.nodes[i]) != Py_None) append_place(found.key, found.nodes[i]);
}

// The length of what is reduced, where one axis is reduced to a number and a launch is for every length; else 0. As
// `_place_runs` in clarray._engine.fused.reduce.launch: not where the axis is turned round, or reaches far.
long long run_length(PyObject* root, const Operands& found) {
    static const long long int_limit = told("INT_LIMIT");
    PyObject* shape = node.shape.of(PyTuple_GET_ITEM(node.args.of(root), 0));
    if (PyTuple_GET_SIZE(shape) != 1 || PyTuple_GET_SIZE(node.shape.of(root))) return 0;
    const long long length = as_wide(PyTuple_GET_ITEM(shape, 0));
    if (length <= 1 || length >= reduced_below(found.device)) return 0;
    long long low = 0, high = 0;
    for (size_t i = 0; i < found.distinct; ++i) {
        PyObject* operand = found.nodes[i];
        if (node.memory.of(operand) == Py_None || !is_same_shape(node.shape.of(operand), shape)) continue;
        const long long stride = as_wide(PyTuple_GET_ITEM(node.strides.of(operand), 0));
        low = std::min(low, stride);
        high = std::max(high, stride);
    }
    return (low < 0 && high <= 0) || std::max(high, -low) * length >= int_limit ? 0 : length;
}

}  // namespace

Outcome look_at(PyObject* root, PyObject* inputs, Operands& found) {
    static Reference* const marker = reference_of("CONST");
    PyObject* shape = node.shape.of(root);
    std::string& key = found.key;
    append(key, as_long(node.sig.of(root)));
    bool aligned = true, singles_aligned = true;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); ++i) {
        PyObject* operand = PyTuple_GET_ITEM(inputs, i);
        size_t number = 0;
        while (number < found.distinct && found.nodes[number] != operand) ++number;
        if (number < found.distinct) {
            key.push_back(char(number));
            continue;
        }
        if (found.distinct == MOST_OPERANDS) return Outcome::RARE;
        found.nodes[found.distinct++] = operand;
        PyObject* of = node.memory.of(operand);
        if (of == Py_None) {
            if (node.op.of(operand) != marker->function || !is_at_home(operand, found)) return Outcome::RARE;
            PyObject* value = node.value.of(operand);
            if (!PyFloat_CheckExact(value) && !PyLong_CheckExact(value)) return Outcome::RARE;
            key.push_back('c');
            found.arguments[found.count++] = {value, 0, false};
            continue;
        }
        if (found.device && memory.device.of(of) != found.device) return Outcome::RARE;
        found.device = memory.device.of(of);
        if (!dtype_of(node.dtype.of(operand))) return Outcome::FAILED;
        const bool whole = node.contiguous.of(operand) == Py_True && is_same_shape(node.shape.of(operand), shape);
        const bool single = !whole && as_wide(node.size.of(operand)) == 1;
        key.push_back(whole ? 'u' : single ? 'z' : 's');
        if (!whole && !single) found.flat = false;
        if (!is_aligned(operand)) (single ? singles_aligned : aligned) = false;
        found.add_buffer(of);
        found.add(as_wide(node.offset.of(operand)));
    }
    // where loops are flat, whether single elements are aligned is nothing to a kernel; elsewhere it is
    key.push_back(!aligned ? 'o' : singles_aligned ? 'a' : 's');
    if (PyErr_Occurred()) return Outcome::FAILED;
    return found.device ? Outcome::DONE : Outcome::RARE;
}

// All of their layout is part of the key, but for the length of a run.
Outcome look_at_reduced(PyObject* root, PyObject* inputs, Operands& found, long long& run) {
    const Outcome seen = look_at(root, inputs, found);
    if (seen != Outcome::DONE) return seen;
    PyObject* shape = node.shape.of(PyTuple_GET_ITEM(node.args.of(root), 0));
    run = run_length(root, found);
    found.key.push_back(run ? 'l' : 'r');
    if (!run) {
        append_shape(found.key, shape);
        append_shape(found.key, node.shape.of(root));  // where reduced axes may have been kept
    }
    for (size_t i = 0; i < found.distinct; ++i) {
        PyObject* operand = found.nodes[i];
        if (node.memory.of(operand) == Py_None) continue;
        found.nbytes += as_wide(node.size.of(operand)) * itemsize_of(operand);
        if (run && is_same_shape(node.shape.of(operand), shape)) {
            found.key.push_back('x');
            append(found.key, as_wide(PyTuple_GET_ITEM(node.strides.of(operand), 0)));
        } else {
            append_place(found.key, operand);
        }
        found.key.push_back(is_aligned(operand) ? 'a' : 'o');
    }
    return Outcome::DONE;
}

void end_key(PyObject* root, Operands& found) {
    found.key.push_back('n');
    if (!found.flat) append_layout(root, found);
}

void end_key(PyObject* root, const Place& target, long long itemsize, Operands& found) {
    found.key.push_back(is_aligned(target.offset, itemsize) ? 'A' : 'O');
    if (found.flat) return;
    append_layout(root, found);
    for (Py_ssize_t axis = 0; axis < target.ndim; ++axis) append(found.key, target.shape[axis] == 1 ? 0LL : target.strides[axis]);
}

// Add to where the inputs begin what Python says that their loops begin at.
void shift_inputs(const Prepared& p, Operands& found) {
    if (p.shifts.empty()) return;
    size_t number = 0;
    for (size_t i = 0, at = 0; i < found.distinct; ++i) {
        const bool placed = node.memory.of(found.nodes[i]) != Py_None;
        if (placed) found.arguments[at + 1].number += p.shifts[number++];
        at += placed ? 2 : 1;
    }
}

// Add what comes after the inputs to the arguments: the output, and what the loops go by.
void finish_arguments(const Prepared& p, Operands& found, PyObject* out_memory, long long out_offset, long long size) {
    found.add_buffer(out_memory);
    found.add(out_offset + p.out_shift);
    if (p.vector) found.add(size);
    for (long long number : p.sizes) found.add(number);
}

PyObject* device_of(PyObject* root) {
    PyObject* inputs = node.inputs.of(root);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); ++i) {
        PyObject* in = node.memory.of(PyTuple_GET_ITEM(inputs, i));
        if (in != Py_None) return memory.device.of(in);
    }
    return nullptr;
}

long long bytes_read(PyObject* root) {
    PyObject* inputs = node.inputs.of(root);
    long long nbytes = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); ++i) {
        PyObject* input = PyTuple_GET_ITEM(inputs, i);
        nbytes += as_wide(node.size.of(input)) * itemsize_of(input);
    }
    return nbytes;
}

}  // namespace clarray
