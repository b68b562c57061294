// The executor: runs the steps of a program.
#include "program.hpp"

#include <algorithm>

namespace clarray {

namespace {

// The memory and the number of a launch that has one, as `LaunchEpoch` in clarray._engine.runtime.steps.
struct Epoch {
    Ref memory, number;
};

bool next_epoch(const Step& step, Epoch& epoch) {
    for (const ArgSource& from : step.args) {
        if (from.kind != ArgSource::EPOCH_NUMBER) continue;
        Ref both = Ref::steal(PyObject_CallNoArgs(from.object.get()));
        if (!both) return false;
        epoch.memory = Ref::share(PyTuple_GET_ITEM(both.get(), 0));
        epoch.number = Ref::steal(PyLong_FromLongLong(as_wide(PyTuple_GET_ITEM(both.get(), 1))));
        return bool(epoch.number);
    }
    return true;
}

// The arguments of a launch.
struct Arguments {
    Argument list[MOST_ARGUMENTS];
    size_t count = 0;

    void add_memory(PyObject* of) { list[count++] = {of, 0, true}; }
    void add(PyObject* number) { list[count++] = {number, 0, false}; }
    void add(long long number) { list[count++] = {nullptr, number, false}; }
};

void bind_operands(const ArgSource& from, const Operands& operands, Arguments& to) {
    std::copy(operands.arguments, operands.arguments + operands.count, to.list + to.count);
    size_t at = to.count;
    to.count += operands.count;
    if (from.numbers.empty()) return;
    size_t number = 0;
    for (size_t i = 0; i < operands.distinct; ++i) {
        const bool is_memory = to.list[at].is_buffer;  // as it was when the key was made
        if (is_memory && number < from.numbers.size()) to.list[at + 1].number += from.numbers[number++];
        at += is_memory ? 2 : 1;
    }
}

// Where the operands' steps do not follow from the extents, they are those that the program was planned for.
void bind_loops(const ArgSource& from, const Operands& operands, Arguments& to) {
    Argument* const loops = to.list + to.count;
    for (long long number : from.numbers) to.add(number);
    if (!operands.extents) return;
    loops[0].number = operands.rows;
    for (size_t loop = 0; loop < operands.extents; ++loop) loops[1 + loop].number = operands.extent[loop];
    const size_t output = from.starts.size() - 1;
    for (size_t i = 0; operands.follow >> i; ++i) {
        if (!(operands.follow >> i & 1)) continue;
        long long step = 1;
        for (size_t loop = 1; loop < operands.extents; ++loop) {
            step *= operands.extent[loop - 1];
            loops[size_t(from.starts[i ? i - 1 : output]) + loop - 1].number = step;
        }
    }
}

PyObject* memory_of(const ArgSource& from, const Frame& frame) {
    switch (from.kind) {
        case ArgSource::INPUT: return (*frame.inputs)[from.number].get();
        case ArgSource::TEMPORARY: return frame.temporaries[from.number].get();
        case ArgSource::OUTPUT: return frame.output;
        default: return from.object.get();
    }
}

void bind(const ArgSource& from, const Frame& frame, const Epoch& epoch, Arguments& to) {
    switch (from.kind) {
        case ArgSource::INPUT:
        case ArgSource::TEMPORARY:
        case ArgSource::PERSISTENT:
        case ArgSource::OUTPUT: return to.add_memory(memory_of(from, frame));
        case ArgSource::VALUE: return to.add(node.value.of((*frame.constants)[from.number].get()));
        case ArgSource::NUMBER: return to.add(from.object.get());
        case ArgSource::EPOCH_MEMORY: return to.add_memory(epoch.memory.get());
        case ArgSource::EPOCH_NUMBER: return to.add(epoch.number.get());
        case ArgSource::INPUT_OFFSET: return to.add(from.numbers[0] + (*frame.offsets)[from.number]);
        case ArgSource::OUTPUT_OFFSET: return to.add(from.numbers[0] + frame.output_offset);
        case ArgSource::SIZE: return to.add(frame.size);
        case ArgSource::LENGTH: return to.add(frame.length);
        case ArgSource::OPERANDS: return bind_operands(from, *frame.operands, to);
        case ArgSource::LOOPS: return bind_loops(from, *frame.operands, to);
    }
}

// As `groups` in clarray._engine.fused.elementwise.plan; `nbytes` are those of the launch.
size_t group_count(const Step& step, const Frame& frame, long long nbytes) {
    const WorkShare& share = step.share;
    const auto in_units = [&share](long long elements) { return (elements + share.unit - 1) / share.unit; };
    const Operands& operands = *frame.operands;
    const long long units = operands.extents ? operands.rows * in_units(operands.extent[0]) : in_units(frame.size);
    const long long items = (long long)step.items[0];
    const long long count = share.chunked ? std::min({share.most_groups, units, nbytes / share.chunk_bytes})
                                          : std::min({share.most_groups, (units + items - 1) / items, (1LL << 31) / items - 1});
    return size_t(std::max(1LL, count));
}

// The groups of one launch, and what Python would report of it. A re-entrant run may divide the same step for other work.
struct Division {
    size_t global[MOST_DIMENSIONS];
    Ref noted;
};

// Divide the work of a launch. The last division is kept with the step, all of it at once; false after an error.
bool divide(Step& step, const Frame& frame, long long nbytes, Division& division) {
    std::copy(step.global, step.global + step.dimensions, division.global);
    if (step.share.unit) division.global[0] = group_count(step, frame, nbytes) * step.items[0];
    if (step.noted && division.global[0] == step.global[0] && step.nbytes == nbytes) {
        division.noted = Ref::share(step.noted.get());
        return true;
    }
    const Ref groups = step.share.unit ? Ref::steal(Py_BuildValue("(n)", Py_ssize_t(division.global[0] / step.items[0]))) : Ref::share(step.groups.get());
    const Ref bytes = Ref::steal(PyLong_FromLongLong(nbytes));
    division.noted = groups && bytes ? Ref::steal(PyTuple_Pack(4, step.kernel.get(), groups.get(), step.local.get(), bytes.get())) : Ref();
    if (!division.noted) return false;
    step.global[0] = division.global[0];
    step.nbytes = nbytes;
    step.noted = Ref::share(division.noted.get());
    return true;
}

Outcome launch_by_python(const Step& step, const Arguments& arguments) {
    static PyObject* const launch = PyUnicode_InternFromString("launch");
    Ref args = Ref::steal(PyList_New(Py_ssize_t(arguments.count)));
    for (size_t i = 0; args && i < arguments.count; ++i) {
        const Argument& each = arguments.list[i];
        PyObject* const arg = each.is_buffer ? Py_NewRef(memory.buffer.of(each.object))
                              : each.object  ? Py_NewRef(each.object)
                                             : PyLong_FromLongLong(each.number);
        if (!arg) return Outcome::FAILED;
        PyList_SET_ITEM(args.get(), Py_ssize_t(i), arg);
    }
    Ref nbytes = args ? Ref::steal(PyLong_FromLongLong(step.nbytes)) : Ref();
    if (!nbytes) return Outcome::FAILED;
    PyObject* const in_line = step.nbytes <= step.inline_bytes ? Py_True : Py_False;
    PyObject* given[] = {step.kernel.get(), step.groups.get(), step.local.get(), args.get(), in_line, nbytes.get()};
    return Ref::steal(PyObject_VectorcallMethod(launch, given, 6, nullptr)) ? Outcome::DONE : Outcome::FAILED;
}

Outcome launch(Step& step, const Frame& frame, Refused refused) {
    Arguments arguments;
    Epoch epoch;
    if (!next_epoch(step, epoch)) return Outcome::FAILED;
    for (const ArgSource& from : step.args) bind(from, frame, epoch, arguments);
    const long long nbytes = step.element_bytes ? step.element_bytes * frame.size : step.is_of_operands ? frame.operands->nbytes : step.nbytes;
    Division division;
    if (!divide(step, frame, nbytes, division)) return Outcome::FAILED;
    const bool in_line = nbytes <= step.inline_bytes;
    const Run run{step.kernel.get(), step.local.get(), in_line, in_line ? &step.seen_inline : &step.seen_main,
                  division.noted.get(), nbytes, step.dimensions, division.global, step.items};
    const bool by_core = refused == Refused::FALLBACK || can_launch(frame.device);
    const Outcome done = by_core ? enqueue_run(run, frame.device, arguments.list, arguments.count) : Outcome::FALLBACK;
    return done == Outcome::FALLBACK && refused == Refused::BY_PYTHON ? launch_by_python(step, arguments) : done;
}

// Read a value that the program was captured with; FALLBACK where it is another one now.
Outcome check(const Step& step, const Frame& frame) {
    static PyObject* const read = PyUnicode_InternFromString("read_scalar");
    PyObject* given[] = {frame.device, memory_of(step.args[0], frame), step.offset.get(), step.dtype.get()};
    Ref value = Ref::steal(PyObject_VectorcallMethod(read, given, 4, nullptr));
    const int same = value ? PyObject_RichCompareBool(value.get(), step.value.get(), Py_EQ) : -1;
    if (same) return same < 0 ? Outcome::FAILED : Outcome::DONE;
    if (step.args[0].kind != ArgSource::PERSISTENT) return Outcome::FALLBACK;
    return fill_zero(given[1], frame.device) == Outcome::DONE ? Outcome::FALLBACK : Outcome::FAILED;  // zero between launches
}

Outcome wait(PyObject* on) {
    static PyObject* const synchronize = PyUnicode_InternFromString("synchronize");
    if (wait_for(on) == Outcome::DONE) return Outcome::DONE;
    return Ref::steal(PyObject_CallMethodNoArgs(on, synchronize)) ? Outcome::DONE : Outcome::FAILED;
}

// Call a function on the host; FALLBACK where it refuses.
Outcome call_host(const Step& step, const Frame& frame, Program& program) {
    if (wait(frame.device) != Outcome::DONE) return Outcome::FAILED;
    std::vector<PyObject*> given;
    for (const ArgSource& from : step.args) given.push_back(memory_of(from, frame));
    const Ref done = Ref::steal(PyObject_Vectorcall(step.call.get(), given.data(), given.size(), nullptr));
    if (!done) return Outcome::FAILED;
    program.is_stale = program.is_stale || done.get() == Py_None;
    return done.get() == Py_True ? Outcome::DONE : Outcome::FALLBACK;
}

Outcome run_step(Program& program, Step& step, Frame& frame, Refused refused) {
    switch (step.what) {
        case Step::LAUNCH: return launch(step, frame, refused);
        case Step::HOST: return call_host(step, frame, program);
        case Step::READ: return check(step, frame);
        case Step::FILL: return fill_zero(memory_of(step.args[0], frame), frame.device);
        default: return wait(frame.device);
    }
}

}  // namespace

bool take_temporary(Program& program, Frame& frame, size_t number) {
    Ref& memory = frame.temporaries[number];
    if (!memory) memory = allocate(program.pool, frame.device, program.temporaries[number]);
    return bool(memory);
}

Outcome run(Program& program, Frame& frame, Refused refused) {
    frame.temporaries.resize(program.temporaries.size());
    for (Step& step : program.steps) {
        for (size_t number : step.takes)
            if (!take_temporary(program, frame, number)) return Outcome::FAILED;
        const Outcome done = run_step(program, step, frame, refused);
        if (done != Outcome::DONE) return done;
        for (size_t number : step.drops) frame.temporaries[number] = {};
    }
    return Outcome::DONE;
}

}  // namespace clarray
