// The module: its functions, and the native implementations of Python's functions.
#include "code.hpp"
#include "captured.hpp"

#include <cstring>

namespace clarray {

PyObject* empty_tuple = nullptr;

namespace {

constexpr int INTERFACE = 44;  // with the Python modules: __init__.py beside this file has the same number

// claim(): whether the core is the caller's. It knows the classes and the numbers of structures of one copy of the
// modules; another copy, of an import that was repeated, goes without.
PyObject* claim(PyObject*, PyObject*) {
    static bool claimed = false;
    return PyBool_FromLong(!std::exchange(claimed, true));
}

bool is_node(PyObject* object) { return PyObject_TypeCheck(object, node_type->tp_base); }

PyObject* unary(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
    if (PyVectorcall_NARGS(flags) != 2 || names || !is_node(args[1])) return call_reference(self, args, flags, names);
    return guarded([=] { return grow_unary(args[0], args[1]).release(); });
}

PyObject* binary(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
    if (PyVectorcall_NARGS(flags) != 3 || names || !is_node(args[1]) || !is_node(args[2]))
        return call_reference(self, args, flags, names);
    return guarded([=] { return grow_binary(args[0], args[1], args[2]).release(); });
}

PyObject* nary(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
    if (PyVectorcall_NARGS(flags) != 2 || names || !PyTuple_CheckExact(args[1])) return call_reference(self, args, flags, names);
    return guarded([=] { return grow_nary(args[0], args[1]).release(); });
}

// reduction(operation, (operand,) or (operand, mask), shape)
PyObject* grown_reduction(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
    bool plain = PyVectorcall_NARGS(flags) == 3 && !names && Py_TYPE(args[0]) == reduction_type &&
                 PyTuple_CheckExact(args[1]) && PyTuple_CheckExact(args[2]);
    const Py_ssize_t count = plain ? PyTuple_GET_SIZE(args[1]) : 0;
    plain = count == 1 || count == 2;
    for (Py_ssize_t i = 0; plain && i < count; ++i) plain = !is_selection(PyTuple_GET_ITEM(args[1], i));
    if (!plain) return call_reference(self, args, flags, names);
    return guarded([=] {
        PyObject* mask = count == 2 ? PyTuple_GET_ITEM(args[1], 1) : nullptr;
        return grow_reduction(args[0], PyTuple_GET_ITEM(args[1], 0), args[2], mask).release();
    });
}

PyObject* evaluate(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
    if (PyVectorcall_NARGS(flags) != 1 || names || !is_node(args[0])) return call_reference(self, args, flags, names);
    return guarded([=] { return evaluate_node(args[0]) ? Py_NewRef(args[0]) : nullptr; });
}

PyObject* getitem(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
    if (PyVectorcall_NARGS(flags) != 2 || names) return call_reference(self, args, flags, names);
    return hide_own_frames(guarded([=] { return get_item(args[0], args[1]); }));
}

PyObject* setitem(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
    if (PyVectorcall_NARGS(flags) != 3 || names) return call_reference(self, args, flags, names);
    return hide_own_frames(guarded([=] { return set_item(args[0], args[1], args[2]); }));
}

// write(target, value): the target is a leaf.
PyObject* written(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
    const bool plain = PyVectorcall_NARGS(flags) == 2 && !names && is_node(args[0]) && is_node(args[1]);
    if (!plain || node.memory.of(args[0]) == Py_None) return call_reference(self, args, flags, names);
    return guarded([=]() -> PyObject* {
        switch (store(args[0], place_of(args[0]), args[1])) {
            case Outcome::DONE: Py_RETURN_NONE;
            case Outcome::FAILED: return nullptr;
            case Outcome::FALLBACK: break;
        }
        return call_reference(self, args, flags, names);
    });
}

PyObject* notified_users(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
    if (PyVectorcall_NARGS(flags) != 2 || names || !PyList_CheckExact(args[0]) || Py_TYPE(args[1]) != memory_type)
        return call_reference(self, args, flags, names);
    return guarded([=] { return notify_users(args[0], args[1]) ? Py_NewRef(Py_None) : nullptr; });
}

PyObject* refreshed_metadata(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
    if (PyVectorcall_NARGS(flags) != 1 || names || !is_node(args[0])) return call_reference(self, args, flags, names);
    return guarded([=] { return refresh_metadata(args[0]) ? Py_NewRef(Py_None) : nullptr; });
}

PyObject* counted_growth(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
    if (PyVectorcall_NARGS(flags) != 1 || names || !PyTuple_CheckExact(args[0])) return call_reference(self, args, flags, names);
    return PyLong_FromLongLong(count_growth(args[0]));
}

PyObject* judged_costly(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
    if (PyVectorcall_NARGS(flags) != 1 || names || !is_node(args[0])) return call_reference(self, args, flags, names);
    return guarded([=] { return PyErr_Occurred() ? nullptr : PyBool_FromLong(is_costly(args[0])); });
}

PyObject* computed(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
    if (PyVectorcall_NARGS(flags) != 1 || names || !is_node(args[0])) return call_reference(self, args, flags, names);
    return guarded([=] { return computed_number(args[0]); });
}

// Call the function that is known for an array, or for two operands of which the first or else the second is an array.
PyObject* call_short(PyObject* known, PyObject* const* given) {
    if (PyTuple_GET_SIZE(known) == 1) return hide_own_frames(PyObject_CallOneArg(PyTuple_GET_ITEM(known, 0), given[0]));
    const bool reflected = Py_TYPE(given[0]) != array_type;
    PyObject* operands[] = {given[reflected], given[!reflected]};
    return hide_own_frames(PyObject_Vectorcall(PyTuple_GET_ITEM(known, reflected), operands, 2, nullptr));
}

// __array_ufunc__(array, ufunc, "__call__", a) or (..., a, b): what most calls of NumPy's ufuncs are.
PyObject* applied(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
    const Py_ssize_t count = PyVectorcall_NARGS(flags) - 3;
    const bool is_call = (count == 1 || count == 2) && !names && PyUnicode_Check(args[2]) &&
                         PyUnicode_CompareWithASCIIString(args[2], "__call__") == 0;
    PyObject* known = is_call && python.short_calls ? PyDict_GetItemWithError(python.short_calls, args[1]) : nullptr;
    if (!known || PyTuple_GET_SIZE(known) != count)
        return PyErr_Occurred() ? nullptr : hide_own_frames(call_reference(self, args, flags, names));
    return call_short(known, args + 3);
}

// The method __call__ of a ufunc of clarray, whose operands are arrays and Python numbers in most calls.
PyObject* called_ufunc(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
    static PyObject* const attribute = PyUnicode_InternFromString("ufunc");
    const Py_ssize_t count = PyVectorcall_NARGS(flags) - 1;
    bool has_array = false, is_plain = (count == 1 || count == 2) && !names && python.short_calls;
    for (Py_ssize_t i = 1; is_plain && i <= count; ++i) {
        const bool is_array = Py_TYPE(args[i]) == array_type;
        has_array = has_array || is_array;
        is_plain = is_array || PyFloat_CheckExact(args[i]) || PyLong_CheckExact(args[i]);
    }
    if (is_plain && has_array) {
        Ref of = Ref::steal(PyObject_GetAttr(args[0], attribute));
        PyObject* known = of ? PyDict_GetItemWithError(python.short_calls, of.get()) : nullptr;
        if (PyErr_Occurred()) return nullptr;
        if (known && PyTuple_GET_SIZE(known) == count) return call_short(known, args + 1);
    }
    return call_reference(self, args, flags, names);
}

// class_of(array)
PyObject* classified(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
    if (PyVectorcall_NARGS(flags) != 1 || names) return call_reference(self, args, flags, names);
    if (!is_number(args[0])) return Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(args[0])));
    return Py_XNewRef(scalar_class_of(node.dtype.of(array.node.of(args[0]))));
}

PyObject* as_scalar(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
    if (PyVectorcall_NARGS(flags) != 2 || names) return call_reference(self, args, flags, names);
    return guarded([=] { return scalar(args[0], args[1]); });
}

// __float__(array)
PyObject* as_float(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
    static PyObject* const kind = PyUnicode_InternFromString("float");
    if (PyVectorcall_NARGS(flags) != 1 || names) return call_reference(self, args, flags, names);
    return hide_own_frames(guarded([=]() -> PyObject* {
        Ref number = Ref::steal(scalar(args[0], kind));
        return number ? PyNumber_Float(number.get()) : nullptr;
    }));
}

// evaluate_if_eager(node)
PyObject* settled(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
    if (PyVectorcall_NARGS(flags) != 1 || names || !is_node(args[0])) return call_reference(self, args, flags, names);
    return guarded([=] { return evaluate_if_costly(args[0]) ? new_array(array_type, args[0]).release() : nullptr; });
}

PyObject* reduced(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
    return hide_own_frames(guarded([=] { return ufunc_reduce(self, args, flags, names); }));
}

PyObject* multiplied(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
    return guarded([=] { return vector_product(self, args, flags, names); });
}

PyObject* seen_on_host(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
    if (PyVectorcall_NARGS(flags) != 1 || names || !is_node(args[0])) return call_reference(self, args, flags, names);
    return guarded([=] {
        Ref result;
        const Outcome seen = host_window(args[0], result);
        return seen == Outcome::FALLBACK ? call_reference(self, args, flags, names) : result.release();
    });
}

PyObject* copied_from_host(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
    if (PyVectorcall_NARGS(flags) != 3 || names) return call_reference(self, args, flags, names);
    return guarded([=] {
        Ref result;
        const Outcome copied = host_copy(args[0], args[1], args[2], result);
        return copied == Outcome::FALLBACK ? call_reference(self, args, flags, names) : result.release();
    });
}

PyObject* allocated(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
    if (PyVectorcall_NARGS(flags) < 3 || names) return call_reference(self, args, flags, names);
    return guarded([=] {
        Ref result;
        const Outcome made = blank_leaf(args, PyVectorcall_NARGS(flags), result);
        return made == Outcome::FALLBACK ? call_reference(self, args, flags, names) : result.release();
    });
}

// Device.finish()
PyObject* finished(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
    const bool plain = PyVectorcall_NARGS(flags) == 1 && !names && PyObject_TypeCheck(args[0], reinterpret_cast<PyTypeObject*>(python.device));
    if (!plain || device.called.of(args[0]) == Py_True) return call_reference(self, args, flags, names);
    if (device.pending.of(args[0]) == Py_False) Py_RETURN_NONE;
    return finish_queue(args[0]) == Outcome::DONE ? Py_NewRef(Py_None) : call_reference(self, args, flags, names);
}

// give_back(memory): what most memories are dropped by; `__del__`, so that nothing is missing of the object.
PyObject* given_back(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
    const bool plain = PyVectorcall_NARGS(flags) == 1 && !names && Py_TYPE(args[0]) == memory_type;
    const Outcome given = plain ? give_back(args[0]) : Outcome::FALLBACK;
    if (given == Outcome::FALLBACK) return call_reference(self, args, flags, names);
    return given == Outcome::DONE ? Py_NewRef(Py_None) : nullptr;
}

constexpr struct {
    const char* name;
    vectorcallfunc call;
} NATIVE_FUNCTIONS[] = {
    {"__array_ufunc__", applied},
    {"__call__", called_ufunc},
    {"__float__", as_float},
    {"binary", binary},
    {"class_of", classified},
    {"computed_number", computed},
    {"count_growth", counted_growth},
    {"evaluate", evaluate},
    {"evaluate_if_eager", settled},
    {"finish", finished},
    {"getitem", getitem},
    {"give_back", given_back},
    {"host_copy", copied_from_host},
    {"is_costly", judged_costly},
    {"nary", nary},
    {"new_leaf", allocated},
    {"notify_users", notified_users},
    {"reduction", grown_reduction},
    {"refresh_metadata", refreshed_metadata},
    {"scalar", as_scalar},
    {"setitem", setitem},
    {"ufunc_reduce", reduced},
    {"unary", unary},
    {"vector_product", multiplied},
    {"window", seen_on_host},
    {"write", written},
};

// native_function(function): the native implementation of a Python function, by its name; the function is its reference.
PyObject* native_function(PyObject*, PyObject* function) {
    Ref name = Ref::steal(PyObject_GetAttrString(function, "__name__"));
    const char* text = name ? PyUnicode_AsUTF8(name.get()) : nullptr;
    if (!text) return nullptr;
    for (const auto& row : NATIVE_FUNCTIONS) {
        if (std::strcmp(row.name, text)) continue;
        return new_native_function(row.call, function).release();
    }
    return PyErr_Format(PyExc_ValueError, "%s has no native implementation", text);
}

// lend(set_argument, enqueue, finish, state): addresses of OpenCL's functions, and where a profile says that it records.
PyObject* lend(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (count != 4) return PyErr_Format(PyExc_TypeError, "lend() takes three addresses and the state of profiles");
    const unsigned long long setter = PyLong_AsUnsignedLongLong(args[0]), enqueuer = PyLong_AsUnsignedLongLong(args[1]),
                             finisher = PyLong_AsUnsignedLongLong(args[2]);
    if (PyErr_Occurred() || !find_slots(reinterpret_cast<PyObject*>(Py_TYPE(args[3])), recorder)) return nullptr;
    Py_XSETREF(profiling_state, Py_NewRef(args[3]));
    lend_opencl(setter, enqueuer, finisher);
    Py_RETURN_NONE;
}

PyObject* set_elements_at_hand(PyObject*, PyObject* value) {
    elements_at_hand = value == Py_True;
    Py_RETURN_NONE;
}

PyObject* set_weight_limit(PyObject*, PyObject* limit) {
    weight_limit = as_wide(limit);
    return PyErr_Occurred() ? nullptr : Py_NewRef(Py_None);
}

PyObject* set_own_threads(PyObject*, PyObject* count) {
    own_threads = PyLong_AsSize_t(count);
    return PyErr_Occurred() ? nullptr : Py_NewRef(Py_None);
}

PyObject* forget(PyObject*, PyObject* device) {
    forget_programs(device);
    Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"claim", claim, METH_NOARGS, "Whether the core is the caller's."},
    {"forget", forget, METH_O, "Use no launch that has been prepared for a device."},
    {"lend", (PyCFunction)(void (*)())lend, METH_FASTCALL, "Lend the OpenCL library's functions."},
    {"bind", bind_python, METH_O, "Take all that is used of Python."},
    {"set_elements_at_hand", set_elements_at_hand, METH_O, "Whether an element is a scalar."},
    {"set_weight_limit", set_weight_limit, METH_O, "Set the weight of pending expressions from which on they are evaluated."},
    {"set_own_threads", set_own_threads, METH_O, "Set how many threads of the core's own run machine code."},
    {"is_idle", is_idle_for_python, METH_NOARGS, "Whether all that has been run has been done."},
    {"run", (PyCFunction)(void (*)())run_for_python, METH_FASTCALL, "Run a kernel by its machine code."},
    {"wait", wait_for_python, METH_NOARGS, "Wait for all that has been run."},
    {"native_function", native_function, METH_O, "Return the native implementation of a Python function."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_speedups", "The compiled core.", -1, functions, nullptr, nullptr, nullptr, nullptr};

}  // namespace

Ref new_array(PyTypeObject* kind, PyObject* of) {
    Ref made = new_object(kind);
    if (!made) return made;
    array.node.set(made.get(), of);
    array.base.set(made.get(), Py_None);
    return made;
}

}  // namespace clarray

PyMODINIT_FUNC PyInit__speedups() {
    using namespace clarray;
    Ref module = Ref::steal(PyModule_Create(&definition));
    empty_tuple = PyTuple_New(0);
    if (!module || !empty_tuple || !add_operator_type(module.get()) || !add_programs_type(module.get()) || !add_sequence_type(module.get()) ||
        !add_captured_type(module.get()) || !add_host_fallback_type(module.get()) || !add_boundary_type(module.get()) || !add_lock_type(module.get()) ||
        !add_collector_type(module.get()))
        return nullptr;
    if (PyModule_AddIntConstant(module.get(), "INTERFACE", INTERFACE)) return nullptr;
    return module.release();
}
