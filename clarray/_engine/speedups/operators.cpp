// Operators of arrays: the twin of `binary` in clarray._api.operators.
//
// An Operator looks the loop up by the operands' dtypes, grows the expression and makes an array of it. It is called as
// a method. What it does not know is for the Python operator that it was made from.
#include "places.hpp"

#include <climits>
#include <cmath>
#include <deque>
#include <unordered_map>

namespace clarray {

namespace {

// A pair of dtypes, the second perhaps the type of a Python number, and what it takes.
struct Row {
    PyObject *first, *second;  // compared by identity
    PyObject* loop;
    PyObject* dtype;      // of the second operand, where that is a Python number
    PyObject* signature;  // and its interned structure, as a constant
    char kind;            // of that dtype
    long itemsize;
    bool is_reference;  // this pair is for the Python operator
};

constexpr size_t MOST_ROWS = 64;  // dtypes that are equal and yet other objects must not fill the memory

struct Operator {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject* reference;  // the Python operator
    PyObject* find;       // the loop, and the second operand's dtype, of a pair of dtypes
    bool reflected;
    bool integers_apart;  // pairs of integers are for the Python operator
    bool in_place;
    char folds;  // the sign of what numbers are computed by at once, or 0
    std::deque<Row> rows;  // whose rows stay where they are
};

Ref attribute(PyObject* of, const char* name) { return Ref::steal(PyObject_GetAttrString(of, name)); }

char kind_of(PyObject* dtype) {
    Ref kind = attribute(dtype, "kind");
    const char* text = kind ? PyUnicode_AsUTF8(kind.get()) : nullptr;
    return text ? text[0] : '\0';
}

bool is_integer(char kind) { return kind == 'i' || kind == 'u'; }

const Row* row_of(Operator* self, PyObject* first, PyObject* second) {
    for (const Row& row : self->rows)
        if (row.first == first && row.second == second) return &row;
    return nullptr;
}

// Ask Python for the loop of a pair; null without an error where there is no more room.
const Row* new_row(Operator* self, PyObject* operand, PyObject* first, PyObject* second) {
    if (self->rows.size() >= MOST_ROWS) return nullptr;
    Row row{first, second, nullptr, nullptr, nullptr, kind_of(first), 0, false};
    const bool number = PyType_Check(second);
    if (self->integers_apart) {  // a negative exponent has to be looked for
        const bool of_int = second == reinterpret_cast<PyObject*>(&PyLong_Type);
        row.is_reference = number ? of_int && row.kind != 'f' && row.kind != 'c' : is_integer(kind_of(second));
    }
    if (PyErr_Occurred()) return nullptr;
    if (!row.is_reference) {
        PyObject* arguments[] = {operand, second};
        Ref found = Ref::steal(PyObject_Vectorcall(self->find, arguments, 2, nullptr));
        if (!found) return nullptr;
        row.is_reference = found.get() == Py_None || Py_TYPE(PyTuple_GET_ITEM(found.get(), 0)) != loop_type;
        row.loop = row.is_reference ? Py_None : PyTuple_GET_ITEM(found.get(), 0);
        if (number && !row.is_reference) {
            row.dtype = PyTuple_GET_ITEM(found.get(), 1);
            row.kind = kind_of(row.dtype);
            Ref itemsize = attribute(row.dtype, "itemsize");
            row.signature = constant_signature(row.dtype);
            if (!itemsize || !row.signature) return nullptr;
            row.itemsize = as_long(itemsize.get());
            Py_INCREF(row.signature);
            Py_INCREF(row.dtype);
        }
        Py_INCREF(row.loop);
    }
    Py_INCREF(first);
    Py_INCREF(second);
    self->rows.push_back(row);
    return &self->rows.back();
}

constexpr double LARGEST_FLOAT = 3.40282346638528859812e38;
constexpr long EXACT_IN_HALF = 2048;  // integers up to here are exact in every float dtype

// A Python number as kernels take it for a dtype, as `scalar_value` gives it; empty where that has to judge.
Ref scalar_value(PyObject* number, const Row& row) {
    if (PyFloat_CheckExact(number)) {
        const double value = PyFloat_AS_DOUBLE(number);
        const bool exact = row.itemsize == 8 || (row.itemsize == 4 && -LARGEST_FLOAT < value && value < LARGEST_FLOAT);
        return row.kind == 'f' && exact ? Ref::share(number) : Ref();
    }
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow) return {};
    if (row.kind == 'f')
        return -EXACT_IN_HALF <= value && value <= EXACT_IN_HALF ? Ref::steal(PyFloat_FromDouble(double(value))) : Ref();
    const int bits = int(row.itemsize * 8);
    if (row.kind == 'i') {
        const long long most = LLONG_MAX >> (64 - bits);
        return -most - 1 <= value && value <= most ? Ref::share(number) : Ref();
    }
    if (row.kind == 'u') {
        const bool fits = value >= 0 && (bits == 64 || value <= (1LL << bits) - 1);
        return fits ? Ref::share(number) : Ref();
    }
    return {};
}

// The twin of `constant` in clarray._engine.expr.node.
Ref new_constant(PyObject* value, const Row& row) {
    static Reference* const marker = reference_of("CONST");
    static Reference* const unread = reference_of("_UNREAD");
    static PyObject* const one = PyLong_FromLong(1);
    static PyObject* const zero = PyLong_FromLong(0);
    Ref made = blank_node();
    if (!made) return made;
    PyObject* out = made.get();
    node.op.set(out, marker->function);
    node.args.set(out, empty_tuple);
    node.shape.set(out, empty_tuple);
    node.dtype.set(out, row.dtype);
    node.size.set(out, one);
    node.cost.set(out, one);
    node.flags.set(out, zero);
    node.sig.set(out, row.signature);
    node.inputs.set(out, empty_tuple);
    node.readers.set(out, unread->function);
    node.memory.set(out, Py_None);
    node.value.set(out, value);
    return made;
}

// The number of a known node, or of a Python number beside it; false for any other.
bool number_of(PyObject* operand, PyObject* beside, double& number) {
    if (PyFloat_CheckExact(operand)) return number = PyFloat_AS_DOUBLE(operand), true;
    if (PyLong_CheckExact(operand)) {
        int overflow = 0;
        const long long whole = PyLong_AsLongLongAndOverflow(operand, &overflow);
        return number = double(whole), !overflow && -(1LL << 24) <= whole && whole <= 1LL << 24;
    }
    if (Py_TYPE(operand) != known_type || node.memory.of(operand) != Py_None || !PyFloat_CheckExact(node.value.of(operand)))
        return false;
    number = PyFloat_AS_DOUBLE(node.value.of(operand));
    return node.dtype.of(operand) == node.dtype.of(beside) && known.device.of(operand) == known.device.of(beside);
}

template <typename Number>
bool fold(char sign, double one, double other, double& result) {
    const Number a = Number(one), b = Number(other);
    const Number value = sign == '+' ? a + b : sign == '-' ? a - b : sign == '*' ? a * b : a / b;
    result = double(value);
    return std::isfinite(a) && std::isfinite(b) && std::isfinite(value);
}

// What an operation of two known numbers gives, rounded as a kernel rounds it; RARE for all that Python folds.
Outcome fold_known(Operator* self, PyObject* a, PyObject* other, Ref& found) {
    const Kind* kind = kind_of_elements(node.dtype.of(a));
    double mine, theirs, result;
    if (!kind) return Outcome::FAILED;
    if (!self->folds || kind->letter != 'f' || kind->itemsize < 4) return Outcome::RARE;
    if (!number_of(a, a, mine) || !number_of(other, a, theirs)) return Outcome::RARE;
    if (self->reflected) std::swap(mine, theirs);
    const bool exact = kind->itemsize == 8 ? fold<double>(self->folds, mine, theirs, result) : fold<float>(self->folds, mine, theirs, result);
    if (!exact) return Outcome::RARE;
    Ref value = Ref::steal(PyFloat_FromDouble(result));
    if (value) found = known_value(value.get(), node.dtype.of(a), known.device.of(a));
    return found ? Outcome::DONE : Outcome::FAILED;
}

// What may not stay pending is evaluated.
bool settle(PyObject* made) {
    const bool may_wait = !(as_long(node.flags.of(made)) & EAGER) && as_long(node.cost.of(made)) <= cost_limit;
    return may_wait || evaluate_node(made);
}

// ``x op= y``: into the memory of x, or, while it has none, as its new value.
Outcome operate_in_place(PyObject* loop, PyObject* mine, PyObject* a, PyObject* b) {
    static Reference* const write = reference_of("write");
    const bool pending = node.memory.of(a) == Py_None;
    if (is_selection(a) || is_selection(b)) return Outcome::RARE;
    if (PyTuple_GET_SIZE(node.shape.of(b)) && !is_same_shape(node.shape.of(a), node.shape.of(b))) return Outcome::RARE;
    if (pending ? array.base.of(mine) != Py_None : !is_writeable(a)) return Outcome::RARE;
    Ref made = grow_binary(loop, a, b);
    if (!made) return Outcome::FAILED;
    if (pending) {
        array.node.set(mine, made.get());
        return settle(made.get()) ? Outcome::DONE : Outcome::FAILED;
    }
    const Outcome stored = store(a, place_of(a), made.get());
    if (stored != Outcome::RARE) return stored;
    return Ref::steal((*write)(a, made.get())) ? Outcome::DONE : Outcome::FAILED;
}

PyObject* operate(PyObject* callable, PyObject* const* arguments, size_t flags, PyObject* names) {
    Operator* self = reinterpret_cast<Operator*>(callable);
    const Py_ssize_t count = PyVectorcall_NARGS(flags);
    if (count != 2 || names || !PyObject_TypeCheck(arguments[0], array_type) || !has_node(arguments[0]))
        return PyObject_Vectorcall(self->reference, arguments, flags, names);
    PyObject *mine = arguments[0], *other = arguments[1];
    PyTypeObject* kind = Py_TYPE(other);
    Ref a = Ref::share(array.node.of(mine)), b;
    const bool both = kind == Py_TYPE(mine);
    if (both ? !has_node(other) : kind != &PyFloat_Type && kind != &PyLong_Type)
        return PyObject_Vectorcall(self->reference, arguments, flags, nullptr);
    if (both) b = Ref::share(array.node.of(other));
    if (Py_TYPE(a.get()) == known_type && node.memory.of(a.get()) == Py_None) {
        Ref number;
        const Outcome folded = fold_known(self, a.get(), both ? b.get() : other, number);
        if (folded == Outcome::FAILED) return nullptr;
        if (folded == Outcome::RARE) return PyObject_Vectorcall(self->reference, arguments, flags, nullptr);
        if (!self->in_place) return new_array(Py_TYPE(mine), number.get()).release();
        array.node.set(mine, number.get());
        return Py_NewRef(mine);
    }
    PyObject* first = node.dtype.of(a.get());
    PyObject* second = both ? node.dtype.of(b.get()) : reinterpret_cast<PyObject*>(kind);
    const Row* row = row_of(self, first, second);
    if (!row) row = new_row(self, mine, first, second);
    if (!row && PyErr_Occurred()) return nullptr;
    if (row && !row->is_reference && !both) {
        Ref value = scalar_value(other, *row);
        if (value) b = new_constant(value.get(), *row);
        else if (PyErr_Occurred()) return nullptr;
    }
    if (!row || row->is_reference || !b) return PyObject_Vectorcall(self->reference, arguments, flags, nullptr);
    Ref loop = Ref::share(row->loop);
    if (self->in_place) {
        const Outcome done = operate_in_place(loop.get(), mine, a.get(), b.get());
        if (done == Outcome::RARE) return PyObject_Vectorcall(self->reference, arguments, flags, nullptr);
        return done == Outcome::DONE ? Py_NewRef(mine) : nullptr;
    }
    Ref made = self->reflected ? grow_binary(loop.get(), b.get(), a.get()) : grow_binary(loop.get(), a.get(), b.get());
    if (!made || !settle(made.get())) return nullptr;
    return new_array(Py_TYPE(mine), made.get()).release();
}

PyObject* call_operator(PyObject* callable, PyObject* const* arguments, size_t flags, PyObject* names) {
    return guarded([=] { return operate(callable, arguments, flags, names); });
}

PyObject* bind_operator(PyObject* self, PyObject* object, PyObject*) {
    return object && object != Py_None ? PyMethod_New(self, object) : Py_NewRef(self);
}

int traverse_operator(PyObject* object, visitproc visit, void* arg) {
    Operator* self = reinterpret_cast<Operator*>(object);
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->reference);
    Py_VISIT(self->find);
    return 0;  // rows hold dtypes and loops, which lead back to nothing
}

void drop_operator(PyObject* object) {
    Operator* self = reinterpret_cast<Operator*>(object);
    PyTypeObject* type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    Py_CLEAR(self->reference);
    Py_CLEAR(self->find);
    for (Row& row : self->rows) {
        Py_DECREF(row.first);
        Py_DECREF(row.second);
        Py_XDECREF(row.loop);
        Py_XDECREF(row.dtype);
        Py_XDECREF(row.signature);
    }
    self->rows.~deque();
    type->tp_free(object);
    Py_DECREF(type);
}

PyObject* new_operator(PyTypeObject* type, PyObject* args, PyObject* keywords) {
    static const char* names[] = {"reference", "find", "reflected", "integers_apart", "in_place", "folds", nullptr};
    PyObject *reference, *find;
    int reflected, apart, in_place, folds;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOpppC", const_cast<char**>(names), &reference, &find, &reflected, &apart,
                                     &in_place, &folds))
        return nullptr;
    Operator* self = reinterpret_cast<Operator*>(type->tp_alloc(type, 0));
    if (!self) return nullptr;
    new (&self->rows) std::deque<Row>();
    self->call = call_operator;
    self->reference = Py_NewRef(reference);
    self->find = Py_NewRef(find);
    self->reflected = reflected;
    self->integers_apart = apart;
    self->in_place = in_place;
    self->folds = folds == ' ' ? 0 : char(folds);
    return reinterpret_cast<PyObject*>(self);
}

// What is asked of an operator as of any function: its name, its text, its signature.
PyObject* operator_attribute(PyObject* object, PyObject* name) {
    PyObject* found = PyObject_GenericGetAttr(object, name);
    if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
    PyErr_Clear();
    return PyObject_GetAttr(reinterpret_cast<Operator*>(object)->reference, name);
}

PyMemberDef operator_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Operator, call), MEMBER_READ_ONLY, nullptr},
    {"__wrapped__", T_OBJECT_EX, offsetof(Operator, reference), MEMBER_READ_ONLY, "the Python operator"},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot operator_slots[] = {
    {Py_tp_new, (void*)new_operator},
    {Py_tp_dealloc, (void*)drop_operator},
    {Py_tp_traverse, (void*)traverse_operator},
    {Py_tp_call, (void*)PyVectorcall_Call},
    {Py_tp_descr_get, (void*)bind_operator},
    {Py_tp_getattro, (void*)operator_attribute},
    {Py_tp_members, operator_members},
    {0, nullptr},
};

PyType_Spec operator_spec = {
    "clarray._engine.speedups._speedups.Operator",
    sizeof(Operator),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    operator_slots,
};

}  // namespace

PyObject* constant_signature(PyObject* dtype) {
    static Reference* const constant = reference_of("constant");
    static std::unordered_map<PyObject*, PyObject*> known;
    static PyObject* const zero = PyLong_FromLong(0);
    const auto found = known.find(dtype);
    if (found != known.end()) return found->second;
    Ref made = Ref::steal((*constant)(zero, dtype));
    return made ? known[Py_NewRef(dtype)] = Py_NewRef(node.sig.of(made.get())) : nullptr;
}

bool add_operator_type(PyObject* module) {
    Ref type = Ref::steal(PyType_FromSpec(&operator_spec));
    return type && PyModule_AddObjectRef(module, "Operator", type.get()) == 0;
}

}  // namespace clarray
