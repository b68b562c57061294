// The table of a device's programs, by signature.
#include "program.hpp"

#include <unordered_map>

namespace clarray {

namespace {

// Python keeps this object beside what it has prepared itself, and drops both together.
using Table = std::unordered_map<std::string, Entry>;
struct Programs {
    PyObject_HEAD
    PyObject* device;  // borrowed: the key under which it is found
    Table* table;
    long long reduced_below;    // the length from which on an axis is reduced by more than one launch
    long long reduced_at_once;  // bytes that the calling thread reduces to a number
    long long reduced_to_many_at_once;  // to several numbers
};

std::unordered_map<PyObject*, Programs*> programs_of;
constexpr size_t MOST_PROGRAMS = 16384;

Programs* programs_for(PyObject* device) {
    const auto entry = programs_of.find(device);
    return entry == programs_of.end() ? nullptr : entry->second;
}

PyObject* new_programs(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject* device;
    if (!PyArg_ParseTuple(args, "O", &device)) return nullptr;
    Programs* self = reinterpret_cast<Programs*>(type->tp_alloc(type, 0));
    if (!self) return nullptr;
    self->device = device;
    self->table = new Table();
    return reinterpret_cast<PyObject*>(self);
}

void drop_programs(PyObject* object) {
    Programs* self = reinterpret_cast<Programs*>(object);
    PyTypeObject* type = Py_TYPE(object);
    if (programs_for(self->device) == self) programs_of.erase(self->device);
    delete self->table;
    type->tp_free(object);
    Py_DECREF(type);
}

PyObject* limit_reductions(PyObject* object, PyObject* args) {
    Programs* self = reinterpret_cast<Programs*>(object);
    if (!PyArg_ParseTuple(args, "LLL", &self->reduced_below, &self->reduced_at_once, &self->reduced_to_many_at_once))
        return nullptr;
    Py_RETURN_NONE;
}

PyObject* use_programs(PyObject* object, PyObject*) {
    Programs* self = reinterpret_cast<Programs*>(object);
    programs_of[self->device] = self;
    Py_RETURN_NONE;
}

PyMethodDef programs_methods[] = {
    {"use", use_programs, METH_NOARGS, "Look programs of the device up in this table."},
    {"limit_reductions", limit_reductions, METH_VARARGS,
     "Set the length from which on an axis is reduced by more than one launch, and the bytes that the calling thread reduces."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot programs_slots[] = {
    {Py_tp_methods, programs_methods},
    {Py_tp_new, (void*)new_programs},
    {Py_tp_dealloc, (void*)drop_programs},
    {0, nullptr},
};
PyType_Spec programs_spec = {"clarray._engine.speedups._speedups.Programs", sizeof(Programs), 0, Py_TPFLAGS_DEFAULT, programs_slots};

bool read_attribute(PyObject* from, const char* name, Ref& object) {
    object = Ref::steal(PyObject_GetAttrString(from, name));
    return bool(object);
}

// Read the program of an expression, an `ExpressionProgram` of clarray._engine.launch.program.
bool read_expression(PyObject* planned, PyObject* on, Program& program) {
    Ref contiguous, most;
    if (!read_attribute(planned, "strides", program.strides) || !read_attribute(planned, "contiguous", contiguous) ||
        !read_attribute(planned, "most_size", most) || !read_steps(planned, on, program))
        return false;
    program.contiguous = contiguous.get() == Py_True;
    program.most_size = as_wide(most.get());
    find_lives(program);
    return !PyErr_Occurred();
}

}  // namespace

Entry* entry_of(PyObject* device, const std::string& key) {
    Programs* of = programs_for(device);
    if (!of) return nullptr;
    const auto at = of->table->find(key);
    return at == of->table->end() ? nullptr : &at->second;
}

Entry* new_entry(PyObject* device, const std::string& key) {
    Programs* of = programs_for(device);
    if (of && of->table->size() >= MOST_PROGRAMS) {
        Table dropped;
        dropped.swap(*of->table);
        dropped.clear();  // that may run anything
        of = programs_for(device);
    }
    return of ? &(*of->table)[key] : nullptr;
}

std::shared_ptr<Program> program_of(const Operands& operands) {
    const Entry* entry = entry_of(operands.device, operands.key);
    return entry ? entry->program : nullptr;
}

Outcome keep_program(Ref planned, const Operands& operands) {
    if (!planned) return Outcome::FAILED;
    if (planned.get() == Py_None) return Outcome::FALLBACK;
    auto made = std::make_shared<Program>();
    if (!read_expression(planned.get(), operands.device, *made)) return PyErr_Occurred() ? Outcome::FAILED : Outcome::FALLBACK;
    Entry* entry = new_entry(operands.device, operands.key);
    if (!entry) return Outcome::FALLBACK;
    entry->program = std::move(made);
    return Outcome::DONE;
}

long long reduced_below(PyObject* device) {
    const Programs* of = programs_for(device);
    return of ? of->reduced_below : 0;
}

long long reduced_at_once(PyObject* device, long long outputs) {
    const Programs* of = programs_for(device);
    return !of ? 0 : outputs == 1 ? of->reduced_at_once : of->reduced_to_many_at_once;
}

void forget_programs(PyObject* device) { programs_of.erase(device); }

bool add_programs_type(PyObject* module) {
    Ref type = Ref::steal(PyType_FromSpec(&programs_spec));
    return type && PyModule_AddObjectRef(module, "Programs", type.get()) == 0;
}

}  // namespace clarray
