// Making the launches of a call again, and the table of those that have been recorded.
#include "program.hpp"

namespace clarray {

namespace {

constexpr long MOST_MISSED = 8;  // values that turn out to be others, before a call is left to Python

// Of a thread: whether it makes a call's launches again. What replays share is for one at a time, so a signal handler
// that comes between them has Python do its calls, which are not recorded either.
thread_local bool is_replaying = false;

class Replaying {
public:
    Replaying() { is_replaying = true; }
    ~Replaying() { is_replaying = false; }
};

Ref leaf_like(const Made& made, PyObject* in, PyObject* flags) {
    const LeafPlace place{made.shape.get(), made.size.get(), made.offset.get(), made.strides.get(), made.contiguous};
    return new_leaf(in, place, {made.dtype.get(), made.signature.get(), flags});
}

// Have a copy of what is known of values be known of a memory.
bool put_facts(PyObject* in, PyObject* facts) {
    PyObject* copy = PyDict_Copy(facts);
    if (copy) memory.facts.put(in, copy);
    return copy;
}

// An index like another one.
Ref new_index(const Grown& like) {
    static PyObject* const one = PyLong_FromLong(1);
    static PyObject* const zero = PyLong_FromLong(0);
    Ref made = blank_node(), readers = Ref::steal(PyList_New(0));
    PyObject* out = made.get();
    if (!out || !readers) return {};
    node.op.set(out, python.index_op);
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
        case 't': return leaf_like(grown.leaf, taken[grown.number].get(), grown.flags.get());
        case 'c': return new_constant(grown.value.get(), grown.leaf.dtype.get());
        case 'x': return new_index(grown);
        case 'm': {
            Ref leaf = leaf_like(grown.leaf, call.memories[grown.number].get(), grown.flags.get());
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
bool grow_all(const Program& program, const Call& call, const Temporaries& taken, std::vector<Ref>& nodes) {
    for (const Grown& each : program.grown) {
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
    Ref leaf = leaf_like(made, taken[made.number].get(), zero);
    Ref found = leaf ? new_array(array_type, leaf.get()) : Ref();
    if (found && made.facts && !put_facts(taken[made.number].get(), made.facts.get())) return {};
    if (!found || !made.base) return found;
    Ref base = made_of(*made.base, call, taken, nodes);
    if (!base || !note_view(leaf.get())) return {};
    array.base.set(found.get(), base.get());
    return found;
}

// What a call tells of the values in its operands' memories; after writes nothing else is known of them.
bool tell_facts(const Program& program, const Call& call) {
    for (size_t i = 0; i < call.memories.size(); ++i) {
        PyObject* in = call.memories[i].get();
        if (!program.written.empty()) forget(in);
        if (program.facts[i].get() != Py_None && !put_facts(in, program.facts[i].get())) return false;
    }
    return true;
}

Ref result_of(const Program& program, const Call& call, const Temporaries& taken) {
    if (!tell_facts(program, call)) return {};
    std::vector<Ref> nodes;
    if (!grow_all(program, call, taken, nodes)) return {};
    if (program.container == '1') return made_of(program.made[0], call, taken, nodes);
    const Py_ssize_t count = Py_ssize_t(program.made.size());
    const bool is_list = program.container == '[';
    Ref all = Ref::steal(is_list ? PyList_New(count) : PyTuple_New(count));
    for (Py_ssize_t i = 0; all && i < count; ++i) {
        Ref one = made_of(program.made[size_t(i)], call, taken, nodes);
        if (!one) return {};
        if (is_list) PyList_SET_ITEM(all.get(), i, one.release());
        else PyTuple_SET_ITEM(all.get(), i, one.release());
    }
    return all;
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
bool read_facts(const Call& call, const std::vector<Ref>& before, Program& program) {
    program.facts = facts_of(call);
    for (size_t i = 0; i < program.facts.size(); ++i) {
        if (!program.facts[i]) return false;
        const int same = !program.written.empty() ? 0 : PyObject_RichCompareBool(before[i].get(), program.facts[i].get(), Py_EQ);
        if (same < 0) return false;
        if (same) program.facts[i] = Ref::share(Py_None);
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

// Another call may replace a program while it runs.
std::shared_ptr<Program> program_of(const Call& call) {
    const Entry* entry = call.device ? entry_of(call.device, call.key) : nullptr;
    return entry ? entry->program : nullptr;
}

// Count a call; whether it is to be captured.
bool count_call(Call& call) {
    Entry* entry = new_entry(call.device, call.key);
    if (!entry) return true;  // Python makes the table then
    if (!entry->seen) entry->named = std::move(call.named);
    return is_time(++entry->seen);
}

void keep_program(const Call& call, std::shared_ptr<Program> made) {
    if (Entry* entry = entry_of(call.device, call.key)) entry->program = std::move(made);
}

// Have what is pending of such a call's operands computed before, from the next time on.
void settle_next(const Call& call) {
    if (Entry* entry = entry_of(call.device, call.key)) entry->settles = true;
}

// Have the next call recorded that was to be this one: an error or an interrupt has ended it, or another is recorded now.
void put_off(const Call& call) {
    if (Entry* entry = entry_of(call.device, call.key)) --entry->seen;
}

// Call Python under a recording; the second item is the recording, or None.
Ref recorded_call(const Call& call, PyObject* function, PyObject* positional, PyObject* named) {
    const Entry* entry = entry_of(call.device, call.key);
    Ref inputs = tuple_of_refs(call.memories), seen = Ref::steal(PyLong_FromLong(entry ? entry->seen : 0));
    Ref both = inputs && seen ? Ref::steal(invoke(python.capture_call, function, positional, named, call.device, inputs.get(), seen.get())) : Ref();
    if (both && PyTuple_GET_ITEM(both.get(), 1) != Py_NotImplemented) return both;
    put_off(call);
    return both ? Ref::steal(PyTuple_Pack(2, PyTuple_GET_ITEM(both.get(), 0), Py_None)) : Ref();
}

// Run the program of a call, with memory for all of its results.
Outcome run_for(Program& program, const Call& call, Temporaries& taken) {
    const Replaying replaying;
    Frame frame{call.device, &call.memories};
    const Outcome done = run(program, frame, Refused::BY_PYTHON);
    if (done == Outcome::RARE) ++program.missed;
    if (done != Outcome::DONE) return done;
    for (const Made& made : program.made)
        if (made.kind == 't' && !take_temporary(program, frame, made.number)) return Outcome::FAILED;
    for (const Grown& grown : program.grown)
        if (grown.kind == 't' && !take_temporary(program, frame, grown.number)) return Outcome::FAILED;
    taken = std::move(frame.temporaries);
    return Outcome::DONE;
}

}  // namespace

bool settles(const Call& call) {
    const Entry* entry = entry_of(call.device, call.key);
    return entry && entry->settles;
}

Outcome replay(const Call& call, Ref& result) {
    if (!can_launch(call.device)) return Outcome::RARE;
    const std::shared_ptr<Program> program = program_of(call);
    if (!program || program->missed > MOST_MISSED || is_replaying) return Outcome::RARE;
    for (size_t number : program->written)
        if (call.is_read(number)) return Outcome::RARE;
    Temporaries taken;
    const Outcome done = run_for(*program, call, taken);
    if (done != Outcome::DONE) return done;
    result = result_of(*program, call, taken);
    return result ? Outcome::DONE : Outcome::FAILED;
}

Ref record(Call& call, const Recordable& of) {
    const bool is_plain = call.is_whole && can_launch(call.device) && !call.is_unsettled && !call.has_other_facts();
    const bool is_due = is_plain && !is_replaying && count_call(call);
    call.values.clear();  // Python counts who holds a pending value
    if (!is_due) return of.by_python();
    Ref positional, named;
    if (!arguments_of(of.args, of.flags, of.names, positional, named)) return {};
    std::vector<bool> is_read;
    for (size_t i = 0; i < call.memories.size(); ++i) is_read.push_back(call.is_read(i));
    const std::vector<Ref> facts = facts_of(call);
    Call before, after;  // what is known of values may be more
    before.tells_facts = after.tells_facts = false;
    const bool told = of.describe(before);
    before.values.clear();
    Ref both = recorded_call(call, of.function, positional.get(), named.get());
    if (!both) return {};
    Ref result = Ref::share(PyTuple_GET_ITEM(both.get(), 0));
    PyObject* recording = PyTuple_GET_ITEM(both.get(), 1);
    if (recording == Py_None) return result;
    // What has become of the operands is not recorded; nor is what another thread has made of them.
    const bool same = told && of.describe(after) && after.key == before.key;
    if (PyErr_Occurred()) return {};
    if (!same) {
        settle_next(call);
        return result;
    }
    call.values = std::move(after.values);
    std::shared_ptr<Program> made = read_call(recording, result.get(), call, of.repeatable);
    if (PyErr_Occurred() || (made && !read_facts(call, facts, *made))) return {};
    if (!made) return result;
    for (size_t number : made->written) {
        if (!is_read[number]) continue;
        settle_next(call);  // what reads it may be pending operands
        return result;
    }
    keep_program(call, std::move(made));
    return result;
}

namespace {

// Tell a call of a node that is to be computed.
bool describe_evaluation(PyObject* root, Call& call) {
    call.key.push_back(EVALUATION);
    return call.add_root(root) && call.device && can_launch(call.device);
}

Outcome replay_evaluation_of(PyObject* root, const Call& call, bool& known) {
    const std::shared_ptr<Program> program = program_of(call);
    known = program && program->missed <= MOST_MISSED && !is_replaying;
    if (!known) return Outcome::RARE;
    Temporaries taken;
    const Outcome done = run_for(*program, call, taken);
    if (done != Outcome::DONE) return done;
    const Made& made = program->made[0];
    return become_leaf(root, taken[made.number].get(), made.strides.get(), made.contiguous) ? Outcome::DONE : Outcome::FAILED;
}

// Have Python compute a node, and record it if such a one has been computed before.
Outcome record_evaluation(PyObject* root, Call& call) {
    if (is_replaying || call.has_other_facts() || !count_call(call)) return Ref::steal(invoke(python.evaluate, root)) ? Outcome::DONE : Outcome::FAILED;
    Ref positional = Ref::steal(PyTuple_Pack(1, root));
    Ref both = positional ? recorded_call(call, python.evaluate, positional.get(), Py_None) : Ref();
    if (!both) return Outcome::FAILED;
    PyObject* recording = PyTuple_GET_ITEM(both.get(), 1);
    if (recording == Py_None) return Outcome::DONE;
    if (auto made = read_evaluation(recording, root, call)) keep_program(call, std::move(made));
    return PyErr_Occurred() ? Outcome::FAILED : Outcome::DONE;
}

}  // namespace

Outcome replay_evaluation(PyObject* root, bool& known) {
    Call call;
    known = false;
    if (describe_evaluation(root, call)) return replay_evaluation_of(root, call, known);
    return PyErr_Occurred() ? Outcome::FAILED : Outcome::RARE;
}

Outcome evaluate_recorded(PyObject* root) {
    Call call;
    if (!describe_evaluation(root, call)) return PyErr_Occurred() ? Outcome::FAILED : Outcome::RARE;
    bool known;
    const Outcome done = replay_evaluation_of(root, call, known);
    return done == Outcome::RARE ? record_evaluation(root, call) : done;
}

}  // namespace clarray
