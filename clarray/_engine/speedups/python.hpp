// What the core takes from Python: one structure, which `bind` fills when clarray has been imported. The fields are those
// of `NativeInterface` in clarray._api.native_interface.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

// Classes whose slots the core reads and writes.
#define CLARRAY_CLASSES(X) \
    X(blank) X(known) X(loop) X(reduction) X(transform) X(device_array) X(memory) X(block) X(kernel) X(bound) X(machine_code) X(device)

// Functions: the references of native functions, planners, and the rare cases of the graph.
#define CLARRAY_FUNCTIONS(X) \
    X(unary) X(binary) X(nary) X(refresh_metadata) X(rebuild) X(prune_or_mark_shared) X(become_copy) X(intern_structure) X(leaf_signature) \
    X(constant_signature) X(cast_loop) X(find_finish) X(fuse_below) X(evaluate) X(evaluate_judged) X(write) X(remember_part) \
    X(plan_elementwise) X(plan_reduction) X(plan_selection) X(plain_reduction) X(vector_product_steps) X(capture_call) X(scalar) \
    X(computed_number) X(setitem) X(captured_getitem) X(captured_setitem) X(prune_views) X(operand_from_host) X(by_numpy) X(hide_own_frames) X(note_line)

// Other objects: markers of the graph, classes that are only compared or called, tables.
#define CLARRAY_OBJECTS(X) \
    X(large_structure) X(const_op) X(index_op) X(unread) X(bool_dtype) X(graph_lock) X(node_type) X(selection_type) X(non_consuming_ref) X(views_type) X(view_operation) \
    X(host_only_error) X(host_tier) X(short_calls) X(strong_dtypes) X(dtype_type) X(ufunc_type) X(ndarray_type) X(generic_type) \
    X(float64_type) X(no_value)

#define CLARRAY_NUMBERS(X) \
    X(alignment) X(weight_of_all) X(least_of_memory) X(view_weight) X(most_views) X(view_reads) X(tree_limit) X(int_limit) X(prune_at) X(smallest_block) X(fine_blocks) X(checked_bytes) X(most_queued) X(most_gathered)

namespace clarray {

struct Python {
#define FIELD(name) PyObject* name = nullptr;
    CLARRAY_CLASSES(FIELD)
    CLARRAY_FUNCTIONS(FIELD)
    CLARRAY_OBJECTS(FIELD)
#undef FIELD
#define FIELD(name) long long name = 0;
    CLARRAY_NUMBERS(FIELD)
#undef FIELD
    bool is_bound = false;
};
extern Python python;

// bind(interface): fill the structure.
PyObject* bind_python(PyObject* module, PyObject* interface);

template <typename... Args>
PyObject* invoke(PyObject* function, Args*... args) {
    PyObject* arguments[] = {nullptr, args...};
    return PyObject_Vectorcall(function, arguments + 1, sizeof...(args) | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
}

}  // namespace clarray
