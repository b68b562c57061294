## Histogram: COUNT[BIN(LOAD(i))] += 1, or SUM[BIN(LOAD(i))] += WEIGHT(LOAD(i)).
##
## private  work-item 0 |chunk of elements ..| -> its tables     one table per copy, elements taking them in turn:
##          work-item 1 |chunk of elements ..| -> its tables     additions to one bin need not wait for each other
##                                                               a row has one bin more, for what lies outside
##          The order of a float sum follows from the elements' positions and the number of chunks and copies, and from
##          nothing else: neither from the vector width nor from the number of compute units.
## local    work-group: vectors dealt out over the grid -> counters in local memory (atomic) -> the global table (atomic)
## global   the same without the table in local memory
## sums     a work-group takes a tile of one element per work-item; where several fall into one bin, they add in
##          the order of the work-items, a round each. So a float sum has one order, and no float is added atomically.
##
##          tile   item 0 1 2 3 4      round 1: 0 and 1 add (the first of their bins), round 2: 2 and 3, round 3: 4
##          bin         7 3 7 3 7
##
## A pass counts the bins low .. low + bins - 1 only.
<%namespace name="access" file="/lib/access.mako" inheritable="True"/>
<%
  explicit = d.width > 1
  parts = V // d.width
  private, local = space == 'private', space == 'local'
  many = len(axes) > 1
  direct = axes[0].kind == 'direct'
  OUT = '0xffffffffu'
  here = 'flat_ - low' if shifted else 'flat_'
  amount = lambda text: f'({sum_type})({text}, 0)' if pair else text
%>
% for a in axes:
% if a.kind != 'direct':
## Whether x comes before y; NaN is the largest value.
<%def name="before(a, x, y)" filter="trim">
% if a.is_float:
((${x} < ${y}) | ((${y} != ${y}) & (${x} == ${x})))
% else:
(${x} < ${y})
% endif
</%def>
% endif
% if a.kind in ('search', 'few'):
HELPER bool outside${a.k}(const ${a.lane} v, const uint n, __global const ${a.lane} *e) {
  return ${before(a, 'v', 'e[0]')} | ${before(a, 'e[n]', 'v')};
}
## The last edge but one that is not above v; without branches, which no one could foresee.
HELPER uint bin${a.k}(const ${a.lane} v, const uint n, __global const ${a.lane} *e) {
  uint low = 0;
  for (uint left = n; left > 1; left -= left / 2) low += (left / 2) & -(uint)(!${before(a, 'v', 'e[low + left / 2]')});
  return outside${a.k}(v, n, e) ? ${OUT} : low;
}
% elif a.kind == 'uniform':
HELPER int settle${a.k}(const ${a.lane} v, const int guess, const uint n, __global const ${a.lane} *e) {
  int q = guess < 0 ? 0 : guess < (int)n ? guess : (int)n - 1;
  while (q > 0 && v < e[q]) --q;
  while (q < (int)n - 1 && v >= e[q + 1]) ++q;
  return q;
}
HELPER uint within${a.k}(const ${a.lane} v, const uint n, __global const ${a.lane} *e, const ${a.lane} first, const ${a.lane} last, const ${a.lane} scale) {
  if (!(v >= first && v <= last)) return ${OUT};
  return settle${a.k}(v, (int)((v - first) * scale), n, e);
}
## The position less a half is rounded to a whole number by adding one so large that no fraction remains: two
## additions in place of two conversions. What is far outside rounds to numbers that are no bins.
HELPER uint bin${a.k}(const ${a.lane} v, const uint n, __global const ${a.lane} *e, const ${a.lane} first, const ${a.lane} last, const ${a.lane} scale, const ${a.lane} close, const ${a.lane} bias) {
  const ${a.lane} t = MULTIPLY_ADD(v, scale, bias), m = t + ${a.magic}, d = t - (m - ${a.magic});
  const ${a.position_type} q = ${a.as_position('m')} - ${a.as_position(a.magic)};
  if (fabs(d) < ${a.half} - close && q < n) return (uint)q;
  return within${a.k}(v, n, e, first, last, scale);
}
% elif a.kind == 'steps':
HELPER uint bin${a.k}(const ${a.lane} v, const ${a.lane} f, const uint n, __global const ${a.lane} *e, const ${a.lane} first, const ${a.lane} last) {
  if (!(v >= first && v <= last)) return ${OUT};
  uint q = f >= 0 && f < (${a.lane})n ? (uint)f : n - 1;
  if (q >= n) q = n - 1;
  if (v < e[q] && q > 0) --q;
  if (v >= e[q + 1] && q != n - 1) ++q;
  return q;
}
% endif
% endfor
% if many:
HELPER uint flatten(${', '.join(f'const uint at{a.k}' for a in axes)}, ${', '.join(f'const uint n{a.k}' for a in axes)}) {
  if (${' || '.join(f'at{a.k} == {OUT}' for a in axes)}) return ${OUT};
  uint b = at0;
% for a in axes[1:]:
  b = b * n${a.k} + at${a.k};
% endfor
  return b;
}
% endif
% if pair:
/* A sum and its error: TwoSum. */
HELPER float2 add(const float2 a, const float2 b) {
  const float s = a.x + b.x, t = s - a.x;
  return (float2)(s, a.y + b.y + ((a.x - (s - t)) + (b.x - t)));
}
% elif summed:
HELPER ${sum_type} add(const ${sum_type} a, const ${sum_type} b) { return a + b; }
% endif
<%def name="flat(suffix)" filter="trim">
% if many:
flatten(${', '.join(f'at{a.k}{suffix}' for a in axes)}, ${', '.join(f'n{a.k}' for a in axes)})
% else:
at0${suffix}
% endif
</%def>
<%def name="loads(j, tag)">
% for s in inputs.operands:
${access.load(s, s.base, j, tag)}
% endfor
</%def>
<%def name="loads_partial(j, m, tag)">
% for s in inputs.operands:
${access.load_partial(s, s.base, j, m, tag)}
% endfor
</%def>
## The bins of part w, one number: scalar code.
<%def name="bins_of_part(w, tag)">
% for a in axes:
const uint at${a.k}_${w}${tag} = ${a.bin(w, tag)};
% endfor
</%def>
## The bins of V elements, in arrays at0, at1 ...: vector code. Raw values where they are the bins.
<%def name="bins_of_vector(tag, raw)">
% for a in axes:
uint at${a.k}[${V}];
{
const ${a.wide} v = ${a.value.call(0, tag)};
% if a.kind == 'direct':
const ${a.bins} u = ${a.clamped('v')};
% if raw:
vstore${V}(u, 0, at0);
% else:
most = most > u ? most : u;
vstore${V}(u < (${a.bins})(bins) ? u : (${a.bins})(bins), 0, at0);
% endif
% elif a.kind == 'uniform':
const ${a.mask} inside = (v >= (${a.wide})(first${a.k})) & (v <= (${a.wide})(last${a.k}));
const ${a.wide} t = inside ? (v - (${a.wide})(first${a.k})) * (${a.wide})(scale${a.k}) : (${a.wide})(${a.half});
const ${a.ints} q = ${a.to_int('t')};
const ${a.wide} r = t - ${a.from_int('q')};
const ${a.mask} plain = (r > (${a.wide})(close${a.k})) & (r < (${a.wide})(1 - close${a.k}));
vstore${V}(${a.narrow('inside')} ? ${a.as_bins('q')} : (${a.bins})(${OUT if many else 'bins'}), 0, at${a.k});
if (!all(plain)) {
  ${a.lane} lanes[${V}];
  vstore${V}(v, 0, lanes);
  for (int l = 0; l < ${V}; ++l) at${a.k}[l] = ${a.bin_of('lanes[l]')};
% if not many:
  for (int l = 0; l < ${V}; ++l) at0[l] = at0[l] < bins ? at0[l] : bins;
% endif
}
% elif a.kind == 'few':
const ${a.mask} inside = (v >= (${a.wide})(e${a.k}[0])) & (v <= (${a.wide})(e${a.k}[n${a.k}]));
${a.mask} below = 0;
for (uint k = 1; k < n${a.k}; ++k) below = v >= (${a.wide})(e${a.k}[k]) ? (${a.mask})(k) : below;
vstore${V}(${a.narrow('inside')} ? ${a.as_bins(a.narrow('below'))} : (${a.bins})(${OUT if many else 'bins'}), 0, at${a.k});
% else:
${a.lane} lanes[${V}];
vstore${V}(v, 0, lanes);
for (int l = 0; l < ${V}; ++l) at${a.k}[l] = 0;
for (uint left = n${a.k}; left > 1; left -= left / 2) {
  const uint half_ = left / 2;
% for l in range(V):
  at${a.k}[${l}] += half_ & -(uint)(!${before(a, f'lanes[{l}]', f'e{a.k}[at{a.k}[{l}] + half_]')});
% endfor
}
for (int l = 0; l < ${V}; ++l) at${a.k}[l] = outside${a.k}(lanes[l], n${a.k}, e${a.k}) ? ${OUT} : at${a.k}[l];
% endif
}
% endfor
</%def>
<% bounded = not many and axes[0].kind in ('direct', 'uniform', 'few') %>
<%def name="enter(number, amount, table)">
% if summed:
{ __global ${sum_type} *place = ${table} + ${number}; *place = add(*place, ${amount}); }
% else:
++(${table})[${number}];
% endif
</%def>
<%def name="enter_part(suffix, amount, table)">
const uint flat_ = ${flat(suffix)}, b = flat_ < bins ? flat_ : bins;
% if direct:
top = max(top, flat_);
% endif
${enter('b', amount, table)}
</%def>
<%def name="weight_lanes(tag)">
% if summed:
${lane_sum} weights[${V}];
vstore${V}(${weight.call(0, tag)}, 0, weights);
% endif
</%def>
## Row and vector of unit u.
<%def name="place_unit(u)">
% if rank > 1:
    ${I} line = ${u} / segments;
    const ${I} first = (${u} - line * segments) * ${V};
% else:
    const ${I} first = (${I})${u} * ${V};
% endif
    const ${I} last = min((${I})(first + ${V}), (${I})n_0);
</%def>
## The operands' bases in the row of unit u.
<%def name="place_bases(u, suffix='', per_row='segments')">
% for s in inputs.operands:
    ${'long' if s.access == 'index' else I} ${s.name}b${suffix} = ${s.start if s.access == 'index' else '0'};
% endfor
% if rank > 1:
    {
      ${I} line_ = ${u} / ${per_row};
% for axis in range(1, rank):
      {
% if axis < rank - 1:
        const ${I} c = line_ % n_${axis}; line_ /= n_${axis};
% else:
        const ${I} c = line_;
% endif
% for s in inputs.operands:
        ${s.name}b${suffix} += c * ${s.name}s${axis};
% endfor
      }
% endfor
    }
% endif
</%def>
ATTR __kernel __attribute__((reqd_work_group_size(${work_group}, 1, 1)))
void histogram(${', '.join(params)}) {
  ${access.prologue(inputs.operands, inputs.prepare)}
% if rank > 1 and not private:
  const ${I} segments = (n_0 + ${V - 1}) / ${V};
% endif
% if private:
<%
  ## the table that an element takes: by its position, whatever the row and the vector that it lies in
  table_of = lambda l: f'copy{l % copies}' if V % copies == 0 and l != 'l' else f'table + (u + (j - first) + {l}) % {copies} * row'
%>
  const long row = stride_;  /* a bin for what is outside, and no line of a cache that is another's too */
  __global ${sum_type} *table = tables + get_group_id(0) * ${copies} * row;
  for (long b = 0; b < ${copies} * row; ++b) table[b] = 0;
% if direct and explicit:
  ${axes[0].bins} most = 0;
% endif
  uint top = 0;
  const long group = get_group_id(0), groups = get_num_groups(0);
  const long end_ = group + 1 == groups ? end : begin + ((end - begin) * (group + 1) / groups & -16);
  for (long u = begin + ((end - begin) * group / groups & -16); u < end_;) {
    const ${I} first = ${'u % n_0' if rank > 1 else 'u'}, last = ${'min((long)n_0, first + (end_ - u))' if rank > 1 else 'end_'};
    ${place_bases('u', '', 'n_0')}
    __global ${sum_type} ${', '.join(f"*copy{k} = table + {f'(u + {k})' if rank > 1 else k} % {copies} * row" for k in range(copies))};
    ${I} j = first;
    for (; j + ${V} ${'<' if pairs else '<='} last; j += ${V}) {
      ${loads('j', '')}
% if explicit:
      ${bins_of_vector('', False)}
      ${weight_lanes('')}
% for l in range(V):
      {
% if bounded:
        const uint b = at0[${l}];
% else:
        const uint flat_ = ${flat(f'[{l}]')}, b = flat_ < bins ? flat_ : bins;
% endif
        ${enter('b', amount(f'weights[{l}]'), table_of(l))}
      }
% endfor
% else:
% for w in range(parts):
      {
        ${bins_of_part(w, '')}
        ${enter_part(f'_{w}', amount(weight.call(w)) if summed else '', table_of(w))}
      }
% endfor
% endif
    }
% if V > 1:
    const int m = last - j;
    if (m > 0) {
      ${loads_partial('j', 'm', '')}
% if explicit:
      ${bins_of_vector('', True)}
      ${weight_lanes('')}
      for (int l = 0; l < m; ++l) {
        ${enter_part('[l]', amount('weights[l]'), table_of('l'))}
      }
% else:
% for w in range(parts):
      if (${w} < m) {
        ${bins_of_part(w, '')}
        ${enter_part(f'_{w}', amount(weight.call(w)) if summed else '', table_of(w))}
      }
% endfor
% endif
    }
% endif
    u += last - first;
  }
% if direct:
% if explicit:
  uint tops[${V}];
  vstore${V}(most, 0, tops);
  for (int l = 0; l < ${V}; ++l) top = max(top, tops[l]);
% endif
  atomic_max(status, top);
% endif
% elif not summed:
  const int item = get_local_id(0);
% if local:
  __local uint counters[${table * copies}];
  for (uint b = item; b < bins * ${copies}; b += ${work_group}) counters[b] = 0;
% endif
  __local uint tops;
  if (item == 0) tops = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint top = 0;
<%def name="count_part(w, tag)">
{
  ${bins_of_part(w, tag)}
  const uint flat_ = ${flat(f'_{w}{tag}')};
% if direct:
  top = max(top, flat_);
% endif
% if not local:
  if (flat_ < bins) atomic_inc(tables + flat_);
% elif copies > 1:
  if (${here} < bins) atomic_inc(counters + (${here}) * ${copies} + item % ${copies});
% else:
  if (${here} < bins) atomic_inc(counters + (${here}));
% endif
}
</%def>
  const long stride = get_global_size(0);
  long u = begin + get_global_id(0);
% if X > 1:
  const long full = ${f'min(end, (long)n_0 / {V})' if rank == 1 else f'n_0 % {V} == 0 ? end : begin'};
  for (; u + ${X - 1} * stride < full; u += ${X} * stride) {
% for x in range(X):
    const long u_${x} = u + ${x} * stride;
    ${place_bases(f'u_{x}', f'_{x}')}
% if rank > 1:
    const ${I} j_${x} = ((${I})u_${x} % segments) * ${V};
% else:
    const ${I} j_${x} = (${I})u_${x} * ${V};
% endif
% for s in inputs.operands:
    ${access.load(s, f'{s.name}b_{x}', f'j_{x}', f'_{x}')}
% endfor
% endfor
% for x in range(X):
% for w in range(parts):
    ${count_part(w, f'_{x}')}
% endfor
% endfor
  }
% endif
  for (; u < end; u += stride) {
    ${place_unit('u')}
    ${place_bases('u')}
    if (first + ${V} <= last) {
      ${loads('first', '')}
% for w in range(parts):
      ${count_part(w, '')}
% endfor
    } else {
      const int m = last - first;
      ${loads_partial('first', 'm', '')}
% for w in range(parts):
      if (${w} < m) {
        ${count_part(w, '')}
      }
% endfor
    }
  }
% if direct:
  atomic_max(&tops, top);
% endif
  barrier(CLK_LOCAL_MEM_FENCE);
% if local:
  for (uint b = item; b < bins; b += ${work_group}) {
    uint found = 0;
% for c in range(copies):
    found += counters[b * ${copies} + ${c}];
% endfor
    if (found) atomic_add(tables + low + b, found);
  }
% endif
% if direct:
  if (item == 0) atomic_max(status, tops);
% endif
% if last:
  ## The last work-group to come here, as a ticket counter tells, makes the result: no second launch is needed.
  ${policy.fence}
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  __local int last_group;
  if (item == 0) last_group = atomic_inc(done) == (int)get_num_groups(0) - 1;
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (last_group) {
    ${policy.fence}
    for (uint b = item; b < bins; b += ${work_group}) {
      long sum = atomic_xchg(tables + b, 0u);
      if (again) sum += (long)yp[b];
      yp[b] = (${last})sum;
    }
    if (item == 0) {
      atomic_xchg(done, 0);
% if direct:
      const ${last} seen = (${last})atomic_xchg(status, 0u);
      yp[bins] = again && yp[bins] > seen ? yp[bins] : seen;
% endif
    }
  }
% endif
% else:
  const int item = get_local_id(0);
% if local:
  __local ${sum_type} table[${table}];
  __local uint owner[${table}];
% else:
  __global ${sum_type} *table = tables + get_group_id(0) * (long)bins;
  volatile __global uint *owner = owners + get_group_id(0) * (long)bins;
% endif
<% fence = 'barrier(CLK_LOCAL_MEM_FENCE);' if local else 'barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);' %>
  __local ${sum_type} part[${work_group}];
  __local int more[2];
  __local uint tops, leader, heavy;
  for (uint b = item; b < bins; b += ${work_group}) { table[b] = 0; owner[b] = ${OUT}; }
  if (item == 0) { more[0] = more[1] = 0; tops = 0; }
  ${fence}
  uint top = 0;
  int turn = 0;
  for (long tile = begin + get_group_id(0) * (long)${work_group}; tile < end; tile += get_num_groups(0) * (long)${work_group}) {
    const long u = tile + item;
    uint b = ${OUT};
    ${sum_type} w = 0;
    if (u < end) {
      ${place_unit('u')}
      ${place_bases('u')}
      ${loads('first', '')}
      ${bins_of_part(0, '')}
      const uint flat_ = ${flat('_0')};
% if direct:
      top = max(top, flat_);
% endif
      b = flat_ - low;
      w = ${amount(weight.call(0))};
    }
    bool pending = b < bins;
    int again = 1;
    for (int round = 0; round < ${rounds} && again; ++round) {
      if (pending) atomic_min(owner + b, (uint)item);
      ${fence}
      const bool first_of_bin = pending && owner[b] == (uint)item;
      if (item == 0) more[turn ^ 1] = 0;
      if (pending && !first_of_bin) more[turn] = 1;
      ${fence}
      if (first_of_bin) {
        table[b] = add(table[b], w);
        owner[b] = ${OUT};
        pending = false;
      }
      again = more[turn];
      turn ^= 1;
      ${fence}
    }
    ## Many elements in one bin are not taken one by one, but added in a tree, bin by bin.
    while (again) {
      if (item == 0) { leader = ${work_group}; more[turn ^ 1] = 0; }
      ${fence}
      if (pending) atomic_min(&leader, (uint)item);
      ${fence}
      if (leader == (uint)item) heavy = b;
      ${fence}
      const bool mine = pending && b == heavy;
      part[item] = mine ? w : (${sum_type})0;
      pending = pending && !mine;
      if (pending) more[turn] = 1;
      ${fence}
      for (int h = ${work_group // 2}; h > 0; h >>= 1) {
        if (item < h) part[item] = add(part[item], part[item + h]);
        ${fence}
      }
      if (item == 0) table[heavy] = add(table[heavy], part[0]);
      again = more[turn];
      turn ^= 1;
      ${fence}
    }
  }
% if direct:
  atomic_max(&tops, top);
% endif
  barrier(CLK_LOCAL_MEM_FENCE);
% if local:
  for (uint b = item; b < bins; b += ${work_group}) tables[get_group_id(0) * (long)stride_ + low + b] = table[b];
% endif
% if direct:
  if (item == 0) atomic_max(status, tops);
% endif
% endif
}
