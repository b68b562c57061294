// From a pending expression to memory: the native implementation of `evaluate` in clarray._engine.evaluate.
#include "program.hpp"
#include "region.hpp"

#include <algorithm>

namespace clarray {

namespace {

Ref contiguous_strides(PyObject* shape) {
    static PyObject* const one = Py_BuildValue("(i)", 1);
    const Py_ssize_t ndim = PyTuple_GET_SIZE(shape);
    if (ndim == 1) return Ref::share(one);
    Ref strides = Ref::steal(PyTuple_New(ndim));
    long long step = 1;
    for (Py_ssize_t axis = ndim - 1; strides && axis >= 0; --axis) {
        PyTuple_SET_ITEM(strides.get(), axis, PyLong_FromLongLong(step));
        step *= std::max(1LL, as_wide(PyTuple_GET_ITEM(shape, axis)));
    }
    return strides;
}

}  // namespace

// As `Node.become_leaf`, and passing the memory on to what was grown from the node meanwhile.
bool become_leaf(PyObject* of, PyObject* in, PyObject* strides, bool contiguous, PyObject* offset) {
    static PyObject* const zero = PyLong_FromLong(0);
    PyObject* signature = leaf_signature(node.dtype.of(of));
    if (!signature) return false;
    if (node.memory.of(of) != Py_None) return true;  // a re-entrant call has computed it: what it made others may have changed
    Ref args, inputs;  // dropped last: that runs Python
    Ref readers;
    {
        const Held held(python.graph_lock);  // whoever grew it may be about to grow it again
        if (!held) return false;
        if (node.memory.of(of) != Py_None) return true;
        readers = Ref::share(node.readers.of(of));
        args = Ref::share(node.args.of(of));
        inputs = Ref::share(node.inputs.of(of));
        node.offset.set(of, offset ? offset : zero);
        node.strides.set(of, strides);
        node.contiguous.set(of, contiguous ? Py_True : Py_False);
        node.memory.set(of, in);
        node.op.set(of, Py_None);
        node.args.set(of, empty_tuple);
        node.flags.set(of, zero);
        node.sig.set(of, signature);
        node.inputs.set(of, empty_tuple);
        node.readers.set(of, memory.readers.of(in));
    }
    return PyList_GET_SIZE(readers.get()) == 0 || notify_users(readers.get(), in);
}

namespace {

bool become_leaf(PyObject* of, PyObject* in, const Program& program) {
    const bool is_of_any_shape = program.steps[0].share.unit;
    Ref strides = is_of_any_shape ? contiguous_strides(node.shape.of(of)) : Ref::share(program.strides.get());
    return strides && clarray::become_leaf(of, in, strides.get(), program.contiguous);
}

// Run the program of an expression that becomes new memory.
Outcome run_into_new(PyObject* root, Program& program, Frame& frame) {
    const long long size = as_wide(node.size.of(root));
    Ref in = allocate(program.pool, frame.device, size * itemsize_of(root));
    if (!in) return Outcome::FAILED;
    frame.output = in.get();
    frame.size = size;
    const Outcome done = run(program, frame, Refused::FALLBACK);
    if (done != Outcome::DONE) return done;
    return become_leaf(root, in.get(), program) ? Outcome::DONE : Outcome::FAILED;
}

// Compute an elementwise node with the device's lock held.
Outcome compute(PyObject* root, Operands& operands) {
    static PyObject* const zero = PyLong_FromLong(0);
    if (!can_launch(operands.device)) return Outcome::FALLBACK;
    const auto prepare = [&] {
        PyObject *flat = operands.flat ? Py_True : Py_False, *all = operands.extents ? Py_True : Py_False;
        return Ref::steal(invoke(python.plan_elementwise, operands.device, root, zero, Py_None, flat, all));
    };
    std::shared_ptr<Program> program = program_of(operands);
    if (!program) {  // NumPy may compute it until a kernel is there, by a program of its own shapes
        bool is_known;
        const Outcome replayed = evaluate_again(root, is_known, true);
        if (is_known || replayed == Outcome::FAILED) return replayed;
        const Outcome known = find_program(operands, prepare, program);
        if (known != Outcome::DONE) return known;
    }
    if (as_wide(node.size.of(root)) > program->most_size) return Outcome::FALLBACK;
    Frame frame{operands.device};
    frame.operands = &operands;
    return run_into_new(root, *program, frame);
}

// Compute a reduction in one launch, with the device's lock held.
Outcome reduce(PyObject* root, Operands& operands, long long run) {
    if (!can_launch(operands.device)) return Outcome::FALLBACK;
    const auto prepare = [&] { return Ref::steal(invoke(python.plan_reduction, operands.device, root, run ? Py_True : Py_False)); };
    std::shared_ptr<Program> program = program_of(operands);
    if (!program) {  // what takes more than one launch has a program of its own shapes
        bool is_known;
        const Outcome replayed = evaluate_again(root, is_known);
        if (is_known || replayed == Outcome::FAILED) return replayed;
        const Outcome known = find_program(operands, prepare, program);
        if (known != Outcome::DONE) return known;
    }
    if (run) operands.nbytes += as_wide(node.size.of(root)) * itemsize_of(root);
    Frame frame{operands.device};
    frame.operands = &operands;
    frame.length = run;
    return run_into_new(root, *program, frame);
}

// Whether nothing has to be computed before the operands of a reduction.
bool reduces_alone(PyObject* root) {
    PyObject* args = node.args.of(root);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i)
        if (as_long(node.flags.of(PyTuple_GET_ITEM(args, i))) & (REDUCES | MASKED | EAGER)) return false;
    return true;
}

// Whether a node is one launch: what is in `ignored` does not speak against it.
bool is_one_launch(PyObject* root, long ignored) {
    const long flags = as_long(node.flags.of(root)) & ~(READONLY | ignored);
    if (Py_TYPE(node.op.of(root)) == reduction_type) return flags == REDUCES && reduces_alone(root);
    return flags == 0;
}

// Compute a node whose graph holds nothing that has to be computed before.
Outcome evaluate_alone(PyObject* root, long ignored) {
    if (!is_one_launch(root, ignored)) return Outcome::FALLBACK;
    const bool reduces = Py_TYPE(node.op.of(root)) == reduction_type;
    Ref inputs = Ref::share(node.inputs.of(root));
    Operands operands;
    long long run = 0;
    const Outcome seen = reduces ? build_reduction_key(root, inputs.get(), operands, run) : build_key(root, inputs.get(), operands);
    if (seen != Outcome::DONE) return seen;
    const Held held(device.lock.of(operands.device));
    if (!held) return Outcome::FAILED;
    if (node.memory.of(root) != Py_None) return Outcome::DONE;  // another thread has computed it
    if (node.inputs.of(root) != inputs.get() || !is_one_launch(root, ignored) || as_wide(node.size.of(root)) == 0) return Outcome::FALLBACK;
    if (reduces) return reduce(root, operands, run);
    finish_key(root, operands);
    const long flags = as_long(node.flags.of(root));  // of the value, which is a leaf afterwards
    return finish_if_eager(flags, operands.device, compute(root, operands));
}

// Whether a reduction may be computed with others that read the same memory; what is reduced at the call is not.
bool may_share_a_pass(PyObject* root) {
    if (Py_TYPE(node.op.of(root)) != reduction_type) return false;
    PyObject *value = PyTuple_GET_ITEM(node.args.of(root), 0), *on = device_of(root);
    if (!on || is_selection(value)) return false;
    return as_wide(node.size.of(value)) * itemsize_of(value) > reduced_at_once(on, as_wide(node.size.of(root))) && has_company(root);
}

Outcome evaluate_fast(PyObject* root) {
    if (!dtype_of(node.dtype.of(root))) return Outcome::FAILED;
    PyTypeObject* operation = Py_TYPE(node.op.of(root));
    if (Py_TYPE(root) == known_type) return place_number(root);
    if (operation != loop_type && !is_pass_type(operation)) return evaluate_selection(root);
    if (is_pending_view(root)) return evaluate_view(root);
    const bool has_own_pass = !may_share_a_pass(root);
    const bool is_kept = keeps_heavy(root);
    const long eager = operation == loop_type ? long(EAGER) : 0;  // reductions of such have to wait in programs of their own
    if (is_one_launch(root, eager) && has_own_pass && !is_kept) {
        const Outcome done = evaluate_alone(root, eager);
        if (done != Outcome::FALLBACK) return done;
    }
    PyObject* on = device_of(root);
    if (!on || as_long(node.flags.of(root)) & MASKED) return Outcome::FALLBACK;
    const Held held(device.lock.of(on));
    if (!held) return Outcome::FAILED;
    if (node.memory.of(root) != Py_None) return Outcome::DONE;
    if (!can_launch(on)) return Outcome::FALLBACK;
    if (as_long(node.flags.of(root)) & (SHARED | LARGE)) {
        const bool is_alone = is_one_launch(root, SHARED) && is_private(root);
        Outcome done = is_alone ? evaluate_alone(root, SHARED) : Outcome::FALLBACK;
        if (done == Outcome::FALLBACK) done = evaluate_captured(root);
        if (done != Outcome::FALLBACK || as_long(node.flags.of(root)) & LARGE) return done;
    }
    if (!is_one_launch(root, EAGER) && has_own_pass && !is_kept) {
        const Outcome shared = compute_shared(root, reduced_at_once(on));
        const Outcome done = shared == Outcome::DONE ? evaluate_alone(root, SHARED) : shared;
        if (done != Outcome::FALLBACK || shared != Outcome::DONE) return done;
    }
    return evaluate_captured(root);
}

}  // namespace

bool evaluate_if_costly(PyObject* made) {
    const bool may_wait = !(as_long(node.flags.of(made)) & EAGER) && !is_costly(made);
    return may_wait || evaluate_node(made);
}

bool evaluate_node(PyObject* root) {
    if (node.memory.of(root) != Py_None) return true;
    switch (evaluate_fast(root)) {
        case Outcome::DONE: return true;
        case Outcome::FAILED: return false;
        case Outcome::FALLBACK: break;
    }
    return bool(Ref::steal(invoke(python.evaluate, root)));
}

}  // namespace clarray
