// The key of a call: all that Python depends on before it looks at elements.
#include "captured.hpp"

#include <cstring>

namespace clarray {

namespace {

constexpr size_t MOST_INPUTS = 64;
constexpr Py_ssize_t MOST_VALUES = 64;  // of a list or tuple
constexpr int MOST_DEPTH = 4;

bool is_dtype(PyObject* object) {
    return PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(python.dtype_type));
}

bool is_ufunc(PyObject* object) {
    return Py_TYPE(object) == reinterpret_cast<PyTypeObject*>(python.ufunc_type);
}

}  // namespace

template <typename Number>
void CallSignature::append(Number number) {
    key.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void CallSignature::add_pointer(PyObject* of) { append(of); }

void CallSignature::add_axes(PyObject* numbers) {
    const Py_ssize_t count = PyTuple_GET_SIZE(numbers);
    key.push_back(char(count));
    for (Py_ssize_t axis = 0; axis < count; ++axis) append(as_wide(PyTuple_GET_ITEM(numbers, axis)));
}

bool CallSignature::is_at(PyObject* on) {
    if (device && device != on) return false;
    device = on;
    return true;
}

bool CallSignature::is_aliased() const {
    for (size_t i = 0; i < memories.size(); ++i)
        if (leaves_[i] > 1 || memory.shared.of(memories[i].get()) == Py_True) return true;
    return false;
}

bool CallSignature::is_read(size_t number) const { return has_other_readers(memories[number].get(), nullptr); }

bool CallSignature::has_other_facts() const {
    size_t count = 0;
    for (const Ref& each : memories)
        if (memory.facts.of(each.get()) != Py_None) count += size_t(PyDict_GET_SIZE(memory.facts.of(each.get())));
    return count > facts_.size();
}

// Add a Fact, or that there is none.
bool CallSignature::add_fact(PyObject* fact) {
    key.push_back(fact ? 'k' : 'u');
    if (!fact) return !PyErr_Occurred();
    for (PyObject* seen : facts_)
        if (seen == fact) return true;
    facts_.push_back(fact);
    return add_sequence(fact, '(');
}

// Add what `recorded_range` in clarray._engine.expr.bounds looks at.
bool CallSignature::add_facts(PyObject* leaf, PyObject* facts) {
    PyObject* letter = letter_of(node.dtype.of(leaf));
    Ref place = letter ? Ref::steal(PyTuple_Pack(4, node.offset.of(leaf), node.shape.of(leaf), node.strides.of(leaf), letter)) : Ref();
    return place && add_fact(PyDict_GetItemWithError(facts, place.get())) && add_fact(PyDict_GetItemWithError(facts, letter));
}

bool CallSignature::add_number(PyObject* value) {
    if (PyFloat_CheckExact(value)) {
        key.push_back('f');
        append(PyFloat_AS_DOUBLE(value));
        return true;
    }
    if (PyBool_Check(value)) {
        key.push_back(value == Py_True ? 'T' : 'F');
        return true;
    }
    if (!PyLong_CheckExact(value)) return false;
    int overflow = 0;
    key.push_back('i');
    append(PyLong_AsLongLongAndOverflow(value, &overflow));
    return !overflow;
}

bool CallSignature::add_input(PyObject* input) {
    for (size_t number = 0; number < nodes_.size(); ++number) {
        if (nodes_[number] != input) continue;
        key.push_back('r');
        append(number);
        return true;
    }
    if (nodes_.size() == MOST_INPUTS) return false;
    nodes_.push_back(input);
    return add_new_input(input);
}

void CallSignature::add_shape(PyObject* shape, PyObject* like) {
    const bool is_same = shape == like || is_same_shape(shape, like);
    key.push_back(is_same ? 's' : 'S');
    if (!is_same) add_axes(shape);
}

bool CallSignature::add_new_input(PyObject* input) {
    append(as_long(node.sig.of(input)));
    PyObject* in = node.memory.of(input);
    if (in == Py_None) {
        PyObject* operation = node.op.of(input);
        if (operation == python.const_op) {
            key.push_back('c');
            if (Py_TYPE(input) == known_type && !is_at(known.device.of(input))) return false;
            return add_number(node.value.of(input));
        }
        if (operation != python.index_op) return false;
        key.push_back('x');
    } else {
        if (!is_at(memory.device.of(in))) return false;
        size_t number = 0;
        while (number < memories.size() && memories[number].get() != in) ++number;
        if (number == memories.size()) {
            memories.push_back(Ref::share(in));
            leaves_.push_back(0);
        }
        ++leaves_[number];
        key.push_back('m');
        append(number);
        append(as_long(node.flags.of(input)));
        key.push_back(memory.shared.of(in) == Py_True ? 's' : 'o');
        key.push_back(memory.writeable.of(in) == Py_True ? 'w' : 'r');
        append(as_wide(memory.nbytes.of(in)));  // a fact about a whole memory holds for all of it
        PyObject* facts = memory.facts.of(in);
        if (has_facts && facts != Py_None && !add_facts(input, facts)) return false;
    }
    add_axes(node.shape.of(input));
    add_axes(node.strides.of(input));
    append(as_wide(node.offset.of(input)));
    return true;
}

// Add the shapes of a tree, which do not all follow from those of its inputs; false unless it consists of elementwise
// operations, reductions and transforms.
bool CallSignature::add_shapes(PyObject* pending) {
    PyObject* args = node.args.of(pending);
    if (node.memory.of(pending) != Py_None || !PyTuple_GET_SIZE(args)) return true;
    if (as_long(node.flags.of(pending)) & MASKED) return false;
    PyTypeObject* kind = Py_TYPE(node.op.of(pending));
    if ((kind != loop_type && !is_pass_type(kind)) || key.size() > 4096) return false;
    add_axes(node.shape.of(pending));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i)
        if (!add_shapes(PyTuple_GET_ITEM(args, i))) return false;
    return true;
}

bool CallSignature::add_root(PyObject* root) {
    if (as_long(node.flags.of(root)) & LARGE) return false;
    key.push_back('p');
    append(as_long(node.sig.of(root)));
    if (!add_shapes(root)) return false;
    PyObject* inputs = node.inputs.of(root);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); ++i)
        if (!add_input(PyTuple_GET_ITEM(inputs, i))) return false;
    return true;
}

// Add a pending operand from which the call only grows an expression: what the operand is made of matters to none.
bool CallSignature::add_opaque(PyObject* pending) {
    for (size_t number = 0; number < nodes_.size(); ++number) {
        if (nodes_[number] != pending) continue;
        key.push_back('r');
        append(number);
        return true;
    }
    PyObject *signature = leaf_signature(node.dtype.of(pending)), *on = device_of(pending);
    if (!signature || !on || !is_at(on) || nodes_.size() == MOST_INPUTS) return false;
    nodes_.push_back(pending);
    has_opaque = true;
    key.push_back('q');
    append(as_long(signature));
    append(as_long(node.flags.of(pending)));
    add_axes(node.shape.of(pending));
    return true;
}

bool CallSignature::add_operand(PyObject* operand) {
    if (node.memory.of(operand) != Py_None || !PyTuple_GET_SIZE(node.args.of(operand))) return add_input(operand);
    if (!by_tree && !is_selection(operand)) {
        const Dtype* dtype = dtype_of(node.dtype.of(operand));
        if (!dtype) return false;
        // what is known of integers follows from their operands, but a large graph is in no key
        if (!is_integer(*dtype) || as_long(node.flags.of(operand)) & LARGE) return add_opaque(operand);
    }
    const long flags = as_long(node.flags.of(operand));
    if (flags & ~long(EAGER | SHARED | REDUCES)) return false;
    append(flags);
    // A pass, and a value with other users, cannot be fused into the call. For shared values below, Python looks at their users.
    if (!grows && (flags & REDUCES || has_consumers(node.readers.of(operand)))) needs_operands = true;
    else if (!grows && flags & SHARED) return false;
    for (PyObject* seen : nodes_)
        if (seen == operand) return false;
    return add_root(operand);
}

bool CallSignature::add_sequence(PyObject* values, char kind) {
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(values);
    if (count > MOST_VALUES || depth_ == MOST_DEPTH) return false;
    key.push_back(kind);
    append(count);
    ++depth_;
    for (Py_ssize_t i = 0; i < count; ++i)
        if (!add(PySequence_Fast_GET_ITEM(values, i))) return false;
    --depth_;
    return true;
}

bool CallSignature::add(PyObject* value) {
    PyTypeObject* kind = Py_TYPE(value);
    if (kind == array_type) {
        if (!has_node(value)) return false;
        arrays.push_back(value);
        values.push_back(Ref::share(array.node.of(value)));
        // what `is_scalar` of clarray._core.device_array depends on
        if (!is_selection(values.back().get()) && !PyTuple_GET_SIZE(node.shape.of(values.back().get())))
            key.push_back(array.no_number.of(value) || array.base.of(value) != Py_None ? 'a' : 's');
        return add_operand(values.back().get());
    }
    if (value == Py_None || value == Py_Ellipsis) {
        key.push_back(value == Py_None ? 'N' : 'E');
        return true;
    }
    if (PyTuple_CheckExact(value)) return add_sequence(value, '(');
    if (PyList_CheckExact(value)) return add_sequence(value, '[');
    if (PyUnicode_CheckExact(value)) {
        Py_ssize_t size;
        const char* text = PyUnicode_AsUTF8AndSize(value, &size);
        if (!text) return false;
        key.push_back('"');
        append(size);
        key.append(text, size_t(size));
        return true;
    }
    if (PySlice_Check(value)) {
        const auto* slice = reinterpret_cast<PySliceObject*>(value);
        key.push_back(':');
        return add(slice->start) && add(slice->stop) && add(slice->step);
    }
    if (PyType_Check(value) || is_dtype(value) || is_ufunc(value) || value == python.no_value) {
        key.push_back('t');
        append(value);
        named.push_back(Ref::share(value));
        return true;
    }
    if (PyObject_TypeCheck(value, reinterpret_cast<PyTypeObject*>(python.generic_type))) return add_scalar(value);
    return add_number(value);
}

// Add a scalar of NumPy's by its class and bytes; false for one without a buffer.
bool CallSignature::add_scalar(PyObject* value) {
    Py_buffer bytes;
    if (PyObject_GetBuffer(value, &bytes, PyBUF_SIMPLE)) {
        PyErr_Clear();
        return false;
    }
    PyObject* const type = reinterpret_cast<PyObject*>(Py_TYPE(value));
    key.push_back('g');
    append(type);
    named.push_back(Ref::share(type));
    append(bytes.len);
    key.append(static_cast<const char*>(bytes.buf), size_t(bytes.len));
    PyBuffer_Release(&bytes);
    return true;
}

}  // namespace clarray
