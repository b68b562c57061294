// A lock that the core takes without a call of Python's: otherwise as threading.RLock is one.
#include "launch.hpp"

#include <algorithm>
#include <chrono>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace clarray {

namespace {

using Clock = std::chrono::steady_clock;
constexpr double FOREVER = -1, LONGEST = 1e6;  // seconds

// How long a waiting thread lets others take the lock before it. Passing the lock on at every release would make two threads of
// small statements switch at each of them.
constexpr std::chrono::milliseconds PATIENCE{1};

// A thread in the queue for a lock. It sleeps at its gate without the GIL.
struct Waiter {
    PyThread_type_lock gate;
    unsigned long thread;
    Clock::time_point since;
    bool is_open = false;   // the gate has been opened, and the thread has not passed it yet
    bool is_owner = false;  // the lock has been handed over to it
    Waiter* next = nullptr;
};

// A reentrant lock. All of it is read and written with the GIL held, so it needs no atomic operations. A release wakes the first
// waiter, and hands the lock over to it once that one has waited long enough. Until then any thread may take the lock first.
struct Lock {
    PyObject_HEAD
    unsigned long owner;
    Py_ssize_t count;  // how many times the owner holds it; 0 if it is free
    Waiter* first;     // the queue: of this process, see `forks`
    unsigned forks;
};

PyTypeObject* lock_type = nullptr;

unsigned forks = 0;  // a forked process has none of its parent's waiters
#if defined(__unix__) || defined(__APPLE__)
void count_fork() { ++forks; }
void watch_forks() { pthread_atfork(nullptr, nullptr, count_fork); }
#else
void watch_forks() {}
#endif

Waiter*& queue_of(Lock* lock) {
    if (lock->forks != forks) lock->first = nullptr;
    lock->forks = forks;
    return lock->first;
}

bool take_at_once(Lock* lock) {
    const unsigned long thread = PyThread_get_thread_ident();
    if (lock->count && lock->owner != thread) return false;
    lock->owner = thread;
    return ++lock->count;
}

// Join the queue at its end, or before an earlier wait of the same thread, which a signal handler has interrupted.
void enqueue(Lock* lock, Waiter* waiter) {
    Waiter** place = &queue_of(lock);
    while (*place && (*place)->thread != waiter->thread) place = &(*place)->next;
    waiter->next = *place;
    *place = waiter;
}

void dequeue(Lock* lock, Waiter* waiter) {
    Waiter** place = &queue_of(lock);
    while (*place && *place != waiter) place = &(*place)->next;
    if (*place) *place = waiter->next;
}

void open_gate(Waiter* waiter) {
    if (!waiter->is_open) PyThread_release_lock(waiter->gate);
    waiter->is_open = true;
}

// Wake the first waiter of a free lock.
void wake_first(Lock* lock) {
    Waiter* const first = queue_of(lock);
    if (!first) return;
    if (Clock::now() - first->since >= PATIENCE) {
        dequeue(lock, first);
        first->is_owner = true;
        lock->owner = first->thread;
        lock->count = 1;
    }
    open_gate(first);
}

// Sleep until the gate opens, the time is over or a signal has come.
PyLockStatus pass_gate(Waiter* waiter, double seconds, Clock::time_point until) {
    const auto left = std::chrono::duration_cast<std::chrono::microseconds>(until - Clock::now()).count();
    const PY_TIMEOUT_T most = seconds < 0 ? -1 : std::max<PY_TIMEOUT_T>(0, left);
    PyLockStatus status;
    Py_BEGIN_ALLOW_THREADS
    status = PyThread_acquire_lock_timed(waiter->gate, most, 1);
    Py_END_ALLOW_THREADS
    if (status == PY_LOCK_ACQUIRED) waiter->is_open = false;
    return status;
}

Outcome wait_in_queue(Lock* lock, Waiter* waiter, double seconds) {
    const auto until = Clock::now() + std::chrono::duration<double>(std::min(seconds, LONGEST));
    const auto end = std::chrono::time_point_cast<Clock::duration>(until);
    for (;;) {
        const PyLockStatus status = pass_gate(waiter, seconds, end);
        // The exception of a signal handler ends the wait, as it does for the locks of Python.
        const bool is_interrupted = status == PY_LOCK_INTR && Py_MakePendingCalls() < 0;
        if (is_interrupted) return Outcome::FAILED;
        if (waiter->is_owner || take_at_once(lock)) return Outcome::DONE;
        if (status == PY_LOCK_FAILURE) return Outcome::FALLBACK;
    }
}

bool let_go(Lock* lock) {
    if (!lock->count || lock->owner != PyThread_get_thread_ident()) {
        PyErr_SetString(PyExc_RuntimeError, "cannot release un-acquired lock");
        return false;
    }
    if (--lock->count == 0 && lock->first) wake_first(lock);
    return true;
}

// Take a lock that another thread holds: FALLBACK if the time is over.
Outcome wait_for(Lock* lock, double seconds) {
    Waiter waiter{PyThread_allocate_lock(), PyThread_get_thread_ident(), Clock::now()};
    if (!waiter.gate) {
        PyErr_NoMemory();
        return Outcome::FAILED;
    }
    PyThread_acquire_lock(waiter.gate, NOWAIT_LOCK);
    enqueue(lock, &waiter);
    const Outcome outcome = wait_in_queue(lock, &waiter, seconds);
    if (!waiter.is_owner) dequeue(lock, &waiter);
    if (outcome == Outcome::FAILED) {  // the lock, or being woken for it, goes to the next one
        if (waiter.is_owner) let_go(lock);
        else if (!lock->count) wake_first(lock);
    }
    open_gate(&waiter);  // a lock is freed unlocked
    PyThread_free_lock(waiter.gate);
    return outcome;
}

PyObject* new_lock(PyTypeObject* type, PyObject*, PyObject*) {
    return type->tp_alloc(type, 0);
}

void drop_lock(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    type->tp_free(object);
    Py_DECREF(type);
}

PyObject* acquire(PyObject* object, PyObject* args, PyObject* keywords) {
    static const char* names[] = {"blocking", "timeout", nullptr};
    int blocking = true;
    double timeout = FOREVER;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|pd", const_cast<char**>(names), &blocking, &timeout)) return nullptr;
    Lock* self = reinterpret_cast<Lock*>(object);
    const Outcome taken = take_at_once(self) ? Outcome::DONE : blocking ? wait_for(self, timeout) : Outcome::FALLBACK;
    return taken == Outcome::FAILED ? nullptr : PyBool_FromLong(taken == Outcome::DONE);
}

PyObject* enter(PyObject* object, PyObject*) {
    Lock* self = reinterpret_cast<Lock*>(object);
    const Entering entering(object);
    if (!take_at_once(self) && wait_for(self, FOREVER) != Outcome::DONE) return nullptr;
    entering.note();
    Py_RETURN_TRUE;
}

bool leave(PyObject* object) { return let_go(reinterpret_cast<Lock*>(object)); }

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
        if (!waits || wait_for(reinterpret_cast<Lock*>(lock), FOREVER) != Outcome::DONE) lock_ = {};
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
    watch_forks();
    lock_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&lock_spec));
    return lock_type && add_exit(lock_type, leave) && PyModule_AddObjectRef(module, "Lock", reinterpret_cast<PyObject*>(lock_type)) == 0;
}

}  // namespace clarray
