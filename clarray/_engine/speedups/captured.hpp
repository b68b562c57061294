// Calls whose launches Python has recorded, by what their operands are: the core makes the same launches again.
#pragma once
#include "operands.hpp"

namespace clarray {

// The operands of a call, and the key by which its replay is found: everything that Python goes by, but for the elements.
class Call {
public:
    // A value that is given; false where no replay is for such, perhaps with an error.
    bool add(PyObject* value);
    // A pending node that is to be computed.
    bool add_root(PyObject* root);
    void add_pointer(PyObject* of);  // of an object that lives for good, or as long as what holds the key

    std::string key;
    bool is_whole = false;           // whether all of the call has been told
    bool tells_facts = true;         // whether the key tells what is known of values
    PyObject* device = nullptr;      // borrowed: that of the memories
    std::vector<Ref> memories;       // each once
    std::vector<PyObject*> arrays;   // the arrays, in the order in which they are given; borrowed
    std::vector<Ref> values;         // their nodes: another thread may give an array another one
    std::vector<Ref> named;          // what the key tells by its address
    bool grows = false;              // whether the call only grows expressions from its operands
    bool is_unsettled = false;       // whether something pending among them has to be computed before the call
    bool is_read(size_t number) const;  // whether a pending expression reads a memory
    bool is_aliased() const;         // whether an element may be that of two operands
    bool has_other_facts() const;    // whether more is known of the memories' values than the key tells

private:
    bool add_sequence(PyObject* values, char kind);
    bool add_number(PyObject* value);
    bool add_operand(PyObject* operand);
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
    std::vector<PyObject*> facts_;   // what is known of values, as far as the key tells it
    int depth_ = 0;
};

// One call of a function whose calls are recorded.
struct Recordable {
    PyObject *twin, *function;  // what stands for it, and itself
    PyObject* const* args;
    size_t flags;
    PyObject* names;
    bool repeatable;  // whether doing it once more changes nothing, though it writes
    bool grows;       // whether it only grows expressions from its operands
    bool describe(Call& call) const;  // false where no replay is for such, perhaps with an error
    Ref by_python() const { return Ref::steal(PyObject_Vectorcall(function, args, flags, names)); }
};

// Do a call as it was done before; RARE where Python has to. The lock of the device is held.
Outcome replay(const Call& call, Ref& result);

// Whether a call has what is pending of its operands computed before.
bool settles(const Call& call);

// A call of Python's that is not replayed: counted, and recorded if it has been seen before.
Ref record(Call& call, const Recordable& of);

// Compute a pending node as it was computed before; `known` is whether there was one. Nothing below the node has to be
// computed first, and the lock of its device is held.
Outcome replay_evaluation(PyObject* root, bool& known);

// The same, or have Python compute it.
Outcome evaluate_recorded(PyObject* root);

bool add_recorded_type(PyObject* module);

}  // namespace clarray
