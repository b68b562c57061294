// A program: the launches, host calls, reads, fills and waits that a piece of pending work compiles to, and the results it makes.
//
// Python plans a program and describes it by the tuples of clarray._engine.runtime.steps. It is kept in the table of its
// device under a signature: that of an expression (`Operands`, whose key holds access classes, so that the program is for
// many shapes), or that of a call (`CallSignature`, whose key holds shapes and strides). Sequences have no signature: Python holds
// them, and runs them for any memories.
#pragma once
#include "captured.hpp"

namespace clarray {

// Where one argument of a kernel comes from, or a run of arguments; `kind` is the letter that Python has for it.
struct ArgSource {
    enum Kind : char {
        INPUT = 'i',         // memory: the signature's, by its number
        INPUT_OFFSET = 'f',  // the offset of such a memory, added to that of the run
        TEMPORARY = 't',     // memory that the program allocates
        PERSISTENT = 'k',    // memory that the device keeps
        NUMBER = 'n',
        EPOCH_MEMORY = 'm',  // memory, and the number of the launch in it, which `object` gives for each launch
        EPOCH_NUMBER = 'd',
        OPERANDS = 'x',      // all inputs of an expression: `numbers` are added to their offsets
        OUTPUT = 'y',        // memory that the caller of the program gives it
        OUTPUT_OFFSET = 'z',
        SIZE = 's',          // elements of the result
        LENGTH = 'l',        // elements of a reduced axis
        VALUE = 'c',         // a constant of a region, by its number
        LOOPS = 'e',         // extents of an expression's loops and steps of its operands, see `bind_loops`
    };
    Kind kind;
    size_t number = 0;
    Ref object{};
    std::vector<long long> numbers{};  // of LOOPS: the arguments of the shape that the program was planned for
    std::vector<long long> starts{};   // of LOOPS: which of them are the first steps of each operand, the output's last
};

// How the groups of a launch follow from its work: `unit` elements at a time. A launch of fixed groups has 0 as unit.
struct WorkShare {
    long long unit = 0, most_groups = 1, chunk_bytes = 1;
    bool chunked = false;
};

struct Step {
    enum { LAUNCH, HOST, READ, FILL, WAIT } what;
    std::vector<ArgSource> args;  // of a HOST: the memories; of a READ and a FILL: the memory
    // of a LAUNCH
    Ref kernel, groups, local, noted{};
    WorkShare share;
    uint32_t dimensions = 1;
    size_t global[MOST_DIMENSIONS], items[MOST_DIMENSIONS];
    long long inline_bytes = -1;  // launches of at most so many bytes run on the calling thread
    long long nbytes = 0;         // that it moves, of the last launch where that differs
    long long element_bytes = 0;  // bytes for each element of the result, if they follow from these
    bool is_of_operands = false;  // whether they are those of the operands
    Seen seen_main, seen_inline;
    // of a HOST: takes the memories, and returns whether it has written the results
    Ref call;
    bool until_frequent = false;
    // of a READ
    Ref offset, dtype, value;
    std::vector<size_t> takes, drops;  // temporaries first and last used here
};

// A result of a call: 't' a new array, 'h' a host scalar whose value a step writes to a temporary, 'g' one of the call's
// arguments, 'w' a view of one, 'p' a pending array, 'v' a constant.
struct ResultSpec {
    char kind;
    size_t number = 0;
    size_t pending = 0;  // of a region: the place of the node that becomes this leaf
    size_t viewed = 0;  // of 'w': the argument, whose base is that of the view if it has one
    Ref shape, strides, dtype, size, offset, signature, value;
    bool contiguous = true;
    bool is_view = false;     // whether it is noted as a view of its memory
    bool has_others = false;  // whether other leaves of the results are in the same temporary
    Ref facts;                   // what is known of its values
    std::shared_ptr<ResultSpec> base;  // of a new array that is a view
};

// A node of a pending result: 'o' an operand, 'm' a leaf of an operand's memory, 't' of a temporary, 'k' of memory that
// the program keeps, 'c' a constant,
// 'x' an index, 'p' an operation on nodes before it.
struct ExprSpec {
    char kind;
    size_t number = 0;
    std::vector<size_t> args;
    Ref operation, value, flags;
    ResultSpec leaf;
};

struct Program {
    Pool pool;
    std::vector<long long> temporaries;  // bytes
    std::vector<Step> steps;

    // of an expression
    Ref strides{};  // of the result, if it is new memory
    bool contiguous = true;
    long long most_size = 0;  // elements; a larger result takes another program

    // of a call
    std::vector<ExprSpec> grown{};
    std::vector<Ref> facts{};  // what is known of the values in the operands' memories afterwards; None if unchanged
    std::vector<ResultSpec> made{};
    char container = '1';  // '(' a tuple, 'n' a named tuple, '[' a list
    Ref container_type{};  // of a named tuple
    bool until_frequent = false;  // whether kernels replace a host call once the program has run often
    bool is_stale = false;        // whether the next call is captured again
    std::vector<size_t> written{};  // memories of operands
    long missed = 0;
};

using Temporaries = std::vector<Ref>;

// What one run of a program is given, and its temporaries.
struct Frame {
    PyObject* device;
    const std::vector<Ref>* inputs = nullptr;
    const std::vector<long long>* offsets = nullptr;
    const Operands* operands = nullptr;
    const std::vector<Ref>* constants = nullptr;
    PyObject* output = nullptr;
    long long output_offset = 0, size = 0, length = 0;
    Temporaries temporaries{};
};

// What to do with a launch that the core cannot make: have Python make it, or give FALLBACK, with nothing launched.
enum class Refused { BY_PYTHON, FALLBACK };

// Allocate a temporary, unless that is done already; false after an error.
bool take_temporary(Program& program, Frame& frame, size_t number);

// Run all steps, with the temporaries that each needs. FALLBACK also where a value that was read is another one.
Outcome run(Program& program, Frame& frame, Refused refused);

// Read the steps and temporaries of a program that Python has planned; false where it cannot be run, perhaps with an error.
bool read_steps(PyObject* planned, PyObject* device, Program& program);

// Note at which steps temporaries are first and last used; those in results stay.
void find_lives(Program& program);

// Read a call that Python has captured; null where it cannot be run again, perhaps with an error.
std::shared_ptr<Program> read_call(PyObject* capture, PyObject* result, const CallSignature& call, bool repeatable);

// The same of the evaluation of a region. `nodes` has those of the region that are still alive, and null in the places of
// others. Each that is a leaf now is a result: something keeps it alive, perhaps what stays pending.
std::shared_ptr<Program> read_evaluation(PyObject* capture, const std::vector<Ref>& nodes, const CallSignature& call);

// Whether launches take all constants of a region by their numbers.
bool takes_constants(const Program& program, size_t count);

// What is kept under a signature: its program, and what is known of calls that have none.
struct Entry {
    long seen = 0;
    bool is_due = false;  // whether the next call is captured
    bool operands_first = false;  // whether pending operands are computed before
    bool by_tree = false;         // whether the programs of a call depend on the expressions of its pending operands
    bool has_values = false;      // whether the programs of a region depend on the values of its constants
    std::shared_ptr<Program> program{};
    std::vector<Ref> named{};  // objects whose addresses are in the key
};

// The entry of a signature; null where there is none. `new_entry` is null where no table of the device is in use.
Entry* entry_of(PyObject* device, const std::string& key);
Entry* new_entry(PyObject* device, const std::string& key);

}  // namespace clarray
