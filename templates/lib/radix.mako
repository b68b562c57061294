## Keys of a radix sort (KeyKind of sort/plan.py): from the bits of a value, and back.

## key_of(x): the key, from which the bits can be made again. NaNs keep theirs, and -0.0 comes before 0.0.
## rank_of(k): the same number for keys of values that compare equal.
<%def name="keys(kind)">
typedef ${kind.type} key_t;
HELPER key_t key_of(key_t x) {
% if kind.kind == 'i':
  x ^= (key_t)${kind.sign};
% elif kind.kind in 'fc':
  x = (key_t)((x ^ ((x & (key_t)${kind.sign}) ? (key_t)~(key_t)0 : (key_t)${kind.sign})) - (key_t)${kind.lowest});
% endif
  return x;
}
HELPER key_t bits_of(key_t k) {
% if kind.kind == 'i':
  k ^= (key_t)${kind.sign};
% elif kind.kind in 'fc':
  k = (key_t)(k + (key_t)${kind.lowest});
  k ^= (k & (key_t)${kind.sign}) ? (key_t)${kind.sign} : (key_t)~(key_t)0;
% endif
  return k;
}
HELPER key_t rank_of(key_t k) {
% if kind.kind in 'fc':
  k = (key_t)(k + (k == (key_t)${kind.negative_zero}));
  k = k < (key_t)${kind.nan} ? k : (key_t)${kind.nan};
% endif
  return k;
}
</%def>

## What is moved: the key, or the key and a position, packed into one number where there is room for both.
<%def name="elements(kind, form)">
% if form == 'keys':
typedef key_t elem_t;
HELPER elem_t make_elem(const key_t k, const long i) { return k; }
HELPER key_t key_in(const elem_t e) { return e; }
% elif form == 'packed':
typedef ulong elem_t;
HELPER elem_t make_elem(const key_t k, const long i) { return (ulong)k << 32 | (uint)i; }
HELPER key_t key_in(const elem_t e) { return (key_t)(e >> 32); }
HELPER long place_in(const elem_t e) { return (uint)e; }
% else:
typedef ulong2 elem_t;
HELPER elem_t make_elem(const key_t k, const long i) { return (ulong2)(k, i); }
HELPER key_t key_in(const elem_t e) { return (key_t)e.x; }
HELPER long place_in(const elem_t e) { return e.y; }
% endif
</%def>
