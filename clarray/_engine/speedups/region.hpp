// The region below a pending node: the graph that is evaluated with it, as in clarray._engine.expr.region.
#pragma once
#include "captured.hpp"

namespace clarray {

// Numbers of objects, by their addresses or other nonzero words.
class Numbers {
public:
    static constexpr uint32_t NONE = ~uint32_t(0);
    uint32_t find(uint64_t word) const;
    uint32_t find(PyObject* of) const { return find(reinterpret_cast<uint64_t>(of)); }
    // The place for the number of a word that has none yet, or of one that has.
    uint32_t& operator[](uint64_t word);
    void reserve(size_t count);  // of an empty one
    size_t count() const { return used_; }
    uint32_t& operator[](PyObject* of) { return (*this)[reinterpret_cast<uint64_t>(of)]; }

private:
    struct Slot {
        uint64_t word = 0;
        uint32_t number = NONE;
    };
    static constexpr size_t FEW = 32;
    size_t place_of(uint64_t word) const;
    void enlarge();
    Slot few_[FEW];            // in use until `many_` is
    std::vector<Slot> many_;
    size_t used_ = 0;
};

class Region {
public:
    // Describe the region of a node, which is computed into a leaf if one is given; false if no program is for such, perhaps
    // with an error.
    bool describe(PyObject* root, PyObject* target = nullptr);

    CallSignature call;                // its key holds the graph, the layouts, and who else keeps or reads what
    std::string values;                // of the constants, for programs that depend on them
    size_t structure = 0;              // a number of the graph without its layouts
    bool has_views = false;            // whether pending views are in it
    std::vector<Ref> order;            // the pending nodes, operands before what reads them
    std::vector<Ref> constants;

private:
    bool walk(PyObject* root);
    bool add_operation(PyObject* pending);
    bool add_operand(PyObject* input);
    bool add_constant(PyObject* constant);
    bool add_siblings(PyObject* root);
    bool is_sibling(PyObject* user, PyObject* root) const;
    bool add_reductions();
    bool is_sibling_of_any(PyObject* user, const std::vector<PyObject*>& reductions) const;
    bool is_sibling_reduction(PyObject* user, PyObject* reduced) const;
    void add_held();
    template <typename Number>
    void append(Number number);

    Numbers numbers_;                  // of all nodes: PENDING is added to the places in `order`
    Numbers values_;                   // of constants by their bits
    std::vector<PyObject*> roots_;
    std::vector<PyObject*> inputs_read_;  // leaves
    std::vector<uint32_t> uses_;       // how often the region itself refers to a pending node
    uint32_t inputs_ = 0;
};

// Whether other pending nodes than those below a reduction read what it reads, so that a pass may compute more than it.
bool has_company(PyObject* reduced);

}  // namespace clarray
