// What a graph computes before it can be one launch: the native implementation of `_compute_shared` in clarray._engine.evaluate, and of
// `notify_users` in clarray._engine.expr.build and `live_readers` in clarray._engine.expr.graph.
#include "operands.hpp"

#include <algorithm>
#include <deque>
#include <unordered_set>
#include <vector>

namespace clarray {

namespace {

using Nodes = std::vector<Ref>;

// A set of nodes: mostly few, which are looked through sooner than hashed.
class NodeSet {
public:
    bool contains(PyObject* of) const {
        if (few_.size() < FEW) return std::find(few_.begin(), few_.end(), of) != few_.end();
        return many_.count(of);
    }
    bool insert(PyObject* of) {  // false where it is in already
        if (contains(of)) return false;
        if (few_.size() < FEW) few_.push_back(of);
        if (few_.size() == FEW) {
            if (many_.empty()) many_.insert(few_.begin(), few_.end());
            many_.insert(of);
        }
        return true;
    }

private:
    static constexpr size_t FEW = 24;
    std::vector<PyObject*> few_;
    std::unordered_set<PyObject*> many_;
};

bool is_pending(PyObject* of) { return node.memory.of(of) == Py_None; }
bool is_reduction(PyObject* of) { return Py_TYPE(node.op.of(of)) == reduction_type; }
bool is_transform(PyObject* of) { return Py_TYPE(node.op.of(of)) == transform_type; }
bool is_pass(PyObject* of) { return is_pass_type(Py_TYPE(node.op.of(of))); }

// The pending nodes of a graph, operands before what uses them; false where a selection is among them.
bool visit(PyObject* of, Nodes& order, NodeSet& seen) {
    Ref args = Ref::share(node.args.of(of));
    if (!is_pending(of) || !PyTuple_GET_SIZE(args.get()) || !seen.insert(of)) return true;
    if (is_selection(of)) return false;
    const Py_ssize_t count = is_transform(of) ? 0 : PyTuple_GET_SIZE(args.get());  // it computes its own while it reads
    for (Py_ssize_t i = 0; i < count; ++i)
        if (!visit(PyTuple_GET_ITEM(args.get(), i), order, seen)) return false;
    order.push_back(Ref::share(of));
    return true;
}

// Whether a node applies elementwise operations and constants to one reduction or transform, as `find_epilogue` and
// `find_finish` have it; find that.
bool find_fused(PyObject* of, PyObject* shape, PyObject*& fused) {
    if (is_pass(of)) {
        if ((fused && fused != of) || !is_same_shape(node.shape.of(of), shape)) return false;
        fused = of;
        return true;
    }
    if (node.op.of(of) == python.const_op) return true;
    PyObject* args = node.args.of(of);
    if (!is_pending(of) || !PyTuple_GET_SIZE(args)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i)
        if (!find_fused(PyTuple_GET_ITEM(args, i), shape, fused)) return false;
    return true;
}

// Whether a reader is another consumer than the graph in hand: one before it, perhaps.
bool is_outside(PyObject* reader, const NodeSet& inside) {
    Ref reading = referent_of(reader);
    if (reading && inside.contains(reading.get())) return false;
    return reinterpret_cast<PyObject*>(Py_TYPE(reader)) != python.non_consuming_ref;
}

bool is_read_outside(PyObject* of, const NodeSet& inside) {
    Ref readers = Ref::share(node.readers.of(of));
    if (!PyList_CheckExact(readers.get())) return false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(readers.get()); ++i)
        if (is_outside(PyList_GET_ITEM(readers.get(), i), inside)) return true;
    return false;
}

bool has_transform(const Nodes& order) {
    return std::any_of(order.begin(), order.end(), [](const Ref& each) { return is_pending(each.get()) && is_transform(each.get()); });
}

}  // namespace

bool is_private(PyObject* root) {
    Nodes order;
    NodeSet inside;
    if (!visit(root, order, inside)) return false;
    for (const Ref& each : order) {
        if (is_pass(each.get())) return false;
        if (each.get() == root) continue;
        Py_ssize_t uses = 1;  // by `order`
        for (const Ref& user : order) {
            PyObject* args = node.args.of(user.get());
            for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) uses += PyTuple_GET_ITEM(args, i) == each.get();
        }
        if (Py_REFCNT(each.get()) != uses) return false;
    }
    return true;
}

namespace {

// Whether a tree has a heavy operation; `kept` becomes true if something else keeps such a part of it alive.
bool is_heavy(PyObject* of, bool& kept) {
    if (!is_pending(of) || Py_TYPE(node.op.of(of)) != loop_type) return false;
    PyObject* args = node.args.of(of);
    bool heavy = as_long(loop.weight.of(node.op.of(of))) > 1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
        PyObject* arg = PyTuple_GET_ITEM(args, i);
        const bool below = is_heavy(arg, kept);
        kept = kept || (below && Py_REFCNT(arg) > 1);
        heavy = heavy || below;
    }
    return heavy;
}

}  // namespace

bool keeps_heavy(PyObject* root) {
    constexpr long OTHERS = SHARED | LARGE | REDUCES | MASKED;
    bool kept = false;
    if (!(as_long(node.flags.of(root)) & OTHERS)) is_heavy(root, kept);
    return kept;
}

Outcome compute_shared(PyObject* root, long long little) {
    Nodes order;
    NodeSet inside;
    if (!visit(root, order, inside)) return Outcome::FALLBACK;
    PyObject* fused = nullptr;
    if (!find_fused(root, node.shape.of(root), fused)) {
        // which of them takes further operands, and whether they lie as it stores, Python finds out
        if (has_transform(order)) return Ref::steal(invoke(python.fuse_below, root)) ? Outcome::DONE : Outcome::FAILED;
        fused = nullptr;
    } else if (fused && !is_transform(fused) && !is_reduction(root) && bytes_read(root) <= little) {
        fused = nullptr;
    }
    for (const Ref& each : order) {
        PyObject* of = each.get();
        if (of == root || !is_pending(of)) continue;
        if ((is_pass(of) && of != fused) || is_read_outside(of, inside))
            if (!evaluate_node(of)) return Outcome::FAILED;
    }
    return Outcome::DONE;
}

namespace {

// Add what reads a node or memory to `order`, what reads that before it: a node comes when all of its readers are there.
void add_readers(PyObject* list, NodeSet& seen, Nodes& order) {
    if (!PyList_CheckExact(list)) return;
    Ref readers = Ref::share(list);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
        Ref reader = referent_of(PyList_GET_ITEM(list, i));
        if (!reader || !is_pending(reader.get()) || !seen.insert(reader.get())) continue;
        add_readers(node.readers.of(reader.get()), seen, order);
        order.push_back(std::move(reader));
    }
}

bool has_same_items(PyObject* one, PyObject* other) {
    const Py_ssize_t count = PyTuple_GET_SIZE(one);
    return count == PyTuple_GET_SIZE(other) && std::equal(&PyTuple_GET_ITEM(one, 0), &PyTuple_GET_ITEM(one, 0) + count, &PyTuple_GET_ITEM(other, 0));
}

}  // namespace

bool has_consumers(PyObject* readers) {
    if (!PyList_CheckExact(readers)) return false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(readers); ++i) {
        Ref reader = referent_of(PyList_GET_ITEM(readers, i));
        if (reader && is_pending(reader.get()) && !is_transform(reader.get())) return true;
    }
    return false;
}

std::vector<Ref> live_readers(PyObject* readers) {
    NodeSet seen;
    Nodes order;
    add_readers(readers, seen, order);
    std::reverse(order.begin(), order.end());
    return order;
}

namespace {

// As `_refresh_changing_users` in clarray._engine.expr.build.
bool refresh_changing_users(PyObject* readers) {
    NodeSet direct;
    std::deque<Ref> waiting;
    const auto add = [&](PyObject* list, bool are_direct) {
        for (Py_ssize_t i = 0; PyList_CheckExact(list) && i < PyList_GET_SIZE(list); ++i) {
            Ref reader = referent_of(PyList_GET_ITEM(list, i));
            if (!reader || !is_pending(reader.get()) || (are_direct && !direct.insert(reader.get()))) continue;
            waiting.push_back(std::move(reader));
        }
    };
    for (add(readers, true); !waiting.empty(); add(readers, true)) {
        while (!waiting.empty()) {
            const Ref each = std::move(waiting.front());
            waiting.pop_front();
            PyObject* of = each.get();
            const Ref inputs = Ref::share(node.inputs.of(of));
            const long long structure = as_wide(node.sig.of(of)), flags = as_wide(node.flags.of(of));
            if (!refresh_metadata(of)) return false;
            const bool is_same = structure == as_wide(node.sig.of(of)) && flags == as_wide(node.flags.of(of));
            if (!is_same || !has_same_items(inputs.get(), node.inputs.of(of))) add(node.readers.of(of), false);
        }
    }
    return true;
}

// Add the readers of a node to those of the memory that it has become, and refresh them. `again`, after an interrupt, refreshes
// all: a walk would end at the nodes that the interrupted one has refreshed.
bool pass_memory_on(PyObject* readers, PyObject* in, bool again) {
    const Held held(python.graph_lock);
    if (!held) return false;
    Ref theirs = Ref::share(memory.readers.of(in));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(readers); ++i) {
        PyObject* reader = PyList_GET_ITEM(readers, i);
        if (referent_of(reader) && PyList_Append(theirs.get(), reader)) return false;
    }
    if (!again) return refresh_changing_users(readers);
    const std::vector<Ref> users = live_readers(readers);
    return std::all_of(users.begin(), users.end(), [](const Ref& each) { return refresh_metadata(each.get()); });
}

}  // namespace

bool notify_users(PyObject* readers, PyObject* in) {
    if (pass_memory_on(readers, in, false)) return true;
    const Interrupted interrupted;  // they would go on reading what the node was made of, which may change
    if (!pass_memory_on(readers, in, true)) PyErr_Clear();
    return false;
}

int append_reference(PyObject* list, PyObject* reference, bool (*is_spent)(PyObject*)) {
    constexpr Py_ssize_t MANY = 16;  // that are looked at again and again
    const Held held(python.graph_lock, false);  // whoever holds it may be about to write back what is in the list
    const Py_ssize_t count = PyList_GET_SIZE(list);
    Py_ssize_t at = held ? count : 0;
    while (at && is_spent(PyList_GET_ITEM(list, at - 1))) --at;
    if (!held || at == count) return !PyErr_Occurred() && PyList_Append(list, reference) == 0 ? 1 : -1;
    if (count - at > MANY && PyList_SetSlice(list, at + 1, count, nullptr)) return -1;
    return PyList_SetItem(list, at, Py_NewRef(reference));
}

// As `_mark_shared` in clarray._engine.expr.build.
bool mark_shared(PyObject* of) {
    const Held held(python.graph_lock);
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
