// Operators of arrays: the twin of `binary` in clarray._api.operators.
//
// An Operator looks the loop up by the operands' dtypes, grows the expression and makes an array of it. It is called as
// a method. What it does not know is for the Python operator that it was made from.
#include "places.hpp"

#include <climits>
#include <cmath>
#include <deque>
#include <limits>

namespace clarray {

namespace {

// A pair of dtypes, the second perhaps the type of a Python number, and what it takes.
struct Row {
    PyObject *first, *second;  // compared by identity
    PyObject* loop;
    PyObject* number;   // the dtype of the second operand, where that is a Python number
    bool is_reference;  // this pair is for the Python operator
};

constexpr size_t MOST_ROWS = 64;  // dtypes that are equal and yet other objects must not fill the memory

struct Operator {
    Twin twin;       // of the Python operator
    PyObject* find;  // the loop, and the second operand's dtype, of a pair of dtypes
    bool reflected;
    bool integers_apart;  // pairs of integers are for the Python operator
    bool in_place;
    char folds;  // the sign of what numbers are computed by at once, or 0
    std::deque<Row> rows;  // whose rows stay where they are
};

const Row* row_of(Operator* self, PyObject* first, PyObject* second) {
    for (const Row& row : self->rows)
        if (row.first == first && row.second == second) return &row;
    return nullptr;
}

// Whether a pair is left to Python where pairs of integers are: a negative exponent has to be looked for.
bool is_of_integers(const Dtype& first, PyObject* second, bool number) {
    if (number) return second == reinterpret_cast<PyObject*>(&PyLong_Type) && first.kind != 'f' && first.kind != 'c';
    const Dtype* other = dtype_of(second);
    return other && is_integer(*other);
}

// Ask Python for the loop of a pair; null without an error where there is no more room.
const Row* new_row(Operator* self, PyObject* operand, PyObject* first, PyObject* second) {
    if (self->rows.size() >= MOST_ROWS) return nullptr;
    const Dtype* mine = dtype_of(first);
    if (!mine) return nullptr;
    const bool number = PyType_Check(second);
    Row row{first, second, nullptr, nullptr, self->integers_apart && is_of_integers(*mine, second, number)};
    if (PyErr_Occurred()) return nullptr;
    if (!row.is_reference) {
        PyObject* arguments[] = {operand, second};
        Ref found = Ref::steal(PyObject_Vectorcall(self->find, arguments, 2, nullptr));
        if (!found) return nullptr;
        row.is_reference = found.get() == Py_None || Py_TYPE(PyTuple_GET_ITEM(found.get(), 0)) != loop_type;
        if (!row.is_reference) {
            row.loop = Py_NewRef(PyTuple_GET_ITEM(found.get(), 0));
            if (number) row.number = Py_NewRef(PyTuple_GET_ITEM(found.get(), 1));
        }
    }
    Py_INCREF(first);
    Py_INCREF(second);
    self->rows.push_back(row);
    return &self->rows.back();
}

constexpr double LARGEST_FLOAT = std::numeric_limits<float>::max();
constexpr long EXACT_IN_HALF = 2048;  // integers up to here are exact in every float dtype

// A Python number as kernels take it for a dtype, as `scalar_value` gives it; empty where that has to judge.
Ref scalar_value(PyObject* number, const Dtype& dtype) {
    if (PyFloat_CheckExact(number)) {
        const double value = PyFloat_AS_DOUBLE(number);
        const bool exact = dtype.itemsize == 8 || (dtype.itemsize == 4 && -LARGEST_FLOAT < value && value < LARGEST_FLOAT);
        return dtype.kind == 'f' && exact ? Ref::share(number) : Ref();
    }
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow) return {};
    if (dtype.kind == 'f')
        return -EXACT_IN_HALF <= value && value <= EXACT_IN_HALF ? Ref::steal(PyFloat_FromDouble(double(value))) : Ref();
    const int bits = int(dtype.itemsize * 8);
    if (dtype.kind == 'i') {
        const long long most = LLONG_MAX >> (64 - bits);
        return -most - 1 <= value && value <= most ? Ref::share(number) : Ref();
    }
    if (dtype.kind == 'u') {
        const bool fits = value >= 0 && (bits == 64 || value <= (1LL << bits) - 1);
        return fits ? Ref::share(number) : Ref();
    }
    return {};
}

// A Python number as a node; empty, without an error, where Python has to judge.
Ref constant_of(PyObject* number, PyObject* dtype) {
    const Dtype* known = dtype_of(dtype);
    Ref value = known ? scalar_value(number, *known) : Ref();
    return value ? new_constant(value.get(), dtype) : Ref();
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
    const Dtype* dtype = dtype_of(node.dtype.of(a));
    double mine, theirs, result;
    if (!dtype) return Outcome::FAILED;
    if (!self->folds || dtype->kind != 'f' || dtype->itemsize < 4) return Outcome::RARE;
    if (!number_of(a, a, mine) || !number_of(other, a, theirs)) return Outcome::RARE;
    if (self->reflected) std::swap(mine, theirs);
    const auto folded = dtype->itemsize == 8 ? fold<double> : fold<float>;
    if (!folded(self->folds, mine, theirs, result)) return Outcome::RARE;
    Ref value = Ref::steal(PyFloat_FromDouble(result));
    if (value) found = known_value(value.get(), node.dtype.of(a), known.device.of(a));
    return found ? Outcome::DONE : Outcome::FAILED;
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
        return PyObject_Vectorcall(self->twin.reference, arguments, flags, names);
    PyObject *mine = arguments[0], *other = arguments[1];
    PyTypeObject* kind = Py_TYPE(other);
    Ref a = Ref::share(array.node.of(mine)), b;
    const bool both = kind == Py_TYPE(mine);
    if (both ? !has_node(other) : kind != &PyFloat_Type && kind != &PyLong_Type)
        return PyObject_Vectorcall(self->twin.reference, arguments, flags, nullptr);
    if (both) b = Ref::share(array.node.of(other));
    if (Py_TYPE(a.get()) == known_type && node.memory.of(a.get()) == Py_None) {
        Ref number;
        const Outcome folded = fold_known(self, a.get(), both ? b.get() : other, number);
        if (folded == Outcome::FAILED) return nullptr;
        if (folded == Outcome::RARE) return PyObject_Vectorcall(self->twin.reference, arguments, flags, nullptr);
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
        b = constant_of(other, row->number);
        if (!b && PyErr_Occurred()) return nullptr;
    }
    if (!row || row->is_reference || !b) return PyObject_Vectorcall(self->twin.reference, arguments, flags, nullptr);
    Ref loop = Ref::share(row->loop);
    if (self->in_place) {
        const Outcome done = operate_in_place(loop.get(), mine, a.get(), b.get());
        if (done == Outcome::RARE) return PyObject_Vectorcall(self->twin.reference, arguments, flags, nullptr);
        return done == Outcome::DONE ? Py_NewRef(mine) : nullptr;
    }
    Ref made = self->reflected ? grow_binary(loop.get(), b.get(), a.get()) : grow_binary(loop.get(), a.get(), b.get());
    if (!made || !settle(made.get())) return nullptr;
    return new_array(Py_TYPE(mine), made.get()).release();
}

PyObject* call_operator(PyObject* callable, PyObject* const* arguments, size_t flags, PyObject* names) {
    return guarded([=] { return operate(callable, arguments, flags, names); });
}

int traverse_operator(PyObject* object, visitproc visit, void* arg) {
    Py_VISIT(reinterpret_cast<Operator*>(object)->find);
    return traverse_twin(object, visit, arg);  // rows hold dtypes and loops, which lead back to nothing
}

void drop_operator(PyObject* object) {
    Operator* self = reinterpret_cast<Operator*>(object);
    PyObject_GC_UnTrack(object);
    Py_CLEAR(self->find);
    for (Row& row : self->rows) {
        Py_DECREF(row.first);
        Py_DECREF(row.second);
        Py_XDECREF(row.loop);
        Py_XDECREF(row.number);
    }
    self->rows.~deque();
    drop_twin(object);
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
    self->twin.call = call_operator;
    self->twin.reference = Py_NewRef(reference);
    self->find = Py_NewRef(find);
    self->reflected = reflected;
    self->integers_apart = apart;
    self->in_place = in_place;
    self->folds = folds == ' ' ? 0 : char(folds);
    return reinterpret_cast<PyObject*>(self);
}

}  // namespace

bool add_operator_type(PyObject* module) {
    Ref type = new_twin_type(
        {"clarray._engine.speedups._speedups.Operator", sizeof(Operator), new_operator, drop_operator, traverse_operator});
    return type && PyModule_AddObjectRef(module, "Operator", type.get()) == 0;
}

}  // namespace clarray
