// Single elements of host memory, read and written at once: the native implementation of functions of clarray._core.elements, and of those
// that give a value of no axes as a number.
#include "operands.hpp"

#include <cmath>
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

// Write a Python number, or NumPy's float64, as an element; false, with nothing written, where NumPy has to convert it or to refuse it.
bool put_element(char* at, const Dtype& dtype, PyObject* value) {
    if (dtype.kind == 'b') return PyBool_Check(value) && write(at, uint8_t(value == Py_True));
    // a float of Python's too
    const bool is_float = PyFloat_CheckExact(value) || reinterpret_cast<PyObject*>(Py_TYPE(value)) == python.float64_type;
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
    if (!holds(dtype, whole)) return false;
    switch (dtype.itemsize) {
        case 1: return write(at, uint8_t(whole));
        case 2: return write(at, uint16_t(whole));
        case 4: return write(at, uint32_t(whole));
        default: return write(at, uint64_t(whole));
    }
}

// Where an element is in what the host keeps of memory of the device's own, see runtime.host_read_cache; null
// where that does not hold it.
const char* mirrored_address(PyObject* in, long long offset, const Dtype& dtype) {
    PyObject* mirror = memory.mirror.of(in);
    if (mirror == Py_None) return nullptr;
    PyObject* data = PyTuple_GET_ITEM(mirror, 1);
    const long long at = offset * dtype.itemsize - as_wide(PyTuple_GET_ITEM(mirror, 0));
    return at < 0 || at + dtype.itemsize > PyBytes_GET_SIZE(data) ? nullptr : PyBytes_AS_STRING(data) + at;
}

// Read an element of a leaf; FALLBACK where it cannot be read at once, or not as one of Python's numbers with all its bits.
Outcome read_element(PyObject* leaf, long long offset, Ref& value) {
    Ref in = Ref::share(node.memory.of(leaf)), on = Ref::share(memory.device.of(in.get()));
    const Dtype* dtype = dtype_of(node.dtype.of(leaf));
    if (!dtype) return Outcome::FAILED;
    const char* at = host_address(in.get(), offset, *dtype);
    if (at && wait_for(on.get()) != Outcome::DONE) return Outcome::FALLBACK;
    if (!at) at = mirrored_address(in.get(), offset, *dtype);
    if (!at || !can_launch(on.get())) return Outcome::FALLBACK;
    value = element_at(at, *dtype);
    if (value) return Outcome::DONE;
    return PyErr_Occurred() ? Outcome::FAILED : Outcome::FALLBACK;
}

// Whether a pending value is no more than the copy of an element of memory of a device's own, which is read there.
bool is_copied_element(PyObject* pending) {
    if (node.op.of(pending) != cast_loop(node.dtype.of(pending)) || PyTuple_GET_SIZE(node.args.of(pending)) != 1) return false;
    PyObject* of = PyTuple_GET_ITEM(node.args.of(pending), 0);
    PyObject* in = node.memory.of(of);
    return in != Py_None && !is_host_memory(in);
}

// Whether the calling thread would compute a node now: see `computed_number`.
bool is_computed_at_once(PyObject* root) {
    PyObject* on = device_of(root);
    return on && rests(on) && can_launch(on) && bytes_read(root) <= reduced_at_once(on);
}

}  // namespace

char* host_address(PyObject* in, long long offset, const Dtype& dtype) {
    char* start = static_cast<char*>(PyLong_AsVoidPtr(block.start.of(memory.block.of(in))));
    return start ? start + offset * dtype.itemsize : nullptr;
}

bool is_host_memory(PyObject* in) { return PyLong_AsVoidPtr(block.start.of(memory.block.of(in))) != nullptr; }

bool is_number(PyObject* of) {
    if (Py_TYPE(of) != array_type || !has_node(of) || array.no_number.of(of) || array.base.of(of) != Py_None) return false;
    PyObject* value = array.node.of(of);
    return !is_selection(value) && !PyTuple_GET_SIZE(node.shape.of(value));
}

Outcome host_element(PyObject* leaf, long long offset, Ref& number) {
    Ref in = Ref::share(node.memory.of(leaf)), on = Ref::share(memory.device.of(in.get()));
    Ref elements = Ref::share(typed_elements(in.get(), node.dtype.of(leaf)));
    if (!elements) return PyErr_Occurred() ? Outcome::FAILED : Outcome::FALLBACK;
    if (wait_for(on.get()) != Outcome::DONE || !can_launch(on.get())) return Outcome::FALLBACK;
    number = Ref::steal(PySequence_GetItem(elements.get(), Py_ssize_t(offset)));
    return number ? Outcome::DONE : Outcome::FAILED;
}

Outcome known_element(PyObject* leaf, long long offset, Ref& result) {
    Ref value;
    const Outcome read = read_element(leaf, offset, value);
    if (read != Outcome::DONE) return read;
    result = known_value(value.get(), node.dtype.of(leaf), memory.device.of(node.memory.of(leaf)));
    return result ? Outcome::DONE : Outcome::FAILED;
}

Outcome put_number(PyObject* leaf, long long offset, PyObject* value) {
    Ref in = Ref::share(node.memory.of(leaf)), on = Ref::share(memory.device.of(in.get()));
    const Dtype* dtype = dtype_of(node.dtype.of(leaf));
    if (!dtype) return Outcome::FAILED;
    char* at = host_address(in.get(), offset, *dtype);
    if (!at || !can_launch(on.get())) return Outcome::FALLBACK;
    const Held held(device.lock.of(on.get()));  // a launch of another thread's may read its neighbours, and write them back
    if (!held) return Outcome::FAILED;
    if (wait_for(on.get()) != Outcome::DONE || has_other_readers(in.get(), nullptr)) return Outcome::FALLBACK;
    forget(in.get());
    if (put_element(at, *dtype, value)) return Outcome::DONE;
    if (!PyObject_TypeCheck(value, reinterpret_cast<PyTypeObject*>(python.generic_type))) return Outcome::FALLBACK;
    Ref elements = Ref::share(typed_elements(in.get(), node.dtype.of(leaf)));
    if (!elements) return PyErr_Occurred() ? Outcome::FAILED : Outcome::FALLBACK;
    return PySequence_SetItem(elements.get(), Py_ssize_t(offset), value) ? Outcome::FAILED : Outcome::DONE;
}

Outcome place_number(PyObject* number) {
    if (Py_TYPE(number) != known_type) return Outcome::FALLBACK;
    Ref on = Ref::share(known.device.of(number)), value = Ref::share(node.value.of(number));
    const Dtype* dtype = dtype_of(node.dtype.of(number));
    if (!dtype) return Outcome::FAILED;
    const Held held(device.lock.of(on.get()));
    if (!held) return Outcome::FAILED;
    if (node.memory.of(number) != Py_None) return Outcome::DONE;
    if (!can_launch(on.get()) || wait_for(on.get()) != Outcome::DONE) return Outcome::FALLBACK;
    Ref in = allocate(on.get(), dtype->itemsize);
    if (!in) return Outcome::FAILED;
    char* at = host_address(in.get(), 0, *dtype);
    if (!at || !put_element(at, *dtype, value.get())) return Outcome::FALLBACK;
    return become_leaf(number, in.get(), empty_tuple, true) ? Outcome::DONE : Outcome::FAILED;
}

PyObject* computed_number(PyObject* root) {
    if (node.memory.of(root) == Py_None && is_computed_at_once(root)) {
        if (!evaluate_node(root)) return nullptr;
        Ref number;
        const Outcome read = known_element(root, as_wide(node.offset.of(root)), number);
        if (read != Outcome::FALLBACK) return number.release();
    }
    return PyErr_Occurred() ? nullptr : invoke(python.computed_number, root);
}

PyObject* scalar(PyObject* of, PyObject* kind) {
    if (Py_TYPE(of) != array_type || !has_node(of)) return invoke(python.scalar, of, kind);
    Ref value = Ref::share(array.node.of(of));
    if (is_selection(value.get()) || PyTuple_GET_SIZE(node.shape.of(value.get()))) return invoke(python.scalar, of, kind);
    const Dtype* dtype = dtype_of(node.dtype.of(value.get()));
    if (!dtype) return nullptr;
    if (dtype->kind == 'c') return invoke(python.scalar, of, kind);  // may warn
    if (node.memory.of(value.get()) == Py_None) {
        if (node.op.of(value.get()) == python.const_op) return Py_NewRef(node.value.of(value.get()));
        if (is_copied_element(value.get())) return invoke(python.scalar, of, kind);
        if (!evaluate_node(value.get())) return nullptr;
    }
    Ref number;
    const Outcome read = read_element(value.get(), as_wide(node.offset.of(value.get())), number);
    return read == Outcome::FALLBACK ? invoke(python.scalar, of, kind) : number.release();
}

}  // namespace clarray
