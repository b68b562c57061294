// The operands of a kernel: its first arguments, and the key by which its launch is found.
#include "operands.hpp"

#include <algorithm>
#include <cstdlib>
#include <unordered_set>

namespace clarray {

namespace {

constexpr size_t MOST_KEPT = 256;  // bytes of a key that are asked for at once

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
    return offset * itemsize % python.alignment == 0;
}

bool is_aligned(PyObject* operand) { return is_aligned(as_wide(node.offset.of(operand)), itemsize_of(operand)); }

// Whether a constant is no device's, or of the only one that is known of so far.
bool is_at_home(PyObject* constant, Operands& operands) {
    if (Py_TYPE(constant) != known_type) return true;
    PyObject* on = known.device.of(constant);
    if (operands.device && operands.device != on) return false;
    operands.device = on;
    return true;
}

// The rest of the key, where loops go over strides: everything that they are made of.
void append_layout(PyObject* root, Operands& operands) {
    operands.key.reserve(MOST_KEPT);
    append_shape(operands.key, node.shape.of(root));
    for (size_t i = 0; i < operands.distinct; ++i)
        if (node.memory.of(operands.nodes[i]) != Py_None) append_place(operands.key, operands.nodes[i]);
}

// How one operand goes through the loops of a launch: a step for each axis, none where it is repeated.
struct Steps {
    long long of[MOST_AXES];
};

void find_steps(PyObject* operand, Py_ssize_t ndim, Steps& steps) {
    PyObject *shape = node.shape.of(operand), *strides = node.strides.of(operand);
    const Py_ssize_t lead = ndim - PyTuple_GET_SIZE(shape);
    for (Py_ssize_t axis = 0; axis < ndim; ++axis) {
        const bool is_repeated = axis < lead || as_wide(PyTuple_GET_ITEM(shape, axis - lead)) == 1;
        steps.of[axis] = is_repeated ? 0 : as_wide(PyTuple_GET_ITEM(strides, axis - lead));
    }
}

// Whether an operand's steps follow from the extents of the loops: it has them all, and lies in C order.
bool is_whole(PyObject* operand, PyObject* shape) {
    return node.contiguous.of(operand) == Py_True && is_same_shape(node.shape.of(operand), shape);
}

// Those of a launch's output and operands: on the stack, and nothing is done to what is not used.
struct StepsOfAll {
    Steps of[MOST_OPERANDS + 1];
    long long itemsize[MOST_OPERANDS + 1];
    size_t count = 0;
    unsigned long long follow = 0;  // whose steps follow from the extents: a bit for each
    const Steps* begin() const { return of; }
    const Steps* end() const { return of + count; }
    Steps& add(long long size, bool follows) {
        follow |= (unsigned long long)follows << count;
        itemsize[count] = size;
        return of[count++];
    }
};

// As `steps_fall` in clarray._engine.expr.view.
bool strides_descend(const Steps& steps, Py_ssize_t ndim) {
    long long last = 0;
    for (Py_ssize_t axis = 0; axis < ndim; ++axis) {
        const long long step = steps.of[axis];
        if (step < 0 || (last && step > last)) return false;
        if (step) last = step;
    }
    return true;
}

// Whether the axes are the loops as they come, none turned round, moved, joined with the next or gone through in tiles: as
// `collapse` and `tile_axis` in clarray._engine have it. The output's steps come first.
bool are_loops(const StepsOfAll& all, const long long* extent, Py_ssize_t ndim) {
    const Py_ssize_t last = ndim - 1;
    for (Py_ssize_t axis = 0; axis < ndim; ++axis) {
        bool goes_on = false, goes_back = false, is_joined = axis > 0;
        for (const Steps& steps : all) {
            goes_on |= steps.of[axis] > 0;
            goes_back |= steps.of[axis] < 0;
            is_joined = is_joined && steps.of[axis - 1] == steps.of[axis] * extent[axis];
        }
        const long long* ours = all.begin()->of;
        if (is_joined || (goes_back && !goes_on) || !ours[axis] || (axis && std::abs(ours[axis - 1]) <= std::abs(ours[axis]))) return false;
    }
    for (const Steps& steps : all) {
        long long reach = 0;
        for (Py_ssize_t axis = 0; axis < ndim; ++axis) reach += std::abs(steps.of[axis]) * extent[axis];
        const bool is_turned = steps.of[last] != 0 && steps.of[last] != 1 && std::find(steps.of, steps.of + last, 1LL) != steps.of + last;
        if (is_turned || reach >= python.int_limit) return false;
    }
    return true;
}

// The steps as a key has them: of what follows from the extents only whether rows are aligned.
void append_steps(std::string& key, const StepsOfAll& all, Py_ssize_t ndim) {
    for (Py_ssize_t axis = 0; axis < ndim; ++axis)
        for (size_t i = 0; i < all.count; ++i) {
            const long long* steps = all.of[i].of;
            if (!(all.follow >> i & 1)) append(key, steps[axis]);
            else if (axis) key.push_back(is_aligned(steps[axis - 1], all.itemsize[i]) ? 'a' : 'o');
        }
}

// Whether a launch is for all extents of its loops: then the steps are its key, and each launch is told the extents, from
// which the steps of new memory follow, and of whatever has all elements in C order.
bool bind_extents(PyObject* root, const Place* target, long long itemsize, Operands& operands) {
    PyObject* shape = node.shape.of(root);
    const Py_ssize_t ndim = PyTuple_GET_SIZE(shape);
    long long extent[MOST_AXES], size = 1;
    StepsOfAll all;
    Steps& ours = all.add(itemsize, !target || target->is_contiguous());
    for (Py_ssize_t axis = ndim; axis-- > 0; size *= extent[axis]) {
        extent[axis] = as_wide(PyTuple_GET_ITEM(shape, axis));
        if (extent[axis] < 2) return false;
        ours.of[axis] = target ? target->strides[axis] : size;
    }
    long long nbytes = size * itemsize;
    for (size_t i = 0; i < operands.distinct; ++i) {
        PyObject* operand = operands.nodes[i];
        if (node.memory.of(operand) == Py_None) continue;
        const long long each = itemsize_of(operand);
        Steps& steps = all.add(each, is_whole(operand, shape));
        find_steps(operand, ndim, steps);
        if (!target && ndim > 1 && !strides_descend(steps, ndim)) return false;
        nbytes += as_wide(node.size.of(operand)) * each;
    }
    if (ndim == 0 || !are_loops(all, extent, ndim)) return false;
    operands.key.reserve(MOST_KEPT);
    operands.key.push_back(all.follow & 1 ? 'e' : 'f');
    append(operands.key, ndim);
    append_steps(operands.key, all, ndim);
    operands.extents = size_t(ndim);
    operands.follow = all.follow;
    operands.rows = size / extent[ndim - 1];
    operands.nbytes = nbytes;
    std::reverse_copy(extent, extent + ndim, operands.extent);
    return true;
}

// The length of what is reduced, where one axis is reduced to a number and a launch is for every length; else 0. As
// `_append_any_length_inputs` in clarray._engine.fused.reduce.launch: not where the axis is turned round, or reaches far.
long long run_length(PyObject* root, const Operands& operands) {
    PyObject* shape = node.shape.of(PyTuple_GET_ITEM(node.args.of(root), 0));
    if (PyTuple_GET_SIZE(shape) != 1 || PyTuple_GET_SIZE(node.shape.of(root))) return 0;
    const long long length = as_wide(PyTuple_GET_ITEM(shape, 0));
    if (length <= 1 || length >= reduced_below(operands.device)) return 0;
    long long low = 0, high = 0;
    for (size_t i = 0; i < operands.distinct; ++i) {
        PyObject* operand = operands.nodes[i];
        if (node.memory.of(operand) == Py_None || !is_same_shape(node.shape.of(operand), shape)) continue;
        const long long stride = as_wide(PyTuple_GET_ITEM(node.strides.of(operand), 0));
        low = std::min(low, stride);
        high = std::max(high, stride);
    }
    return (low < 0 && high <= 0) || std::max(high, -low) * length >= python.int_limit ? 0 : length;
}

}  // namespace

Outcome build_key(PyObject* root, PyObject* shape, PyObject* inputs, Operands& operands) {
    std::string& key = operands.key;
    key.push_back(EXPRESSION);
    append(key, as_long(node.sig.of(root)));
    bool aligned = true, singles_aligned = true;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); ++i) {
        PyObject* operand = PyTuple_GET_ITEM(inputs, i);
        size_t number = 0;
        while (number < operands.distinct && operands.nodes[number] != operand) ++number;
        if (number < operands.distinct) {
            key.push_back(char(number));
            continue;
        }
        if (operands.distinct == MOST_OPERANDS) return Outcome::FALLBACK;
        operands.nodes[operands.distinct++] = operand;
        PyObject* of = node.memory.of(operand);
        if (of == Py_None) {
            if (node.op.of(operand) != python.const_op || !is_at_home(operand, operands)) return Outcome::FALLBACK;
            PyObject* value = node.value.of(operand);
            if (!PyFloat_CheckExact(value) && !PyLong_CheckExact(value)) return Outcome::FALLBACK;
            key.push_back('c');
            operands.arguments[operands.count++] = {value, 0, false};
            continue;
        }
        if (operands.device && memory.device.of(of) != operands.device) return Outcome::FALLBACK;
        operands.device = memory.device.of(of);
        if (!dtype_of(node.dtype.of(operand))) return Outcome::FAILED;
        const bool whole = is_whole(operand, shape);
        const bool single = !whole && as_wide(node.size.of(operand)) == 1;
        key.push_back(whole ? 'u' : single ? 'z' : 's');
        if (!whole && !single) operands.flat = false;
        if (!is_aligned(operand)) (single ? singles_aligned : aligned) = false;
        operands.add_buffer(of);
        operands.add(as_wide(node.offset.of(operand)));
    }
    // where loops are flat, whether single elements are aligned is nothing to a kernel; elsewhere it is
    key.push_back(!aligned ? 'o' : singles_aligned ? 'a' : 's');
    if (PyErr_Occurred()) return Outcome::FAILED;
    return operands.device ? Outcome::DONE : Outcome::FALLBACK;
}

// All of their layout is part of the key, but for the length of a run.
Outcome build_reduction_key(PyObject* root, PyObject* inputs, Operands& operands, long long& run) {
    const Outcome seen = build_key(root, inputs, operands);
    if (seen != Outcome::DONE) return seen;
    PyObject* shape = node.shape.of(PyTuple_GET_ITEM(node.args.of(root), 0));
    run = run_length(root, operands);
    operands.key.push_back(run ? 'l' : 'r');
    if (!run) {
        append_shape(operands.key, shape);
        append_shape(operands.key, node.shape.of(root));  // where reduced axes may have been kept
    }
    for (size_t i = 0; i < operands.distinct; ++i) {
        PyObject* operand = operands.nodes[i];
        if (node.memory.of(operand) == Py_None) continue;
        operands.nbytes += as_wide(node.size.of(operand)) * itemsize_of(operand);
        if (run && is_same_shape(node.shape.of(operand), shape)) {
            operands.key.push_back('x');
            append(operands.key, as_wide(PyTuple_GET_ITEM(node.strides.of(operand), 0)));
        } else {
            append_place(operands.key, operand);
        }
        operands.key.push_back(is_aligned(operand) ? 'a' : 'o');
    }
    return Outcome::DONE;
}

void finish_key(PyObject* root, Operands& operands) {
    operands.key.push_back('n');
    if (!operands.flat && !bind_extents(root, nullptr, itemsize_of(root), operands)) append_layout(root, operands);
}

void finish_key(PyObject* root, const Place& target, long long itemsize, Operands& operands) {
    operands.key.push_back(is_aligned(target.offset, itemsize) ? 'A' : 'O');
    if (operands.flat || bind_extents(root, &target, itemsize, operands)) return;
    append_layout(root, operands);
    for (Py_ssize_t axis = 0; axis < target.ndim; ++axis) append(operands.key, target.shape[axis] == 1 ? 0LL : target.strides[axis]);
}

namespace {

// Walk down from a node to each input once, until `take` returns false.
template <typename Take>
void each_input_below(PyObject* root, const Take& take) {
    std::unordered_set<PyObject*> seen{root};
    std::vector<PyObject*> level{root};
    while (!level.empty()) {
        PyObject* args = node.args.of(level.back());
        level.pop_back();
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
            PyObject* arg = PyTuple_GET_ITEM(args, i);
            if (!seen.insert(arg).second) continue;
            if (PyTuple_GET_SIZE(node.args.of(arg))) level.push_back(arg);
            else if (!take(arg)) return;
        }
    }
}

// The device of the first memory on the way down.
PyObject* device_below(PyObject* root) {
    PyObject* on = nullptr;
    each_input_below(root, [&on](PyObject* input) {
        PyObject* in = node.memory.of(input);
        if (in != Py_None) on = memory.device.of(in);
        return !on;
    });
    return on;
}

}  // namespace

Inputs::Inputs(PyObject* root) : small_(Ref::share(node.inputs.of(root))) {
    if (as_long(node.flags.of(root)) & LARGE) {
        each_input_below(root, [this](PyObject* input) {
            walked_.push_back(input);
            return true;
        });
        first_ = walked_.data();
        count_ = Py_ssize_t(walked_.size());
    } else {
        first_ = PySequence_Fast_ITEMS(small_.get());
        count_ = PyTuple_GET_SIZE(small_.get());
    }
}

PyObject* device_of(PyObject* root) {
    if (as_long(node.flags.of(root)) & LARGE) return device_below(root);
    for (PyObject* input : Inputs(root)) {
        PyObject* in = node.memory.of(input);
        if (in != Py_None) return memory.device.of(in);
    }
    return nullptr;
}

PyObject* lock_of(PyObject* value) {
    PyObject* const in = node.memory.of(value);
    PyObject* on = in != Py_None ? memory.device.of(in) : Py_TYPE(value) == known_type ? known.device.of(value) : device_of(value);
    return on ? device.lock.of(on) : nullptr;
}

long long bytes_read(PyObject* root) {
    long long nbytes = 0;
    for (PyObject* input : Inputs(root)) {
        nbytes += as_wide(node.size.of(input)) * itemsize_of(input);
    }
    return nbytes;
}

}  // namespace clarray
