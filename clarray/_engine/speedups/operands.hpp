// The operands of an expression, and the signature of its program.
#pragma once
#include "places.hpp"

#include <memory>
#include <string>
#include <vector>

namespace clarray {

// The first letter of a key: what it is of.
enum KeyKind : char { EXPRESSION = 'x', CALL = 'c', EVALUATION = 'e' };

constexpr size_t MOST_OPERANDS = 40;  // more than a tree of the greatest cost has

// The operands of one kernel, each once, and the key of its program.
struct Operands {
    Argument arguments[MOST_ARGUMENTS];
    size_t count = 0;
    PyObject* nodes[MOST_OPERANDS];
    size_t distinct = 0;
    std::string key;
    PyObject* device = nullptr;
    bool flat = true;
    long long nbytes = 0;  // of what a reduction reads, or a launch for all extents reads and writes
    size_t extents = 0;    // the loops of a launch for all extents, or 0
    unsigned long long follow = 0;  // and whose steps follow from them: a bit for the output, and for each operand in memory
    long long rows = 1, extent[MOST_AXES];  // runs of the innermost loop; how long the loops are, the innermost first

    void add(long long number) { arguments[count++] = {nullptr, number, false}; }
    void add_buffer(PyObject* of) { arguments[count++] = {of, 0, true}; }
};

// Look at what an expression reads; FALLBACK where something else than memory and constants is among it.
Outcome build_key(PyObject* root, PyObject* shape, PyObject* inputs, Operands& operands);
inline Outcome build_key(PyObject* root, PyObject* inputs, Operands& operands) { return build_key(root, node.shape.of(root), inputs, operands); }

// The same of a reduction. `run` is the length of what is reduced, where its launch is for every length, or 0.
Outcome build_reduction_key(PyObject* root, PyObject* inputs, Operands& operands, long long& run);

// End the key of an elementwise launch: into memory of its own, or into a place of a dtype that is there already. Where
// nothing but `extent` tells the launch from those over shorter or longer loops, these share it.
void finish_key(PyObject* root, Operands& operands);
void finish_key(PyObject* root, const Place& target, long long itemsize, Operands& operands);

// The bytes of an element; 0 after an error.
inline long long itemsize_of(PyObject* operand) {
    const Dtype* dtype = dtype_of(node.dtype.of(operand));
    return dtype ? dtype->itemsize : 0;
}

// What an expression reads: memory, constants and indices, as `inputs_of` in clarray._engine.expr.graph. Those of a small
// tree may repeat. A node without operands has none.
class Inputs {
public:
    explicit Inputs(PyObject* root);
    PyObject* const* begin() const { return first_; }
    PyObject* const* end() const { return first_ + count_; }

private:
    Ref small_;
    std::vector<PyObject*> walked_;
    PyObject* const* first_ = nullptr;
    Py_ssize_t count_ = 0;
};

// The device of the memory that a node reads, which stays as long as the node; null where it reads none.
PyObject* device_of(PyObject* root);

// The lock of the device that a value lies on; null for numbers that are on none.
PyObject* lock_of(PyObject* value);

// The bytes of all that a node reads.
long long bytes_read(PyObject* root);

// The program for operands; null where there is none yet.
struct Program;
std::shared_ptr<Program> program_of(const Operands& operands);

// Keep what Python has planned, an `ExpressionProgram`, for operands; FALLBACK where it has none for the core.
Outcome keep_program(Ref planned, const Operands& operands);

// The program for operands, which `plan` has Python plan where there is none yet.
template <typename Plan>
Outcome find_program(const Operands& operands, const Plan& plan, std::shared_ptr<Program>& program) {
    program = program_of(operands);
    if (program) return Outcome::DONE;
    const Outcome kept = keep_program(plan(), operands);
    if (kept != Outcome::DONE) return kept;
    program = program_of(operands);
    return program ? Outcome::DONE : Outcome::FALLBACK;
}

// The length from which on an axis is reduced by launches of its own; 0 where no launch of the device is known yet.
long long reduced_below(PyObject* device);

// The bytes up to which the calling thread reduces at once; 0 where it does not, or no launch is known yet.
long long reduced_at_once(PyObject* device, long long outputs = 1);

// Compute what is below a node and has to be memory before that is one launch: reductions, and what is read elsewhere too;
// the lock of the device is held. A reduction that the node only goes on from stays part of its launch, which Python
// prepares each time, unless it reads but a `little`, in bytes. FALLBACK where selections are among it.
Outcome compute_shared(PyObject* root, long long little);

// Whether the pending nodes below a root, of which none is a pass, are referred to by each other and the root alone.
bool is_private(PyObject* root);

// Whether something else keeps a heavy value alive that a tree without shared nodes reads: as `keeps_heavy` in
// clarray._engine.expr.region.
bool keeps_heavy(PyObject* root);

// What reads a memory or a node, directly or through others, and is pending: operands before what uses them.
std::vector<Ref> live_readers(PyObject* readers);

// Whether some of them are pending consumers: no transforms, which compute while they read whoever else reads it.
bool has_consumers(PyObject* readers);

// Make a node a leaf of memory of its own, and have what was grown from it read that; false after an error.
bool become_leaf(PyObject* of, PyObject* memory, PyObject* strides, bool contiguous, PyObject* offset = nullptr);

// Evaluate what a pending view looks at, and turn it into a view of that memory; FALLBACK where Python has to.
Outcome evaluate_view(PyObject* of);

// View a pending value whose elements are sooner computed again than read; FALLBACK for any other.
Outcome view_pending(PyObject* of, PyObject* key, Ref& result);

// Whether no axis of a leaf steps farther than one before it; where elements repeat, any order will do.
bool steps_in_c_order(PyObject* leaf);

// Compute a selection of few elements by a mask; FALLBACK where it is no such.
Outcome evaluate_selection(PyObject* root);

// Look no programs of a device up, until a table is in use again.
void forget_programs(PyObject* device);

}  // namespace clarray
