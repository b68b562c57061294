// Operators of arrays: the native implementation of `binary` in clarray._api.operators.
//
// An Operator looks the loop up by the operands' dtypes, grows the expression and makes an array of it. It is called as
// a method. What it does not know is for the Python operator that it was made from.
#include "operands.hpp"

#include <cmath>
#include <deque>

namespace clarray {

namespace {

// A pair of dtypes, the second perhaps the type of a Python number, and what it takes.
struct Row {
    PyObject *first, *second;  // compared by identity; no second one for a unary operator
    PyObject* loop;
    PyObject* number;   // the dtype of the second operand, where that is a Python number
    bool is_reference;  // this pair is for the Python operator
};

constexpr size_t MOST_ROWS = 64;  // of an operator: dtypes that are equal and yet other objects must not fill the memory

struct Operator {
    NativeFunction native;       // of the Python operator
    PyObject* find;  // the loop, and the second operand's dtype, of a pair of dtypes
    bool reflected;
    bool integers_apart;  // pairs of integers are for the Python operator
    bool in_place;
    char folds;  // the sign of what numbers are computed by at once, or 0
    std::deque<Row> rows;  // the newest first
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

void drop_row(const Row& row) {
    Py_DECREF(row.first);
    Py_XDECREF(row.second);
    Py_XDECREF(row.loop);
    Py_XDECREF(row.number);
}

// Ask Python for the loop of a pair, which takes the place of the oldest one if there is no more room.
const Row* new_row(Operator* self, PyObject* operand, PyObject* first, PyObject* second, PyObject* strong) {
    const Dtype* mine = dtype_of(first);
    if (!mine) return nullptr;
    const bool number = second && PyType_Check(second);
    Row row{first, second, nullptr, nullptr, second && self->integers_apart && is_of_integers(*mine, second, number)};
    if (PyErr_Occurred()) return nullptr;
    if (!row.is_reference) {
        PyObject* arguments[] = {operand, strong ? strong : second ? second : Py_None};
        Ref loop_and_dtype = Ref::steal(PyObject_Vectorcall(self->find, arguments, 2, nullptr));
        if (!loop_and_dtype) return nullptr;
        row.is_reference = loop_and_dtype.get() == Py_None || Py_TYPE(PyTuple_GET_ITEM(loop_and_dtype.get(), 0)) != loop_type;
        if (!row.is_reference) {
            row.loop = Py_NewRef(PyTuple_GET_ITEM(loop_and_dtype.get(), 0));
            if (number) row.number = Py_NewRef(PyTuple_GET_ITEM(loop_and_dtype.get(), 1));
        }
    }
    Py_INCREF(first);
    Py_XINCREF(second);
    self->rows.push_front(row);
    const Row* made = &self->rows.front();
    if (self->rows.size() > MOST_ROWS) {
        const Row oldest = self->rows.back();
        self->rows.pop_back();
        drop_row(oldest);  // which may run anything, and so put another row in front
    }
    return made;
}

// The value of a known node like another one, or a Python number beside it; null for any other.
PyObject* number_of(PyObject* operand, PyObject* beside) {
    if (PyFloat_CheckExact(operand) || PyLong_CheckExact(operand)) return operand;
    const bool is_alike = Py_TYPE(operand) == known_type && node.memory.of(operand) == Py_None &&
                          node.dtype.of(operand) == node.dtype.of(beside) && known.device.of(operand) == known.device.of(beside);
    return is_alike ? node.value.of(operand) : nullptr;
}

// The same as a number of C++'s; false where it is none exactly.
bool read_number(PyObject* value, double& number) {
    if (PyFloat_CheckExact(value)) return number = PyFloat_AS_DOUBLE(value), true;
    if (!PyLong_CheckExact(value)) return false;
    int overflow = 0;
    const long long whole = PyLong_AsLongLongAndOverflow(value, &overflow);
    return number = double(whole), !overflow && -(1LL << 24) <= whole && whole <= 1LL << 24;
}

bool read_number(PyObject* value, long long& number) {
    int overflow = 0;
    if (!PyLong_CheckExact(value)) return false;
    number = PyLong_AsLongLongAndOverflow(value, &overflow);
    return !overflow;
}

// What is true of two numbers, by the sign that Python has given a comparison; -1 for any other sign.
template <typename Number>
int compare(char sign, Number a, Number b) {
    switch (sign) {
        case '=': return a == b;
        case '!': return a != b;
        case '<': return a < b;
        case '>': return a > b;
        case 'l': return a <= b;
        case 'g': return a >= b;
        default: return -1;
    }
}

// What an operation of two known floats gives, rounded as a kernel rounds it; empty for all that Python folds.
template <typename Number>
Ref fold_floats(char sign, double one, double other) {
    const Number a = Number(one), b = Number(other);
    if (!std::isfinite(a) || !std::isfinite(b)) return {};
    const int truth = compare(sign, a, b);
    if (truth >= 0) return Ref::share(truth ? Py_True : Py_False);
    const Number value = sign == '+' ? a + b : sign == '-' ? a - b : sign == '*' ? a * b : a / b;
    return std::isfinite(value) ? Ref::steal(PyFloat_FromDouble(double(value))) : Ref();
}

// The same of integers, which do not overflow.
Ref fold_integers(const Dtype& dtype, char sign, long long a, long long b) {
    constexpr long long MOST = 1LL << 31;  // so that no product does in C++
    const bool are_small = -MOST < a && a < MOST && -MOST < b && b < MOST;
    if (sign == '/' || !are_small || !holds(dtype, a) || !holds(dtype, b)) return {};
    const int truth = compare(sign, a, b);
    if (truth >= 0) return Ref::share(truth ? Py_True : Py_False);
    const long long value = sign == '+' ? a + b : sign == '-' ? a - b : a * b;
    return holds(dtype, value) ? Ref::steal(PyLong_FromLongLong(value)) : Ref();
}

// What an operation of two known numbers gives; FALLBACK for all that Python folds.
Outcome fold_known(Operator* self, PyObject* a, PyObject* other, Ref& result) {
    const Dtype* dtype = dtype_of(node.dtype.of(a));
    if (!dtype) return Outcome::FAILED;
    PyObject *mine = number_of(a, a), *theirs = number_of(other, a);
    if (!self->folds || !mine || !theirs) return Outcome::FALLBACK;
    if (self->reflected) std::swap(mine, theirs);
    Ref value;
    if (dtype->kind == 'f' && dtype->itemsize >= 4) {
        double one, two;
        if (!read_number(mine, one) || !read_number(theirs, two)) return Outcome::FALLBACK;
        value = dtype->itemsize == 8 ? fold_floats<double>(self->folds, one, two) : fold_floats<float>(self->folds, one, two);
    } else if (is_integer(*dtype)) {
        long long one, two;
        if (!read_number(mine, one) || !read_number(theirs, two)) return Outcome::FALLBACK;
        value = fold_integers(*dtype, self->folds, one, two);
    }
    if (!value) return PyErr_Occurred() ? Outcome::FAILED : Outcome::FALLBACK;
    result = known_value(value.get(), PyBool_Check(value.get()) ? python.bool_dtype : node.dtype.of(a), known.device.of(a));
    return result ? Outcome::DONE : Outcome::FAILED;
}

// Whether a value lies in C order since all that it is computed from does; false where that does not say it.
bool lies_in_c_order(PyObject* of) {
    if (node.memory.of(of) != Py_None) return steps_in_c_order(of);
    if (as_long(node.flags.of(of)) & (REDUCES | MASKED)) return false;
    for (PyObject* input : Inputs(of)) {
        if (Py_TYPE(input) != known_type && !steps_in_c_order(input)) return false;
    }
    return true;
}

// ``x op= y``: into the memory of x, or, while it has none, as its new value, if that will lie as the old one.
Outcome operate_in_place(PyObject* loop, PyObject* mine, PyObject* a, PyObject* b) {
    if (is_selection(a) || is_selection(b)) return Outcome::FALLBACK;
    const bool is_seen = has_pending_views(a) || array.base.of(mine) != Py_None;  // by views, or by what it is a view of
    if (node.memory.of(a) == Py_None && is_seen && !evaluate_node(a)) return Outcome::FAILED;
    const bool pending = node.memory.of(a) == Py_None;
    if (PyTuple_GET_SIZE(node.shape.of(b)) && !is_same_shape(node.shape.of(a), node.shape.of(b))) return Outcome::FALLBACK;
    if (!pending && !is_writeable(a)) return Outcome::FALLBACK;
    const bool are_matrices = PyTuple_GET_SIZE(node.shape.of(a)) > 1 && PyTuple_GET_SIZE(node.shape.of(b));
    if (pending && are_matrices && a != b && !(lies_in_c_order(a) && lies_in_c_order(b))) return Outcome::FALLBACK;
    Ref made = grow_binary(loop, a, b);
    if (!made) return Outcome::FAILED;
    if (pending) {
        array.node.set(mine, made.get());
        return evaluate_if_costly(made.get()) ? Outcome::DONE : Outcome::FAILED;
    }
    const Outcome stored = store(a, place_of(a), made.get());
    if (stored != Outcome::FALLBACK) return stored;
    return Ref::steal(invoke(python.write, a, made.get())) ? Outcome::DONE : Outcome::FAILED;
}

// What an operator gives; FALLBACK where its reference has to say it. For an operator in place the device's lock is held.
Outcome operate(Operator* self, PyObject* mine, PyObject* other, Ref& result) {
    PyTypeObject* kind = Py_TYPE(other);
    Ref a = Ref::share(array.node.of(mine)), b;
    const bool both = kind == Py_TYPE(mine);
    PyObject* strong = nullptr;  // the dtype of one of NumPy's scalars
    Ref number = Ref::share(other);
    if (both && !has_node(other)) return Outcome::FALLBACK;
    if (!both && kind != &PyFloat_Type && kind != &PyLong_Type) {
        strong = strong_dtype(kind);
        if (!strong || self->integers_apart || self->in_place) return PyErr_Occurred() ? Outcome::FAILED : Outcome::FALLBACK;
        const Dtype* of = dtype_of(strong);
        if (!of || of->kind == 'c') return of ? Outcome::FALLBACK : Outcome::FAILED;
        number = python_number(other);
        if (!number) return Outcome::FAILED;
    }
    if (both) b = Ref::share(array.node.of(other));
    const bool in_place = self->in_place && !is_number(mine);
    const auto is_known = [](PyObject* of) { return Py_TYPE(of) == known_type && node.memory.of(of) == Py_None; };
    if (is_known(a.get()) && (!both || is_known(b.get()))) {
        if (strong && strong != node.dtype.of(a.get())) return Outcome::FALLBACK;
        Ref value;
        const Outcome folded = fold_known(self, a.get(), both ? b.get() : number.get(), value);
        if (folded != Outcome::DONE) return folded;
        if (in_place) array.node.set(mine, value.get());
        result = in_place ? Ref::share(mine) : new_array(Py_TYPE(mine), value.get());
        return result ? Outcome::DONE : Outcome::FAILED;
    }
    PyObject* first = node.dtype.of(a.get());
    PyObject* second = both ? node.dtype.of(b.get()) : reinterpret_cast<PyObject*>(kind);
    const Row* row = row_of(self, first, second);
    if (!row) row = new_row(self, mine, first, second, strong);
    if (!row || row->is_reference) return PyErr_Occurred() ? Outcome::FAILED : Outcome::FALLBACK;
    const Ref loop = Ref::share(row->loop), dtype = Ref::share(row->number);  // the row may go meanwhile
    if (!both) b = constant_of(number.get(), dtype.get());
    if (!b) return PyErr_Occurred() ? Outcome::FAILED : Outcome::FALLBACK;
    if (in_place) {
        const Outcome done = operate_in_place(loop.get(), mine, a.get(), b.get());
        if (done == Outcome::DONE) result = Ref::share(mine);
        return done;
    }
    Ref made = self->reflected ? grow_binary(loop.get(), b.get(), a.get()) : grow_binary(loop.get(), a.get(), b.get());
    if (!made || !evaluate_if_costly(made.get())) return Outcome::FAILED;
    result = new_array(Py_TYPE(mine), made.get());
    return result ? Outcome::DONE : Outcome::FAILED;
}

// What a unary operator gives; FALLBACK where its reference has to say it.
Outcome operate_alone(Operator* self, PyObject* mine, Ref& result) {
    const Ref a = Ref::share(array.node.of(mine));
    if (Py_TYPE(mine) != array_type || Py_TYPE(a.get()) == known_type || is_selection(a.get())) return Outcome::FALLBACK;
    PyObject* dtype = node.dtype.of(a.get());
    const Row* row = row_of(self, dtype, nullptr);
    if (!row) row = new_row(self, mine, dtype, nullptr, nullptr);
    if (!row || row->is_reference) return PyErr_Occurred() ? Outcome::FAILED : Outcome::FALLBACK;
    const Ref loop = Ref::share(row->loop);
    Ref made = grow_unary(loop.get(), a.get());
    if (!made || !evaluate_if_costly(made.get())) return Outcome::FAILED;
    result = new_array(array_type, made.get());
    return result ? Outcome::DONE : Outcome::FAILED;
}

// ``x op= y`` reads, computes and stores under one hold of the device's lock.
Outcome operate_held(Operator* self, PyObject* mine, PyObject* other, Ref& result) {
    PyObject* const lock = lock_of(array.node.of(mine));
    if (!lock) return operate(self, mine, other, result);
    const Held held(lock);
    return held ? operate(self, mine, other, result) : Outcome::FAILED;
}

PyObject* call(PyObject* callable, PyObject* const* arguments, size_t flags, PyObject* names) {
    Operator* self = reinterpret_cast<Operator*>(callable);
    Outcome done = Outcome::FALLBACK;
    Ref result;
    const Py_ssize_t count = PyVectorcall_NARGS(flags);
    const bool is_plain = (count == 1 || count == 2) && !names && PyObject_TypeCheck(arguments[0], array_type) && has_node(arguments[0]);
    if (is_plain && count == 1) done = operate_alone(self, arguments[0], result);
    else if (is_plain)
        done = (self->in_place ? operate_held : operate)(self, arguments[0], arguments[1], result);
    if (done == Outcome::FALLBACK) return PyObject_Vectorcall(self->native.reference, arguments, flags, names);
    return result.release();
}

PyObject* call_operator(PyObject* callable, PyObject* const* arguments, size_t flags, PyObject* names) {
    return hide_own_frames(guarded([=] { return call(callable, arguments, flags, names); }));
}

int traverse_operator(PyObject* object, visitproc visit, void* arg) {
    Py_VISIT(reinterpret_cast<Operator*>(object)->find);
    return traverse_native(object, visit, arg);  // rows hold dtypes and loops, which lead back to nothing
}

void drop_operator(PyObject* object) {
    Operator* self = reinterpret_cast<Operator*>(object);
    PyObject_GC_UnTrack(object);
    Py_CLEAR(self->find);
    for (const Row& row : self->rows) drop_row(row);
    self->rows.~deque();
    drop_native(object);
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
    self->native.reference = Py_NewRef(reference);
    set_call(reinterpret_cast<PyObject*>(self), call_operator);
    self->find = Py_NewRef(find);
    self->reflected = reflected;
    self->integers_apart = apart;
    self->in_place = in_place;
    self->folds = folds == ' ' ? 0 : char(folds);
    return reinterpret_cast<PyObject*>(self);
}

}  // namespace

bool add_operator_type(PyObject* module) {
    Ref type = new_native_type({sizeof(Operator), new_operator, drop_operator, traverse_operator});
    return type && PyModule_AddObjectRef(module, "Operator", type.get()) == 0;
}

}  // namespace clarray
