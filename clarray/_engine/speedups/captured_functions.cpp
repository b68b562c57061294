// Captured functions: a call runs its program, or the Python function if there is none.
#include "program.hpp"

#include <algorithm>

namespace clarray {

namespace {

struct Captured {
    NativeFunction native;
    bool repeatable, grows;
    int operands;  // how many of the first arguments are only read
};

constexpr long long MOST_EVALUATED_FIRST = 1 << 20;  // elements of a pending operand that is evaluated first; the call reads a larger one as it is

// Whether a pending operand takes no pass of its own: the last pass of a transform stores it.
bool is_stored_by_transform(PyObject* pending) {
    if (!(as_long(node.flags.of(pending)) & REDUCES)) return false;
    Ref epilogue = Ref::steal(invoke(python.find_finish, pending));
    return epilogue && epilogue.get() != Py_None;
}

// Evaluate the pending operands, except large ones that the call can read as they are; false after an error.
bool compute_operands(const CallSignature& call) {
    for (PyObject* each : call.arrays) {
        Ref of = Ref::share(array.node.of(each));
        if (PyTuple_GET_SIZE(node.args.of(of.get())) == 0) continue;
        if (as_wide(node.size.of(of.get())) > MOST_EVALUATED_FIRST && !is_stored_by_transform(of.get())) {
            if (PyErr_Occurred()) return false;
            continue;
        }
        const Dtype* dtype = dtype_of(node.dtype.of(of.get()));
        if (!dtype) return false;
        // the range of integers follows from that of their operands
        if (is_integer(*dtype) ? !Ref::steal(invoke(python.evaluate_judged, of.get())) : !evaluate_node(of.get())) return false;
    }
    return true;
}

// Run the program of a call; FALLBACK if Python has to do it.
Outcome repeat_call(const CapturableCall& of, CallSignature& call, Ref& result) {
    const Held held(device.lock.of(call.device));
    if (!held) return Outcome::FAILED;
    if (held.has_waited()) {  // another thread may have been at work until the lock was ours
        call = CallSignature();
        if (!of.describe(call)) return PyErr_Occurred() ? Outcome::FAILED : Outcome::FALLBACK;
    }
    return call_again(call, result);
}

Ref called(const CapturableCall& of) {
    CallSignature call;
    if (of.describe(call) && can_launch(call.device) && (call.needs_operands || operands_first(call))) {
        if (!compute_operands(call)) return {};
        call = CallSignature();
        of.describe(call);
    }
    if (PyErr_Occurred()) return {};
    Ref result;
    const Outcome done = call.is_whole ? repeat_call(of, call, result) : Outcome::FALLBACK;
    return done == Outcome::FALLBACK ? call_python(call, of) : std::move(result);
}

// The arguments of a call, with device arrays in place of operands in host memory.
class DeviceArguments {
public:
    // Whether there are operands to convert. A single list is left to the function, which may compute by NumPy.
    static bool have_host(PyObject* const* args, Py_ssize_t operands) {
        for (Py_ssize_t i = 0; i < operands; ++i)
            if (reinterpret_cast<PyObject*>(Py_TYPE(args[i])) == python.ndarray_type || (operands > 1 && is_list(args[i]))) return true;
        return false;
    }

    // false after an error
    bool convert(PyObject* const* args, Py_ssize_t operands, Py_ssize_t all) {
        given_.assign(args, args + all);
        PyObject* beside = Py_None;
        for (PyObject* each : given_)
            if (Py_TYPE(each) == array_type) beside = each;
        for (Py_ssize_t i = 0; i < operands; ++i) {
            if (Py_TYPE(args[i]) == array_type) continue;
            Ref made = Ref::steal(invoke(python.operand_from_host, args[i], beside));
            if (!made) return false;
            if (made.get() == Py_None) continue;
            given_[i] = made.get();
            made_.push_back(std::move(made));
        }
        return true;
    }

    PyObject* const* data() const { return given_.data(); }

private:
    static bool is_list(PyObject* value) { return PyList_CheckExact(value) || PyTuple_CheckExact(value); }

    std::vector<PyObject*> given_;  // borrowed: of the caller, or of `made_`
    std::vector<Ref> made_;
};

PyObject* call_captured(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
    const Captured* with = reinterpret_cast<Captured*>(self);
    const Py_ssize_t count = PyVectorcall_NARGS(flags), operands = std::min<Py_ssize_t>(count, with->operands);
    return hide_own_frames(guarded([&]() -> PyObject* {
        DeviceArguments converted;
        PyObject* const* given = args;
        if (DeviceArguments::have_host(args, operands)) {
            const Py_ssize_t all = count + (names ? PyTuple_GET_SIZE(names) : 0);
            if (!converted.convert(args, operands, all)) return nullptr;
            given = converted.data();
            flags &= ~PY_VECTORCALL_ARGUMENTS_OFFSET;
        }
        const CapturableCall of{self, with->native.reference, given, flags, names, with->repeatable, with->grows};
        return called(of).release();
    }));
}

PyObject* make(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject* reference;
    int repeatable, grows, operands;
    if (!PyArg_ParseTuple(args, "Oppi", &reference, &repeatable, &grows, &operands)) return nullptr;
    Captured* self = reinterpret_cast<Captured*>(type->tp_alloc(type, 0));
    if (!self) return nullptr;
    self->native.reference = Py_NewRef(reference);
    set_call(reinterpret_cast<PyObject*>(self), call_captured);
    self->repeatable = repeatable;
    self->grows = grows;
    self->operands = operands;
    return reinterpret_cast<PyObject*>(self);
}

}  // namespace

bool CapturableCall::describe(CallSignature& call) const {
    const bool has_facts = call.has_facts;
    call.by_tree = !grows;
    const bool is_described = add_arguments(call);
    if (!call.has_opaque) return is_described;
    const Entry* entry = is_described ? entry_of(call.device, call.key) : nullptr;
    if (is_described && !(entry && entry->by_tree)) return true;
    if (PyErr_Occurred()) return false;
    call = CallSignature();
    call.has_facts = has_facts;
    return add_arguments(call);
}

bool CapturableCall::add_arguments(CallSignature& call) const {
    call.grows = grows;
    call.key.push_back(CALL);
    call.add_pointer(native);
    const Py_ssize_t count = PyVectorcall_NARGS(flags), more = names ? PyTuple_GET_SIZE(names) : 0;
    call.key.push_back(char(count));  // a name may be a string that was given without one
    for (Py_ssize_t i = 0; i < count; ++i)
        if (!call.add(args[i])) return false;
    for (Py_ssize_t i = 0; i < more; ++i)
        if (!call.add(PyTuple_GET_ITEM(names, i)) || !call.add(args[count + i])) return false;
    return call.is_whole = call.device != nullptr;
}

bool add_captured_type(PyObject* module) {
    Ref type = new_native_type({sizeof(Captured), make});
    return type && PyModule_AddObjectRef(module, "Captured", type.get()) == 0;
}

}  // namespace clarray
