// From a pending elementwise expression to memory: the twin of `evaluate` in clarray._engine.evaluate.
#include "places.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>

namespace clarray {

namespace {

// The launches prepared for one device, by structure and layout. Python keeps the object beside what it has prepared
// itself, and drops both together.
using Table = std::unordered_map<std::string, std::shared_ptr<Prepared>>;
struct Launches {
    PyObject_HEAD
    PyObject* device;  // borrowed: the key under which it is found
    Table* table;
    long long reduce_below;  // the length from which on an axis is reduced by launches of its own
};

std::unordered_map<PyObject*, Launches*> launches_of;
PyTypeObject* launches_type = nullptr;
constexpr size_t MOST_LAUNCHES = 8192;
constexpr size_t MOST_OPERANDS = 40;  // more than a tree of the greatest cost has
constexpr size_t MOST_ARGUMENTS = 256;

// The operands of one kernel, each once, and the key of its launch.
struct Operands {
    Argument arguments[MOST_ARGUMENTS];
    size_t count = 0;
    PyObject* nodes[MOST_OPERANDS];
    size_t distinct = 0;
    std::string key;
    PyObject* device = nullptr;
    bool flat = true;
    long long nbytes = 0;  // of what a reduction reads

    void add(long long number) { arguments[count++] = {nullptr, number, false}; }
    void add_buffer(PyObject* of) { arguments[count++] = {memory.handle.of(of), 0, true}; }
};

template <typename Number>
void append(std::string& key, Number number) {
    key.append(reinterpret_cast<const char*>(&number), sizeof number);
}

long long itemsize_of(PyObject* dtype) {
    static std::unordered_map<PyObject*, long long> known;  // dtypes live for good: they are those of the tables
    const auto found = known.find(dtype);
    if (found != known.end()) return found->second;
    Ref size = Ref::steal(PyObject_GetAttrString(dtype, "itemsize"));
    if (!size) return -1;
    return known[Py_NewRef(dtype)] = as_wide(size.get());
}

void append_shape(std::string& key, PyObject* shape) {
    const Py_ssize_t ndim = PyTuple_GET_SIZE(shape);
    append(key, ndim);
    for (Py_ssize_t axis = 0; axis < ndim; ++axis) append(key, as_wide(PyTuple_GET_ITEM(shape, axis)));
}

// How the elements of an operand lie; strides of axes of one element tell nothing.
void append_place(std::string& key, PyObject* operand) {
    PyObject *shape = node.shape.of(operand), *strides = node.strides.of(operand);
    const Py_ssize_t ndim = PyTuple_GET_SIZE(shape);
    append(key, ndim);
    for (Py_ssize_t axis = 0; axis < ndim; ++axis) {
        const long long extent = as_wide(PyTuple_GET_ITEM(shape, axis));
        append(key, extent);
        append(key, extent == 1 ? 0LL : as_wide(PyTuple_GET_ITEM(strides, axis)));
    }
}

constexpr long long ALIGNMENT = 16;

// What a weak reference refers to; empty where that is gone.
Ref referent_of(PyObject* reference) {
#if PY_VERSION_HEX >= 0x030D0000
    PyObject* found = nullptr;
    PyWeakref_GetRef(reference, &found);
    return Ref::steal(found);
#else
    PyObject* found = PyWeakref_GetObject(reference);
    return found == Py_None ? Ref() : Ref::share(found);
#endif
}

bool is_aligned(PyObject* operand, long long itemsize) { return as_wide(node.offset.of(operand)) * itemsize % ALIGNMENT == 0; }

// Whether a constant is no device's, or of the only one that is known of so far.
bool is_at_home(PyObject* constant, Operands& found) {
    if (Py_TYPE(constant) != known_type) return true;
    PyObject* on = known.device.of(constant);
    if (found.device && found.device != on) return false;
    found.device = on;
    return true;
}

// Look at what an expression reads; RARE where something else than memory and constants is among it.
Outcome look_at(PyObject* root, PyObject* inputs, Operands& found) {
    static Reference* const marker = reference_of("CONST");
    PyObject* shape = node.shape.of(root);
    std::string& key = found.key;
    append(key, as_long(node.sig.of(root)));
    bool aligned = true;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); ++i) {
        PyObject* operand = PyTuple_GET_ITEM(inputs, i);
        size_t number = 0;
        while (number < found.distinct && found.nodes[number] != operand) ++number;
        if (number < found.distinct) {
            key.push_back(char(number));
            continue;
        }
        if (found.distinct == MOST_OPERANDS) return Outcome::RARE;
        found.nodes[found.distinct++] = operand;
        PyObject* of = node.memory.of(operand);
        if (of == Py_None) {
            if (node.op.of(operand) != marker->function || !is_at_home(operand, found)) return Outcome::RARE;
            PyObject* value = node.value.of(operand);
            if (!PyFloat_CheckExact(value) && !PyLong_CheckExact(value)) return Outcome::RARE;
            key.push_back('c');
            found.arguments[found.count++] = {value, 0, false};
            continue;
        }
        if (found.device && memory.device.of(of) != found.device) return Outcome::RARE;
        found.device = memory.device.of(of);
        const long long itemsize = itemsize_of(node.dtype.of(operand));
        const bool whole = node.contiguous.of(operand) == Py_True && is_same_shape(node.shape.of(operand), shape);
        const bool single = !whole && as_wide(node.size.of(operand)) == 1;
        key.push_back(whole ? 'u' : single ? 'z' : 's');
        if (!whole && !single) found.flat = false;
        if (!is_aligned(operand, itemsize)) aligned = false;
        found.add_buffer(of);
        found.add(as_wide(node.offset.of(operand)));
    }
    key.push_back(aligned ? 'a' : 'o');
    if (PyErr_Occurred()) return Outcome::FAILED;
    return found.device ? Outcome::DONE : Outcome::RARE;
}

// How the output lies, where it is not memory of its own.
void append_target(Operands& found, const Place& target, long long itemsize) {
    found.key.push_back(target.offset * itemsize % ALIGNMENT ? 'O' : 'A');
    if (found.flat) return;
    for (Py_ssize_t axis = 0; axis < target.ndim; ++axis) append(found.key, target.shape[axis] == 1 ? 0LL : target.strides[axis]);
}

// The rest of the key, where loops go over strides: everything that they are made of.
void append_layout(PyObject* root, Operands& found) {
    PyObject* shape = node.shape.of(root);
    append_shape(found.key, shape);
    for (size_t i = 0; i < found.distinct; ++i)
        if (node.memory.of(found.nodes[i]) != Py_None) append_place(found.key, found.nodes[i]);
}

std::shared_ptr<Prepared> prepared_for(const Operands& found) {
    const auto of = launches_of.find(found.device);
    if (of == launches_of.end()) return nullptr;
    const auto at = of->second->table->find(found.key);
    return at == of->second->table->end() ? nullptr : at->second;
}

bool read_number(PyObject* from, const char* name, long long& number) {
    Ref found = Ref::steal(PyObject_GetAttrString(from, name));
    if (found) number = as_wide(found.get());
    return found && !PyErr_Occurred();
}

bool read_object(PyObject* from, const char* name, Ref& object) {
    object = Ref::steal(PyObject_GetAttrString(from, name));
    return bool(object);
}

bool read_numbers(PyObject* from, const char* name, std::vector<long long>& numbers) {
    Ref found;
    if (!read_object(from, name, found)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(found.get()); ++i) numbers.push_back(as_wide(PyTuple_GET_ITEM(found.get(), i)));
    return !PyErr_Occurred();
}

// What Python says of a launch, a CoreLaunch, is kept under the key of the operands; RARE where it has none for the core.
Outcome keep(Ref said, const Operands& found) {
    if (!said) return Outcome::FAILED;
    if (said.get() == Py_None) return Outcome::RARE;
    auto made = std::make_shared<Prepared>();
    Prepared& p = *made;
    PyObject* from = said.get();
    long long chunked, has_inline, contiguous;
    const bool whole =
        read_object(from, "kernel", p.kernel) && read_object(from, "bins", p.bins) && read_object(from, "local", p.local) &&
        read_object(from, "strides", p.out_strides) && read_number(from, "contiguous", contiguous) &&
        read_number(from, "chunked", chunked) && read_number(from, "has_inline", has_inline) &&
        read_number(from, "vector", p.vector) && read_number(from, "groups", p.groups) &&
        read_number(from, "most_size", p.most_size) && read_number(from, "element_bytes", p.element_bytes) &&
        read_number(from, "nbytes", p.nbytes) && read_number(from, "most_groups", p.most_groups) &&
        read_number(from, "chunk_bytes", p.chunk_bytes) && read_number(from, "work_group", p.work_group) &&
        read_number(from, "inline_bytes", p.inline_bytes) && read_number(from, "global_bytes", p.global_bytes) &&
        read_number(from, "out_shift", p.out_shift) && read_numbers(from, "shifts", p.shifts) &&
        read_numbers(from, "sizes", p.sizes) && read_numbers(from, "states", p.states) && read_numbers(from, "lengths", p.lengths) && read_object(from, "counters", p.counters);
    if (!whole) return Outcome::FAILED;
    p.chunked = chunked;
    p.has_inline = has_inline;
    p.out_contiguous = contiguous;
    const auto of = launches_of.find(found.device);
    if (of == launches_of.end() || found.count + 4 + p.sizes.size() + p.states.size() > MOST_ARGUMENTS) return Outcome::RARE;
    Table dropped;  // at the end: that may run anything
    if (of->second->table->size() >= MOST_LAUNCHES) dropped.swap(*of->second->table);
    of->second->table->emplace(found.key, std::move(made));
    return Outcome::DONE;
}

// Have Python prepare the launch that computes a node.
Outcome prepare(PyObject* root, PyObject* offset, PyObject* strides, const Operands& found) {
    static Reference* const ask = reference_of("elementwise_for_core");
    return keep(Ref::steal((*ask)(found.device, root, offset, strides, found.flat ? Py_True : Py_False)), found);
}

Outcome prepare_reduction(PyObject* root, bool run, const Operands& found) {
    static Reference* const ask = reference_of("reduction_for_core");
    return keep(Ref::steal((*ask)(found.device, root, run ? Py_True : Py_False)), found);
}

// Add to where the inputs begin what Python says that their loops begin at.
void shift_inputs(const Prepared& p, Operands& found) {
    if (p.shifts.empty()) return;
    size_t number = 0;
    for (size_t i = 0, at = 0; i < found.distinct; ++i) {
        const bool placed = node.memory.of(found.nodes[i]) != Py_None;
        if (placed) found.arguments[at + 1].number += p.shifts[number++];
        at += placed ? 2 : 1;
    }
}

// Add what comes after the inputs to the arguments: the output, and what the loops go by.
void finish_arguments(const Prepared& p, Operands& found, PyObject* out_memory, long long out_offset, long long size) {
    found.add_buffer(out_memory);
    found.add(out_offset + p.out_shift);
    if (p.vector) found.add(size);
    for (long long number : p.sizes) found.add(number);
}

Ref contiguous_strides(PyObject* shape) {
    static PyObject* const one = Py_BuildValue("(i)", 1);
    const Py_ssize_t ndim = PyTuple_GET_SIZE(shape);
    if (ndim == 1) return Ref::share(one);
    Ref strides = Ref::steal(PyTuple_New(ndim));
    long long step = 1;
    for (Py_ssize_t axis = ndim - 1; strides && axis >= 0; --axis) {
        PyTuple_SET_ITEM(strides.get(), axis, PyLong_FromLongLong(step));
        step *= std::max(1LL, as_wide(PyTuple_GET_ITEM(shape, axis)));
    }
    return strides;
}

PyObject* leaf_signature(PyObject* dtype) {
    static Reference* const ask = reference_of("leaf_signature");
    static std::unordered_map<PyObject*, PyObject*> known;
    const auto found = known.find(dtype);
    if (found != known.end()) return found->second;
    PyObject* number = (*ask)(dtype);
    if (number) known[Py_NewRef(dtype)] = number;
    return number;
}

// Let what was grown from a node read the memory that it has become; once more where that is interrupted, since it
// would go on reading what the node was made of, which may change.
bool pass_memory_on(PyObject* readers, PyObject* in) {
    static Reference* const pass_on = reference_of("pass_on");
    if (Ref::steal((*pass_on)(readers, in))) return true;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (!Ref::steal((*pass_on)(readers, in))) PyErr_Clear();
    PyErr_Restore(type, value, trace);
    return false;
}

// As `Node.become_leaf`, and passing the memory on to what was grown from the node meanwhile.
bool become_leaf(PyObject* of, PyObject* in, const Prepared& p) {
    static Reference* const graph_lock = reference_of("graph_lock");
    static PyObject* const zero = PyLong_FromLong(0);
    PyObject* signature = leaf_signature(node.dtype.of(of));
    Ref strides = p.vector ? contiguous_strides(node.shape.of(of)) : Ref::share(p.out_strides.get());
    if (!signature || !strides) return false;
    Ref args, inputs;  // dropped last: that runs Python
    Ref readers;
    {
        const Held held(graph_lock->function);  // whoever grew it may be about to grow it again
        if (!held) return false;
        readers = Ref::share(node.readers.of(of));
        args = Ref::share(node.args.of(of));
        inputs = Ref::share(node.inputs.of(of));
        node.offset.set(of, zero);
        node.strides.put(of, strides.release());
        node.contiguous.set(of, p.out_contiguous ? Py_True : Py_False);
        node.memory.set(of, in);
        node.op.set(of, Py_None);
        node.args.set(of, empty_tuple);
        node.cost.set(of, memory.cost.of(in));
        node.flags.set(of, zero);
        node.sig.set(of, signature);
        node.inputs.set(of, empty_tuple);
        node.readers.set(of, memory.readers.of(in));
    }
    return PyList_GET_SIZE(readers.get()) == 0 || pass_memory_on(readers.get(), in);
}

// Compute a node with the device's lock held.
Outcome compute(PyObject* root, Operands& found) {
    if (!can_launch(found.device)) return Outcome::RARE;
    std::shared_ptr<Prepared> p = prepared_for(found);
    if (!p) {
        static PyObject* const zero = PyLong_FromLong(0);
        const Outcome made = prepare(root, zero, Py_None, found);
        if (made != Outcome::DONE) return made;
        p = prepared_for(found);
    }
    const long long size = as_wide(node.size.of(root));
    if (!p || size > p->most_size) return Outcome::RARE;
    const long long out_bytes = size * itemsize_of(node.dtype.of(root));
    Ref in = allocate(*p, found.device, out_bytes);
    if (!in) return Outcome::FAILED;
    shift_inputs(*p, found);
    finish_arguments(*p, found, in.get(), 0, size);
    const long long nbytes = p->vector ? size * p->element_bytes : p->nbytes;
    const Outcome done = launch(*p, found.device, found.arguments, found.count, nbytes);
    if (done != Outcome::DONE) return done;
    return become_leaf(root, in.get(), *p) ? Outcome::DONE : Outcome::FAILED;
}

// The length of what is reduced, where one axis is reduced to a number and a launch is for every length; else 0. As
// `_place_runs` in clarray._engine.fused.reduce.launch: not where the axis is turned round, or reaches far.
long long run_length(PyObject* root, const Operands& found) {
    constexpr long long INT_LIMIT = (1LL << 31) - (1LL << 16);
    PyObject* shape = node.shape.of(PyTuple_GET_ITEM(node.args.of(root), 0));
    const auto of = launches_of.find(found.device);
    if (of == launches_of.end() || PyTuple_GET_SIZE(shape) != 1 || PyTuple_GET_SIZE(node.shape.of(root))) return 0;
    const long long length = as_wide(PyTuple_GET_ITEM(shape, 0));
    if (length <= 1 || length >= of->second->reduce_below) return 0;
    long long low = 0, high = 0;
    for (size_t i = 0; i < found.distinct; ++i) {
        PyObject* operand = found.nodes[i];
        if (node.memory.of(operand) == Py_None || !is_same_shape(node.shape.of(operand), shape)) continue;
        const long long stride = as_wide(PyTuple_GET_ITEM(node.strides.of(operand), 0));
        low = std::min(low, stride);
        high = std::max(high, stride);
    }
    return (low < 0 && high <= 0) || std::max(high, -low) * length >= INT_LIMIT ? 0 : length;
}

// The operands of a reduction; all of their layout is part of the key, but for the length of a run.
Outcome look_at_reduced(PyObject* root, PyObject* inputs, Operands& found, long long& run) {
    const Outcome seen = look_at(root, inputs, found);
    if (seen != Outcome::DONE) return seen;
    PyObject* shape = node.shape.of(PyTuple_GET_ITEM(node.args.of(root), 0));
    run = run_length(root, found);
    found.key.push_back(run ? 'l' : 'r');
    if (!run) {
        append_shape(found.key, shape);
        append_shape(found.key, node.shape.of(root));  // where reduced axes may have been kept
    }
    for (size_t i = 0; i < found.distinct; ++i) {
        PyObject* operand = found.nodes[i];
        if (node.memory.of(operand) == Py_None) continue;
        const long long itemsize = itemsize_of(node.dtype.of(operand));
        found.nbytes += as_wide(node.size.of(operand)) * itemsize;
        if (run && is_same_shape(node.shape.of(operand), shape)) {
            found.key.push_back('x');
            append(found.key, as_wide(PyTuple_GET_ITEM(node.strides.of(operand), 0)));
        } else {
            append_place(found.key, operand);
        }
        found.key.push_back(is_aligned(operand, itemsize) ? 'a' : 'o');
    }
    return Outcome::DONE;
}

// Compute a reduction in one launch, with the device's lock held.
Outcome reduce(PyObject* root, Operands& found, long long run) {
    if (!can_launch(found.device)) return Outcome::RARE;
    std::shared_ptr<Prepared> p = prepared_for(found);
    if (!p) {
        const Outcome made = prepare_reduction(root, run, found);
        if (made != Outcome::DONE) return made;
        p = prepared_for(found);
    }
    if (!p) return Outcome::RARE;
    const long long out_bytes = as_wide(node.size.of(root)) * itemsize_of(node.dtype.of(root));
    Ref in = allocate(*p, found.device, out_bytes);
    if (!in) return Outcome::FAILED;
    shift_inputs(*p, found);
    std::vector<Ref> states;
    for (long long nbytes : p->states) {
        states.push_back(allocate(*p, found.device, nbytes));
        if (!states.back()) return Outcome::FAILED;
        found.add_buffer(states.back().get());
    }
    if (!states.empty()) found.arguments[found.count++] = {p->counters.get(), 0, true};
    finish_arguments(*p, found, in.get(), 0, 0);
    for (long long place : p->lengths) found.arguments[found.count - p->sizes.size() + size_t(place)].number = run;
    const Outcome done = launch(*p, found.device, found.arguments, found.count, run ? found.nbytes + out_bytes : p->nbytes);
    if (done != Outcome::DONE) return done;
    return become_leaf(root, in.get(), *p) ? Outcome::DONE : Outcome::FAILED;
}

// Whether nothing has to be computed before the operands of a reduction.
bool reduces_alone(PyObject* root) {
    PyObject* args = node.args.of(root);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i)
        if (as_long(node.flags.of(PyTuple_GET_ITEM(args, i))) & ~READONLY) return false;
    return true;
}

Outcome evaluate_fast(PyObject* root) {
    static Reference* const reduction = reference_of("Reduction");
    PyTypeObject* operation = Py_TYPE(node.op.of(root));
    const bool reduces = reinterpret_cast<PyObject*>(operation) == reduction->function;
    const long wanted = reduces ? long(REDUCES) : 0;
    if (!reduces && operation != loop_type) return Outcome::RARE;
    if ((as_long(node.flags.of(root)) & ~READONLY) != wanted || (reduces && !reduces_alone(root))) return Outcome::RARE;
    Ref inputs = Ref::share(node.inputs.of(root));
    Operands found;
    long long run = 0;
    const Outcome seen = reduces ? look_at_reduced(root, inputs.get(), found, run) : look_at(root, inputs.get(), found);
    if (seen != Outcome::DONE) return seen;
    const Held held(device.lock.of(found.device));
    if (!held) return Outcome::FAILED;
    if (node.memory.of(root) != Py_None) return Outcome::DONE;  // another thread has computed it
    if (node.inputs.of(root) != inputs.get() || (as_long(node.flags.of(root)) & ~READONLY) != wanted ||
        as_wide(node.size.of(root)) == 0)
        return Outcome::RARE;
    if (reduces) return reduces_alone(root) ? reduce(root, found, run) : Outcome::RARE;
    found.key.push_back('n');  // into memory of its own
    if (!found.flat) append_layout(root, found);
    return compute(root, found);
}

// Whether what is read lies apart from the target, or is the target, element for element.
bool is_apart(PyObject* operand, PyObject* in, const Place& target, PyObject* dtype) {
    if (node.memory.of(operand) != in) return true;
    if (node.dtype.of(operand) == dtype && is_same_place(target, operand)) return true;
    const long long theirs = itemsize_of(node.dtype.of(operand)), ours = itemsize_of(dtype);
    long long first, last, low, high;
    target.extent(first, last);
    place_of(operand).extent(low, high);
    return (last + 1) * ours <= low * theirs || (high + 1) * theirs <= first * ours;
}

// Whether a pending node, to which we hold a reference, is part of an expression and of nothing else: nobody holds it, nor
// anything on the way to it, but the operands' tuples.
bool is_part_of(PyObject* pending, PyObject* root) {
    PyObject* args = node.args.of(root);
    if (Py_REFCNT(args) != 1) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
        PyObject* arg = PyTuple_GET_ITEM(args, i);
        if (arg == pending) return Py_REFCNT(arg) == 2;
        if (node.memory.of(arg) == Py_None && Py_REFCNT(arg) == 1 && is_part_of(pending, arg)) return true;
    }
    return false;
}

Outcome launch_into(PyObject* root, PyObject* in, const Place& target, Operands& found) {
    const long long size = target.size();
    std::shared_ptr<Prepared> p = prepared_for(found);
    if (!p) {
        Ref offset = Ref::steal(PyLong_FromLongLong(target.offset)), strides = target.stride_tuple();
        if (!offset || !strides) return Outcome::FAILED;
        const Outcome made = prepare(root, offset.get(), strides.get(), found);
        if (made != Outcome::DONE) return made;
        p = prepared_for(found);
    }
    if (!p || size > p->most_size) return Outcome::RARE;
    shift_inputs(*p, found);
    finish_arguments(*p, found, in, target.offset, size);
    return launch(*p, found.device, found.arguments, found.count, p->vector ? size * p->element_bytes : p->nbytes);
}

PyObject* new_launches(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject* device;
    if (!PyArg_ParseTuple(args, "O", &device)) return nullptr;
    Launches* self = reinterpret_cast<Launches*>(type->tp_alloc(type, 0));
    if (!self) return nullptr;
    self->device = device;
    self->table = new Table();
    return reinterpret_cast<PyObject*>(self);
}

void drop_launches(PyObject* object) {
    Launches* self = reinterpret_cast<Launches*>(object);
    PyTypeObject* type = Py_TYPE(object);
    const auto found = launches_of.find(self->device);
    if (found != launches_of.end() && found->second == self) launches_of.erase(found);
    delete self->table;
    type->tp_free(object);
    Py_DECREF(type);
}

PyObject* reduce_below(PyObject* object, PyObject* length) {
    reinterpret_cast<Launches*>(object)->reduce_below = as_wide(length);
    return PyErr_Occurred() ? nullptr : Py_NewRef(Py_None);
}

// use(): have the launches of this object's device be looked for here.
PyObject* use_launches(PyObject* object, PyObject*) {
    Launches* self = reinterpret_cast<Launches*>(object);
    launches_of[self->device] = self;
    Py_RETURN_NONE;
}

PyMethodDef launches_methods[] = {
    {"use", use_launches, METH_NOARGS, "Have the launches of the device be looked for here."},
    {"reduce_below", reduce_below, METH_O, "Say from which length on an axis is reduced by launches of its own."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot launches_slots[] = {
    {Py_tp_methods, launches_methods},
    {Py_tp_new, (void*)new_launches},
    {Py_tp_dealloc, (void*)drop_launches},
    {0, nullptr},
};
PyType_Spec launches_spec = {"clarray._engine.speedups._speedups.Launches", sizeof(Launches), 0, Py_TPFLAGS_DEFAULT, launches_slots};

}  // namespace

bool has_other_readers(PyObject* in, PyObject* value) {
    Ref readers = Ref::share(memory.readers.of(in));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(readers.get()); ++i) {
        Ref reader = referent_of(PyList_GET_ITEM(readers.get(), i));
        if (!reader || node.memory.of(reader.get()) != Py_None || reader.get() == value) continue;
        if (!value || !is_part_of(reader.get(), value)) return true;
    }
    return false;
}

Outcome store(PyObject* leaf, const Place& target, PyObject* value) {
    Ref in = Ref::share(node.memory.of(leaf));
    const bool is_leaf = node.memory.of(value) != Py_None;
    const long flags = as_long(node.flags.of(value));
    if (!is_leaf && (Py_TYPE(node.op.of(value)) != loop_type || flags & ~READONLY)) return Outcome::RARE;
    if (flags & EAGER || target.size() == 0 || !target.has_shape(node.shape.of(value))) return Outcome::RARE;
    Ref inputs = is_leaf ? Ref::steal(PyTuple_Pack(1, value)) : Ref::share(node.inputs.of(value));
    if (!inputs) return Outcome::FAILED;
    Operands found;
    found.device = memory.device.of(in.get());
    const Outcome seen = look_at(value, inputs.get(), found);
    if (seen != Outcome::DONE) return seen;
    const Held held(device.lock.of(found.device));
    if (!held) return Outcome::FAILED;
    if (!can_launch(found.device) || memory.shared.of(in.get()) != Py_False || node.memory.of(leaf) != in.get() ||
        (!is_leaf && (node.inputs.of(value) != inputs.get() || as_long(node.flags.of(value)) & ~READONLY)))
        return Outcome::RARE;
    if (is_leaf && node.memory.of(value) == in.get() && is_same_place(target, value)) return Outcome::DONE;
    for (size_t i = 0; i < found.distinct; ++i)
        if (!is_apart(found.nodes[i], in.get(), target, node.dtype.of(leaf))) return Outcome::RARE;
    if (has_other_readers(in.get(), is_leaf ? nullptr : value)) return Outcome::RARE;
    found.flat = found.flat && target.is_contiguous();
    append_target(found, target, itemsize_of(node.dtype.of(leaf)));
    if (!found.flat) append_layout(value, found);
    return launch_into(value, in.get(), target, found);
}

bool evaluate_node(PyObject* root) {
    static Reference* const evaluate = reference_of("evaluate");
    if (node.memory.of(root) != Py_None) return true;
    switch (evaluate_fast(root)) {
        case Outcome::DONE: return true;
        case Outcome::FAILED: return false;
        case Outcome::RARE: break;
    }
    return bool(Ref::steal((*evaluate)(root)));
}

void forget_launches(PyObject* device) { launches_of.erase(device); }

bool add_launches_type(PyObject* module) {
    launches_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&launches_spec));
    return launches_type && PyModule_AddObjectRef(module, "Launches", reinterpret_cast<PyObject*>(launches_type)) == 0;
}

}  // namespace clarray
