// What a replay is: the launches of a call, as Python has recorded them.
#pragma once
#include "replays.hpp"

namespace clarray {

// Where an argument comes from: 'i' the operands' memory, 't' memory taken meanwhile, 'k' what the device keeps, 'n' a
// number; 'm' and 'd' a memory and the number of the launch, which `object` of the latter draws for each.
struct Source {
    char kind;
    size_t number;
    Ref object;
};

// One thing the device is given to do.
struct Step {
    enum { LAUNCH, READ, WAIT } what;
    std::vector<Source> args;  // of a read: what is read
    Ref kernel, groups, local, in_line_flag, nbytes, noted;
    bool in_line = false;
    uint32_t dimensions = 0;
    size_t global[MOST_DIMENSIONS], items[MOST_DIMENSIONS];
    Seen seen;
    long long bytes = 0;
    Ref offset, dtype, value;            // of a read
    std::vector<size_t> takes, drops;    // temporaries first and last used here
};

// What the call gives: 't' a new array, 'g' one that it was given, 'p' a pending one, 'v' something that never changes.
struct Made {
    char kind;
    size_t number;
    Ref shape, strides, dtype, size, offset, signature, value;
    bool contiguous = true;
    Ref facts;                   // what is known of its values
    std::shared_ptr<Made> base;  // of a new array, what it looks at
};

// A node that a pending result is grown from, or that result: 'o' an operand, 'm' a leaf of an operand's memory, 't' of
// memory taken, 'c' a constant, 'x' an index, 'p' an operation on those before it.
struct Grown {
    char kind;
    size_t number = 0;
    std::vector<size_t> args;
    Ref operation, value, flags;
    Made leaf;
};

struct Replay {
    Pool pool;
    std::vector<Grown> grown;
    std::vector<Ref> facts;  // what is known of the values in the operands' memories then; None where nothing changes
    std::vector<long long> temporaries;
    std::vector<Step> steps;
    std::vector<Made> made;
    char container = '1';
    std::vector<size_t> written;  // memories of operands
    long missed = 0;
};

// Read a recording; null where it cannot be replayed, perhaps with an error.
std::shared_ptr<Replay> read_replay(PyObject* recording, PyObject* result, const Call& call, bool repeatable);

// The same of the evaluation of a node, which is a leaf now.
std::shared_ptr<Replay> read_evaluation(PyObject* recording, PyObject* root, const Call& call);

}  // namespace clarray
