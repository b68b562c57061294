## Search: where each element of LOAD would go among the sorted ones, or whether it is one of them.
##
##   sorted     1 3 3 3 8 nan            a range of `left` elements from `base` on holds the place; each step halves it
##   needle 3   left 1, right 4          for ${V} needles at a time: all take the same number of steps, so their loads overlap
##
## An element is taken by the sorter where there is one. Whatever the elements are, no place lies outside 0 .. m.
<%namespace name="access" file="/lib/access.mako" inheritable="True"/>
## NumPy's order: NaN last; complex numbers by their real parts, then by their imaginary ones.
% if kind == 'c':
HELPER int before(const ${lane} a, const ${lane} b) {
  if (a.x < b.x) return !isnan(a.y) || isnan(b.y);
  if (a.x > b.x) return isnan(b.y) && !isnan(a.y);
  if (a.x == b.x || (isnan(a.x) && isnan(b.x))) return a.y < b.y || (isnan(b.y) && !isnan(a.y));
  return isnan(b.x);
}
% elif kind == 'f':
HELPER int before(const ${lane} a, const ${lane} b) { return a < b || (isnan(b) && !isnan(a)); }
% elif kind == 'b':
HELPER int before(const ${lane} a, const ${lane} b) { return a > b; }
% else:
HELPER int before(const ${lane} a, const ${lane} b) { return a < b; }
% endif
${value.text}
ATTR __kernel __attribute__((reqd_work_group_size(${policy.work_group}, 1, 1)))
void search(${', '.join(params)}) {
  ${access.prologue(inputs.operands, inputs.prepare)}
  ${access.bases(I, inputs.operands, 'const ')}
  yp += yo;
  const long units = (n + ${V - 1}) / ${V};
% if policy.chunked:
  const long group = get_group_id(0), groups = get_num_groups(0);
  for (long u = units * group / groups, end_ = units * (group + 1) / groups; u < end_; ++u) {
    const long j = u * ${V};
% else:
  for (long u = get_global_id(0); u < units; u += get_global_size(0)) {
    const long j = u * ${V};
% endif
    const int count = (int)min((long)${V}, (long)(n - j));
    ${lane} needle[${V}];
% for s in inputs.operands:
    ${access.load_partial(s, s.base, 'j', 'count')}
% endfor
% for w in range(V):
    needle[${w}] = ${value.call(w)};
% endfor
    ${P} base[${V}];
    for (int w = 0; w < ${V}; ++w) base[w] = 0;
    ${P} left = m;
    while (left > 1) {
      const ${P} half_ = left >> 1;
      for (int w = 0; w < ${V}; ++w) {
        const ${lane} entry = ${cast_at('base[w] + half_ - 1')};
        base[w] += ${'before(entry, needle[w])' if side == 'left' else '!before(needle[w], entry)'} ? half_ : 0;
      }
      left -= half_;
    }
    for (int w = 0; w < ${V}; ++w) {
      if (w < count) {
        if (left > 0) {
          const ${lane} entry = ${cast_at('base[w]')};
          base[w] += ${'before(entry, needle[w])' if side == 'left' else '!before(needle[w], entry)'};
        }
% if found is None:
        yp[j + w] = base[w];
% else:
        int same = 0;
        if (base[w] < m) {
          const ${lane} entry = ${cast_at('base[w]')};
          same = ${'entry.x == needle[w].x && entry.y == needle[w].y' if kind == 'c' else 'entry == needle[w]'};
        }
        yp[j + w] = (uchar)(${'same' if found else '!same'});
% endif
      }
    }
  }
}
