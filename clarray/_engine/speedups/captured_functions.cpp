// Functions whose calls are recorded: what stands for them looks for a replay, and calls them where there is none.
#include "captured.hpp"

#include <algorithm>

namespace clarray {

namespace {

struct Recorded {
    Twin twin;
    bool repeatable, grows;
    int operands;  // arguments that are read only: the first ones
};

constexpr long long MOST_SETTLED = 1 << 20;  // elements that are computed before, rather than while they are read

// Whether something pending takes no pass of its own to compute: the last one of a transform in it stores it.
bool is_stored_by_transform(PyObject* pending) {
    if (!(as_long(node.flags.of(pending)) & REDUCES)) return false;
    Ref found = Ref::steal(invoke(python.find_finish, pending));
    return found && found.get() != Py_None;
}

// Compute what is pending of the operands, unless that is much and reading it computes it as well; false after an error.
bool compute_operands(const Call& call) {
    for (PyObject* each : call.arrays) {
        Ref of = Ref::share(array.node.of(each));
        if (PyTuple_GET_SIZE(node.args.of(of.get())) == 0) continue;
        if (as_wide(node.size.of(of.get())) > MOST_SETTLED && !is_stored_by_transform(of.get())) {
            if (PyErr_Occurred()) return false;
            continue;
        }
        const Dtype* dtype = dtype_of(node.dtype.of(of.get()));
        if (!dtype) return false;
        // what integers are computed from tells between which numbers they lie
        if (is_integer(*dtype) ? !Ref::steal(invoke(python.evaluate_judged, of.get())) : !evaluate_node(of.get())) return false;
    }
    return true;
}

// Do a call as it was done before; RARE where Python has to.
Outcome call_again(const Recordable& of, Call& call, Ref& result) {
    const Held held(device.lock.of(call.device));
    if (!held) return Outcome::FAILED;
    if (held.has_waited()) {  // another thread may have been at work until the lock was ours
        call = Call();
        if (!of.describe(call)) return PyErr_Occurred() ? Outcome::FAILED : Outcome::RARE;
    }
    return replay(call, result);
}

Ref called(const Recordable& of) {
    Call call;
    if (of.describe(call) && can_launch(call.device) && (call.is_unsettled || settles(call))) {
        if (!compute_operands(call)) return {};
        call = Call();
        of.describe(call);
    }
    if (PyErr_Occurred()) return {};
    Ref result;
    const Outcome done = call.is_whole ? call_again(of, call, result) : Outcome::RARE;
    return done == Outcome::RARE ? record(call, of) : std::move(result);
}

// Arguments of a call whose operands of the host are device arrays.
class DeviceArguments {
public:
    // Whether there are operands to convert. A list alone is left to the function, which may have NumPy compute with it.
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

PyObject* call_recorded(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
    const Recorded* with = reinterpret_cast<Recorded*>(self);
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
        const Recordable of{self, with->twin.reference, given, flags, names, with->repeatable, with->grows};
        return called(of).release();
    }));
}

PyObject* make(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject* reference;
    int repeatable, grows, operands;
    if (!PyArg_ParseTuple(args, "Oppi", &reference, &repeatable, &grows, &operands)) return nullptr;
    Recorded* self = reinterpret_cast<Recorded*>(type->tp_alloc(type, 0));
    if (!self) return nullptr;
    self->twin.reference = Py_NewRef(reference);
    set_call(reinterpret_cast<PyObject*>(self), call_recorded);
    self->repeatable = repeatable;
    self->grows = grows;
    self->operands = operands;
    return reinterpret_cast<PyObject*>(self);
}

}  // namespace

bool Recordable::describe(Call& call) const {
    call.grows = grows;
    call.key.push_back(CALL);
    call.add_pointer(twin);
    const Py_ssize_t count = PyVectorcall_NARGS(flags), more = names ? PyTuple_GET_SIZE(names) : 0;
    call.key.push_back(char(count));  // a name may be a string that was given without one
    for (Py_ssize_t i = 0; i < count; ++i)
        if (!call.add(args[i])) return false;
    for (Py_ssize_t i = 0; i < more; ++i)
        if (!call.add(PyTuple_GET_ITEM(names, i)) || !call.add(args[count + i])) return false;
    return call.is_whole = call.device != nullptr;
}

bool add_recorded_type(PyObject* module) {
    Ref type = new_twin_type({sizeof(Recorded), make});
    return type && PyModule_AddObjectRef(module, "Recorded", type.get()) == 0;
}

}  // namespace clarray
