// Selections by a mask, of few elements on the calling thread: the native implementation of `_store` in clarray._engine.evaluate.
#include "program.hpp"

#include <cstring>

namespace clarray {

namespace {

// A selection that is pending, and nothing below which has to be computed before.
struct Selected {
    Ref inputs, value, mask;
};

bool may_be_read(PyObject* operand) { return (as_long(node.flags.of(operand)) & ~READONLY) == 0; }

bool read_selection(PyObject* root, Selected& selected) {
    if (Py_TYPE(root) != reinterpret_cast<PyTypeObject*>(python.selection_type) || node.memory.of(root) != Py_None) return false;
    PyObject* args = node.args.of(root);
    if ((as_long(node.flags.of(root)) & ~READONLY) != MASKED || PyTuple_GET_SIZE(args) != 2) return false;
    selected = {Ref::share(node.inputs.of(root)), Ref::share(PyTuple_GET_ITEM(args, 0)), Ref::share(PyTuple_GET_ITEM(args, 1))};
    return may_be_read(selected.value.get()) && may_be_read(selected.mask.get()) &&
           is_same_shape(node.shape.of(selected.value.get()), node.shape.of(selected.mask.get()));
}

// Whether all that is read are numbers and memory with one element for each of the mask's.
bool is_read_along(const Operands& operands, long long size) {
    for (size_t i = 0; i < operands.distinct; ++i)
        if (node.memory.of(operands.nodes[i]) != Py_None && as_wide(node.size.of(operands.nodes[i])) != size) return false;
    return operands.flat;
}

// As `Selection.become_selected`.
bool become_selected(PyObject* root, PyObject* in, long long count) {
    static PyObject* const kind = PyUnicode_InternFromString("__class__");
    static PyObject* const one = Py_BuildValue("(i)", 1);
    Ref size = Ref::steal(PyLong_FromLongLong(count));
    Ref shape = size ? Ref::steal(PyTuple_Pack(1, size.get())) : Ref();
    if (!shape) return false;
    if (node.memory.of(root) != Py_None) return true;  // a re-entrant call has computed it
    node.shape.put(root, shape.release());  // before others may take it for memory
    node.size.put(root, size.release());
    if (!become_leaf(root, in, one, true)) return false;
    return PyObject_SetAttr(root, kind, python.node_type) == 0;
}

// Let one work-item do all, with the device's lock held.
Outcome select(PyObject* root, const Selected& of, Operands& operands) {
    if (!can_launch(operands.device)) return Outcome::FALLBACK;
    const auto prepare = [&] { return Ref::steal(invoke(python.plan_selection, operands.device, of.value.get(), of.mask.get())); };
    std::shared_ptr<Program> program;
    const Outcome known = find_program(operands, prepare, program);
    if (known != Outcome::DONE) return known;
    Frame frame{operands.device};
    frame.operands = &operands;
    frame.size = as_wide(node.size.of(of.value.get()));
    const Step& step = program->steps[0];
    if (frame.size > program->most_size || frame.size * step.element_bytes > step.inline_bytes) return Outcome::FALLBACK;
    Ref in = allocate(program->pool, operands.device, frame.size * itemsize_of(root));
    if (!in) return Outcome::FAILED;
    frame.output = in.get();
    if (!(frame.temporaries.resize(1), take_temporary(*program, frame, 0))) return Outcome::FAILED;
    Ref counts = Ref::share(frame.temporaries[0].get());  // this call's own: a re-entrant one counts elsewhere
    PyObject* counted = counts.get();
    const Outcome done = run(*program, frame, Refused::FALLBACK);
    if (done != Outcome::DONE) return done;
    if (!finish(operands.device)) return Outcome::FAILED;
    int64_t count;
    std::memcpy(&count, PyLong_AsVoidPtr(block.start.of(memory.block.of(counted))), sizeof count);
    if (!become_selected(root, in.get(), count)) return Outcome::FAILED;
    const bool told = !is_integer(*dtype_of(node.dtype.of(root))) || Ref::steal(invoke(python.remember_part, root, of.value.get(), Py_True));
    return told ? Outcome::DONE : Outcome::FAILED;
}

}  // namespace

Outcome evaluate_selection(PyObject* root) {
    Selected of, still;
    if (!read_selection(root, of)) return Outcome::FALLBACK;
    if (!dtype_of(node.dtype.of(root))) return Outcome::FAILED;
    const long long size = as_wide(node.size.of(of.value.get()));
    if (!size) return Outcome::FALLBACK;
    Operands operands;
    const Outcome seen = build_key(root, node.shape.of(of.value.get()), of.inputs.get(), operands);
    if (seen != Outcome::DONE) return seen;
    if (!is_read_along(operands, size)) return Outcome::FALLBACK;
    const Held held(device.lock.of(operands.device));
    if (!held) return Outcome::FAILED;
    if (!read_selection(root, still) || still.inputs.get() != of.inputs.get()) return Outcome::FALLBACK;
    return select(root, of, operands);
}

}  // namespace clarray
