// Growing expressions: the twins of `unary` and `binary` in clarray._engine.expr.build.
#include "core.hpp"

#include <unordered_map>

namespace clarray {

namespace {

// Interned structures, by the loop's code and those of its operands. Python's interner gives the numbers; they are held
// for good, as it holds them.
struct Structure {
    long code, a, b;
    bool operator==(const Structure& other) const { return code == other.code && a == other.a && b == other.b; }
};
struct StructureHash {
    size_t operator()(const Structure& s) const {
        uint64_t mixed = uint64_t(s.code) * 0x9E3779B97F4A7C15u ^ uint64_t(s.a) * 0xC2B2AE3D27D4EB4Fu;
        return size_t((mixed ^ mixed >> 29) * 0x165667B19E3779F9u + uint64_t(s.b) * 0x27D4EB2F165667C5u);
    }
};
std::unordered_map<Structure, PyObject*, StructureHash> structures;

constexpr long NONE = -1;  // no second operand

PyObject* structure_of(PyObject* code, PyObject* a, PyObject* b) {
    const Structure key{as_long(code), as_long(a), b ? as_long(b) : NONE};
    const auto found = structures.find(key);
    if (found != structures.end()) return found->second;
    static Reference* const intern = reference_of("intern_structure");
    Ref tuple = Ref::steal(b ? PyTuple_Pack(3, code, a, b) : PyTuple_Pack(2, code, a));
    if (!tuple) return nullptr;
    PyObject* number = (*intern)(tuple.get());
    if (number) structures.emplace(key, number);
    return number;
}

// What an operand is at one moment: all is read before anything is allocated, since the garbage collector may run other
// threads, in which it may become memory. Readers first, as whoever changes the rest changes them last.
struct Operand {
    explicit Operand(PyObject* of)
        : self(of),
          readers(Ref::share(node.readers.of(of))),
          inputs(Ref::share(node.inputs.of(of))),
          shape(Ref::share(node.shape.of(of))),
          size(Ref::share(node.size.of(of))),
          sig(Ref::share(node.sig.of(of))),
          cost(as_long(node.cost.of(of))),
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
    // Readers of constants go into a deque that keeps nothing; all others into lists.
    bool append_reader(PyObject* reader) const {
        return !PyList_CheckExact(readers.get()) || PyList_Append(readers.get(), reader) == 0;
    }
    bool has_changed() const { return node.readers.of(self) != readers.get(); }
    // Whether it has just been read once more and must be looked after.
    bool is_crowded() const {
        if (!PyList_CheckExact(readers.get())) return false;
        static const Py_ssize_t prune_at = Py_ssize_t(told("PRUNE_AT"));
        const Py_ssize_t count = PyList_GET_SIZE(readers.get());
        return count > 1 && (node.memory.of(self) == Py_None || count % prune_at == 0);
    }

    PyObject* self;
    Ref readers, inputs, shape, size, sig;
    long cost, flags;
};

Ref inputs_of(const Operand& a, const Operand* b) {
    if (!b && PyTuple_GET_SIZE(a.inputs.get())) return Ref::share(a.inputs.get());
    const Py_ssize_t first = a.input_count();
    Ref tuple = Ref::steal(PyTuple_New(first + (b ? b->input_count() : 0)));
    if (!tuple) return {};
    a.fill_inputs(tuple.get(), 0);
    if (b) b->fill_inputs(tuple.get(), first);
    return tuple;
}

// Note that `made` reads its operands, so that a write to their memory evaluates it first.
bool note_reader(PyObject* made, const Operand& a, const Operand* b) {
    static Reference* const crowded = reference_of("_crowded");
    static Reference* const grow_again = reference_of("_grow_again");
    Ref reader = Ref::steal(PyWeakref_NewRef(made, nullptr));
    if (!reader || !a.append_reader(reader.get())) return false;
    if (b && b->readers.get() != a.readers.get() && !b->append_reader(reader.get())) return false;
    if (a.has_changed() || (b && b->has_changed())) return bool(Ref::steal((*grow_again)(made)));
    if (a.is_crowded() && !Ref::steal((*crowded)(a.self))) return false;
    return !b || b->self == a.self || !b->is_crowded() || bool(Ref::steal((*crowded)(b->self)));
}

// A node of one operand or two, with the shape and size of `like`.
Ref made_of(PyObject* operation, const Operand& a, const Operand* b, const Operand& like) {
    Ref made = blank_node();
    Ref args = Ref::steal(b ? PyTuple_Pack(2, a.self, b->self) : PyTuple_Pack(1, a.self));
    Ref inputs = inputs_of(a, b);
    PyObject* sig = structure_of(loop.code.of(operation), a.sig.get(), b ? b->sig.get() : nullptr);
    Ref cost = Ref::steal(PyLong_FromLong(a.cost + (b ? b->cost : 0) + 1));
    Ref flags = Ref::steal(PyLong_FromLong(a.flags | (b ? b->flags : 0)));
    Ref readers = Ref::steal(PyList_New(0));
    if (!made || !args || !inputs || !sig || !cost || !flags || !readers) return {};
    PyObject* out = made.get();
    node.op.set(out, operation);
    node.args.put(out, args.release());
    node.shape.set(out, like.shape.get());
    node.dtype.set(out, loop.out_dtype.of(operation));
    node.size.set(out, like.size.get());
    node.cost.put(out, cost.release());
    node.flags.put(out, flags.release());
    node.sig.set(out, sig);
    node.inputs.put(out, inputs.release());
    node.readers.put(out, readers.release());
    node.memory.set(out, Py_None);
    return note_reader(out, a, b) ? std::move(made) : Ref();
}

}  // namespace

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

Ref grow_unary(PyObject* operation, PyObject* operand) {
    static Reference* const unary = reference_of("unary");
    if (Py_TYPE(operation) != loop_type || is_selection(operand)) return Ref::steal((*unary)(operation, operand));
    const Operand a(operand);
    return made_of(operation, a, nullptr, a);
}

Ref grow_binary(PyObject* operation, PyObject* first, PyObject* second) {
    static Reference* const binary = reference_of("binary");
    if (Py_TYPE(operation) == loop_type && !is_selection(first) && !is_selection(second)) {
        const Operand a(first), b(second);
        if (PyTuple_GET_SIZE(b.shape.get()) == 0 || is_same_shape(a.shape.get(), b.shape.get()))
            return made_of(operation, a, &b, a);
        if (PyTuple_GET_SIZE(a.shape.get()) == 0) return made_of(operation, a, &b, b);
    }
    return Ref::steal((*binary)(operation, first, second));
}

}  // namespace clarray
