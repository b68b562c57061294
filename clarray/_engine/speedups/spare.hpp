// Objects that have gone, whose memory is for the next of their class: Python would clear it, and count it for the garbage
// collector.
#pragma once
#include "core.hpp"

// Built with the address sanitizer, or with CLARRAY_CHECK_SPARE defined, whatever is done to an object that has gone is
// seen: it holds a pattern that is no address, which must be there still when it is taken up again, as late as can be. The
// sanitizer names who touches it, unless that is Python's own code, which is not built with it.
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define CLARRAY_CHECK_SPARE
#elif defined(CLARRAY_CHECK_SPARE)
#define ASAN_POISON_MEMORY_REGION(start, size) ((void)(start), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(start, size) ((void)(start), (void)(size))
#endif

#ifdef CLARRAY_CHECK_SPARE
#include <algorithm>
#include <cstring>
#endif

namespace clarray {

class Spare {
public:
    // Keep an object that holds nothing any more and that the garbage collector does not know; false where there is no room.
    bool put(PyObject* object) {
        if (count_ == MOST) return false;
        lock(object);
        objects_[count_++] = object;
        return true;
    }

    // One of them, as Python's allocation gives it; null where there is none.
    PyObject* take() {
        if (count_ <= KEPT) return nullptr;
        PyObject* object = next();
        unlock(object);
        return object;
    }

private:
    static constexpr size_t MOST = 64;

#ifndef CLARRAY_CHECK_SPARE
    static constexpr size_t KEPT = 0;
    void lock(PyObject*) {}
    void unlock(PyObject*) {}
    PyObject* next() { return objects_[--count_]; }
#else
    static constexpr size_t KEPT = MOST / 2;
    static constexpr unsigned char PATTERN = 0xDB;

    static void demand(bool condition, const char* what) {
        if (!condition) Py_FatalError(what);
    }

    static unsigned char* fields_of(PyObject* object) { return reinterpret_cast<unsigned char*>(object); }

    void lock(PyObject* object) {
        const size_t size = size_t(Py_TYPE(object)->tp_basicsize);
        demand(!size_ || size_ == size, "an object of another class is kept for later");
        size_ = size;
        unsigned char* const fields = fields_of(object);
        demand(Py_REFCNT(object) == 0 && !PyObject_GC_IsTracked(object), "an object is kept for later that is in use");
        const auto is_empty = [](unsigned char byte) { return byte == 0; };
        demand(std::all_of(fields + sizeof(PyObject), fields + size, is_empty), "an object is kept for later that holds something");
        std::memset(fields, PATTERN, size);
        ASAN_POISON_MEMORY_REGION(fields, size);
    }

    void unlock(PyObject* object) {
        unsigned char* const fields = fields_of(object);
        ASAN_UNPOISON_MEMORY_REGION(fields, size_);
        const auto is_untouched = [](unsigned char byte) { return byte == PATTERN; };
        demand(std::all_of(fields, fields + size_, is_untouched), "an object has been used after it had gone");
        std::memset(fields, 0, size_);
    }

    // The one that has been gone for longest.
    PyObject* next() {
        PyObject* first = objects_[0];
        std::copy(objects_ + 1, objects_ + count_, objects_);
        --count_;
        return first;
    }

    size_t size_ = 0;  // of each object
#endif

    PyObject* objects_[MOST];
    size_t count_ = 0;
};

}  // namespace clarray
