// What a graph computes before it can be one launch: the twins of `_compute_shared` in clarray._engine.evaluate, and of
// `pass_on`, `regrow` and `live_readers` in clarray._engine.expr.build.
#include "operands.hpp"

#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace clarray {

namespace {

using Nodes = std::vector<Ref>;

bool is_pending(PyObject* of) { return node.memory.of(of) == Py_None; }
bool is_reduction(PyObject* of) { return Py_TYPE(node.op.of(of)) == reduction_type; }

// The pending nodes of a graph, operands before what uses them; false where a selection is among them.
bool visit(PyObject* of, Nodes& order, std::unordered_set<PyObject*>& seen) {
    Ref args = Ref::share(node.args.of(of));
    if (!is_pending(of) || !PyTuple_GET_SIZE(args.get()) || !seen.insert(of).second) return true;
    if (is_selection(of)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args.get()); ++i)
        if (!visit(PyTuple_GET_ITEM(args.get(), i), order, seen)) return false;
    order.push_back(Ref::share(of));
    return true;
}

// Whether a node applies elementwise operations and constants to one reduction, as `find_epilogue` has it; find that.
bool find_fused(PyObject* of, PyObject* shape, PyObject*& fused) {
    static Reference* const marker = reference_of("CONST");
    if (is_reduction(of)) {
        if ((fused && fused != of) || !is_same_shape(node.shape.of(of), shape)) return false;
        fused = of;
        return true;
    }
    if (node.op.of(of) == marker->function) return true;
    PyObject* args = node.args.of(of);
    if (!is_pending(of) || !PyTuple_GET_SIZE(args)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i)
        if (!find_fused(PyTuple_GET_ITEM(args, i), shape, fused)) return false;
    return true;
}

// Whether a reader is another consumer than the graph in hand: one before it, perhaps.
bool is_outside(PyObject* reader, const std::unordered_set<PyObject*>& inside) {
    static Reference* const selecting = reference_of("Selecting");
    Ref reading = referent_of(reader);
    if (reading && inside.count(reading.get())) return false;
    return reinterpret_cast<PyObject*>(Py_TYPE(reader)) != selecting->function;
}

bool is_read_outside(PyObject* of, const std::unordered_set<PyObject*>& inside) {
    Ref readers = Ref::share(node.readers.of(of));
    if (!PyList_CheckExact(readers.get())) return false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(readers.get()); ++i)
        if (is_outside(PyList_GET_ITEM(readers.get(), i), inside)) return true;
    return false;
}

}  // namespace

Outcome compute_shared(PyObject* root, long long little) {
    Nodes order;
    std::unordered_set<PyObject*> inside;
    if (!visit(root, order, inside)) return Outcome::RARE;
    PyObject* fused = nullptr;
    const bool is_little = !is_reduction(root) && bytes_read(root) <= little;
    if (!find_fused(root, node.shape.of(root), fused) || is_little) fused = nullptr;
    for (const Ref& each : order) {
        PyObject* of = each.get();
        if (of == root || !is_pending(of)) continue;
        if ((is_reduction(of) && of != fused) || is_read_outside(of, inside))
            if (!evaluate_node(of)) return Outcome::FAILED;
    }
    return Outcome::DONE;
}

std::vector<Ref> live_readers(PyObject* readers) {
    std::unordered_map<PyObject*, size_t> last;  // where a node was seen last: its own readers come after that
    std::vector<Ref> seen;
    const auto read = [&](PyObject* list, std::unordered_set<PyObject*>& level) {
        if (!PyList_CheckExact(list)) return;
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
            Ref reader = referent_of(PyList_GET_ITEM(list, i));
            if (!reader || !is_pending(reader.get()) || !level.insert(reader.get()).second) continue;
            last[reader.get()] = seen.size();
            seen.push_back(std::move(reader));
        }
    };
    size_t first = 0;
    std::unordered_set<PyObject*> level;
    read(readers, level);
    while (first < seen.size()) {
        const size_t end = seen.size();
        level.clear();
        for (; first < end; ++first) read(Ref::share(node.readers.of(seen[first].get())).get(), level);
    }
    Nodes order;
    for (size_t i = 0; i < seen.size(); ++i)
        if (last[seen[i].get()] == i) order.push_back(std::move(seen[i]));
    return order;
}

bool pass_on(PyObject* readers, PyObject* in) {
    static Reference* const graph_lock = reference_of("graph_lock");
    const Held held(graph_lock->function);
    if (!held) return false;
    Ref theirs = Ref::share(memory.readers.of(in));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(readers); ++i) {
        PyObject* reader = PyList_GET_ITEM(readers, i);
        if (referent_of(reader) && PyList_Append(theirs.get(), reader)) return false;
    }
    std::unordered_set<PyObject*> done;
    Nodes kept;  // so that no other comes to have the address of one
    for (bool more = true; more;) {  // another thread may grow from a reader before that is regrown, so look again
        more = false;
        for (Ref& each : live_readers(readers)) {
            if (!done.insert(each.get()).second) continue;
            more = true;
            if (!regrow(each.get())) return false;
            kept.push_back(std::move(each));
        }
    }
    return true;
}

// As `_mark_shared` in clarray._engine.expr.build.
bool mark_shared(PyObject* of) {
    static Reference* const graph_lock = reference_of("graph_lock");
    const Held held(graph_lock->function);
    if (!held) return false;
    Nodes level;
    level.push_back(Ref::share(of));
    while (!level.empty()) {
        Ref each = std::move(level.back());
        level.pop_back();
        Ref readers = Ref::share(node.readers.of(each.get()));
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(readers.get()); ++i) {
            Ref reader = referent_of(PyList_GET_ITEM(readers.get(), i));
            if (!reader || !is_pending(reader.get()) || as_long(node.flags.of(reader.get())) & SHARED) continue;
            Ref flags = Ref::steal(PyLong_FromLong(as_long(node.flags.of(reader.get())) | SHARED));
            if (!flags) return false;
            node.flags.put(reader.get(), flags.release());
            level.push_back(std::move(reader));
        }
    }
    return true;
}

}  // namespace clarray
