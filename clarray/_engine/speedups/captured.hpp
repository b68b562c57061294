// Captured calls: Python has noted the steps of a call, and the core runs them for each call of the same signature.
#pragma once
#include "operands.hpp"

namespace clarray {

// The signature of a call: its operands, and the key of its program. The key holds all that Python depends on, but the elements.
class CallSignature {
public:
    // Add an argument; false if no program is for such, perhaps with an error.
    bool add(PyObject* value);
    // Add a pending node that is to be evaluated.
    bool add_root(PyObject* root);
    void add_pointer(PyObject* of);  // an object that lives as long as the key
    bool add_new_input(PyObject* input);  // a leaf, a constant or an index, once
    void add_shape(PyObject* shape, PyObject* like);  // where it is not the other one

    std::string key;
    bool is_whole = false;           // whether the key holds all of the call
    bool has_facts = true;           // whether the key holds what is known of values
    PyObject* device = nullptr;      // borrowed: that of the memories
    std::vector<Ref> memories;       // each once
    std::vector<PyObject*> arrays;   // in the order of the arguments; borrowed
    std::vector<Ref> values;         // their nodes: another thread may set an array another node
    std::vector<Ref> named;          // objects whose addresses are in the key
    bool by_tree = true;             // whether the key holds the expressions of pending operands
    bool has_opaque = false;         // whether there are pending operands of which it holds the dtype, the shape and the flags only
    bool grows = false;              // whether the call only grows expressions from its operands
    bool needs_operands = false;     // whether pending operands have to be evaluated before the call
    bool is_read(size_t number) const;  // whether a pending expression reads a memory
    bool is_aliased() const;         // whether an element may be that of two operands
    bool has_other_facts() const;    // whether more is known of the values in the memories than the key holds

private:
    bool add_sequence(PyObject* values, char kind);
    bool add_number(PyObject* value);
    bool add_scalar(PyObject* value);
    bool add_operand(PyObject* operand);
    bool add_opaque(PyObject* pending);
    bool add_input(PyObject* input);
    bool add_shapes(PyObject* pending);
    bool is_at(PyObject* on);
    void add_axes(PyObject* numbers);
    template <typename Number>
    void append(Number number);

    std::vector<PyObject*> nodes_;  // each input once
    bool add_facts(PyObject* leaf, PyObject* facts);
    bool add_fact(PyObject* fact);

    std::vector<size_t> leaves_;     // how many of them lie in each memory
    std::vector<PyObject*> facts_;   // what is known of values, as the key has it
    int depth_ = 0;
};

// A call of a function that is captured.
struct CapturableCall {
    PyObject *native, *function;  // the native function, and the Python function that it stands for
    PyObject* const* args;
    size_t flags;
    PyObject* names;
    bool repeatable;  // whether a second call would change nothing, though the call writes
    bool grows;       // whether the call only grows expressions from its operands
    bool describe(CallSignature& call) const;  // false where no program is for such, perhaps with an error
    bool add_arguments(CallSignature& call) const;
    Ref by_python() const { return Ref::steal(PyObject_Vectorcall(function, args, flags, names)); }
};

// Run the program of a call; FALLBACK if there is none, or it cannot run. The lock of the device is held.
Outcome call_again(const CallSignature& call, Ref& result);

// Whether the pending operands of such calls are evaluated first.
bool operands_first(const CallSignature& call);

// Call the Python function. The call is counted, and captured if such a call has been seen before.
Ref call_python(CallSignature& call, const CapturableCall& of);

// Evaluate a pending node by its program, if NumPy has a step of it or that does not matter; `known` is whether there is one. Nothing below the node has to be evaluated first,
// and the lock of its device is held.
Outcome evaluate_again(PyObject* root, bool& known, bool only_by_host = false);

// The same with what belongs to the region of the node, or have Python evaluate it. FALLBACK also for a region whose layouts
// are others each time: a plan is for one layout.
Outcome evaluate_captured(PyObject* root);

// Compute the region of a pending node into a leaf, with what the same launches store beside; nothing else reads what is
// overwritten, and the device's lock is held.
Outcome store_captured(PyObject* target, PyObject* root);

bool add_captured_type(PyObject* module);

}  // namespace clarray
