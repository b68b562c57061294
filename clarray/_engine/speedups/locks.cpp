// A lock that the core takes without a call of Python's: otherwise as threading.RLock is one.
#include "launch.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>

namespace clarray {

namespace {

// What holds the GIL takes it by one exchange. Threads that wait for it do so without the GIL, at a gate that whoever lets
// it go opens for one of them, which tries again: another thread may have been faster.
struct Lock {
    PyObject_HEAD
    PyThread_type_lock gate;
    std::atomic<bool> is_taken, is_open;
    std::atomic<int> waiting;
    unsigned long owner;  // the thread, and how many times it holds the lock: both with the GIL held
    Py_ssize_t count;
};

PyTypeObject* lock_type = nullptr;

using Clock = std::chrono::steady_clock;
constexpr double FOR_EVER = -1, LONGEST = 1e6;  // seconds

void own(Lock* lock, unsigned long thread) {
    lock->owner = thread;
    lock->count = 1;
}

bool take_at_once(Lock* lock) {
    const unsigned long thread = PyThread_get_thread_ident();
    if (lock->count && lock->owner == thread) return ++lock->count;
    if (lock->is_taken.exchange(true)) return false;
    own(lock, thread);
    return true;
}

// Wait at the gate, the GIL not held, until the lock is ours; else why it is not.
PyLockStatus wait_at_gate(Lock* lock, PY_TIMEOUT_T microseconds) {
    while (lock->is_taken.exchange(true)) {
        const PyLockStatus status = PyThread_acquire_lock_timed(lock->gate, microseconds, 1);
        if (status != PY_LOCK_ACQUIRED) return status;
        lock->is_open = false;  // before looking again, so that no opening is missed
    }
    return PY_LOCK_ACQUIRED;
}

// RARE where the time is over. An interrupt is raised, as by the locks of Python.
Outcome wait_for(Lock* lock, double seconds) {
    const auto until = Clock::now() + std::chrono::duration<double>(std::min(seconds, LONGEST));
    Outcome outcome = Outcome::RARE;
    ++lock->waiting;
    for (PyLockStatus status = PY_LOCK_INTR; status == PY_LOCK_INTR;) {
        const auto left = std::chrono::duration_cast<std::chrono::microseconds>(until - Clock::now()).count();
        const PY_TIMEOUT_T most = seconds < 0 ? -1 : std::max<PY_TIMEOUT_T>(0, left);
        Py_BEGIN_ALLOW_THREADS
        status = wait_at_gate(lock, most);
        Py_END_ALLOW_THREADS
        if (status == PY_LOCK_ACQUIRED) outcome = Outcome::DONE;
        if (status == PY_LOCK_INTR && Py_MakePendingCalls() < 0) {
            outcome = Outcome::FAILED;
            break;
        }
    }
    --lock->waiting;
    if (outcome == Outcome::DONE) own(lock, PyThread_get_thread_ident());
    return outcome;
}

bool let_go(Lock* lock) {
    if (!lock->count || lock->owner != PyThread_get_thread_ident()) {
        PyErr_SetString(PyExc_RuntimeError, "cannot release un-acquired lock");
        return false;
    }
    if (--lock->count) return true;
    lock->is_taken = false;
    if (lock->waiting && !lock->is_open.exchange(true)) PyThread_release_lock(lock->gate);
    return true;
}

PyObject* new_lock(PyTypeObject* type, PyObject*, PyObject*) {
    Lock* self = reinterpret_cast<Lock*>(type->tp_alloc(type, 0));
    if (!self) return nullptr;
    self->gate = PyThread_allocate_lock();
    if (!self->gate) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    PyThread_acquire_lock(self->gate, NOWAIT_LOCK);
    return reinterpret_cast<PyObject*>(self);
}

void drop_lock(PyObject* object) {
    Lock* self = reinterpret_cast<Lock*>(object);
    PyTypeObject* type = Py_TYPE(object);
    if (self->gate) {
        if (!self->is_open) PyThread_release_lock(self->gate);
        PyThread_free_lock(self->gate);
    }
    type->tp_free(object);
    Py_DECREF(type);
}

PyObject* acquire(PyObject* object, PyObject* args, PyObject* keywords) {
    static const char* names[] = {"blocking", "timeout", nullptr};
    int blocking = true;
    double timeout = FOR_EVER;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|pd", const_cast<char**>(names), &blocking, &timeout)) return nullptr;
    Lock* self = reinterpret_cast<Lock*>(object);
    const Outcome taken = take_at_once(self) ? Outcome::DONE : blocking ? wait_for(self, timeout) : Outcome::RARE;
    return taken == Outcome::FAILED ? nullptr : PyBool_FromLong(taken == Outcome::DONE);
}

PyObject* enter(PyObject* object, PyObject*) {
    Lock* self = reinterpret_cast<Lock*>(object);
    if (!take_at_once(self) && wait_for(self, FOR_EVER) != Outcome::DONE) return nullptr;
    Py_RETURN_TRUE;
}

PyObject* release(PyObject* object, PyObject*) {
    return let_go(reinterpret_cast<Lock*>(object)) ? Py_NewRef(Py_None) : nullptr;
}

PyMethodDef lock_methods[] = {
    {"acquire", (PyCFunction)(void (*)())acquire, METH_VARARGS | METH_KEYWORDS, "Take the lock; whether it has been taken."},
    {"release", release, METH_NOARGS, "Let the lock go, once."},
    {"__enter__", enter, METH_NOARGS, "Take the lock."},
    {"__exit__", release, METH_VARARGS, "Let the lock go, once."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot lock_slots[] = {
    {Py_tp_methods, lock_methods},
    {Py_tp_new, (void*)new_lock},
    {Py_tp_dealloc, (void*)drop_lock},
    {0, nullptr},
};
PyType_Spec lock_spec = {"clarray._engine.speedups._speedups.Lock", sizeof(Lock), 0, Py_TPFLAGS_DEFAULT, lock_slots};

// Of any other lock, as of a device that is closed.
bool is_called_as(PyObject* lock, PyObject* name, PyObject* argument = nullptr) {
    Ref done = Ref::steal(argument ? PyObject_CallMethodOneArg(lock, name, argument) : PyObject_CallMethodNoArgs(lock, name));
    return done && done.get() != Py_False;
}

}  // namespace

Held::Held(PyObject* lock, bool waits) : lock_(Ref::share(lock)) {
    static PyObject* const name = PyUnicode_InternFromString("acquire");
    if (Py_TYPE(lock) == lock_type) {
        if (take_at_once(reinterpret_cast<Lock*>(lock))) return;
        has_waited_ = waits;
        if (!waits || wait_for(reinterpret_cast<Lock*>(lock), FOR_EVER) != Outcome::DONE) lock_ = {};
        return;
    }
    if (is_called_as(lock, name, Py_False)) return;
    has_waited_ = waits;
    if (PyErr_Occurred() || !waits || !is_called_as(lock, name)) lock_ = {};
}

Held::~Held() {
    static PyObject* const name = PyUnicode_InternFromString("release");
    if (!lock_) return;
    if (Py_TYPE(lock_.get()) == lock_type) {
        let_go(reinterpret_cast<Lock*>(lock_.get()));
        return;
    }
    const Interrupted interrupted;
    if (!is_called_as(lock_.get(), name)) PyErr_WriteUnraisable(lock_.get());
}

bool add_lock_type(PyObject* module) {
    lock_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&lock_spec));
    return lock_type && PyModule_AddObjectRef(module, "Lock", reinterpret_cast<PyObject*>(lock_type)) == 0;
}

}  // namespace clarray
