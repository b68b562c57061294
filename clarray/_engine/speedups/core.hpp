// What the parts of the compiled core share: references that count themselves, and where Python's classes keep things.
//
// The core works on the classes of the Python modules. Their attributes are slots, each a pointer at an offset that the
// class tells; so a node grown here and one grown by Python are the same, and either side may go on with the other's.
// Every function here does the common case and hands whatever is rare, its arguments unchanged, to the Python function
// of the same name: its reference. The GIL is held throughout, but for the enqueue of a kernel.
#pragma once
#include "python.hpp"
#ifdef Py_GIL_DISABLED
#error "The core keeps its tables by the GIL: without one, clarray goes without the core."
#endif
#include <structmember.h>
#undef READONLY  // its name for what is one of our flags

#include <climits>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace clarray {

constexpr int MEMBER_READ_ONLY = 1;

// A reference that is dropped at the end of its scope; empty after an error, which Python has been told of.
class Ref {
public:
    Ref() = default;
    static Ref steal(PyObject* object) { return Ref(object); }
    static Ref share(PyObject* object) { return Ref(Py_XNewRef(object)); }
    Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Ref& operator=(Ref&& other) noexcept {
        PyObject* old = std::exchange(object_, std::exchange(other.object_, nullptr));
        Py_XDECREF(old);
        return *this;
    }
    Ref(const Ref&) = delete;
    Ref& operator=(const Ref&) = delete;
    ~Ref() { Py_XDECREF(object_); }
    PyObject* get() const { return object_; }
    PyObject* release() { return std::exchange(object_, nullptr); }
    explicit operator bool() const { return object_ != nullptr; }

private:
    explicit Ref(PyObject* object) : object_(object) {}
    PyObject* object_ = nullptr;
};

// One slot of a Python class: read and written at its offset, as the class's own descriptor does.
class Slot {
public:
    explicit Slot(const char* name) : name(name) {}
    // Borrowed; null where nothing has been assigned yet.
    PyObject* of(PyObject* object) const { return *place(object); }
    void set(PyObject* object, PyObject* value) const { put(object, Py_NewRef(value)); }
    void put(PyObject* object, PyObject* owned) const {
        PyObject* old = std::exchange(*place(object), owned);
        Py_XDECREF(old);
    }
    const char* name;
    Py_ssize_t offset = 0;

private:
    PyObject** place(PyObject* object) const {
        return reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + offset);
    }
};

// Flags of a node, as clarray._engine.expr.node has them.
enum Flag : long { EAGER = 1, SHARED = 2, REDUCES = 4, MASKED = 8, READONLY = 16, LARGE = 32 };

struct NodeSlots {
    Slot op{"op"}, args{"args"}, shape{"shape"}, dtype{"dtype"}, size{"size"}, since{"since"}, flags{"flags"}, sig{"sig"},
        inputs{"inputs"}, readers{"readers"}, memory{"memory"}, offset{"offset"}, strides{"strides"},
        contiguous{"contiguous"}, value{"value"};
};
struct LoopSlots {
    Slot code{"code"}, out_dtype{"out_dtype"}, weight{"weight"};
};
struct ReductionSlots {
    Slot axes{"axes"}, code{"code"}, out_dtype{"out_dtype"};
};
struct TransformSlots {
    Slot take_view{"take_view"}, key{"key"}, added_axes{"added_axes"};
};
struct KnownSlots {
    Slot device{"device"};
};
struct ArraySlots {
    Slot node{"_node"}, base{"_base"}, no_number{"_no_number"};
};

// Find where a class keeps the attributes of such a structure; false after an error.
bool find_slots(PyObject* kind, Slot* first, Slot* end);
template <typename Slots>
bool find_slots(PyObject* kind, Slots& slots) {
    static_assert(sizeof(Slots) % sizeof(Slot) == 0, "nothing but slots");
    Slot* const first = reinterpret_cast<Slot*>(&slots);
    return find_slots(kind, first, first + sizeof(Slots) / sizeof(Slot));
}

extern NodeSlots node;
extern LoopSlots loop;
extern TransformSlots transform;
extern ReductionSlots reduction;
extern ArraySlots array;
extern KnownSlots known;
extern PyTypeObject* known_type;  // Known: a constant that an array may be
extern PyTypeObject* node_type;   // Blank: a node whose slots are filled in place
extern PyTypeObject* loop_type;
extern PyTypeObject* reduction_type;
extern PyTypeObject* transform_type;
extern PyTypeObject* array_type;  // DeviceArray
extern PyObject* empty_tuple;
extern bool elements_at_hand;  // whether an element is a scalar: `clarray.config.elements`
extern long long weight_limit;  // of pending expressions
extern size_t own_threads;     // threads of the core's own that run machine code

// Whether operations of a type are passes of their own, the flag REDUCES.
inline bool is_pass_type(PyTypeObject* kind) { return kind == reduction_type || kind == transform_type; }

// What Python calls as a function and as a method. Its name, docstring and signature are its reference's.
// Every type of such objects begins like this.
struct NativeFunction {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject* reference;
    PyObject *module, *qualname;  // of a public function; null where they are the reference's
};
// Set what a call of such an object does; until Python is bound it calls the reference.
void set_call(PyObject* native, vectorcallfunc call);
void start_native_functions();
bool is_native_function(PyObject* object);  // of a function, made by `new_native_function`
int traverse_native(PyObject* object, visitproc visit, void* arg);
void drop_native(PyObject* object);
PyObject* bind_native(PyObject* self, PyObject* object, PyObject* type);
PyObject* native_attribute(PyObject* object, PyObject* name);

// What such types differ in.
struct NativeType {
    size_t size;
    newfunc make = nullptr;  // where Python makes them
    destructor drop = drop_native;
    traverseproc traverse = traverse_native;
    getattrofunc attribute = native_attribute;
    descrgetfunc bind = bind_native;
    bool is_method = true;  // whether a call through an instance may skip `bind`
};
Ref new_native_type(const NativeType& kind);

inline long as_long(PyObject* number) { return PyLong_AsLong(number); }
inline long long as_wide(PyObject* number) { return PyLong_AsLongLong(number); }

// Of a selection not even the shape may be read: that would compute it.
inline bool is_selection(PyObject* operand) { return as_long(node.flags.of(operand)) & MASKED; }

// Whether an array has a value: one that a class has made without the constructors has none, and Python says so.
inline bool has_node(PyObject* of) { return array.node.of(of) != nullptr; }

// What a call from Python gives: no exception of C++ may pass through it.
template <typename CallSignature>
PyObject* guarded(const CallSignature& call) {
    try {
        return call();
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
}

// Sets an error aside, if there is one, for what has to be done all the same; it is raised after the scope.
class Interrupted {
public:
    Interrupted() { PyErr_Fetch(&type_, &value_, &trace_); }
    ~Interrupted() { PyErr_Restore(type_, value_, trace_); }
    Interrupted(const Interrupted&) = delete;
    Interrupted& operator=(const Interrupted&) = delete;

private:
    PyObject *type_, *value_, *trace_;
};

// What a weak reference refers to; empty where that is gone.
inline Ref referent_of(PyObject* reference) {
#if PY_VERSION_HEX >= 0x030D0000
    PyObject* referent = nullptr;
    PyWeakref_GetRef(reference, &referent);
    return Ref::steal(referent);
#else
    PyObject* referent = PyWeakref_GetObject(reference);
    return referent == Py_None ? Ref() : Ref::share(referent);
#endif
}

// A new object of one of the classes above, with nothing in its slots; in place of one that has gone, where there is one.
Ref new_object(PyTypeObject* kind);
inline Ref blank_node() { return new_object(node_type); }

// What is known of a dtype. They are those of clarray's tables, which live for good.
struct Dtype {
    char kind;  // the letter, as NumPy has it
    long long itemsize;
    PyObject *leaf, *constant;  // interned structures, once they have been asked for
    PyObject* cast;             // the loop
    PyObject* letter;           // ``dtype.char``
    PyObject* scalar;           // ``dtype.type``
};
Dtype* dtype_of(PyObject* dtype);  // null after an error
inline bool is_integer(const Dtype& dtype) { return dtype.kind == 'i' || dtype.kind == 'u'; }

// Whether an integer dtype holds a number.
inline bool holds(const Dtype& dtype, long long value) {
    const int bits = int(dtype.itemsize * 8);
    const long long most = dtype.kind == 'i' ? LLONG_MAX >> (64 - bits) : bits == 64 ? LLONG_MAX : (1LL << bits) - 1;
    return value <= most && value >= (dtype.kind == 'i' ? -most - 1 : 0);
}

// By dtype, borrowed; null after an error.
PyObject* letter_of(PyObject* dtype);
PyObject* scalar_class_of(PyObject* dtype);
PyObject* leaf_signature(PyObject* dtype);
PyObject* constant_signature(PyObject* dtype);
PyObject* cast_loop(PyObject* dtype);

// The dtype of a type of NumPy's scalars, borrowed, or null; and one of these scalars as a Python number.
PyObject* strong_dtype(PyTypeObject* kind);
Ref python_number(PyObject* scalar);

// The native implementations of `constant` and `host_scalar` in clarray._engine.expr.node.
Ref new_constant(PyObject* value, PyObject* dtype);
Ref constant_of(PyObject* number, PyObject* dtype);  // empty, without an error, where Python has to judge
Ref known_value(PyObject* value, PyObject* dtype, PyObject* on);

// Whether a node is a pending view, as clarray._engine.expr.pending_views has them, and whether such read a pending node.
bool is_pending_view(PyObject* of);
bool has_pending_views(PyObject* of);

// Growing: the native implementation of clarray._engine.expr.build.
Ref grow_unary(PyObject* loop, PyObject* a);
Ref grow_binary(PyObject* loop, PyObject* a, PyObject* b);
Ref grow_nary(PyObject* loop, PyObject* args);
Ref grow_view(PyObject* operation, PyObject* source, PyObject* shape, PyObject* size);
Ref grow_reduction(PyObject* operation, PyObject* a, PyObject* shape, PyObject* mask = nullptr);  // of what is no selection

// A pending node as Python has grown it from operands that were like these, at most so many.
Ref grow_alike(PyObject* operation, PyObject* const* operands, Py_ssize_t count, PyObject* signature, PyObject* dtype, PyObject* shape, PyObject* size);
constexpr Py_ssize_t MOST_GROWN = 4;

// The native implementations of `refresh_metadata` and `notify_users` there; false after an error.
bool refresh_metadata(PyObject* node);
bool notify_users(PyObject* readers, PyObject* memory);

// Append a weak reference to a list of such, in place of one at its end that is spent if there are any. So a loop of
// statements leaves the list as long as it was, and none of them to look through or to collect. How much longer it is now;
// less than 0 after an error.
int append_reference(PyObject* list, PyObject* reference, bool (*is_spent)(PyObject* reference));

// Tell what reads a pending node, that has come to be read by several, to look whether it is computed already.
bool mark_shared(PyObject* node);

// The native implementations of `count_growth` and `is_costly` there.
long long count_growth(PyObject* args);
bool is_costly(PyObject* node);

// Evaluation: the native implementation of clarray._engine.evaluate.evaluate; false after an error.
bool evaluate_node(PyObject* node);
bool evaluate_if_costly(PyObject* node);  // what may not stay pending

// A new array of a node; `kind` is DeviceArray or a class made from it.
Ref new_array(PyTypeObject* kind, PyObject* node);

bool is_same_shape(PyObject* one, PyObject* other);

// A function of Python's that is called as `call` is, and hands what that does not know to its reference.
Ref new_native_function(vectorcallfunc call, PyObject* reference);
PyObject* call_reference(PyObject* native, PyObject* const* arguments, size_t flags, PyObject* names);

// Remove clarray's frames from the error of a public call that has failed; its result otherwise.
PyObject* hide_own_frames_of_error();  // null
inline PyObject* hide_own_frames(PyObject* result) { return result ? result : hide_own_frames_of_error(); }

// Give a class an `__exit__` that ends a block by `end`, which returns false after an error. Only for CPython 3.14: see exits.cpp.
bool add_exit(PyTypeObject* type, bool (*end)(PyObject*));
// In `__enter__`: what the `with` has loaded as `__exit__`, which it keeps during the call. `note` that the block has begun.
class Entering {
public:
    explicit Entering(PyObject* of);
    void note() const;

private:
    PyObject* exit_ = nullptr;  // borrowed
};

bool add_operator_type(PyObject* module);
bool add_host_fallback_type(PyObject* module);
bool add_boundary_type(PyObject* module);
bool add_lock_type(PyObject* module);
bool add_collector_type(PyObject* module);
bool add_programs_type(PyObject* module);
bool add_sequence_type(PyObject* module);

}  // namespace clarray
