// Running the programs of calls, and having Python capture new ones.
#include "program.hpp"
#include "region.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace clarray {

namespace {

constexpr long MOST_MISSED = 8;  // values that turn out to be others, before a call is left to Python

// Whether this thread runs the program of a call. Such programs share temporaries, so a signal handler that interrupts one
// has Python do its calls, and they are not captured either.
thread_local bool is_running = false;

class Running {
public:
    Running() { is_running = true; }
    ~Running() { is_running = false; }
};

Ref leaf_like(const ResultSpec& made, PyObject* in, PyObject* flags) {
    const LeafPlace place{made.shape.get(), made.size.get(), made.offset.get(), made.strides.get(), made.contiguous};
    return new_leaf(in, place, {made.dtype.get(), made.signature.get(), flags});
}

// Note a copy of what is known of values with a memory.
bool put_facts(PyObject* in, PyObject* facts) {
    PyObject* copy = PyDict_Copy(facts);
    if (copy) memory.facts.put(in, copy);
    return copy;
}

// A new index node.
Ref new_index(const ExprSpec& like) {
    static PyObject* const zero = PyLong_FromLong(0);
    Ref made = blank_node(), readers = Ref::steal(PyList_New(0));
    PyObject* out = made.get();
    if (!out || !readers) return {};
    node.op.set(out, python.index_op);
    node.args.set(out, empty_tuple);
    node.shape.set(out, like.leaf.shape.get());
    node.dtype.set(out, like.leaf.dtype.get());
    node.size.set(out, like.leaf.size.get());
    node.flags.set(out, zero);
    node.sig.set(out, like.leaf.signature.get());
    node.inputs.set(out, empty_tuple);
    node.readers.put(out, readers.release());
    node.memory.set(out, Py_None);
    node.offset.set(out, like.leaf.offset.get());
    node.strides.set(out, like.leaf.strides.get());
    return made;
}

// A leaf of a pending result in a memory, which notes it if there are other views.
Ref leaf_of(const ExprSpec& grown, PyObject* in, bool is_view) {
    Ref leaf = leaf_like(grown.leaf, in, grown.flags.get());
    return leaf && (!is_view || note_view(leaf.get())) ? std::move(leaf) : Ref();
}

Ref grow_one(const ExprSpec& grown, const CallSignature& call, const Temporaries& temporaries, const std::vector<Ref>& nodes) {
    switch (grown.kind) {
        case 'o': return Ref::share(call.values[grown.number].get());
        case 't': return leaf_of(grown, temporaries[grown.number].get(), grown.leaf.has_others);
        case 'k': return leaf_of(grown, grown.value.get(), true);
        case 'c': return new_constant(grown.value.get(), grown.leaf.dtype.get());
        case 'x': return new_index(grown);
        case 'm': return leaf_of(grown, call.memories[grown.number].get(), true);
        default: break;
    }
    PyObject* operands[MOST_GROWN];
    for (size_t i = 0; i < grown.args.size(); ++i) operands[i] = nodes[grown.args[i]].get();
    const ResultSpec& like = grown.leaf;
    return grow_alike(grown.operation.get(), operands, Py_ssize_t(grown.args.size()), like.signature.get(), like.dtype.get(),
                      like.shape.get(), like.size.get());
}

// Grow the expressions of pending results; false after an error.
bool grow_all(const Program& program, const CallSignature& call, const Temporaries& temporaries, std::vector<Ref>& nodes) {
    for (const ExprSpec& each : program.grown) {
        nodes.push_back(grow_one(each, call, temporaries, nodes));
        if (!nodes.back()) return false;
    }
    return true;
}

// A view of an argument.
Ref view_of(const ResultSpec& made, const CallSignature& call) {
    static PyObject* const zero = PyLong_FromLong(0);
    Ref leaf = leaf_like(made, call.memories[made.number].get(), zero);
    if (!leaf || !note_view(leaf.get())) return {};
    Ref result = new_array(array_type, leaf.get());
    if (!result) return {};
    PyObject *viewed = call.arrays[made.viewed], *whole = array.base.of(viewed);
    array.base.set(result.get(), whole == Py_None ? viewed : whole);
    return result;
}

// A host scalar with the value of a temporary; an array on the temporary where Python's numbers lack its bits.
Ref scalar_of(const ResultSpec& made, PyObject* in) {
    static PyObject* const zero = PyLong_FromLong(0);
    Ref leaf = leaf_like(made, in, zero), number;
    if (!leaf || known_element(leaf.get(), 0, number) == Outcome::FAILED) return {};
    return new_array(array_type, number ? number.get() : leaf.get());
}

Ref made_of(const ResultSpec& made, const CallSignature& call, const Temporaries& temporaries, const std::vector<Ref>& nodes) {
    static PyObject* const zero = PyLong_FromLong(0);
    if (made.kind == 'v') return Ref::share(made.value.get());
    if (made.kind == 'g') return Ref::share(call.arrays[made.number]);
    if (made.kind == 'p') return evaluate_if_costly(nodes[made.number].get()) ? new_array(array_type, nodes[made.number].get()) : Ref();
    if (made.kind == 'w') return view_of(made, call);
    if (made.kind == 'h') return scalar_of(made, temporaries[made.number].get());
    Ref leaf = leaf_like(made, temporaries[made.number].get(), zero);
    Ref result = leaf ? new_array(array_type, leaf.get()) : Ref();
    if (result && made.facts && !put_facts(temporaries[made.number].get(), made.facts.get())) return {};
    if (result && made.has_others && !made.base && !note_view(leaf.get())) return {};
    if (!result || !made.base) return result;
    Ref base = made_of(*made.base, call, temporaries, nodes);
    if (!base || !note_view(leaf.get())) return {};
    array.base.set(result.get(), base.get());
    return result;
}

// Note what a call shows of the values in its operands' memories; after writes nothing else is known of them.
bool tell_facts(const Program& program, const CallSignature& call) {
    for (size_t i = 0; i < call.memories.size(); ++i) {
        PyObject* in = call.memories[i].get();
        if (!program.written.empty()) forget(in);
        if (program.facts[i].get() != Py_None && !put_facts(in, program.facts[i].get())) return false;
    }
    return true;
}

Ref result_of(const Program& program, const CallSignature& call, const Temporaries& temporaries) {
    if (!tell_facts(program, call)) return {};
    std::vector<Ref> nodes;
    if (!grow_all(program, call, temporaries, nodes)) return {};
    if (program.container == '1') return made_of(program.made[0], call, temporaries, nodes);
    const Py_ssize_t count = Py_ssize_t(program.made.size());
    const bool is_list = program.container == '[';
    Ref all = Ref::steal(is_list ? PyList_New(count) : PyTuple_New(count));
    for (Py_ssize_t i = 0; all && i < count; ++i) {
        Ref one = made_of(program.made[size_t(i)], call, temporaries, nodes);
        if (!one) return {};
        if (is_list) PyList_SET_ITEM(all.get(), i, one.release());
        else PyTuple_SET_ITEM(all.get(), i, one.release());
    }
    return program.container == 'n' ? Ref::steal(PyObject_Call(program.container_type.get(), all.get(), nullptr)) : std::move(all);
}

// What is known of the values in each memory of the operands: copies, or None; fewer after an error.
std::vector<Ref> facts_of(const CallSignature& call) {
    std::vector<Ref> all;
    for (const Ref& each : call.memories) {
        PyObject* facts = memory.facts.of(each.get());
        all.push_back(facts == Py_None ? Ref::share(Py_None) : Ref::steal(PyDict_Copy(facts)));
        if (!all.back()) break;
    }
    return all;
}

// Read what a call has shown of the values in its operands' memories: None for memory of which it has shown nothing. False
// after an error.
bool read_facts(const CallSignature& call, const std::vector<Ref>& before, Program& program) {
    program.facts = facts_of(call);
    for (size_t i = 0; i < program.facts.size(); ++i) {
        if (!program.facts[i]) return false;
        const int same = !program.written.empty() ? 0 : PyObject_RichCompareBool(before[i].get(), program.facts[i].get(), Py_EQ);
        if (same < 0) return false;
        if (same) program.facts[i] = Ref::share(Py_None);
    }
    return true;
}

// Whether a call that has been seen so often is captured: the second one, and ever more seldom ones after failures.
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

// Whether the next call is left to Python, which captures it again: a program with a host call may have become so frequent
// that kernels replace the host.
bool is_recaptured(const CallSignature& call, const Program& program) {
    if (!program.until_frequent) return false;
    Entry* const entry = entry_of(call.device, call.key);
    if (!entry || is_time(entry->seen + 1)) return true;
    ++entry->seen;
    return false;
}

// Another call may replace a program while it runs.
std::shared_ptr<Program> program_of(const CallSignature& call) {
    const Entry* entry = call.device ? entry_of(call.device, call.key) : nullptr;
    return entry ? entry->program : nullptr;
}

// Count a call of an entry; whether it is to be captured.
bool count_call(Entry* entry, CallSignature& call) {
    if (!entry) return true;  // Python makes the table
    if (!entry->seen) entry->named = std::move(call.named);
    const bool is_due = std::exchange(entry->is_due, false);
    return is_time(++entry->seen) || is_due;
}

void keep_program(const CallSignature& call, std::shared_ptr<Program> made) {
    if (Entry* entry = entry_of(call.device, call.key)) entry->program = std::move(made);
}

// Have the pending operands of such calls evaluated first, from the next call on.
void evaluate_operands_next(const CallSignature& call) {
    if (Entry* entry = entry_of(call.device, call.key)) entry->operands_first = true;
}

// Have the keys of such calls hold the expressions of pending operands, if a program depends on them.
void describe_trees_next(const CallSignature& call) {
    Entry* entry = call.has_opaque ? entry_of(call.device, call.key) : nullptr;
    if (entry) entry->by_tree = true;
}

// Have the next such call captured: an error or an interrupt has ended this one, or another call is captured now.
void capture_next(const CallSignature& call) {
    if (Entry* entry = entry_of(call.device, call.key)) --entry->seen;
}

// Call Python under a capture; the second item is the capture, or None.
Ref captured_call(const CallSignature& call, PyObject* function, PyObject* positional, PyObject* named, PyObject* constants = empty_tuple) {
    const Entry* entry = entry_of(call.device, call.key);
    Ref inputs = tuple_of_refs(call.memories), seen = Ref::steal(PyLong_FromLong(entry ? entry->seen : 0));
    Ref both = inputs && seen ? Ref::steal(invoke(python.capture_call, function, positional, named, call.device, inputs.get(), seen.get(), constants)) : Ref();
    if (both && PyTuple_GET_ITEM(both.get(), 1) != Py_NotImplemented) return both;
    capture_next(call);
    return both ? Ref::steal(PyTuple_Pack(2, PyTuple_GET_ITEM(both.get(), 0), Py_None)) : Ref();
}

// Drop the program of an entry, and have the next such call captured.
void drop_stale(Entry* entry, const Program& program) {
    if (!entry || entry->program.get() != &program) return;
    entry->is_due = true;
    entry->program = nullptr;
}

// Run the program of a call, with memory for all of its results.
Outcome run_for(Program& program, const CallSignature& call, Temporaries& temporaries) {
    const Running replaying;
    Frame frame{call.device, &call.memories};
    const Outcome done = run(program, frame, Refused::BY_PYTHON);
    if (program.is_stale) drop_stale(entry_of(call.device, call.key), program);
    else if (done == Outcome::FALLBACK) ++program.missed;
    if (done != Outcome::DONE) return done;
    for (const ResultSpec& made : program.made)
        if ((made.kind == 't' || made.kind == 'h') && !take_temporary(program, frame, made.number)) return Outcome::FAILED;
    for (const ExprSpec& grown : program.grown)
        if (grown.kind == 't' && !take_temporary(program, frame, grown.number)) return Outcome::FAILED;
    temporaries = std::move(frame.temporaries);
    return Outcome::DONE;
}

}  // namespace

bool operands_first(const CallSignature& call) {
    const Entry* entry = entry_of(call.device, call.key);
    return entry && entry->operands_first;
}

Outcome call_again(const CallSignature& call, Ref& result) {
    if (!can_launch(call.device)) return Outcome::FALLBACK;
    const std::shared_ptr<Program> program = program_of(call);
    if (!program || program->missed > MOST_MISSED || is_running) return Outcome::FALLBACK;
    for (size_t number : program->written)
        if (call.is_read(number)) return Outcome::FALLBACK;
    if (is_recaptured(call, *program)) return Outcome::FALLBACK;
    Temporaries temporaries;
    const Outcome done = run_for(*program, call, temporaries);
    if (done != Outcome::DONE) return done;
    result = result_of(*program, call, temporaries);
    return result ? Outcome::DONE : Outcome::FAILED;
}

Ref call_python(CallSignature& call, const CapturableCall& of) {
    const bool is_plain = call.is_whole && can_launch(call.device) && !call.needs_operands && !call.has_other_facts();
    const bool is_due = is_plain && !is_running && count_call(new_entry(call.device, call.key), call);
    call.values.clear();  // Python counts who holds a pending value
    if (!is_due) return of.by_python();
    Ref positional, named;
    if (!arguments_of(of.args, of.flags, of.names, positional, named)) return {};
    std::vector<bool> is_read;
    for (size_t i = 0; i < call.memories.size(); ++i) is_read.push_back(call.is_read(i));
    const std::vector<Ref> facts = facts_of(call);
    CallSignature before, after;  // without what is known of values, of which there may be more
    before.has_facts = after.has_facts = false;
    const bool is_described = of.describe(before);
    before.values.clear();
    Ref both = captured_call(call, of.function, positional.get(), named.get());
    if (!both) return {};
    Ref result = Ref::share(PyTuple_GET_ITEM(both.get(), 0));
    PyObject* capture = PyTuple_GET_ITEM(both.get(), 1);
    // No step holds what the call, or another thread, has made of the operands.
    const bool same = is_described && of.describe(after) && after.key == before.key;
    if (PyErr_Occurred()) return {};
    if (!same) evaluate_operands_next(call);
    else if (capture == Py_None) describe_trees_next(call);
    if (!same || capture == Py_None) return result;
    call.values = std::move(after.values);
    std::shared_ptr<Program> made = read_call(capture, result.get(), call, of.repeatable);
    if (PyErr_Occurred() || (made && !read_facts(call, facts, *made))) return {};
    if (!made) describe_trees_next(call);
    if (!made) return result;
    for (size_t number : made->written) {
        if (!is_read[number]) continue;
        evaluate_operands_next(call);  // its users may be pending operands
        return result;
    }
    keep_program(call, std::move(made));
    return result;
}

namespace {

// The entry of a region, which may be one for the values of its constants; null where there is none.
Entry* region_entry(const Region& region) {
    Entry* entry = entry_of(region.call.device, region.call.key);
    return entry && entry->has_values ? entry_of(region.call.device, region.call.key + region.values) : entry;
}

// Run the program of a region; FALLBACK if there is none, or it cannot run.
Outcome run_region(Region& region) {
    const Entry* entry = region_entry(region);
    const std::shared_ptr<Program> program = entry ? entry->program : nullptr;
    if (!program || program->missed > MOST_MISSED || is_running) return Outcome::FALLBACK;
    const Running replaying;
    Frame frame{region.call.device, &region.call.memories};
    frame.constants = &region.constants;
    Outcome done = run(*program, frame, Refused::BY_PYTHON);
    if (done == Outcome::FAILED && PyErr_ExceptionMatches(PyExc_MemoryError)) {
        PyErr_Clear();  // Python computes less at a time
        done = Outcome::FALLBACK;
    }
    if (program->is_stale) drop_stale(region_entry(region), *program);
    else if (done == Outcome::FALLBACK) ++program->missed;
    if (done != Outcome::DONE) return done;
    for (const ResultSpec& made : program->made) {
        if (!take_temporary(*program, frame, made.number)) return Outcome::FAILED;
        PyObject* of = region.order[made.pending].get();
        if (!become_leaf(of, frame.temporaries[made.number].get(), made.strides.get(), made.contiguous, made.offset.get())) return Outcome::FAILED;
        if (made.is_view && !note_view(of)) return Outcome::FAILED;
    }
    return Outcome::DONE;
}

// Keep the program of a region, which depends on the values of its constants unless launches take all of them.
void keep_region(const Region& region, std::shared_ptr<Program> made) {
    Entry* entry = new_entry(region.call.device, region.call.key);  // a process's first capture has none yet
    if (!entry) return;
    entry->has_values = entry->has_values || !takes_constants(*made, region.constants.size());
    if (entry->has_values) entry = new_entry(region.call.device, region.call.key + region.values);
    if (entry) entry->program = std::move(made);
}

bool has_host_step(const Program& program) {
    return std::any_of(program.steps.begin(), program.steps.end(), [](const Step& step) { return step.what == Step::HOST; });
}

Outcome by_python(PyObject* root) { return Ref::steal(invoke(python.evaluate, root)) ? Outcome::DONE : Outcome::FAILED; }

// Have Python compute a region, and capture that.
Outcome capture_region(Region& region, PyObject* function, const Ref& positional) {
    Ref constants = tuple_of_refs(region.constants);
    std::vector<Ref> nodes;  // weak references: Python counts who keeps what
    for (const Ref& each : region.order) nodes.push_back(Ref::steal(PyWeakref_NewRef(each.get(), nullptr)));
    region.order.clear();
    Ref both = constants && positional ? captured_call(region.call, function, positional.get(), Py_None, constants.get()) : Ref();
    if (!both) return Outcome::FAILED;
    PyObject* capture = PyTuple_GET_ITEM(both.get(), 1);
    if (capture == Py_None) return Outcome::DONE;
    for (Ref& each : nodes) each = each ? referent_of(each.get()) : Ref();
    if (auto made = read_evaluation(capture, nodes, region.call)) keep_region(region, std::move(made));
    return PyErr_Occurred() ? Outcome::FAILED : Outcome::DONE;
}

constexpr int MOST_LAYOUTS = 8;  // of a structure: to plan the next one is in vain
std::unordered_map<size_t, int> layouts_of;  // by structure: evaluations without a program

int count_layouts(const Region& region) {
    const auto entry = layouts_of.find(region.structure);
    return entry == layouts_of.end() ? 0 : entry->second;
}

// Whether a region with pending views has had so many that programs for more of them are not worth their memory.
bool has_many_views(const Region& region) {
    constexpr int MOST_VIEWED = 64;
    return region.has_views && count_layouts(region) > MOST_VIEWED;
}

bool is_in_vain(const Region& region) {
    constexpr size_t MOST_STRUCTURES = 4096;
    if (layouts_of.size() >= MOST_STRUCTURES) layouts_of.clear();
    return ++layouts_of[region.structure] > MOST_LAYOUTS;
}

// Count an evaluation; whether it is to be captured. If a structure has many layouts with small values, as in a loop over
// rows of a triangle, a plan for one of them pays off later.
bool is_capture_due(PyObject* root, Region& region) {
    constexpr long long LITTLE = 1 << 16, OFTEN = 4;  // bytes, evaluations
    if (is_running || region.call.has_other_facts()) return false;
    Entry* entry = new_entry(region.call.device, region.call.key);
    if (entry && entry->has_values) entry = new_entry(region.call.device, region.call.key + region.values);
    if (!count_call(entry, region.call)) return false;
    const bool is_small = as_wide(node.size.of(root)) * itemsize_of(root) <= LITTLE;
    return !entry || !is_small || count_layouts(region) <= MOST_LAYOUTS || entry->seen >= OFTEN;
}

// Evaluate a region after what its pending views look at, so that these are views of memory.
Outcome evaluate_by_memory(PyObject* root, Region& region) {
    std::vector<Ref> views;
    for (Ref& of : region.order)
        if (is_pending_view(of.get())) views.push_back(std::move(of));
    region.order.clear();
    for (const Ref& view : views)
        if (!evaluate_node(view.get())) return Outcome::FAILED;
    views.clear();
    return evaluate_node(root) ? Outcome::DONE : Outcome::FAILED;
}

}  // namespace

Outcome evaluate_captured(PyObject* root) {
    Region region;
    if (!region.describe(root) || !can_launch(region.call.device)) return PyErr_Occurred() ? Outcome::FAILED : Outcome::FALLBACK;
    const Outcome done = run_region(region);
    if (done != Outcome::FALLBACK) return done;
    if (has_many_views(region)) return evaluate_by_memory(root, region);
    const bool is_due = is_capture_due(root, region);
    if (!is_due && is_in_vain(region)) return region.has_views ? evaluate_by_memory(root, region) : Outcome::FALLBACK;
    if (!is_due) {
        region.order.clear();  // Python counts who keeps what
        return by_python(root);
    }
    return capture_region(region, python.evaluate, Ref::steal(PyTuple_Pack(1, root)));
}

Outcome store_captured(PyObject* target, PyObject* root) {
    Region region;
    forget(node.memory.of(target));  // what is known of other elements in the memory is not in the key
    if (!region.describe(root, target) || !can_launch(region.call.device)) return PyErr_Occurred() ? Outcome::FAILED : Outcome::FALLBACK;
    const Outcome done = run_region(region);
    if (done != Outcome::FALLBACK) return done;
    const bool is_due = is_capture_due(root, region);
    if (is_due) return capture_region(region, python.write, Ref::steal(PyTuple_Pack(2, target, root)));
    if (is_in_vain(region)) return Outcome::FALLBACK;
    region.order.clear();  // Python counts who keeps what
    return Ref::steal(invoke(python.write, target, root)) ? Outcome::DONE : Outcome::FAILED;
}

Outcome evaluate_again(PyObject* root, bool& known, bool only_by_host) {
    Region region;
    known = false;
    if (!region.describe(root) || !can_launch(region.call.device)) return PyErr_Occurred() ? Outcome::FAILED : Outcome::FALLBACK;
    const Entry* entry = region_entry(region);
    known = entry && entry->program && entry->program->missed <= MOST_MISSED && !is_running;
    known = known && (!only_by_host || has_host_step(*entry->program));
    return known ? run_region(region) : Outcome::FALLBACK;
}

}  // namespace clarray
