// Reading the programs that Python has planned, and the calls that it has captured.
#include "program.hpp"

#include <algorithm>

namespace clarray {

namespace {

bool read_numbers(PyObject* numbers, std::vector<long long>& into) {
    if (!PyTuple_Check(numbers)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(numbers); ++i) into.push_back(as_wide(PyTuple_GET_ITEM(numbers, i)));
    return !PyErr_Occurred();
}

// Read where an argument comes from: its letter, and the value beside it.
bool read_source(char letter, PyObject* value, ArgSource& source) {
    source.kind = ArgSource::Kind(letter);
    switch (source.kind) {
        case ArgSource::INPUT:
        case ArgSource::VALUE:
        case ArgSource::TEMPORARY: source.number = PyLong_AsSize_t(value); break;
        case ArgSource::INPUT_OFFSET:
            source.number = PyLong_AsSize_t(PyTuple_GET_ITEM(value, 0));
            source.numbers = {as_wide(PyTuple_GET_ITEM(value, 1))};
            break;
        case ArgSource::OUTPUT_OFFSET: source.numbers = {as_wide(value)}; break;
        case ArgSource::OPERANDS: return read_numbers(value, source.numbers);
        case ArgSource::LOOPS:
            return read_numbers(PyTuple_GET_ITEM(value, 0), source.numbers) && read_numbers(PyTuple_GET_ITEM(value, 1), source.starts);
        default: source.object = Ref::share(value);
    }
    return !PyErr_Occurred();
}

// Read the arguments of a launch; false also if there may be too many.
bool read_sources(PyObject* letters, PyObject* values, Step& step) {
    const char* kinds = PyUnicode_AsUTF8(letters);
    const Py_ssize_t count = PyTuple_GET_SIZE(values);
    if (!kinds || PyUnicode_GET_LENGTH(letters) != count) return false;
    step.args.resize(size_t(count));
    size_t most = size_t(count);
    for (size_t i = 0; i < size_t(count); ++i) {
        ArgSource& source = step.args[i];
        if (!read_source(kinds[i], PyTuple_GET_ITEM(values, Py_ssize_t(i)), source)) return false;
        most += source.kind == ArgSource::OPERANDS ? 2 * MOST_OPERANDS : source.numbers.size();
    }
    return most <= MOST_ARGUMENTS;
}

// Read how groups follow from the work; None if they are fixed.
bool read_share(PyObject* planned, Step& step) {
    if (planned == Py_None) return read_extents(step.groups.get(), step.local.get(), step.global, step.items, step.dimensions);
    const auto number = [planned](Py_ssize_t i) { return as_wide(PyTuple_GET_ITEM(planned, i)); };
    step.share = {number(0), number(1), number(2), number(3) != 0};
    step.items[0] = PyLong_AsSize_t(PyTuple_GET_ITEM(step.local.get(), 0));
    step.global[0] = 0;
    return !PyErr_Occurred();
}

Ref attribute(PyObject* of, const char* name) { return Ref::steal(PyObject_GetAttrString(of, name)); }

bool read_number(PyObject* from, const char* name, long long& number) {
    Ref value = attribute(from, name);
    if (value) number = as_wide(value.get());
    return value && !PyErr_Occurred();
}

// A `KernelStep` of clarray._engine.runtime.steps.
bool read_launch(PyObject* planned, PyObject* on, Step& step) {
    step.what = Step::LAUNCH;
    step.kernel = attribute(planned, "kernel");
    step.groups = attribute(planned, "groups");
    step.local = attribute(planned, "local");
    const Ref letters = attribute(planned, "letters"), args = attribute(planned, "args"), share = attribute(planned, "share");
    const Ref nbytes = attribute(planned, "nbytes"), inline_queue = attribute(on, "inline");
    if (!step.kernel || !step.groups || !step.local || !letters || !args || !share || !nbytes || !inline_queue) return false;
    if (inline_queue.get() != Py_None && !read_number(planned, "inline_bytes", step.inline_bytes)) return false;
    step.is_of_operands = nbytes.get() == Py_None;
    if (!step.is_of_operands) step.nbytes = as_wide(nbytes.get());
    return read_number(planned, "element_bytes", step.element_bytes) && read_sources(letters.get(), args.get(), step) &&
           read_share(share.get(), step);
}

// A `ReadStep`.
bool read_read(PyObject* planned, Step& step) {
    step.what = Step::READ;
    step.args.resize(1);
    step.offset = attribute(planned, "byte_offset");
    step.dtype = attribute(planned, "dtype");
    step.value = attribute(planned, "value");
    const Ref letter = attribute(planned, "letter"), memory = attribute(planned, "memory");
    const char* kind = letter ? PyUnicode_AsUTF8(letter.get()) : nullptr;
    return step.offset && step.dtype && step.value && memory && kind && read_source(kind[0], memory.get(), step.args[0]);
}

// A `HostStep`.
bool read_host(PyObject* planned, Step& step) {
    step.what = Step::HOST;
    step.call = attribute(planned, "call");
    const Ref letters = attribute(planned, "letters"), memories = attribute(planned, "memories");
    const Ref until_frequent = attribute(planned, "until_frequent");
    step.until_frequent = until_frequent.get() == Py_True;
    return step.call && until_frequent && letters && memories && read_sources(letters.get(), memories.get(), step);
}

// A `FillStep`.
bool read_fill(PyObject* planned, Step& step) {
    const Ref number = attribute(planned, "temporary");
    step.what = Step::FILL;
    step.args.resize(1);
    return number && read_source(ArgSource::TEMPORARY, number.get(), step.args[0]);
}

bool read_step(PyObject* planned, PyObject* on, Step& step) {
    const Ref name = attribute(planned, "kind");
    const char* kind = name ? PyUnicode_AsUTF8(name.get()) : nullptr;
    if (!kind) return false;
    switch (kind[0]) {
        case 'l': return read_launch(planned, on, step);
        case 'h': return read_host(planned, step);
        case 'r': return read_read(planned, step);
        case 'f': return read_fill(planned, step);
        default: step.what = Step::WAIT; return true;
    }
}

void fill_value(PyObject* of, ResultSpec& made) {
    made.shape = Ref::share(node.shape.of(of));
    made.dtype = Ref::share(node.dtype.of(of));
    made.size = Ref::share(node.size.of(of));
    made.signature = Ref::share(node.sig.of(of));
}

// Read a leaf or an index.
void fill_leaf(PyObject* leaf, ResultSpec& made) {
    fill_value(leaf, made);
    made.strides = Ref::share(node.strides.of(leaf));
    made.offset = Ref::share(node.offset.of(leaf));
    if (node.memory.of(leaf) == Py_None) return;
    made.contiguous = node.contiguous.of(leaf) == Py_True;
}

// Whether there are other views of a memory than a leaf, and whether that is one.
void look_for_views(PyObject* in, PyObject* leaf, ResultSpec& made) {
    Ref views = Ref::share(memory.views.of(in));
    for (Py_ssize_t i = 0; views.get() != Py_None && i < PyList_GET_SIZE(views.get()); ++i) {
        Ref view = referent_of(PyList_GET_ITEM(views.get(), i));
        if (view) (view.get() == leaf ? made.is_view : made.has_others) = true;
    }
}

// Read a leaf in a temporary; false for any other.
bool read_leaf(PyObject* capture, PyObject* leaf, ResultSpec& made) {
    static PyObject* const place = PyUnicode_InternFromString("temporary_number");
    PyObject* in = node.memory.of(leaf);
    if (in == Py_None || as_long(node.flags.of(leaf)) || memory.shared.of(in) == Py_True) return false;
    Ref number = Ref::steal(PyObject_CallMethodOneArg(capture, place, in));
    const long long temporary = number ? as_wide(number.get()) : -1;
    if (temporary < 0) return false;
    made.kind = 't';
    made.number = size_t(temporary);
    look_for_views(in, leaf, made);
    if (memory.facts.of(in) != Py_None) made.facts = Ref::steal(PyDict_Copy(memory.facts.of(in)));
    fill_leaf(leaf, made);
    return true;
}

// Whether a memory has values that follow from the signature: see `Capture.uploaded`. False, too, after an error.
bool is_constant(PyObject* capture, PyObject* in) {
    static PyObject* const name = PyUnicode_InternFromString("is_constant");
    const Ref is = Ref::steal(PyObject_CallMethodOneArg(capture, name, in));
    return is && is.get() == Py_True;
}

// Read a node of a pending result, its operands first; false if it cannot be grown again.
bool read_grown(PyObject* capture, PyObject* of, const CallSignature& call, Program& program, std::vector<Ref>& known, size_t& number) {
    constexpr size_t MOST_NODES = 48;
    for (number = 0; number < known.size(); ++number)
        if (known[number].get() == of) return true;
    if (known.size() == MOST_NODES) return false;
    ExprSpec grown{};
    PyObject *in = node.memory.of(of), *args = node.args.of(of), *operation = node.op.of(of);
    for (size_t i = 0; i < call.arrays.size() && !grown.kind; ++i)
        if (call.values[i].get() == of) grown.kind = 'o', grown.number = i;
    if (!grown.kind && in != Py_None) {
        grown.flags = Ref::share(node.flags.of(of));
        for (size_t i = 0; i < call.memories.size() && !grown.kind; ++i)
            if (call.memories[i].get() == in) grown.kind = 'm', grown.number = i;
        if (!grown.kind && is_constant(capture, in)) {
            grown.kind = 'k';
            grown.value = Ref::share(in);
        }
        if (PyErr_Occurred()) return false;
        if (!grown.kind) {
            if (!read_leaf(capture, of, grown.leaf)) return false;
            grown.kind = 't';
            grown.number = grown.leaf.number;
        }
        fill_leaf(of, grown.leaf);
    } else if (!grown.kind && operation == python.const_op) {
        if (Py_TYPE(of) == known_type) return false;
        grown.kind = 'c';
        grown.value = Ref::share(node.value.of(of));
        grown.leaf.dtype = Ref::share(node.dtype.of(of));
    } else if (!grown.kind && operation == python.index_op) {
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
            if (!read_grown(capture, PyTuple_GET_ITEM(args, i), call, program, known, grown.args[size_t(i)])) return false;
    }
    number = known.size();
    known.push_back(Ref::share(of));
    program.grown.push_back(std::move(grown));
    return true;
}

// Read an array on the memory of an argument, as NumPy's views are; false for any other.
bool read_view(PyObject* object, const CallSignature& call, ResultSpec& made) {
    PyObject *base = array.base.of(object), *leaf = array.node.of(object), *in = node.memory.of(leaf);
    if (base == Py_None || as_long(node.flags.of(leaf)) || memory.shared.of(in) == Py_True) return false;
    for (size_t i = 0; i < call.arrays.size(); ++i) {
        PyObject* const whole = array.base.of(call.arrays[i]);
        if (base != (whole == Py_None ? call.arrays[i] : whole)) continue;
        made.viewed = i;
        for (made.number = 0; made.number < call.memories.size(); ++made.number) {
            if (call.memories[made.number].get() != in) continue;
            made.kind = 'w';
            fill_leaf(leaf, made);
            return true;
        }
    }
    return false;
}

// Read a host scalar that a step computes; false for any other.
bool read_scalar(PyObject* capture, PyObject* of, ResultSpec& made) {
    static PyObject* const scalar_temporary = PyUnicode_InternFromString("scalar_temporary");
    const Ref number = Ref::steal(PyObject_CallMethodOneArg(capture, scalar_temporary, of));
    const long long temporary = number ? as_wide(number.get()) : -1;
    if (temporary < 0) return false;
    static PyObject* const zero = PyLong_FromLong(0);
    made.kind = 'h';
    made.number = size_t(temporary);
    fill_value(of, made);
    made.strides = Ref::share(empty_tuple);
    made.offset = Ref::share(zero);
    made.signature = Ref::share(leaf_signature(node.dtype.of(of)));
    return bool(made.signature);
}

bool read_made(PyObject* capture, PyObject* object, const CallSignature& call, Program& program, std::vector<Ref>& known, ResultSpec& made) {
    for (size_t i = 0; i < call.arrays.size(); ++i) {
        if (call.arrays[i] != object) continue;
        made.kind = 'g';
        made.number = i;
        return true;
    }
    if (Py_TYPE(object) == array_type) {
        if (!has_node(object) || array.no_number.of(object)) return false;
        if (Py_TYPE(array.node.of(object)) == known_type && node.memory.of(array.node.of(object)) == Py_None)
            return array.base.of(object) == Py_None && read_scalar(capture, array.node.of(object), made);
        if (node.memory.of(array.node.of(object)) == Py_None) {
            made.kind = 'p';
            return array.base.of(object) == Py_None && read_grown(capture, array.node.of(object), call, program, known, made.number);
        }
        if (read_view(object, call, made)) return true;
        if (!read_leaf(capture, array.node.of(object), made)) return false;
        PyObject* base = array.base.of(object);
        if (base == Py_None) return true;
        // the base is an array over the same memory that nothing else refers to
        if (Py_TYPE(base) != array_type || Py_REFCNT(base) > 1 || array.base.of(base) != Py_None) return false;
        PyObject* seen = array.node.of(base);
        if (node.memory.of(seen) != node.memory.of(array.node.of(object))) return false;
        made.base = std::make_shared<ResultSpec>();
        made.base->kind = 't';
        made.base->number = made.number;
        fill_leaf(seen, *made.base);
        return !as_long(node.flags.of(seen));
    }
    made.kind = 'v';
    made.value = Ref::share(object);
    return object == Py_None || PyBool_Check(object) || PyLong_CheckExact(object);
}

bool read_result(PyObject* capture, PyObject* result, const CallSignature& call, Program& program) {
    std::vector<Ref> known;
    const bool is_named = PyTuple_Check(result) && !PyTuple_CheckExact(result) && PyObject_HasAttrString(result, "_fields");
    program.container = is_named ? 'n' : PyTuple_CheckExact(result) ? '(' : PyList_CheckExact(result) ? '[' : '1';
    if (is_named) program.container_type = Ref::share(reinterpret_cast<PyObject*>(Py_TYPE(result)));
    if (program.container == '1') {
        program.made.resize(1);
        return read_made(capture, result, call, program, known, program.made[0]);
    }
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(result);
    program.made.resize(size_t(count));
    for (Py_ssize_t i = 0; i < count; ++i)
        if (!read_made(capture, PySequence_Fast_GET_ITEM(result, i), call, program, known, program.made[size_t(i)])) return false;
    return true;
}

// Read the numbers of the inputs that the call has overwritten.
bool read_written(PyObject* capture, Program& program) {
    Ref written = Ref::steal(PyObject_GetAttrString(capture, "written"));
    if (!written) return false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(written.get()); ++i)
        program.written.push_back(PyLong_AsSize_t(PyList_GET_ITEM(written.get(), i)));
    return !PyErr_Occurred();
}

// Whether a program does not depend on what pending operands are made of: it grows loops and reductions from them.
bool is_of_opaque(const Program& program) {
    for (const ExprSpec& grown : program.grown)
        if (grown.kind == 'x' || (grown.kind == 'p' && Py_TYPE(grown.operation.get()) == transform_type)) return false;
    return program.steps.empty();
}

}  // namespace

bool read_steps(PyObject* planned, PyObject* on, Program& program) {
    Ref temporaries = Ref::steal(PyObject_GetAttrString(planned, "temporaries"));
    Ref steps = Ref::steal(PyObject_GetAttrString(planned, "steps"));
    if (!temporaries || !steps || !read_pool(on, program.pool)) return false;
    const Ref bytes = Ref::steal(PySequence_Fast(temporaries.get(), "temporaries")), all = Ref::steal(PySequence_Fast(steps.get(), "steps"));
    if (!bytes || !all) return false;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(bytes.get()); ++i)
        program.temporaries.push_back(as_wide(PySequence_Fast_GET_ITEM(bytes.get(), i)));
    program.steps.resize(size_t(PySequence_Fast_GET_SIZE(all.get())));
    for (size_t i = 0; i < program.steps.size(); ++i)
        if (!read_step(PySequence_Fast_GET_ITEM(all.get(), Py_ssize_t(i)), on, program.steps[i])) return false;
    return !PyErr_Occurred();
}

void find_lives(Program& program) {
    const size_t none = size_t(-1);
    std::vector<size_t> first(program.temporaries.size(), none), last = first;
    for (size_t at = 0; at < program.steps.size(); ++at)
        for (const ArgSource& from : program.steps[at].args) {
            if (from.kind != ArgSource::TEMPORARY) continue;
            if (first[from.number] == none) first[from.number] = at;
            last[from.number] = at;
        }
    for (const ResultSpec& made : program.made)
        if (made.kind == 't' || made.kind == 'h') last[made.number] = none;
    for (const ExprSpec& grown : program.grown)
        if (grown.kind == 't') last[grown.number] = none;
    for (size_t number = 0; number < first.size(); ++number) {
        if (first[number] != none) program.steps[first[number]].takes.push_back(number);
        if (last[number] != none) program.steps[last[number]].drops.push_back(number);
    }
}

std::shared_ptr<Program> read_call(PyObject* capture, PyObject* result, const CallSignature& call, bool repeatable) {
    auto made = std::make_shared<Program>();
    if (!read_result(capture, result, call, *made) || !read_steps(capture, call.device, *made)) return nullptr;
    if (call.has_opaque && !is_of_opaque(*made)) return nullptr;
    bool is_guarded = false;
    for (const Step& step : made->steps) {
        made->until_frequent = made->until_frequent || step.until_frequent;
        is_guarded = is_guarded || step.what == Step::READ || step.what == Step::HOST;
    }
    if (!read_written(capture, *made)) return nullptr;
    if (!made->written.empty() && is_guarded && (!repeatable || call.is_aliased())) return nullptr;
    find_lives(*made);
    return made;
}

std::shared_ptr<Program> read_evaluation(PyObject* capture, const std::vector<Ref>& nodes, const CallSignature& call) {
    auto made = std::make_shared<Program>();
    for (size_t place = 0; place < nodes.size(); ++place) {
        PyObject* of = nodes[place].get();
        if (!of || node.memory.of(of) == Py_None) continue;
        made->made.emplace_back();
        if (!read_leaf(capture, of, made->made.back())) return nullptr;
        made->made.back().pending = place;
    }
    if (!read_steps(capture, call.device, *made) || !read_written(capture, *made)) return nullptr;
    if (made->made.empty() && made->written.empty()) return nullptr;
    const auto may_refuse = [](const Step& step) { return step.what == Step::READ || step.what == Step::HOST; };
    if (!made->written.empty() && std::any_of(made->steps.begin(), made->steps.end(), may_refuse)) return nullptr;
    find_lives(*made);
    return made;
}

bool takes_constants(const Program& program, size_t count) {
    std::vector<bool> taken(count);
    for (const Step& step : program.steps)
        for (const ArgSource& from : step.args)
            if (from.kind == ArgSource::VALUE) taken[from.number] = true;
    return std::find(taken.begin(), taken.end(), false) == taken.end();
}

}  // namespace clarray
