// Growing expressions: the native implementation of `unary`, `binary`, `nary` and `reduction` in clarray._engine.expr.build.
#include "launch.hpp"
#include "places.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace clarray {

namespace {

// Interned structures, by a number of the operation and those of its operands. Python's interner gives the numbers; they
// are held for good, as it holds them.
struct Structure {
    static constexpr Py_ssize_t MOST = MOST_GROWN;  // operands
    long operation;
    long operands[MOST] = {-1, -1, -1, -1};
    bool operator==(const Structure& other) const {
        return operation == other.operation && std::equal(operands, operands + MOST, other.operands);
    }
};
struct StructureHash {
    size_t operator()(const Structure& s) const {
        uint64_t mixed = uint64_t(s.operation);
        for (long number : s.operands) mixed = (mixed ^ mixed >> 29) * 0x9E3779B97F4A7C15u + uint64_t(number) * 0xC2B2AE3D27D4EB4Fu;
        return size_t(mixed ^ mixed >> 32);
    }
};
std::unordered_map<Structure, PyObject*, StructureHash> structures;

Py_ssize_t prune_at() {
    const Py_ssize_t count = Py_ssize_t(python.prune_at);
    return count;
}

// Whether a reader is dead or has been computed.
bool is_spent(PyObject* reader) {
    const Ref reading = referent_of(reader);
    return !reading || node.memory.of(reading.get()) != Py_None;
}

// What an operand is at one moment: all is read before anything is allocated, since the garbage collector may run other
// threads, in which it may become memory. Readers first, as whoever changes the rest changes them last.
struct Operand {
    Operand() = default;
    explicit Operand(PyObject* of)
        : self(of),
          readers(Ref::share(node.readers.of(of))),
          inputs(Ref::share(node.inputs.of(of))),
          shape(Ref::share(node.shape.of(of))),
          size(Ref::share(node.size.of(of))),
          sig(Ref::share(node.sig.of(of))),
          flags(as_long(node.flags.of(of))) {}

    // Its inputs, or itself where it has none.
    Py_ssize_t input_count() const {
        const Py_ssize_t count = PyTuple_GET_SIZE(inputs.get());
        return count ? count : 1;
    }
    void fill_inputs(PyObject* tuple, Py_ssize_t from) const {
        const Py_ssize_t count = PyTuple_GET_SIZE(inputs.get());
        if (!count) PyTuple_SET_ITEM(tuple, from, Py_NewRef(self));
        for (Py_ssize_t i = 0; i < count; ++i)
            PyTuple_SET_ITEM(tuple, from + i, Py_NewRef(PyTuple_GET_ITEM(inputs.get(), i)));
    }
    // Readers of constants go into a deque that keeps nothing; all others into lists. Those of pending nodes are counted,
    // also when they are gone.
    bool append_reader(PyObject* reader) const {
        if (!PyList_CheckExact(readers.get())) return true;
        if (node.memory.of(self) == Py_None) return PyList_Append(readers.get(), reader) == 0;
        const int added = append_reference(readers.get(), reader, is_spent);
        has_grown = added > 0;
        return added >= 0;
    }
    bool has_changed() const { return node.readers.of(self) != readers.get(); }
    // Whether it is pending and others read it too.
    bool is_shared() const {
        return node.memory.of(self) == Py_None && PyTuple_GET_SIZE(node.args.of(self)) && PyList_CheckExact(readers.get()) &&
               PyList_GET_SIZE(readers.get()) > 1;
    }
    // Whether it has just been read once more and must be looked after.
    bool is_crowded() const {
        if (!has_grown || !PyList_CheckExact(readers.get())) return false;
        const Py_ssize_t count = PyList_GET_SIZE(readers.get());
        if (count % prune_at() == 0) return count > 1;
        return count > 1 && node.memory.of(self) == Py_None && PyTuple_GET_SIZE(node.args.of(self));
    }

    PyObject* self = nullptr;
    Ref readers, inputs, shape, size, sig;
    long flags = 0;
    mutable bool has_grown = true;  // false where its list of readers is as long as before
};

// The operands of one operation, in order.
struct OperandSpan {
    const Operand* first;
    Py_ssize_t count;
    const Operand* begin() const { return first; }
    const Operand* end() const { return first + count; }
    const Operand& operator[](Py_ssize_t i) const { return first[i]; }
};

Ref inputs_of(const OperandSpan& operands) {
    if (operands.count == 1 && PyTuple_GET_SIZE(operands[0].inputs.get())) return Ref::share(operands[0].inputs.get());
    Py_ssize_t count = 0, from = 0;
    for (const Operand& a : operands) count += a.input_count();
    Ref tuple = Ref::steal(PyTuple_New(count));
    if (!tuple) return tuple;
    for (const Operand& a : operands) {
        a.fill_inputs(tuple.get(), from);
        from += a.input_count();
    }
    return tuple;
}

Ref args_of(const OperandSpan& operands) {
    Ref tuple = Ref::steal(PyTuple_New(operands.count));
    for (Py_ssize_t i = 0; tuple && i < operands.count; ++i) PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(operands[i].self));
    return tuple;
}

// LARGE if the graph of such operands has too many inputs for a tree.
long large_flag(const OperandSpan& operands) {
    Py_ssize_t count = 0;
    for (const Operand& a : operands) {
        if (a.flags & LARGE) return LARGE;
        count += a.input_count();
    }
    return count > python.tree_limit ? long(LARGE) : 0;
}

// Whether one of the operands before has the same readers: it is the same node, or looks at the same memory.
bool is_repeated(const OperandSpan& operands, const Operand& operand) {
    return std::any_of(operands.begin(), &operand, [&](const Operand& a) { return a.readers.get() == operand.readers.get(); });
}

// Note that `made` reads its operands, so that a write to their memory evaluates it first.
bool note_reader(PyObject* made, const OperandSpan& operands) {
    const bool consumes = Py_TYPE(node.op.of(made)) != transform_type;
    Ref reader = Ref::steal(consumes ? PyWeakref_NewRef(made, nullptr) : invoke(python.non_consuming_ref, made));
    if (!reader) return false;
    PyObject_GC_UnTrack(reader.get());  // as `untrack` does
    for (const Operand& a : operands)
        if (!is_repeated(operands, a) && !a.append_reader(reader.get())) return false;
    for (const Operand& a : operands)
        if (a.has_changed()) return bool(Ref::steal(invoke(python.rebuild, made)));
    for (const Operand& a : operands) {
        if (!a.is_crowded() || is_repeated(operands, a)) continue;
        const bool many = PyList_GET_SIZE(a.readers.get()) % prune_at() == 0;
        if (many ? !Ref::steal(invoke(python.prune_or_mark_shared, a.self)) : !mark_shared(a.self)) return false;
    }
    return true;
}

// Take a new node, and what only it refers to, from the garbage collector, which would look at all that has been grown for
// every 140 operations. No cycle goes through a pending node: it refers to operations, numbers and memory of the device, and
// what reads memory of other owners is evaluated at once.
void untrack(PyObject* made) {
    for (PyObject* each : {made, node.args.of(made), node.inputs.of(made), node.readers.of(made)})
        if (each != empty_tuple) PyObject_GC_UnTrack(each);
}

// What an operation gives.
struct Result {
    PyObject *structure, *dtype;  // borrowed; null after an error
    Ref shape, size;
    long flags = 0;  // besides those of the operands
};

Ref made_of(PyObject* operation, const OperandSpan& operands, Result result) {
    long all = result.flags | large_flag(operands);
    for (const Operand& a : operands) all |= a.flags;
    Ref made = blank_node(), args = args_of(operands), inputs = all & LARGE ? Ref::share(empty_tuple) : inputs_of(operands);
    if (!args) return {};
    Ref since = Ref::steal(PyLong_FromLongLong(count_growth(args.get()))), flags = Ref::steal(PyLong_FromLong(all)), readers = Ref::steal(PyList_New(0));
    if (!made || !args || !inputs || !since || !flags || !readers) return {};
    if (!result.structure || !result.dtype || !result.shape || !result.size) return {};
    PyObject* out = made.get();
    node.op.set(out, operation);
    node.args.put(out, args.release());
    node.shape.put(out, result.shape.release());
    node.dtype.set(out, result.dtype);
    node.size.put(out, result.size.release());
    node.since.put(out, since.release());
    node.flags.put(out, flags.release());
    node.sig.set(out, result.structure);
    node.inputs.put(out, inputs.release());
    node.readers.put(out, readers.release());
    node.memory.set(out, Py_None);
    if (!note_reader(out, operands)) return {};
    if (!(all & (EAGER | MASKED))) untrack(out);
    const bool is_profiled = profiling_state && recorder.recorder.of(profiling_state) != Py_None;
    return !is_profiled || Ref::steal(invoke(python.note_line, out)) ? std::move(made) : Ref();
}

Structure key_of(long operation, const OperandSpan& operands) {
    Structure key{operation};
    for (Py_ssize_t i = 0; i < operands.count; ++i) key.operands[i] = as_long(operands[i].sig.get());
    return key;
}

// Have Python intern a structure, a tuple, and keep its number.
PyObject* keep_structure(const Structure& key, Ref tuple) {
    PyObject* number = tuple ? invoke(python.intern_structure, tuple.get()) : nullptr;
    if (number) structures.emplace(key, number);
    return number;
}

PyObject* structure_of_loop(PyObject* operation, const OperandSpan& operands) {
    if (large_flag(operands)) return python.large_structure;
    PyObject* code = loop.code.of(operation);
    const Structure key = key_of(as_long(code), operands);
    const auto entry = structures.find(key);
    if (entry != structures.end()) return entry->second;
    Ref tuple = Ref::steal(PyTuple_New(1 + operands.count));
    if (!tuple) return nullptr;
    PyTuple_SET_ITEM(tuple.get(), 0, Py_NewRef(code));
    for (Py_ssize_t i = 0; i < operands.count; ++i) PyTuple_SET_ITEM(tuple.get(), i + 1, Py_NewRef(operands[i].sig.get()));
    return keep_structure(key, std::move(tuple));
}

PyObject* structure_of_reduction(PyObject* operation, const OperandSpan& operands) {
    if (large_flag(operands)) return python.large_structure;
    // by the address, which no code of a loop is: Python makes one object for each reduction, and keeps it
    const Structure key = key_of(long(reinterpret_cast<intptr_t>(operation)), operands);
    const auto entry = structures.find(key);
    if (entry != structures.end()) return entry->second;
    PyObject *code = reduction.code.of(operation), *first = operands[0].sig.get();
    return keep_structure(key, Ref::steal(operands.count == 1 ? Py_BuildValue("(iOO)", -2, code, first)
                                                              : Py_BuildValue("(iOOO)", -2, code, first, operands[1].sig.get())));
}

// The operand whose shape the result has, where all others have it too or no axes.
const Operand* shaped_like(const OperandSpan& operands) {
    const Operand* like = operands.begin();
    for (const Operand& a : operands) {
        if (PyTuple_GET_SIZE(a.shape.get()) == 0) continue;
        if (PyTuple_GET_SIZE(like->shape.get()) == 0) like = &a;
        else if (!is_same_shape(like->shape.get(), a.shape.get())) return nullptr;
    }
    return like;
}

// Broadcast the shapes; false, with no error, where they do not fit.
bool broadcast(const OperandSpan& operands, Result& result) {
    if (const Operand* like = shaped_like(operands)) {
        result.shape = Ref::share(like->shape.get());
        result.size = Ref::share(like->size.get());
        return true;
    }
    long long extents[MOST_AXES], size = 1;
    Py_ssize_t ndim = 0;
    for (const Operand& a : operands) ndim = std::max(ndim, PyTuple_GET_SIZE(a.shape.get()));
    std::fill(extents, extents + ndim, 1);
    for (const Operand& a : operands) {
        const Py_ssize_t own = PyTuple_GET_SIZE(a.shape.get());
        for (Py_ssize_t axis = 0; axis < own; ++axis) {
            const long long extent = as_wide(PyTuple_GET_ITEM(a.shape.get(), axis));
            long long& known = extents[ndim - own + axis];
            if (known == 1) known = extent;
            else if (extent != 1 && extent != known) return false;
        }
    }
    for (Py_ssize_t axis = 0; axis < ndim; ++axis) size *= extents[axis];
    result.shape = tuple_of(extents, ndim);
    result.size = Ref::steal(PyLong_FromLongLong(size));
    return true;
}

// A loop over operands none of which is a selection; empty, with no error, where their shapes do not fit.
Ref grow_loop(PyObject* operation, const OperandSpan& operands) {
    Result result{structure_of_loop(operation, operands), loop.out_dtype.of(operation), {}, {}};
    if (!result.structure || !broadcast(operands, result)) return {};
    return made_of(operation, operands, std::move(result));
}

long long grown = 0;  // the weight of all nodes that have been grown

bool is_pending(PyObject* of) { return node.memory.of(of) == Py_None && PyTuple_GET_SIZE(node.args.of(of)); }

// The weight of a memory; tests have others than the runtime's.
long long weight_of(PyObject* in) { return Py_TYPE(in) == memory_type ? as_wide(memory.cost.of(in)) : 0; }

// The same, but 0 for memory that was counted not long before: many statements of an expression read the same memory.
long long weight_again(PyObject* in) {
    struct Counted {
        PyObject* in;
        long long at;
    };
    static std::array<Counted, 64> last;
    Counted& counted = last[reinterpret_cast<size_t>(in) / 64 % last.size()];
    if (counted.in == in && grown - counted.at < weight_limit / 8) return 0;
    counted = {in, grown};
    return weight_of(in);
}

// The weight of a graph: its nodes, and each memory that they read once. The nodes are added to `order`.
long long weigh(PyObject* root, std::vector<PyObject*>& order) {
    std::unordered_set<PyObject*> seen{root};
    long long weight = 0;
    order.push_back(root);
    for (size_t i = 0; i < order.size(); ++i) {
        ++weight;
        PyObject* args = node.args.of(order[i]);
        for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(args); ++k) {
            PyObject *arg = PyTuple_GET_ITEM(args, k), *in = node.memory.of(arg);
            if (in != Py_None) weight += seen.insert(in).second ? weight_of(in) : 0;
            else if (PyTuple_GET_SIZE(node.args.of(arg)) && seen.insert(arg).second) order.push_back(arg);
        }
    }
    return weight;
}

}  // namespace

long long count_growth(PyObject* args) {
    long long since = grown, weight = 1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
        PyObject *arg = PyTuple_GET_ITEM(args, i), *in = node.memory.of(arg);
        if (in != Py_None) weight += weight_again(in);
        else if (PyTuple_GET_SIZE(node.args.of(arg))) since = std::min(since, as_wide(node.since.of(arg)));
    }
    grown += weight;
    return since;
}

bool is_costly(PyObject* of) {
    if (!is_pending(of) || grown - as_wide(node.since.of(of)) <= weight_limit) return false;
    std::vector<PyObject*> order;
    const long long weight = weigh(of, order);
    Ref since = Ref::steal(PyLong_FromLongLong(grown - weight));
    for (size_t i = 0; since && i < order.size(); ++i) node.since.set(order[i], since.get());
    return weight > weight_limit;
}

// Whether a shape is the other one, element for element.
bool is_same_shape(PyObject* one, PyObject* other) {
    const Py_ssize_t ndim = PyTuple_GET_SIZE(one);
    if (one == other) return true;
    if (ndim != PyTuple_GET_SIZE(other)) return false;
    for (Py_ssize_t axis = 0; axis < ndim; ++axis) {
        PyObject *mine = PyTuple_GET_ITEM(one, axis), *theirs = PyTuple_GET_ITEM(other, axis);
        if (mine != theirs && as_wide(mine) != as_wide(theirs)) return false;
    }
    return true;
}

bool refresh_metadata(PyObject* of) {
    PyObject *operation = node.op.of(of), *args = node.args.of(of);
    const Py_ssize_t count = PyTuple_GET_SIZE(args);
    const bool reduces = Py_TYPE(operation) == reduction_type;
    if (count == 1 && is_pending_view(of) && as_long(node.flags.of(of)) & LARGE) {  // it has no structure, and no inputs of its own
        Ref readers = Ref::steal(PySequence_List(node.readers.of(of)));
        if (readers) node.readers.put(of, readers.release());
        return !PyErr_Occurred();
    }
    if (count == 0 || count > (reduces ? 1 : Structure::MOST) || (!reduces && Py_TYPE(operation) != loop_type))
        return bool(Ref::steal(invoke(python.refresh_metadata, of)));
    Operand all[Structure::MOST];
    const OperandSpan operands{all, count};
    long flags = reduces ? long(REDUCES) : 0;
    for (Py_ssize_t i = 0; i < count; ++i) {
        all[i] = Operand(PyTuple_GET_ITEM(args, i));
        flags |= all[i].flags | (all[i].is_shared() ? long(SHARED) : 0);
    }
    if (reduces) flags &= ~long(MASKED);
    flags = (flags & ~long(LARGE)) | large_flag(operands);
    PyObject* structure = reduces ? structure_of_reduction(operation, operands) : structure_of_loop(operation, operands);
    Ref inputs = flags & LARGE ? Ref::share(empty_tuple) : inputs_of(operands), all_flags = Ref::steal(PyLong_FromLong(flags));
    Ref readers = Ref::steal(PySequence_List(node.readers.of(of)));  // tells whoever is growing from the node
    if (!structure || !inputs || !all_flags || !readers) return false;
    node.sig.set(of, structure);
    node.inputs.put(of, inputs.release());
    node.flags.put(of, all_flags.release());
    node.readers.put(of, readers.release());
    return true;
}

Ref grow_unary(PyObject* operation, PyObject* operand) {
    if (Py_TYPE(operation) != loop_type || is_selection(operand)) return Ref::steal(invoke(python.unary, operation, operand));
    const Operand all[] = {Operand(operand)};
    return grow_loop(operation, {all, 1});
}

Ref grow_binary(PyObject* operation, PyObject* first, PyObject* second) {
    if (Py_TYPE(operation) == loop_type && !is_selection(first) && !is_selection(second)) {
        const Operand all[] = {Operand(first), Operand(second)};
        Ref made = grow_loop(operation, {all, 2});
        if (made || PyErr_Occurred()) return made;
    }
    return Ref::steal(invoke(python.binary, operation, first, second));
}

Ref grow_nary(PyObject* operation, PyObject* args) {
    const Py_ssize_t count = PyTuple_GET_SIZE(args);
    bool plain = 0 < count && count <= Structure::MOST && Py_TYPE(operation) == loop_type;
    for (Py_ssize_t i = 0; plain && i < count; ++i) plain = !is_selection(PyTuple_GET_ITEM(args, i));
    if (plain) {
        Operand all[Structure::MOST];
        for (Py_ssize_t i = 0; i < count; ++i) all[i] = Operand(PyTuple_GET_ITEM(args, i));
        Ref made = grow_loop(operation, {all, count});
        if (made || PyErr_Occurred()) return made;
    }
    return Ref::steal(invoke(python.nary, operation, args));
}

Ref grow_alike(PyObject* operation, PyObject* const* operands, Py_ssize_t count, PyObject* signature, PyObject* dtype, PyObject* shape, PyObject* size) {
    Operand all[MOST_GROWN];
    for (Py_ssize_t i = 0; i < count; ++i) all[i] = Operand(operands[i]);
    const long flags = is_pass_type(Py_TYPE(operation)) ? long(REDUCES) : 0;
    if (Py_TYPE(operation) == loop_type) signature = structure_of_loop(operation, {all, count});
    else if (Py_TYPE(operation) == reduction_type) signature = structure_of_reduction(operation, {all, count});
    return made_of(operation, {all, count}, {signature, dtype, Ref::share(shape), Ref::share(size), flags});
}

// A pending view. It counts as large: what is grown from it has no structure of its own, as there are many views.
Ref grow_view(PyObject* operation, PyObject* source, PyObject* shape, PyObject* size) {
    const Operand all[] = {Operand(source)};
    return made_of(operation, {all, 1}, {python.large_structure, node.dtype.of(source), Ref::share(shape), Ref::share(size), REDUCES | LARGE});
}

Ref grow_reduction(PyObject* operation, PyObject* operand, PyObject* shape, PyObject* mask) {
    Operand all[] = {Operand(operand), Operand()};
    if (mask) all[1] = Operand(mask);
    const OperandSpan operands{all, mask ? 2 : 1};
    long long size = 1;
    for (Py_ssize_t axis = 0; axis < PyTuple_GET_SIZE(shape); ++axis) size *= as_wide(PyTuple_GET_ITEM(shape, axis));
    Ref count = Ref::steal(PyLong_FromLongLong(size));
    PyObject* structure = structure_of_reduction(operation, operands);
    return made_of(operation, operands, {structure, reduction.out_dtype.of(operation), Ref::share(shape), std::move(count), REDUCES});
}

}  // namespace clarray
