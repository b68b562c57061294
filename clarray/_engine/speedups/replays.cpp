// Launches that Python has recorded of a call, and how they are made again.
#include "replays.hpp"

#include <climits>
#include <unordered_map>

namespace clarray {

namespace {

constexpr size_t MOST_CALLS = 8192;
constexpr long MOST_MISSED = 8;  // values that turn out to be others, before a call is left to Python

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
    PyObject* seen = nullptr;
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
    Ref bins;
    std::vector<Grown> grown;
    std::vector<Ref> facts;  // what is known of the values in the operands' memories then; None where nothing changes
    long long global_bytes = 0;
    std::vector<long long> temporaries;
    std::vector<Step> steps;
    std::vector<Made> made;
    char container = '1';
    std::vector<size_t> written;  // memories of operands
    long missed = 0;
};

struct Entry {
    long seen = 0;
    bool settles = false;
    std::shared_ptr<Replay> replay;
    std::vector<Ref> named;  // so that no other comes to have the address
};

using Temporaries = std::vector<Ref>;

PyObject* memory_of(const Source& from, const Call& call, const Temporaries& taken) {
    switch (from.kind) {
        case 'i': return call.memories[from.number].get();
        case 't': return taken[from.number].get();
        default: return from.object.get();
    }
}

// What a launch has drawn, if it does: a memory and a number.
struct Drawn {
    Ref memory, number;
};

bool draw(const Step& step, Drawn& drawn) {
    for (const Source& from : step.args) {
        if (from.kind != 'd') continue;
        Ref both = Ref::steal(PyObject_CallNoArgs(from.object.get()));
        if (!both) return false;
        drawn.memory = Ref::share(PyTuple_GET_ITEM(both.get(), 0));
        drawn.number = Ref::steal(PyLong_FromLongLong(as_wide(PyTuple_GET_ITEM(both.get(), 1))));
        return bool(drawn.number);
    }
    return true;
}

Outcome launch_by_python(const Step& step, const Call& call, const Temporaries& taken, const Drawn& drawn) {
    static PyObject* const launch = PyUnicode_InternFromString("launch");
    Ref args = Ref::steal(PyList_New(Py_ssize_t(step.args.size())));
    for (size_t i = 0; args && i < step.args.size(); ++i) {
        const Source& from = step.args[i];
        PyObject* arg = from.kind == 'n'   ? from.object.get()
                        : from.kind == 'd' ? drawn.number.get()
                                           : memory.buffer.of(from.kind == 'm' ? drawn.memory.get() : memory_of(from, call, taken));
        PyList_SET_ITEM(args.get(), Py_ssize_t(i), Py_NewRef(arg));
    }
    if (!args) return Outcome::FAILED;
    PyObject* given[] = {step.kernel.get(), step.groups.get(), step.local.get(), args.get(), step.in_line_flag.get(), step.nbytes.get()};
    return Ref::steal(PyObject_VectorcallMethod(launch, given, 6, nullptr)) ? Outcome::DONE : Outcome::FAILED;
}

Outcome launch_step(Step& step, const Call& call, const Temporaries& taken) {
    Argument arguments[MOST_ARGUMENTS];
    Drawn drawn;
    if (!draw(step, drawn)) return Outcome::FAILED;
    for (size_t i = 0; i < step.args.size(); ++i) {
        const Source& from = step.args[i];
        if (from.kind == 'n') arguments[i] = {from.object.get(), 0, false};
        else if (from.kind == 'd') arguments[i] = {drawn.number.get(), 0, false};
        else if (from.kind == 'm') arguments[i] = {memory.handle.of(drawn.memory.get()), 0, true};
        else arguments[i] = {memory.handle.of(memory_of(from, call, taken)), 0, true};
    }
    const Run run{step.kernel.get(), step.local.get(), step.in_line, &step.seen, step.noted.get(), step.dimensions, step.global, step.items};
    const Outcome done = enqueue_run(run, call.device, arguments, step.args.size());
    return done == Outcome::RARE ? launch_by_python(step, call, taken, drawn) : done;
}

// Read a value that the call went by; RARE where it is another one now.
Outcome check(const Step& step, const Call& call, const Temporaries& taken) {
    static PyObject* const read = PyUnicode_InternFromString("read_scalar");
    PyObject* given[] = {call.device, memory_of(step.args[0], call, taken), step.offset.get(), step.dtype.get()};
    Ref found = Ref::steal(PyObject_VectorcallMethod(read, given, 4, nullptr));
    const int same = found ? PyObject_RichCompareBool(found.get(), step.value.get(), Py_EQ) : -1;
    if (same) return same < 0 ? Outcome::FAILED : Outcome::DONE;
    // what the device keeps is zero between launches
    static PyObject* const fill_zero = PyUnicode_InternFromString("fill_zero");
    if (step.args[0].kind != 'k') return Outcome::RARE;
    return Ref::steal(PyObject_CallMethodOneArg(call.device, fill_zero, given[1])) ? Outcome::RARE : Outcome::FAILED;
}

Outcome run_step(Step& step, const Call& call, const Temporaries& taken) {
    static PyObject* const synchronize = PyUnicode_InternFromString("synchronize");
    switch (step.what) {
        case Step::LAUNCH: return launch_step(step, call, taken);
        case Step::READ: return check(step, call, taken);
        default: break;
    }
    if (device.pending.of(call.device) == Py_False) return Outcome::DONE;
    return Ref::steal(PyObject_CallMethodNoArgs(call.device, synchronize)) ? Outcome::DONE : Outcome::FAILED;
}

Outcome run(Replay& replay, const Call& call, Temporaries& taken) {
    taken.resize(replay.temporaries.size());
    const auto take = [&](size_t number) {
        taken[number] = allocate(replay.bins.get(), replay.global_bytes, call.device, replay.temporaries[number]);
        return bool(taken[number]);
    };
    for (Step& step : replay.steps) {
        for (size_t number : step.takes)
            if (!take(number)) return Outcome::FAILED;
        const Outcome done = run_step(step, call, taken);
        if (done != Outcome::DONE) return done;
        for (size_t number : step.drops) taken[number] = {};
    }
    for (const Made& made : replay.made)
        if (made.kind == 't' && !taken[made.number] && !take(made.number)) return Outcome::FAILED;
    for (const Grown& grown : replay.grown)
        if (grown.kind == 't' && !taken[grown.number] && !take(grown.number)) return Outcome::FAILED;
    return Outcome::DONE;
}

Ref new_leaf(const Made& made, PyObject* in, PyObject* flags) {
    Ref leaf = blank_node();
    PyObject* out = leaf.get();
    if (!out) return leaf;
    node.op.set(out, Py_None);
    node.args.set(out, empty_tuple);
    node.shape.set(out, made.shape.get());
    node.dtype.set(out, made.dtype.get());
    node.size.set(out, made.size.get());
    node.cost.set(out, memory.cost.of(in));
    node.flags.set(out, flags);
    node.sig.set(out, made.signature.get());
    node.inputs.set(out, empty_tuple);
    node.readers.set(out, memory.readers.of(in));
    node.memory.set(out, in);
    node.offset.set(out, made.offset.get());
    node.strides.set(out, made.strides.get());
    node.contiguous.set(out, made.contiguous ? Py_True : Py_False);
    return leaf;
}

// Have a copy of what is known of values be known of a memory.
bool put_facts(PyObject* in, PyObject* facts) {
    PyObject* copy = PyDict_Copy(facts);
    if (copy) memory.facts.put(in, copy);
    return copy;
}

// An index like another one.
Ref new_index(const Grown& like) {
    static Reference* const position = reference_of("INDEX");
    static PyObject* const one = PyLong_FromLong(1);
    static PyObject* const zero = PyLong_FromLong(0);
    Ref made = blank_node(), readers = Ref::steal(PyList_New(0));
    PyObject* out = made.get();
    if (!out || !readers) return {};
    node.op.set(out, position->function);
    node.args.set(out, empty_tuple);
    node.shape.set(out, like.leaf.shape.get());
    node.dtype.set(out, like.leaf.dtype.get());
    node.size.set(out, like.leaf.size.get());
    node.cost.set(out, one);
    node.flags.set(out, zero);
    node.sig.set(out, like.leaf.signature.get());
    node.inputs.set(out, empty_tuple);
    node.readers.put(out, readers.release());
    node.memory.set(out, Py_None);
    node.offset.set(out, like.leaf.offset.get());
    node.strides.set(out, like.leaf.strides.get());
    return made;
}

Ref grow_one(const Grown& grown, const Call& call, const Temporaries& taken, const std::vector<Ref>& nodes) {
    switch (grown.kind) {
        case 'o': return Ref::share(call.values[grown.number].get());
        case 't': return new_leaf(grown.leaf, taken[grown.number].get(), grown.flags.get());
        case 'c': return new_constant(grown.value.get(), grown.leaf.dtype.get());
        case 'x': return new_index(grown);
        case 'm': {
            Ref leaf = new_leaf(grown.leaf, call.memories[grown.number].get(), grown.flags.get());
            return leaf && note_view(leaf.get()) ? std::move(leaf) : Ref();
        }
        default: break;
    }
    PyObject* operands[MOST_GROWN];
    for (size_t i = 0; i < grown.args.size(); ++i) operands[i] = nodes[grown.args[i]].get();
    const Made& like = grown.leaf;
    return grow_alike(grown.operation.get(), operands, Py_ssize_t(grown.args.size()), like.signature.get(), like.dtype.get(),
                      like.shape.get(), like.size.get());
}

// Grow the expressions of pending results; false after an error.
bool grow_all(const Replay& replay, const Call& call, const Temporaries& taken, std::vector<Ref>& nodes) {
    for (const Grown& each : replay.grown) {
        nodes.push_back(grow_one(each, call, taken, nodes));
        if (!nodes.back()) return false;
    }
    return true;
}

Ref made_of(const Made& made, const Call& call, const Temporaries& taken, const std::vector<Ref>& nodes) {
    static PyObject* const zero = PyLong_FromLong(0);
    if (made.kind == 'v') return Ref::share(made.value.get());
    if (made.kind == 'g') return Ref::share(call.arrays[made.number]);
    if (made.kind == 'p') return settle(nodes[made.number].get()) ? new_array(array_type, nodes[made.number].get()) : Ref();
    Ref leaf = new_leaf(made, taken[made.number].get(), zero);
    Ref found = leaf ? new_array(array_type, leaf.get()) : Ref();
    if (found && made.facts && !put_facts(taken[made.number].get(), made.facts.get())) return {};
    if (!found || !made.base) return found;
    Ref base = made_of(*made.base, call, taken, nodes);
    if (!base || !note_view(leaf.get())) return {};
    array.base.set(found.get(), base.get());
    return found;
}

// What a call tells of the values in its operands' memories; after writes nothing else is known of them.
bool tell_facts(const Replay& replay, const Call& call) {
    for (size_t i = 0; i < call.memories.size(); ++i) {
        PyObject* in = call.memories[i].get();
        if (!replay.written.empty()) forget_facts(in);
        if (replay.facts[i].get() != Py_None && !put_facts(in, replay.facts[i].get())) return false;
    }
    return true;
}

Ref result_of(const Replay& replay, const Call& call, const Temporaries& taken) {
    if (!tell_facts(replay, call)) return {};
    std::vector<Ref> nodes;
    if (!grow_all(replay, call, taken, nodes)) return {};
    if (replay.container == '1') return made_of(replay.made[0], call, taken, nodes);
    const Py_ssize_t count = Py_ssize_t(replay.made.size());
    const bool is_list = replay.container == '[';
    Ref all = Ref::steal(is_list ? PyList_New(count) : PyTuple_New(count));
    for (Py_ssize_t i = 0; all && i < count; ++i) {
        Ref one = made_of(replay.made[size_t(i)], call, taken, nodes);
        if (!one) return {};
        if (is_list) PyList_SET_ITEM(all.get(), i, one.release());
        else PyTuple_SET_ITEM(all.get(), i, one.release());
    }
    return all;
}

// Reading what Python has recorded ---------------------------------------------------------------------------------

bool read_source(char kind, PyObject* told, Source& source) {
    source = {kind, 0, Ref::share(told)};
    if (kind == 'i' || kind == 't') source.number = PyLong_AsSize_t(told);
    return !PyErr_Occurred();
}

bool read_launch(PyObject* told, PyObject* on, Step& step) {
    const auto item = [told](Py_ssize_t i) { return PyTuple_GET_ITEM(told, i); };
    static Reference* const has_inline = reference_of("has_inline");
    step.what = Step::LAUNCH;
    step.kernel = Ref::share(item(0));
    step.groups = Ref::share(item(1));
    step.local = Ref::share(item(2));
    step.in_line_flag = Ref::share(item(5));
    step.nbytes = Ref::share(item(6));
    step.noted = Ref::steal(PyTuple_Pack(4, item(0), item(1), item(2), item(6)));
    Ref inline_queue = Ref::steal((*has_inline)(on));
    if (!step.noted || !inline_queue) return false;
    step.in_line = item(5) == Py_True && inline_queue.get() == Py_True;
    step.dimensions = uint32_t(PyTuple_GET_SIZE(item(1)));
    if (!step.dimensions || step.dimensions > MOST_DIMENSIONS || PyTuple_GET_SIZE(item(2)) != Py_ssize_t(step.dimensions)) return false;
    for (uint32_t axis = 0; axis < step.dimensions; ++axis) {
        step.items[axis] = PyLong_AsSize_t(PyTuple_GET_ITEM(item(2), axis));
        step.global[axis] = step.items[axis] * PyLong_AsSize_t(PyTuple_GET_ITEM(item(1), axis));
    }
    const char* kinds = PyUnicode_AsUTF8(item(3));
    const Py_ssize_t count = PyTuple_GET_SIZE(item(4));
    if (!kinds || size_t(count) > MOST_ARGUMENTS) return false;
    step.args.resize(size_t(count));
    for (Py_ssize_t i = 0; i < count; ++i)
        if (!read_source(kinds[i], PyTuple_GET_ITEM(item(4), i), step.args[size_t(i)])) return false;
    return !PyErr_Occurred();
}

bool read_step(PyObject* told, PyObject* on, Step& step) {
    constexpr Py_ssize_t OF_A_READ = 5;
    const Py_ssize_t count = PyTuple_GET_SIZE(told);
    step.what = Step::WAIT;
    if (!count) return true;
    if (count != OF_A_READ) return read_launch(told, on, step);
    const char* kind = PyUnicode_AsUTF8(PyTuple_GET_ITEM(told, 0));
    step.what = Step::READ;
    step.args.resize(1);
    step.offset = Ref::share(PyTuple_GET_ITEM(told, 2));
    step.dtype = Ref::share(PyTuple_GET_ITEM(told, 3));
    step.value = Ref::share(PyTuple_GET_ITEM(told, 4));
    return kind && read_source(kind[0], PyTuple_GET_ITEM(told, 1), step.args[0]);
}

// Note at which steps temporaries come and go; what the call gives stays.
void find_lives(Replay& replay) {
    const size_t none = size_t(-1);
    std::vector<size_t> first(replay.temporaries.size(), none), last = first;
    for (size_t at = 0; at < replay.steps.size(); ++at)
        for (const Source& from : replay.steps[at].args) {
            if (from.kind != 't') continue;
            if (first[from.number] == none) first[from.number] = at;
            last[from.number] = at;
        }
    for (const Made& made : replay.made)
        if (made.kind == 't') last[made.number] = none;
    for (const Grown& grown : replay.grown)
        if (grown.kind == 't') last[grown.number] = none;
    for (size_t number = 0; number < first.size(); ++number) {
        if (first[number] != none) replay.steps[first[number]].takes.push_back(number);
        if (last[number] != none) replay.steps[last[number]].drops.push_back(number);
    }
}

void fill_value(PyObject* of, Made& made) {
    made.shape = Ref::share(node.shape.of(of));
    made.dtype = Ref::share(node.dtype.of(of));
    made.size = Ref::share(node.size.of(of));
    made.signature = Ref::share(node.sig.of(of));
}

// Of a leaf or an index.
void fill_leaf(PyObject* leaf, Made& made) {
    fill_value(leaf, made);
    made.strides = Ref::share(node.strides.of(leaf));
    made.offset = Ref::share(node.offset.of(leaf));
    if (node.memory.of(leaf) == Py_None) return;
    made.contiguous = node.contiguous.of(leaf) == Py_True;
}

// Whether something else looks at a memory than a leaf.
bool is_seen_by_others(PyObject* in, PyObject* leaf) {
    Ref views = Ref::share(memory.views.of(in));
    for (Py_ssize_t i = 0; views.get() != Py_None && i < PyList_GET_SIZE(views.get()); ++i) {
        Ref view = referent_of(PyList_GET_ITEM(views.get(), i));
        if (view && view.get() != leaf) return true;
    }
    return false;
}

// Which temporary a leaf has all for itself; false for any other.
bool read_leaf(PyObject* recording, PyObject* leaf, Made& made) {
    static PyObject* const place = PyUnicode_InternFromString("place");
    PyObject* in = node.memory.of(leaf);
    if (in == Py_None || as_long(node.flags.of(leaf)) || memory.shared.of(in) == Py_True || is_seen_by_others(in, leaf)) return false;
    Ref number = Ref::steal(PyObject_CallMethodOneArg(recording, place, in));
    const long long found = number ? as_wide(number.get()) : -1;
    if (found < 0) return false;
    made.kind = 't';
    made.number = size_t(found);
    if (memory.facts.of(in) != Py_None) made.facts = Ref::steal(PyDict_Copy(memory.facts.of(in)));
    fill_leaf(leaf, made);
    return true;
}

// What a node of a pending result is, and what it is grown from before it; false where that cannot be done again.
bool read_grown(PyObject* recording, PyObject* of, const Call& call, Replay& replay, std::vector<Ref>& known, size_t& number) {
    static Reference* const constant = reference_of("CONST");
    static Reference* const position = reference_of("INDEX");
    constexpr size_t MOST_NODES = 48;
    for (number = 0; number < known.size(); ++number)
        if (known[number].get() == of) return true;
    if (known.size() == MOST_NODES) return false;
    Grown grown{};
    PyObject *in = node.memory.of(of), *args = node.args.of(of), *operation = node.op.of(of);
    for (size_t i = 0; i < call.arrays.size() && !grown.kind; ++i)
        if (call.values[i].get() == of) grown.kind = 'o', grown.number = i;
    if (!grown.kind && in != Py_None) {
        grown.flags = Ref::share(node.flags.of(of));
        for (size_t i = 0; i < call.memories.size() && !grown.kind; ++i)
            if (call.memories[i].get() == in) grown.kind = 'm', grown.number = i;
        if (!grown.kind) {
            if (!read_leaf(recording, of, grown.leaf)) return false;
            grown.kind = 't';
            grown.number = grown.leaf.number;
        }
        fill_leaf(of, grown.leaf);
    } else if (!grown.kind && operation == constant->function) {
        if (Py_TYPE(of) == known_type) return false;
        grown.kind = 'c';
        grown.value = Ref::share(node.value.of(of));
        grown.leaf.dtype = Ref::share(node.dtype.of(of));
    } else if (!grown.kind && operation == position->function) {
        grown.kind = 'x';
        fill_leaf(of, grown.leaf);
    } else if (!grown.kind) {
        const Py_ssize_t count = PyTuple_GET_SIZE(args);
        const bool plain = Py_TYPE(operation) == loop_type || Py_TYPE(operation) == reduction_type;
        if (!plain || !count || count > MOST_GROWN || as_long(node.flags.of(of)) & MASKED) return false;
        grown.kind = 'p';
        grown.operation = Ref::share(operation);
        fill_value(of, grown.leaf);
        grown.args.resize(size_t(count));
        for (Py_ssize_t i = 0; i < count; ++i)
            if (!read_grown(recording, PyTuple_GET_ITEM(args, i), call, replay, known, grown.args[size_t(i)])) return false;
    }
    number = known.size();
    known.push_back(Ref::share(of));
    replay.grown.push_back(std::move(grown));
    return true;
}

bool read_made(PyObject* recording, PyObject* object, const Call& call, Replay& replay, std::vector<Ref>& known, Made& made) {
    for (size_t i = 0; i < call.arrays.size(); ++i) {
        if (call.arrays[i] != object) continue;
        made.kind = 'g';
        made.number = i;
        return true;
    }
    if (Py_TYPE(object) == array_type) {
        if (!has_node(object)) return false;
        if (node.memory.of(array.node.of(object)) == Py_None) {
            made.kind = 'p';
            return array.base.of(object) == Py_None && read_grown(recording, array.node.of(object), call, replay, known, made.number);
        }
        if (!read_leaf(recording, array.node.of(object), made)) return false;
        PyObject* base = array.base.of(object);
        if (base == Py_None) return true;
        // of the same memory, and nobody else's
        if (Py_TYPE(base) != array_type || Py_REFCNT(base) > 1 || array.base.of(base) != Py_None) return false;
        PyObject* seen = array.node.of(base);
        if (node.memory.of(seen) != node.memory.of(array.node.of(object))) return false;
        made.base = std::make_shared<Made>();
        made.base->kind = 't';
        made.base->number = made.number;
        fill_leaf(seen, *made.base);
        return !as_long(node.flags.of(seen));
    }
    made.kind = 'v';
    made.value = Ref::share(object);
    return object == Py_None || PyBool_Check(object) || PyLong_CheckExact(object);
}

bool read_result(PyObject* recording, PyObject* result, const Call& call, Replay& replay) {
    std::vector<Ref> known;
    replay.container = PyTuple_CheckExact(result) ? '(' : PyList_CheckExact(result) ? '[' : '1';
    if (replay.container == '1') {
        replay.made.resize(1);
        return read_made(recording, result, call, replay, known, replay.made[0]);
    }
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(result);
    replay.made.resize(size_t(count));
    for (Py_ssize_t i = 0; i < count; ++i)
        if (!read_made(recording, PySequence_Fast_GET_ITEM(result, i), call, replay, known, replay.made[size_t(i)])) return false;
    return true;
}

bool read_steps(PyObject* recording, PyObject* on, Replay& replay) {
    Ref pool = Ref::steal(PyObject_GetAttrString(on, "pool"));
    Ref temporaries = Ref::steal(PyObject_GetAttrString(recording, "temporaries"));
    Ref steps = Ref::steal(PyObject_GetAttrString(recording, "steps"));
    if (!pool || !temporaries || !steps) return false;
    replay.bins = Ref::steal(PyObject_GetAttrString(pool.get(), "_bins"));
    Ref bytes = Ref::steal(PyObject_GetAttrString(pool.get(), "_global_bytes"));
    if (!replay.bins || !bytes) return false;
    replay.global_bytes = as_wide(bytes.get());
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(temporaries.get()); ++i)
        replay.temporaries.push_back(as_wide(PyList_GET_ITEM(temporaries.get(), i)));
    replay.steps.resize(size_t(PyList_GET_SIZE(steps.get())));
    for (size_t i = 0; i < replay.steps.size(); ++i)
        if (!read_step(PyList_GET_ITEM(steps.get(), Py_ssize_t(i)), on, replay.steps[i])) return false;
    return !PyErr_Occurred();
}

// Note what a call writes to: the operands that it gives back, and where it gives back nothing the first one.
void find_written(const Call& call, Replay& replay) {
    for (const Made& each : replay.made) {
        if (each.kind != 'g' && each.value.get() != Py_None) continue;
        PyObject* in = call.values.empty() ? Py_None : node.memory.of(call.values[each.kind == 'g' ? each.number : 0].get());
        for (size_t i = 0; i < call.memories.size(); ++i)
            if (call.memories[i].get() == in) replay.written.push_back(i);
    }
}

std::shared_ptr<Replay> read_replay(PyObject* recording, PyObject* result, const Call& call, bool repeatable) {
    auto made = std::make_shared<Replay>();
    if (!read_result(recording, result, call, *made) || !read_steps(recording, call.device, *made)) return nullptr;
    bool reads = false;
    for (const Step& step : made->steps) reads = reads || step.what == Step::READ;
    find_written(call, *made);
    if (!made->written.empty() && reads && (!repeatable || call.is_aliased())) return nullptr;
    find_lives(*made);
    return made;
}

// What is known of the values in each memory of the operands: copies, or None; fewer after an error.
std::vector<Ref> facts_of(const Call& call) {
    std::vector<Ref> all;
    for (const Ref& each : call.memories) {
        PyObject* facts = memory.facts.of(each.get());
        all.push_back(facts == Py_None ? Ref::share(Py_None) : Ref::steal(PyDict_Copy(facts)));
        if (!all.back()) break;
    }
    return all;
}

// What a call has told of its operands' memories: of those where nothing has changed None. False after an error.
bool read_facts(const Call& call, const std::vector<Ref>& before, Replay& replay) {
    replay.facts = facts_of(call);
    for (size_t i = 0; i < replay.facts.size(); ++i) {
        if (!replay.facts[i]) return false;
        const int same = !replay.written.empty() ? 0 : PyObject_RichCompareBool(before[i].get(), replay.facts[i].get(), Py_EQ);
        if (same < 0) return false;
        if (same) replay.facts[i] = Ref::share(Py_None);
    }
    return true;
}

// Whether a call that has been seen so often is recorded: at the second time, and ever more seldom where that fails.
bool is_time(long seen) { return seen > 1 && (seen & (seen - 1)) == 0; }

Ref tuple_of_refs(const std::vector<Ref>& all) {
    Ref tuple = Ref::steal(PyTuple_New(Py_ssize_t(all.size())));
    for (size_t i = 0; tuple && i < all.size(); ++i) PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i), Py_NewRef(all[i].get()));
    return tuple;
}

// The positional and the named arguments of a call.
bool arguments_of(PyObject* const* args, size_t flags, PyObject* names, Ref& positional, Ref& named) {
    const Py_ssize_t count = PyVectorcall_NARGS(flags), more = names ? PyTuple_GET_SIZE(names) : 0;
    positional = Ref::steal(PyTuple_New(count));
    if (!positional) return false;
    for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(positional.get(), i, Py_NewRef(args[i]));
    named = more ? Ref::steal(PyDict_New()) : Ref::share(Py_None);
    for (Py_ssize_t i = 0; named && i < more; ++i)
        if (PyDict_SetItem(named.get(), PyTuple_GET_ITEM(names, i), args[count + i])) return false;
    return bool(named);
}

}  // namespace

struct Replays {
    std::unordered_map<std::string, Entry> table;
};

Replays* new_replays() { return new Replays(); }
void drop_replays(Replays* dropped) { delete dropped; }

namespace {

std::shared_ptr<Replay> replay_for(const Call& call) {
    Replays* of = replays_of(call.device);
    if (!of) return nullptr;
    const auto at = of->table.find(call.key);
    return at == of->table.end() ? nullptr : at->second.replay;
}

// Count a call; whether it is to be recorded.
bool count_call(Call& call) {
    Replays* of = replays_of(call.device);
    if (!of) return true;  // Python makes the table then
    if (of->table.size() >= MOST_CALLS) {
        std::unordered_map<std::string, Entry> dropped;  // at the end: that may run anything
        dropped.swap(of->table);
    }
    Entry& entry = of->table[call.key];
    if (!entry.seen) entry.named = std::move(call.named);
    if (entry.replay && entry.replay->missed > MOST_MISSED) entry.replay = nullptr;
    return is_time(++entry.seen);
}

void keep_replay(const Call& call, std::shared_ptr<Replay> made) {
    Replays* of = replays_of(call.device);
    const auto at = of ? of->table.find(call.key) : decltype(of->table.find(call.key)){};
    if (of && at != of->table.end()) at->second.replay = std::move(made);
}

// Have what is pending of such a call's operands computed before, from the next time on.
void settle_next(const Call& call) {
    Replays* of = replays_of(call.device);
    const auto at = of ? of->table.find(call.key) : decltype(of->table.find(call.key)){};
    if (of && at != of->table.end()) at->second.settles = true;
}

// Call Python under a recording; the second item is the recording, or None.
Ref recorded_call(const Call& call, PyObject* function, PyObject* positional, PyObject* named) {
    static Reference* const record_call = reference_of("record_call");
    Ref inputs = tuple_of_refs(call.memories);
    return inputs ? Ref::steal((*record_call)(function, positional, named, call.device, inputs.get())) : Ref();
}

Outcome replay_found(Replay& found, const Call& call, Temporaries& taken) {
    const Outcome done = run(found, call, taken);
    if (done == Outcome::RARE) ++found.missed;
    return done;
}

}  // namespace

bool settles(const Call& call) {
    Replays* of = call.device ? replays_of(call.device) : nullptr;
    if (!of) return false;
    const auto at = of->table.find(call.key);
    return at != of->table.end() && at->second.settles;
}

Outcome replay(Call& call, Ref& result) {
    if (!can_launch(call.device)) return Outcome::RARE;
    const std::shared_ptr<Replay> found = replay_for(call);
    if (!found || found->missed > MOST_MISSED) return Outcome::RARE;
    for (size_t number : found->written)
        if (call.is_read(number)) return Outcome::RARE;
    Temporaries taken;
    const Outcome done = replay_found(*found, call, taken);
    if (done != Outcome::DONE) return done;
    result = result_of(*found, call, taken);
    return result ? Outcome::DONE : Outcome::FAILED;
}

Ref record(Call& call, const Recordable& of) {
    if (!can_launch(call.device) || call.is_unsettled || call.has_other_facts() || !count_call(call))
        return Ref::steal(PyObject_Vectorcall(of.function, of.args, of.flags, of.names));
    Ref positional, named;
    if (!arguments_of(of.args, of.flags, of.names, positional, named)) return {};
    std::vector<bool> is_read;
    for (size_t i = 0; i < call.memories.size(); ++i) is_read.push_back(call.is_read(i));
    const std::vector<Ref> facts = facts_of(call);
    Call before, after;  // what is known of values may be more
    before.tells_facts = after.tells_facts = false;
    before.grows = after.grows = call.grows;
    const bool told = of.describe(before, of, of.self);
    Ref both = recorded_call(call, of.function, positional.get(), named.get());
    if (!both) return {};
    Ref result = Ref::share(PyTuple_GET_ITEM(both.get(), 0));
    PyObject* recording = PyTuple_GET_ITEM(both.get(), 1);
    if (recording == Py_None) return result;
    // What has become of the operands is not recorded; nor is what another thread has made of them.
    const bool same = told && of.describe(after, of, of.self) && after.key == before.key;
    if (PyErr_Occurred()) return {};
    if (!same) {
        settle_next(call);
        return result;
    }
    std::shared_ptr<Replay> made = read_replay(recording, result.get(), call, of.repeatable);
    if (PyErr_Occurred() || (made && !read_facts(call, facts, *made))) return {};
    if (!made) return result;
    for (size_t number : made->written) {
        if (!is_read[number]) continue;
        settle_next(call);  // what reads it may be pending operands
        return result;
    }
    keep_replay(call, std::move(made));
    return result;
}

Outcome replay_evaluation(PyObject* root, bool& known) {
    known = false;
    Call call;
    call.key.push_back('e');
    if (!call.add_root(root) || !call.device || !can_launch(call.device)) return PyErr_Occurred() ? Outcome::FAILED : Outcome::RARE;
    const std::shared_ptr<Replay> found = replay_for(call);
    if (!found || found->missed > MOST_MISSED) return Outcome::RARE;
    known = true;
    Temporaries taken;
    const Outcome done = replay_found(*found, call, taken);
    if (done != Outcome::DONE) return done;
    const Made& made = found->made[0];
    return become_leaf(root, taken[made.number].get(), made.strides.get(), made.contiguous) ? Outcome::DONE : Outcome::FAILED;
}

Outcome record_evaluation(PyObject* root) {
    static Reference* const evaluate = reference_of("evaluate");
    Call call;
    call.key.push_back('e');
    const bool told = call.add_root(root) && call.device && can_launch(call.device) && !call.has_other_facts();
    if (PyErr_Occurred()) return Outcome::FAILED;
    if (!told || !count_call(call)) return Ref::steal((*evaluate)(root)) ? Outcome::DONE : Outcome::FAILED;
    Ref positional = Ref::steal(PyTuple_Pack(1, root));
    Ref both = positional ? recorded_call(call, evaluate->function, positional.get(), Py_None) : Ref();
    if (!both) return Outcome::FAILED;
    PyObject* recording = PyTuple_GET_ITEM(both.get(), 1);
    if (recording == Py_None) return Outcome::DONE;
    auto made = std::make_shared<Replay>();
    made->made.resize(1);
    if (read_leaf(recording, root, made->made[0]) && read_steps(recording, call.device, *made)) {
        find_lives(*made);
        keep_replay(call, std::move(made));
    }
    return PyErr_Occurred() ? Outcome::FAILED : Outcome::DONE;
}

}  // namespace clarray
