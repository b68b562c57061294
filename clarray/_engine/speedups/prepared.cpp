// Launches as Python has prepared them, by the key of their operands.
#include "replays.hpp"

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
    Replays* replays;
    long long reduced_below;    // the length from which on an axis is reduced by launches of its own
    long long reduced_at_once;  // bytes that the calling thread reduces
};

std::unordered_map<PyObject*, Launches*> launches_of;
constexpr size_t MOST_LAUNCHES = 8192;

Launches* launches_for(PyObject* device) {
    const auto found = launches_of.find(device);
    return found == launches_of.end() ? nullptr : found->second;
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

// Read a CoreLaunch.
bool read_launch(PyObject* from, Prepared& p) {
    long long chunked, has_inline, contiguous;
    const bool whole =
        read_object(from, "kernel", p.kernel) && read_object(from, "bins", p.pool.bins) && read_object(from, "local", p.local) &&
        read_object(from, "strides", p.out_strides) && read_number(from, "contiguous", contiguous) &&
        read_number(from, "chunked", chunked) && read_number(from, "has_inline", has_inline) &&
        read_number(from, "vector", p.vector) && read_number(from, "groups", p.groups) &&
        read_number(from, "most_size", p.most_size) && read_number(from, "element_bytes", p.element_bytes) &&
        read_number(from, "nbytes", p.nbytes) && read_number(from, "most_groups", p.most_groups) &&
        read_number(from, "chunk_bytes", p.chunk_bytes) && read_number(from, "work_group", p.work_group) &&
        read_number(from, "inline_bytes", p.inline_bytes) && read_number(from, "global_bytes", p.pool.global_bytes) &&
        read_number(from, "out_shift", p.out_shift) && read_numbers(from, "shifts", p.shifts) && read_numbers(from, "steps_at", p.steps_at) &&
        read_numbers(from, "sizes", p.sizes) && read_numbers(from, "states", p.states) &&
        read_numbers(from, "lengths", p.lengths) && read_object(from, "counters", p.counters);
    if (!whole) return false;
    p.chunked = chunked;
    p.has_inline = has_inline;
    p.out_contiguous = contiguous;
    return true;
}

PyObject* new_launches(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject* device;
    if (!PyArg_ParseTuple(args, "O", &device)) return nullptr;
    Launches* self = reinterpret_cast<Launches*>(type->tp_alloc(type, 0));
    if (!self) return nullptr;
    self->device = device;
    self->table = new Table();
    self->replays = new_replays();
    return reinterpret_cast<PyObject*>(self);
}

void drop_launches(PyObject* object) {
    Launches* self = reinterpret_cast<Launches*>(object);
    PyTypeObject* type = Py_TYPE(object);
    if (launches_for(self->device) == self) launches_of.erase(self->device);
    delete self->table;
    drop_replays(self->replays);
    type->tp_free(object);
    Py_DECREF(type);
}

PyObject* limit_reductions(PyObject* object, PyObject* args) {
    Launches* self = reinterpret_cast<Launches*>(object);
    if (!PyArg_ParseTuple(args, "LL", &self->reduced_below, &self->reduced_at_once)) return nullptr;
    Py_RETURN_NONE;
}

// use(): have the launches of this object's device be looked for here.
PyObject* use_launches(PyObject* object, PyObject*) {
    Launches* self = reinterpret_cast<Launches*>(object);
    launches_of[self->device] = self;
    Py_RETURN_NONE;
}

PyMethodDef launches_methods[] = {
    {"use", use_launches, METH_NOARGS, "Have the launches of the device be looked for here."},
    {"limit_reductions", limit_reductions, METH_VARARGS,
     "Say from which length on an axis is reduced by launches of its own, and what bytes the calling thread reduces."},
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

std::shared_ptr<Prepared> prepared_for(const Operands& found) {
    const Launches* of = launches_for(found.device);
    if (!of) return nullptr;
    const auto at = of->table->find(found.key);
    return at == of->table->end() ? nullptr : at->second;
}

Outcome keep(Ref said, const Operands& found) {
    if (!said) return Outcome::FAILED;
    if (said.get() == Py_None) return Outcome::RARE;
    auto made = std::make_shared<Prepared>();
    if (!read_launch(said.get(), *made)) return Outcome::FAILED;
    Launches* of = launches_for(found.device);
    if (!of || found.count + 4 + made->sizes.size() + made->states.size() > MOST_ARGUMENTS) return Outcome::RARE;
    Table dropped;  // at the end: that may run anything
    if (of->table->size() >= MOST_LAUNCHES) dropped.swap(*of->table);
    of->table->emplace(found.key, std::move(made));
    return Outcome::DONE;
}

long long reduced_below(PyObject* device) {
    const Launches* of = launches_for(device);
    return of ? of->reduced_below : 0;
}

long long reduced_at_once(PyObject* device) {
    const Launches* of = launches_for(device);
    return of ? of->reduced_at_once : 0;
}

Replays* replays_of(PyObject* device) {
    const Launches* of = launches_for(device);
    return of ? of->replays : nullptr;
}

void forget_launches(PyObject* device) { launches_of.erase(device); }

bool add_launches_type(PyObject* module) {
    Ref type = Ref::steal(PyType_FromSpec(&launches_spec));
    return type && PyModule_AddObjectRef(module, "Launches", type.get()) == 0;
}

}  // namespace clarray
