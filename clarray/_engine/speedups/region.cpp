// The key of a region, which is made from one walk over its graph.
#include "region.hpp"

#include <algorithm>
#include <cstring>

namespace clarray {

namespace {

constexpr uint32_t PENDING = uint32_t(1) << 31;
constexpr size_t MOST_NODES = 1 << 14, MOST_INPUTS = 512, MOST_SIBLINGS = 15, MANY_SHARED = 16;

uint64_t mix(uint64_t word) {
    word = (word ^ word >> 31) * 0x9E3779B97F4A7C15u;
    return word ^ word >> 29;
}

bool is_pending(PyObject* of) { return node.memory.of(of) == Py_None && PyTuple_GET_SIZE(node.args.of(of)); }
// The number of elements; -1 for a selection, which has to be evaluated to say it.
long long size_of(PyObject* of) { return is_selection(of) ? -1 : as_wide(node.size.of(of)); }
bool is_pass(PyObject* of) { return is_pass_type(Py_TYPE(node.op.of(of))) && !is_pending_view(of); }

// The pending nodes that read a node.
template <typename Take>
void each_reader(PyObject* of, const Take& take) {
    PyObject* readers = node.readers.of(of);
    if (!PyList_CheckExact(readers)) return;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(readers); ++i) {
        Ref reader = referent_of(PyList_GET_ITEM(readers, i));
        if (reader && node.memory.of(reader.get()) == Py_None) take(reader.get());
    }
}

// A walk through what nodes read, operands before their users. `enter` says whether a node is new, `leave` may end the walk.
template <typename Enter, typename Leave>
bool visit(PyObject* root, const Enter& enter, const Leave& leave) {
    struct Visit {
        PyObject *of, *args;
        Py_ssize_t next;
    };
    std::vector<Visit> stack;
    if (enter(root)) stack.push_back({root, node.args.of(root), 0});
    while (!stack.empty()) {
        Visit& top = stack.back();
        if (top.next < PyTuple_GET_SIZE(top.args)) {
            PyObject* arg = PyTuple_GET_ITEM(top.args, top.next++);
            if (enter(arg)) stack.push_back({arg, node.args.of(arg), 0});
            continue;
        }
        PyObject* of = top.of;
        stack.pop_back();
        if (!leave(of)) return false;
    }
    return true;
}

}  // namespace

size_t Numbers::place_of(uint64_t word) const {
    const Slot* slots = many_.empty() ? few_ : many_.data();
    const size_t mask = (many_.empty() ? FEW : many_.size()) - 1;
    size_t at = size_t(mix(word)) & mask;
    while (slots[at].word && slots[at].word != word) at = (at + 1) & mask;
    return at;
}

uint32_t Numbers::find(uint64_t word) const {
    const size_t at = place_of(word);
    return many_.empty() ? few_[at].number : many_[at].number;
}

void Numbers::reserve(size_t count) {
    size_t size = FEW;
    while (size < 2 * count) size *= 2;
    if (size > FEW && !used_) many_.resize(size);
}

void Numbers::enlarge() {
    std::vector<Slot> old(many_.empty() ? 8 * FEW : 4 * many_.size());
    old.swap(many_);
    const Slot* const first = old.empty() ? few_ : old.data();
    for (const Slot* slot = first; slot != first + (old.empty() ? FEW : old.size()); ++slot)
        if (slot->word) many_[place_of(slot->word)] = *slot;
}

uint32_t& Numbers::operator[](uint64_t word) {
    size_t at = place_of(word);
    if (!(many_.empty() ? few_ : many_.data())[at].word) {
        if (2 * ++used_ > (many_.empty() ? FEW : many_.size())) {
            enlarge();
            at = place_of(word);
        }
        (many_.empty() ? few_ : many_.data())[at].word = word;
    }
    return (many_.empty() ? few_ : many_.data())[at].number;
}

template <typename Number>
void Region::append(Number number) {
    call.key.append(reinterpret_cast<const char*>(&number), sizeof number);
}

// Constants of equal bits are one, as `graph_of` in clarray._engine.expr.graph has it for large graphs.
bool Region::add_constant(PyObject* constant) {
    PyObject* value = node.value.of(constant);
    uint64_t bits;
    char kind;
    if (PyFloat_CheckExact(value)) {
        const double number = PyFloat_AS_DOUBLE(value);
        std::memcpy(&bits, &number, sizeof bits);
        kind = 'f';
    } else if (PyLong_CheckExact(value)) {
        int overflow;
        bits = uint64_t(PyLong_AsLongLongAndOverflow(value, &overflow));
        if (overflow) return false;
        kind = 'i';
    } else {
        return false;
    }
    const long sig = as_long(node.sig.of(constant));
    uint32_t& number = values_[mix(bits ^ uint64_t(sig) << 52 ^ uint64_t(kind)) | 1];
    if (number == Numbers::NONE) {
        number = uint32_t(constants.size());
        constants.push_back(Ref::share(constant));
        call.key.push_back(kind);
        append(sig);
        values.append(reinterpret_cast<const char*>(&bits), sizeof bits);
    } else {
        PyObject* known = node.value.of(constants[number].get());
        if (Py_TYPE(known) != Py_TYPE(value) || std::memcmp(values.data() + number * sizeof bits, &bits, sizeof bits)) return false;
        if (as_long(node.sig.of(constants[number].get())) != sig) return false;
    }
    numbers_[constant] = number | uint32_t(1) << 30;
    return true;
}

bool Region::add_operand(PyObject* input) {
    if (node.memory.of(input) == Py_None && node.op.of(input) == python.const_op && Py_TYPE(input) != clarray::known_type)
        return add_constant(input);
    if (inputs_ == MOST_INPUTS) return false;
    numbers_[input] = inputs_++;
    if (node.memory.of(input) != Py_None) inputs_read_.push_back(input);
    call.key.push_back('m');
    return call.add_new_input(input);
}

bool Region::add_operation(PyObject* pending) {
    PyObject *operation = node.op.of(pending), *args = node.args.of(pending);
    PyTypeObject* kind = Py_TYPE(operation);
    if (as_long(node.flags.of(pending)) & MASKED || order.size() == MOST_NODES) return false;
    if (kind == loop_type) {
        append(uint32_t(as_long(loop.code.of(operation))));
    } else if (is_pass_type(kind)) {
        call.key.push_back('P');
        call.add_pointer(operation);
        if (kind == transform_type) call.named.push_back(Ref::share(operation));
    } else {
        return false;
    }
    const bool is_view = is_pending_view(pending);  // which counts as a layout of what it looks at
    has_views = has_views || is_view;
    structure = structure * 31 + (is_view ? 1 : size_t(mix(reinterpret_cast<uint64_t>(operation))));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
        const uint32_t number = numbers_.find(PyTuple_GET_ITEM(args, i));
        append(number);
        structure = structure * 31 + number;
        if (number & PENDING) ++uses_[number & ~PENDING];
    }
    PyObject *shape = node.shape.of(pending), *like = node.shape.of(PyTuple_GET_ITEM(args, 0));
    call.add_shape(shape, like);
    numbers_[pending] = uint32_t(order.size()) | PENDING;
    order.push_back(Ref::share(pending));
    uses_.push_back(0);
    return true;
}

bool Region::walk(PyObject* root) {
    bool is_known = true;
    const auto enter = [&](PyObject* of) {
        if (!is_known || numbers_.find(of) != Numbers::NONE) return false;
        if (is_pending(of)) {
            numbers_[of] = PENDING - 1;  // on the way
            return true;
        }
        is_known = add_operand(of);
        return false;
    };
    const auto leave = [&](PyObject* of) { return is_known && add_operation(of); };
    if (!visit(root, enter, leave) || !is_known) return false;
    call.key.push_back('r');
    append(numbers_.find(root));
    roots_.push_back(root);
    return true;
}

// As in `with_siblings`.
bool Region::is_sibling(PyObject* user, PyObject* root) const {
    if (Py_TYPE(node.op.of(user)) != loop_type || is_selection(user)) return false;
    if (!is_same_shape(node.shape.of(user), node.shape.of(root))) return false;
    Numbers seen;
    size_t shared = 0, all = 0;
    const auto enter = [&](PyObject* of) {
        if (!is_pending(of) || seen.find(of) != Numbers::NONE) return false;
        // the passes below what is inside are inside, and so many shared nodes are enough
        if (shared >= MANY_SHARED && numbers_.find(of) != Numbers::NONE) return false;
        seen[of] = 0;
        return true;
    };
    const auto leave = [&](PyObject* of) {
        const bool is_inside = numbers_.find(of) != Numbers::NONE;
        shared += is_inside;
        ++all;
        return is_inside || !is_pass(of);
    };
    return visit(user, enter, leave) && (size_of(root) == 1 || shared >= MANY_SHARED || 2 * shared >= all);
}

// As in `_is_sibling_reduction`.
bool Region::is_sibling_reduction(PyObject* user, PyObject* reduced) const {
    if (Py_TYPE(node.op.of(user)) != reduction_type) return false;
    PyObject *args = node.args.of(user), *value = PyTuple_GET_ITEM(args, 0);
    PyObject *axes = reduction.axes.of(node.op.of(user)), *others = reduction.axes.of(node.op.of(reduced));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i)
        if (is_selection(PyTuple_GET_ITEM(args, i))) return false;
    if (!is_same_shape(axes, others) || !is_same_shape(node.shape.of(value), node.shape.of(PyTuple_GET_ITEM(node.args.of(reduced), 0)))) return false;
    Numbers seen;
    const auto enter = [&](PyObject* of) {
        if (!is_pending(of) || seen.find(of) != Numbers::NONE) return false;
        seen[of] = 0;
        return true;
    };
    const auto leave = [&](PyObject* of) { return of == user || !is_pass(of) || numbers_.find(of) != Numbers::NONE; };
    return visit(user, enter, leave);
}

bool Region::is_sibling_of_any(PyObject* user, const std::vector<PyObject*>& reductions) const {
    return std::any_of(reductions.begin(), reductions.end(), [&](PyObject* reduced) { return is_sibling_reduction(user, reduced); });
}

// Add the reductions beside those of the region, and beside the added ones, as `with_siblings` does. The readers of each
// node are looked at once.
bool Region::add_reductions() {
    std::vector<PyObject*> reductions;
    std::vector<Ref> found, level;
    Numbers seen;
    const auto take_readers = [&](PyObject* of) {
        const auto has_size = [&](PyObject* reduced) { return size_of(PyTuple_GET_ITEM(node.args.of(reduced), 0)) == size_of(of); };
        if (std::none_of(reductions.begin(), reductions.end(), has_size)) return;
        each_reader(of, [&](PyObject* user) {
            if (numbers_.find(user) != Numbers::NONE || seen.find(user) != Numbers::NONE) return;
            seen[user] = 0;
            level.push_back(Ref::share(user));
        });
    };
    size_t added = 0, next_input = 0, next = 0;
    do {
        for (size_t i = next; i < order.size(); ++i)
            if (Py_TYPE(node.op.of(order[i].get())) == reduction_type) reductions.push_back(order[i].get());
        if (reductions.empty()) return true;
        for (; next_input < inputs_read_.size(); ++next_input) take_readers(inputs_read_[next_input]);
        for (; next < order.size(); ++next) take_readers(order[next].get());
        found.clear();
        while (!level.empty()) {
            const Ref each = std::move(level.back());
            level.pop_back();
            if (added < MOST_SIBLINGS && is_sibling_of_any(each.get(), reductions)) ++added, found.push_back(Ref::share(each.get()));
            else take_readers(each.get());
        }
        for (const Ref& each : found)
            if (!walk(each.get())) return false;
    } while (!found.empty());
    return true;
}

bool Region::add_siblings(PyObject* root) {
    const size_t own = order.size();
    if (!add_reductions()) return false;
    const bool is_number = size_of(root) == 1;
    if (!is_number && (is_pass(root) || own < 2)) return true;
    const size_t all = order.size();
    std::vector<Ref> found, level;
    Numbers seen;
    const auto see_users = [&](PyObject* of) {
        each_reader(of, [&](PyObject* user) {
            if (seen.find(user) != Numbers::NONE) return;
            seen[user] = 0;
            level.push_back(Ref::share(user));
        });
    };
    if (is_number) see_users(root);  // the kernel that writes what reads it to an array may compute that
    while (!level.empty()) {
        const Ref user = std::move(level.back());
        level.pop_back();
        see_users(user.get());
    }
    for (size_t i = 0; i < all; ++i) {
        PyObject* of = order[i].get();
        if (of == root || !PyList_CheckExact(node.readers.of(of)) || PyList_GET_SIZE(node.readers.of(of)) < (is_number ? 1 : 2)) continue;
        level.push_back(Ref::share(of));
        while (!level.empty()) {
            const Ref each = std::move(level.back());
            level.pop_back();
            bool is_read = false;  // of a number, by another number
            each_reader(each.get(), [&](PyObject* user) {
                is_read = is_read || !is_number || size_of(user) == 1;
                if (numbers_.find(user) != Numbers::NONE || seen.find(user) != Numbers::NONE) return;
                seen[user] = 0;
                level.push_back(Ref::share(user));
            });
            const bool is_outside = numbers_.find(each.get()) == Numbers::NONE;
            if (is_outside && !is_read && found.size() < MOST_SIBLINGS && is_sibling(each.get(), root)) found.push_back(Ref::share(each.get()));
        }
    }
    for (const Ref& each : found)
        if (!walk(each.get())) return false;
    return true;
}

// Note what something outside the region keeps alive, and whether others have read it or will.
void Region::add_held() {
    for (size_t i = 0; i < order.size(); ++i) {
        PyObject* of = order[i].get();
        bool is_root = false;
        for (PyObject* root : roots_) is_root = is_root || root == of;
        const bool is_held = !is_root && Py_REFCNT(of) > Py_ssize_t(uses_[i]) + 1;
        if (!is_held) continue;
        bool is_read = false;
        PyObject* readers = node.readers.of(of);
        for (Py_ssize_t k = 0; PyList_CheckExact(readers) && k < PyList_GET_SIZE(readers); ++k) {
            PyObject* reader = PyList_GET_ITEM(readers, k);
            const Ref user = referent_of(reader);
            const bool is_inside = user && numbers_.find(user.get()) != Numbers::NONE;
            is_read = is_read || (!is_inside && reinterpret_cast<PyObject*>(Py_TYPE(reader)) != python.non_consuming_ref);
        }
        call.key.push_back(is_read ? 'o' : 'h');
        append(uint32_t(i));
    }
}

bool has_company(PyObject* reduced) {
    Numbers inside;
    std::vector<PyObject*> leaves;
    const auto enter = [&](PyObject* of) {
        if (inside.find(of) != Numbers::NONE) return false;
        inside[of] = 0;
        if (node.memory.of(of) != Py_None) leaves.push_back(of);
        return is_pending(of);
    };
    visit(reduced, enter, [](PyObject*) { return true; });
    bool found = false;
    for (PyObject* leaf : leaves) each_reader(leaf, [&](PyObject* user) { found = found || inside.find(user) == Numbers::NONE; });
    return found;
}

bool Region::describe(PyObject* root, PyObject* target) {
    static thread_local size_t last_count = 0;  // regions come again
    numbers_.reserve(last_count);
    constexpr size_t MOST_KEPT = 512;  // bytes of a key that are asked for at once
    call.key.reserve(MOST_KEPT);
    call.key.push_back(EVALUATION);
    if (!is_pending(root) || !walk(root)) return false;
    if (target) call.key.push_back('w');
    if (!(target ? call.add_new_input(target) : add_siblings(root))) return false;
    add_held();
    last_count = numbers_.count();
    return call.device && !PyErr_Occurred();
}

}  // namespace clarray
