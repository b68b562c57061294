## Keys of a radix sort (plan.sort.KeyKind): from the bits of a value, and back.

## key_of(x): the key, from which the bits can be made again. NaNs keep theirs, and -0.0 comes before 0.0.
## rank_of(k): the same number for keys of values that compare equal.
<%def name="keys(kind, descending=False)">
typedef ${kind.type} key_t;
HELPER key_t key_of(key_t x) {
% if kind.kind == 'i':
  x ^= (key_t)${kind.sign};
% elif kind.kind in 'fc':
  x = (key_t)((x ^ ((x & (key_t)${kind.sign}) ? (key_t)~(key_t)0 : (key_t)${kind.sign})) - (key_t)${kind.lowest});
% endif
  return ${'(key_t)~x' if descending else 'x'};
}
HELPER key_t bits_of(key_t k) {
% if descending:
  k = (key_t)~k;
% endif
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
% if descending:
  k = (key_t)~k;
% endif
  k = (key_t)(k + (k == (key_t)${kind.negative_zero}));
  k = k < (key_t)${kind.nan} ? k : (key_t)${kind.nan};
% if descending:
  k = (key_t)~k;
% endif
% endif
  return k;
}
</%def>
