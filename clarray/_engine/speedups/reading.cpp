// Reading what Python has recorded of a call.
#include "recording.hpp"

namespace clarray {

namespace {

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
    step.bytes = as_wide(item(6));
    step.noted = Ref::steal(PyTuple_Pack(4, item(0), item(1), item(2), item(6)));
    Ref inline_queue = Ref::steal((*has_inline)(on));
    if (!step.noted || !inline_queue) return false;
    step.in_line = item(5) == Py_True && inline_queue.get() == Py_True;
    if (!read_extents(item(1), item(2), step.global, step.items, step.dimensions)) return false;
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
        const bool plain = Py_TYPE(operation) == loop_type || is_pass_type(Py_TYPE(operation));
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
        if (!has_node(object) || array.no_number.of(object)) return false;
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
    Ref temporaries = Ref::steal(PyObject_GetAttrString(recording, "temporaries"));
    Ref steps = Ref::steal(PyObject_GetAttrString(recording, "steps"));
    if (!temporaries || !steps || !read_pool(on, replay.pool)) return false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(temporaries.get()); ++i)
        replay.temporaries.push_back(as_wide(PyList_GET_ITEM(temporaries.get(), i)));
    replay.steps.resize(size_t(PyList_GET_SIZE(steps.get())));
    for (size_t i = 0; i < replay.steps.size(); ++i)
        if (!read_step(PyList_GET_ITEM(steps.get(), Py_ssize_t(i)), on, replay.steps[i])) return false;
    return !PyErr_Occurred();
}

// Read which of the operands' memories the call has overwritten.
bool read_written(PyObject* recording, Replay& replay) {
    Ref written = Ref::steal(PyObject_GetAttrString(recording, "written"));
    if (!written) return false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(written.get()); ++i)
        replay.written.push_back(PyLong_AsSize_t(PyList_GET_ITEM(written.get(), i)));
    return !PyErr_Occurred();
}

}  // namespace

std::shared_ptr<Replay> read_replay(PyObject* recording, PyObject* result, const Call& call, bool repeatable) {
    auto made = std::make_shared<Replay>();
    if (!read_result(recording, result, call, *made) || !read_steps(recording, call.device, *made)) return nullptr;
    bool reads = false;
    for (const Step& step : made->steps) reads = reads || step.what == Step::READ;
    if (!read_written(recording, *made)) return nullptr;
    if (!made->written.empty() && reads && (!repeatable || call.is_aliased())) return nullptr;
    find_lives(*made);
    return made;
}

std::shared_ptr<Replay> read_evaluation(PyObject* recording, PyObject* root, const Call& call) {
    auto made = std::make_shared<Replay>();
    made->made.resize(1);
    if (!read_leaf(recording, root, made->made[0]) || !read_steps(recording, call.device, *made)) return nullptr;
    find_lives(*made);
    return made;
}

}  // namespace clarray
