// From an expression to memory that is there already: the native implementation of `write` in clarray._engine.writing.
#include "captured.hpp"
#include "program.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace clarray {

namespace {

// Where the elements of a place lie in a grid: the first along each of its axes, how many, and what is left of the offset.
struct Box {
    long long first[MOST_AXES], count[MOST_AXES], rest;
};

// The box of a place in a grid of these strides, the largest first; false where an element would have two coordinates.
bool find_box(const Place& place, const long long* steps, size_t axes, Box& box) {
    box.rest = place.offset;
    std::fill(box.count, box.count + axes, 1LL);
    for (Py_ssize_t axis = 0; axis < place.ndim; ++axis) {
        if (place.shape[axis] == 1) continue;
        const size_t at = size_t(std::find(steps, steps + axes, std::llabs(place.strides[axis])) - steps);
        if (at == axes || box.count[at] != 1) return false;
        box.count[at] = place.shape[axis];
        if (place.strides[axis] < 0) box.rest += (place.shape[axis] - 1) * place.strides[axis];
    }
    for (size_t at = 0; at < axes; ++at) {
        box.first[at] = box.rest / steps[at];
        box.rest %= steps[at];
    }
    long long reach = box.rest;  // along the axes that step less far
    for (size_t at = axes; at-- > 0;) {
        if (reach >= steps[at]) return false;
        reach += (box.first[at] + box.count[at] - 1) * steps[at];
    }
    return true;
}

// Whether two places of elements of one size have none in common: columns of a table, every other element, blocks of rows.
// False also where they are no boxes of one grid.
bool are_disjoint(const Place& one, const Place& other) {
    std::vector<long long> steps;
    for (const Place* place : {&one, &other})
        for (Py_ssize_t axis = 0; axis < place->ndim; ++axis) {
            const long long step = std::llabs(place->strides[axis]);
            if (place->shape[axis] == 1) continue;
            if (step == 0) return false;
            if (std::find(steps.begin(), steps.end(), step) == steps.end()) steps.push_back(step);
        }
    std::sort(steps.rbegin(), steps.rend());
    Box mine, theirs;
    if (steps.size() > size_t(MOST_AXES)) return false;
    if (!find_box(one, steps.data(), steps.size(), mine) || !find_box(other, steps.data(), steps.size(), theirs)) return false;
    bool apart = mine.rest != theirs.rest;
    for (size_t at = 0; at < steps.size(); ++at)
        apart = apart || mine.first[at] + mine.count[at] <= theirs.first[at] || theirs.first[at] + theirs.count[at] <= mine.first[at];
    return apart;
}

// Whether what is read lies apart from the target, or is the target, element for element.
bool is_apart(PyObject* operand, PyObject* in, const Place& target, PyObject* dtype) {
    if (node.memory.of(operand) != in) return true;
    if (node.dtype.of(operand) == dtype && is_same_place(target, operand)) return true;
    const long long theirs = itemsize_of(operand), ours = dtype_of(dtype)->itemsize;
    long long first, last, low, high;
    target.extent(first, last);
    const Place read = place_of(operand);
    read.extent(low, high);
    if ((last + 1) * ours <= low * theirs || (high + 1) * theirs <= first * ours) return true;
    return ours == theirs && are_disjoint(target, read);
}

// Whether a pending node, to which we hold a reference, is part of an expression and of nothing else: nobody holds it, nor
// anything on the way to it, but the operands' tuples.
bool is_part_of(PyObject* pending, PyObject* root) {
    PyObject* args = node.args.of(root);
    if (Py_REFCNT(args) != 1) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
        PyObject* arg = PyTuple_GET_ITEM(args, i);
        if (arg == pending) return Py_REFCNT(arg) == 2;
        if (node.memory.of(arg) == Py_None && Py_REFCNT(arg) == 1 && is_part_of(pending, arg)) return true;
    }
    return false;
}

// Launch what computes a value into a place, with the device's lock held.
Outcome launch_into(PyObject* root, PyObject* in, const Place& target, Operands& operands) {
    const auto prepare = [&] {
        Ref offset = Ref::steal(PyLong_FromLongLong(target.offset)), strides = target.stride_tuple();
        if (!offset || !strides) return Ref();
        PyObject *flat = operands.flat ? Py_True : Py_False, *all = operands.extents ? Py_True : Py_False;
        return Ref::steal(invoke(python.plan_elementwise, operands.device, root, offset.get(), strides.get(), flat, all));
    };
    std::shared_ptr<Program> program;
    const Outcome known = find_program(operands, prepare, program);
    if (known != Outcome::DONE) return known;
    Frame frame{operands.device};
    frame.operands = &operands;
    frame.output = in;
    frame.output_offset = target.offset;
    frame.size = target.size();
    if (frame.size > program->most_size) return Outcome::FALLBACK;
    forget(in);  // not before: what has been computed up to here may have looked at the values
    return run(*program, frame, Refused::FALLBACK);
}

// Whether a value is computed with what belongs to its region.
bool is_region(PyObject* value) {
    if (node.memory.of(value) != Py_None || Py_TYPE(node.op.of(value)) != loop_type) return false;
    const long flags = as_long(node.flags.of(value)) & ~READONLY;
    if (flags & LARGE) return true;
    if (flags & ~long(SHARED | REDUCES)) return false;
    return flags & REDUCES || (flags & SHARED && !is_private(value)) || keeps_heavy(value);
}

// Have what is written become one launch: a reduction is computed into memory of its own, as is what has to be computed
// before. FALLBACK where it is none.
Outcome compute_below(PyObject* value) {
    constexpr long long LITTLE = 1 << 16;  // bytes that are sooner read by a launch of their own than by one that Python prepares
    const auto flags_of = [value] { return as_long(node.flags.of(value)) & ~(READONLY | EAGER); };
    if (node.memory.of(value) != Py_None) return Outcome::DONE;
    PyTypeObject* operation = Py_TYPE(node.op.of(value));
    // a reduction of a large graph is a region of its own
    if (operation == reduction_type && !(flags_of() & ~long(SHARED | REDUCES | LARGE))) return evaluate_node(value) ? Outcome::DONE : Outcome::FAILED;
    if (operation != loop_type || flags_of() & ~long(SHARED | REDUCES)) return Outcome::FALLBACK;
    if (!flags_of()) return Outcome::DONE;
    const Outcome shared = compute_shared(value, LITTLE);
    return shared == Outcome::DONE && flags_of() & ~long(SHARED) ? Outcome::FALLBACK : shared;
}

// Store what overlaps the elements that it overwrites: from memory of its own, which it is computed into first.
Outcome store_apart(PyObject* leaf, const Place& target, PyObject* value) {
    Ref apart = Ref::share(value);
    if (node.memory.of(value) != Py_None) {
        PyObject* copy = cast_loop(node.dtype.of(value));
        apart = copy ? grow_unary(copy, value) : Ref();
    }
    if (!apart || !evaluate_node(apart.get())) return Outcome::FAILED;
    return store(leaf, target, apart.get());
}

}  // namespace

bool is_read_by(PyObject* in, PyObject* value) {
    for (PyObject* input : Inputs(value))
        if (node.memory.of(input) == in) return true;
    return false;
}

bool has_other_readers(PyObject* in, PyObject* value) {
    Ref readers = Ref::share(memory.readers.of(in));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(readers.get()); ++i) {
        Ref reader = referent_of(PyList_GET_ITEM(readers.get(), i));
        if (!reader || node.memory.of(reader.get()) != Py_None || reader.get() == value) continue;
        if (!value || !is_part_of(reader.get(), value)) return true;
    }
    return false;
}

bool flush_readers(PyObject* in, PyObject* value) {
    while (has_other_readers(in, value)) {
        std::vector<PyObject*> reading;  // what others hold: no reference is kept here, as holders are counted
        for (const Ref& each : live_readers(memory.readers.of(in))) reading.push_back(each.get());
        Ref next;  // the outermost, which computes what else it needs
        for (auto each = reading.rbegin(); each != reading.rend() && !next; ++each) {
            Ref reader = Ref::share(*each);
            const bool part = value && (*each == value || is_part_of(*each, value));
            if (!part && is_read_by(in, *each)) next = std::move(reader);
        }
        if (!next) return true;
        if (!evaluate_node(next.get())) return false;
    }
    return true;
}

Outcome store(PyObject* leaf, const Place& target, PyObject* value) {
    if (!dtype_of(node.dtype.of(leaf))) return Outcome::FAILED;
    Ref in = Ref::share(node.memory.of(leaf));
    PyObject* on = memory.device.of(in.get());
    const Held held(device.lock.of(on));
    if (!held) return Outcome::FAILED;
    if (!can_launch(on) || memory.shared.of(in.get()) != Py_False) return Outcome::FALLBACK;
    if (!flush_readers(in.get(), node.memory.of(value) == Py_None ? value : nullptr)) return Outcome::FAILED;
    if (node.memory.of(value) == Py_None && is_pending_view(value) && !evaluate_node(value)) return Outcome::FAILED;
    if (target.size() && target.has_shape(node.shape.of(value)) && is_region(value)) {
        Ref at = view_leaf(leaf, target);
        const Outcome done = at ? store_captured(at.get(), value) : Outcome::FAILED;
        if (done != Outcome::FALLBACK) return done;
    }
    const Outcome alone = compute_below(value);
    if (alone != Outcome::DONE) return alone;
    const bool is_leaf = node.memory.of(value) != Py_None;
    if (target.size() == 0 || !target.has_shape(node.shape.of(value))) return Outcome::FALLBACK;
    if (is_leaf && node.memory.of(value) == in.get() && is_same_place(target, value)) return Outcome::DONE;
    Ref inputs = is_leaf ? Ref::steal(PyTuple_Pack(1, value)) : Ref::share(node.inputs.of(value));
    if (!inputs) return Outcome::FAILED;
    Operands operands;
    operands.device = on;
    const Outcome seen = build_key(value, inputs.get(), operands);
    if (seen != Outcome::DONE) return seen;
    for (size_t i = 0; i < operands.distinct; ++i)
        if (!is_apart(operands.nodes[i], in.get(), target, node.dtype.of(leaf))) return store_apart(leaf, target, value);
    operands.flat = operands.flat && target.is_contiguous();
    finish_key(value, target, itemsize_of(leaf), operands);
    const long flags = as_long(node.flags.of(value));
    return finish_if_eager(flags, on, launch_into(value, in.get(), target, operands));
}

}  // namespace clarray
