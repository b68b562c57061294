## What all stencils share: positions outside an axis, and how the values of a window become one.
##
## A window's taps are numbered. A tap's value, of the elements at `part`, is loaded from the staged tile at a
## place that is computed (a line: t * step) or listed (table[t]).
<%namespace name="access" file="/lib/access.mako" inheritable="True"/>
<%def name="helpers()">
/* The position on an axis of n elements that stands for position c, or -1: a constant. Modes, over an axis a b c:
   0 nearest a a|a b c|c c   1 wrap b c|a b c|a b   2 reflect b a|a b c|c b   3 mirror c b|a b c|b a   4 constant. */
HELPER ${I} bounded(${I} c, const ${I} n, const ${I} mode) {
  if (c >= 0 && c < n) return c;
  if (mode == 4) return -1;
  if (mode == 0 || n == 1) return c < 0 ? 0 : n - 1;
  const ${I} period = mode == 1 ? n : mode == 2 ? 2 * n : 2 * n - 2;
  c %= period;
  c += c < 0 ? period : 0;
  return c < n ? c : mode == 2 ? 2 * n - 1 - c : 2 * n - 2 - c;
}
% if ranks and keyed:
/* Integers in the order of the floats, NaN last. */
HELPER ${t.type} key(const ${t.value} x) {
  const ${t.type} k = as_${t.type}(x);
  return x != x ? (${t.type})(${t.top}) : k ^ ((k >> ${t.bits - 1}) & (${t.type})(${t.top}));
}
% if t.lane != t.type:
HELPER ${t.lane} key_1(const ${t.value_lane} x) {
  const ${t.lane} k = as_${t.lane}(x);
  return x != x ? (${t.lane})(${t.top}) : k ^ ((k >> ${t.bits - 1}) & (${t.lane})(${t.top}));
}
% endif
% endif
% if not ranks:
HELPER ${t.type} madd(const ${t.type} a, const ${t.type} x, const ${t.type} w) { ${madd} }
% endif
HELPER ${out.type} finish(const ${t.type} a${f', const {t.value_lane} divisor' if divides else ''}) {
% for line in finish:
  ${line}
% endfor
}
</%def>
<%def name="staged_value(text, lane=False)" filter="trim">
% if ranks and keyed:
${'key_1' if lane and t.lane != t.type else 'key'}(${text})
% else:
${text}
% endif
</%def>
<%def name="weight(number)" filter="trim">
% if bools:
(${t.type})((char)(-(w[${number}] != 0)))
% else:
(${t.type})(w[${number}])
% endif
</%def>
## Declare v_0, v_1 ...: the values of tap `number` for each part.
<%def name="tap(parts, number, name='v')">
% if direct:
${caller_tap(number, name)}
% else:
% for b, part in enumerate(parts):
const ${t.type} ${name}_${b} = ${load(f'{part} + {capture(place, number)}')};
% endfor
% endif
</%def>
<%def name="place(number)" filter="trim">
% if form in ('line', 'even', 'odd'):
(${number}) * step
% else:
table[${number}]
% endif
</%def>
<%def name="load(address)" filter="trim">
% if V > 1:
vload${V}(0, ${address})
% else:
*(${address})
% endif
</%def>
## Read tap `number` of the one output at (row, column) where it lies.
<%def name="caller_tap(number, name)">
${t.type} ${name}_0 = outside;
{
  __global const int *shift = table + (long)(${number}) * ${rank + 2};
  bool inside = true;
% for a in range(rank):
  const ${I} z${a} = bounded(o${a} + shift[${a}], k${a}, mode${a});
  inside &= z${a} >= 0;
% endfor
  const ${I} y = bounded(row + shift[${rank}], ky, mode_y);
  const ${I} q = column / inner, x_ = bounded(q + shift[${rank + 1}], kx, mode_x);
  if (inside && y >= 0 && x_ >= 0) {
    const ${I} x = x_ * inner + (column - q * inner);
    ${bases([f'z{a}' for a in range(rank)], 'y')}
% for s in scalars.operands:
    const ${s.lane} ${s.name}_0 = ${access.element(s, s.base, 'x')};
% endfor
    ${name}_0 = ${staged_value(scalar.call(0), True)};
  }
}
</%def>
## Declare the position of each input's row: plane `z`, row `y`.
<%def name="bases(z, y)">
% for s in scalars.operands:
const ${'long' if s.access == 'index' else I} ${s.base} = ${' + '.join([s.start if s.access == 'index' else '0', *(f'{c} * {s.name}k{a}' for a, c in enumerate(z)), f'{y} * {s.name}y'])};
% endfor
</%def>
## The values a_0, a_1 ... of the windows at each part.
<%def name="window(parts)">
<% B = range(len(parts)) %>
% if form in ('line', 'table') and not exact:
% for b in B:
${t.type} a_${b} = (${t.type})(0);
% endfor
## sums of sums: the error of a long one grows with the root of its length
for (${I} t0 = 0; t0 < taps; t0 += ${block}) {
  const ${I} t1 = min((${I})(t0 + ${block}), (${I})taps);
% for b in B:
  ${t.type} s_${b} = (${t.type})(0);
% endfor
  for (${I} t = t0; t < t1; ++t) {
    const ${t.type} w_ = ${weight('t')};
    ${tap(parts, 't')}
% for b in B:
    s_${b} = madd(s_${b}, v_${b}, w_);
% endfor
  }
% for b in B:
  a_${b} = ${'a_%d | s_%d' % (b, b) if bools else 'a_%d + s_%d' % (b, b)};
% endfor
}
% elif form == 'table':
% for b in B:
${t.type} a_${b} = (${t.type})(0);
% endfor
for (${I} t = 0; t < taps; ++t) {
  const ${t.type} w_ = ${weight('t')};
  ${tap(parts, 't')}
% for b in B:
  a_${b} = madd(a_${b}, v_${b}, w_);
% endfor
}
% elif form == 'line':
## SciPy begins with the last weight
const ${t.type} w_last = ${weight('taps - 1')};
${tap(parts, 'taps - 1', 'u')}
% for b in B:
${t.type} a_${b} = u_${b} * w_last;
% endfor
for (${I} t = 0; t < taps - 1; ++t) {
  const ${t.type} w_ = ${weight('t')};
  ${tap(parts, 't')}
% for b in B:
  a_${b} = madd(a_${b}, v_${b}, w_);
% endfor
}
% elif form in ('even', 'odd'):
const ${I} middle = taps / 2;
const ${t.type} w_middle = ${weight('middle')};
${tap(parts, 'middle', 'u')}
% for b in B:
${t.type} a_${b} = u_${b} * w_middle;
% endfor
for (${I} t = 0; t < middle; ++t) {
  const ${t.type} w_ = ${weight('t')};
  ${tap(parts, 't')}
  ${tap(parts, 'taps - 1 - t', 'u')}
% for b in B:
  a_${b} = madd(a_${b}, v_${b} ${'+' if form == 'even' else '-'} u_${b}, w_);
% endfor
}
% elif form in ('least', 'greatest'):
${tap(parts, '0', 'u')}
% for b in B:
${t.type} a_${b} = u_${b};
% endfor
for (${I} t = 1; t < taps; ++t) {
  ${tap(parts, 't')}
% for b in B:
  a_${b} = v_${b} ${'<' if form == 'least' else '>'} a_${b} ? v_${b} : a_${b};
% endfor
}
% elif form == 'network':
<% (part,) = parts %>
% for number in range(taps_known):
${t.type} n${number} = ${load(f'{part} + table[{number}]')};
% endfor
% for low, high, lesser, greater in network:
{
  const ${t.type} p = n${low}, q = n${high};
% if lesser:
  n${low} = p < q ? p : q;
% endif
% if greater:
  n${high} = p < q ? q : p;
% endif
}
% endfor
const ${t.type} a_0 = n${target};
% else:
## the largest number that at most `wanted` values are below, found from its highest bit on; in a vector a
## comparison is 0 or -1
% for b in B:
${t.unsigned} p_${b} = (${t.unsigned})(0);
% endfor
for (int bit = ${t.bits - 1}; bit >= 0; --bit) {
% for b in B:
  const ${t.unsigned} c_${b} = p_${b} | (${t.unsigned})((${t.unsigned_lane})1 << bit);
  const ${t.type} k_${b} = as_${t.type}((${t.unsigned})(c_${b} ^ (${t.unsigned})(${t.sign})));
  ${t.signed} below_${b} = (${t.signed})(0);
% endfor
  for (${I} t = 0; t < taps; ++t) {
    ${tap(parts, 't')}
% for b in B:
    below_${b} += (v_${b} < k_${b});
% endfor
  }
% for b in B:
  p_${b} = ${'-' if V > 1 else ''}below_${b} <= (${t.signed})(wanted) ? c_${b} : p_${b};
% endfor
}
% for b in B:
const ${t.type} a_${b} = as_${t.type}((${t.unsigned})(p_${b} ^ (${t.unsigned})(${t.sign})));
% endfor
% endif
</%def>
