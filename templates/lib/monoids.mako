<%!
def sum_tree(names):
    """The balanced sum of some variables, as text."""
    if len(names) == 1:
        return names[0]
    half = (len(names) + 1) // 2
    return f"({sum_tree(names[:half])} + {sum_tree(names[half:])})"

%>
## Algebras: how values are accumulated. Each def writes, for the monoid `m` (MonoidCode of reduce/monoid_code.py):
##
##   acc_t, state_t     the accumulator at the kernel's width, and of one lane (one type at width 1)
##   acc_identity()     an accumulator that has seen nothing
##   accumulate(a, x)   one value enters (with its position i where m.indexed)
##   combine(a, b)      two states become one; a is of earlier positions
##
## An algebra that carries its range has two ways for that:
##
##   fast(&r, x...)     values enter r, which may leave the range; returns a check_t, joined with others by m.check_join
##   accumulate(a, x)   stays in range; values enter by it if m.passed(check) is false
##
## and in a def of its own, for a state of one lane or (Width.finish names it) of the kernel's width,
##
##   finish(s)          the result

<%def name="types(m)">
typedef struct { ${' '.join(f'{m.lane(d)} {n};' for n, d in m.components)} } state_t;
% if m.width == 1:
typedef state_t acc_t;
% else:
typedef struct { ${' '.join(f'{m.wide(d)} {n};' for n, d in m.components)} } acc_t;
% endif
</%def>

<%def name="identity(m)">
HELPER acc_t acc_identity(void) { acc_t r; ${' '.join(f'r.{n} = ({m.wide(d)})({m.initial(n)});' for n, d in m.components)} return r; }
HELPER state_t state_identity(void) { state_t r; ${' '.join(f'r.{n} = {m.initial(n)};' for n, d in m.components)} return r; }
</%def>

## Where `mask` (a bool value) is not set, the accumulator stays as it was.
<%def name="masked(m)">
HELPER acc_t accumulate_if(const ${m.mask_type} mask, const acc_t a, const ${m.value_type} x${m.index_param}) {
% if m.absorbs:
  return accumulate(a, ${m.where_set('mask', 'x')});
% elif m.width == 1:
  return mask ? accumulate(a, x${m.index_arg}) : a;
% else:
  const acc_t n = accumulate(a, x${m.index_arg});
  acc_t r;
% for n, d in m.components:
  r.${n} = ${m.select('mask', f'n.{n}', f'a.{n}', d)};
% endfor
  return r;
% endif
}
</%def>

## One operation of the ufunc table, with an identity.
<%def name="fold(m)">
HELPER acc_t accumulate(const acc_t a, const ${m.value_type} x) { acc_t r; r.v = ${m.apply('a.v', 'x')}; return r; }
HELPER state_t combine(const state_t a, const state_t b) { state_t r; r.v = ${m.apply_lane('a.v', 'b.v')}; return r; }
</%def>
<%def name="fold_finish(m, t)">
HELPER ${t.result} ${t.finish}(const ${t.state} s) { return ${t.cast('s.v', m.components[0][1])}; }
</%def>

## A sum in a wider type than that of the values.
<%def name="widened(m)">
HELPER acc_t accumulate(const acc_t a, const ${m.value_type} x) { acc_t r; r.v = a.v + x; return r; }
HELPER state_t combine(const state_t a, const state_t b) { state_t r; r.v = a.v + b.v; return r; }
</%def>
<%def name="widened_finish(m, t)">${fold_finish(m, t)}</%def>

## One operation without an identity: the first value is taken as it is.
<%def name="first(m)">
HELPER acc_t accumulate(const acc_t a, const ${m.value_type} x) {
  acc_t r;
  const ${m.value_type} t = ${m.apply('a.v', 'x')};
  r.v = ${m.select('a.has', 't', 'x', m.components[0][1])};
  r.has = (${m.wide(m.components[1][1])})(-1);
  return r;
}
HELPER state_t combine(const state_t a, const state_t b) {
  if (!b.has) return a;
  if (!a.has) return b;
  state_t r;
  r.v = ${m.apply_lane('a.v', 'b.v')};
  r.has = -1;
  return r;
}
</%def>
<%def name="first_finish(m, t)">
HELPER ${t.result} ${t.finish}(const ${t.state} s) { return ${t.cast('s.v', m.components[0][1])}; }
</%def>

## Float sums with the rounding error of every addition kept beside the sum: Knuth, The Art of Computer
## Programming 2, 4.2.2, theorem B (TwoSum). Where s overflows, e is NaN or infinite; the state then becomes that of a sum out
## of range: s is NaN, and e the sum times 2^-64, which no number of elements takes out of range. So a sum of finite
## values is the right number or the right infinity and never NaN, whatever its parts are.
<%def name="add(m, acc, name, counted=False)">
<% T = m.wide(m.components[0][1]) %>
HELPER ${T} ${name}_scaled(const ${acc} a) { return a.s - a.s == 0 ? (a.s + a.e) * ${m.real('0x1p-64')} : a.e; }
HELPER ${acc} ${name}_ranged(${acc} r, const ${T} scaled) {
  r.s = r.e - r.e == 0 ? r.s : (${T})(NAN);
  r.e = r.e - r.e == 0 ? r.e : scaled;
  return r;
}
HELPER ${acc} ${name}(const ${acc} a, const ${acc} b) {
  ${acc} r;
  r.s = a.s + b.s;
  const ${T} z = r.s - a.s;
  r.e = (a.e + b.e) + ((a.s - (r.s - z)) + (b.s - z));
% if counted:
  r.n = a.n + b.n;
% endif
  return ${m.every('r.e - r.e == 0')} ? r : ${name}_ranged(r, ${name}_scaled(a) + ${name}_scaled(b));
}
</%def>
## Values enter: in scalar code their sum as a tree, three levels of rounding for eight, against NumPy's nineteen and more;
## in vector code, which waits for memory anyway, one after the other.
<%def name="enter_sum(m, name, values, counted=False)">
<%
  T = m.value_type
  given = ', '.join(f'const {T} {x}' for x in values)
  ones = values if m.width > 1 or len(values) == 1 else ['sum']
%>
HELPER ${T} ${name}(acc_t *r, ${given}) {
% if ones != values:
  const ${T} sum = ${sum_tree(values)};
% endif
% for x in ones:
  {
    const ${T} s = r->s + ${x}, z = s - r->s;
    r->e += (r->s - (s - z)) + (${x} - z);
    r->s = s;
  }
% endfor
% if counted:
  r->n += ${len(values)};
% endif
  return r->e;
}
</%def>
<%def name="two_sum(m, counted=False)">
${add(m, 'acc_t', 'add', counted)}
${enter_sum(m, 'fast', ['x'], counted)}
HELPER acc_t accumulate(const acc_t a, const ${m.value_type} x) {
  acc_t r = a;
  const ${m.check_type} check = fast(&r, x);
  if (${m.passed('check')}) return r;
  return add_ranged(r, add_scaled(a) + x * ${m.real('0x1p-64')});
}
% if m.width > 1:
${add(m.at(1), 'state_t', 'combine', counted)}
% else:
HELPER state_t combine(const state_t a, const state_t b) { return add(a, b); }
% endif
</%def>
## The result of a sum, of real and imaginary parts apart. A sum of nearly the largest number may overflow with its error.
<%def name="total(m, t)">
HELPER ${t.type(m.components[0][1])} ${t.finish}_total(const ${t.state} s) {
  const ${t.type(m.components[0][1])} v = s.s + s.e;
  return v - v == 0 ? v : (s.s - s.s == 0 ? s.s : s.e * ${m.real('0x1p64')});
}
</%def>

<%def name="compensated(m)">
${two_sum(m)}
% if m.block:
${enter_sum(m, 'fast_block', [f'x{k}' for k in range(m.block_size)])}
% endif
</%def>
<%def name="compensated_finish(m, t)">
${total(m, t)}
HELPER ${t.result} ${t.finish}(const ${t.state} s) {
  const ${t.type(m.components[0][1])} v = ${t.finish}_total(s);
  return ${t.cast('v', m.components[0][1])};
}
</%def>

## The mean of what a mask lets through: a compensated sum and a count.
<%def name="mean(m)">
${two_sum(m, counted=True)}
</%def>
<%def name="mean_finish(m, t)">
${total(m, t)}
HELPER ${t.result} ${t.finish}(const ${t.state} s) { return ${t.finish}_total(s) / ${t.number('s.n')}; }
</%def>

## Float products that carry their range: the product is v * S^k, where S is a power of two (MonoidCode.scale) and k counts
## how often v was scaled. The digits of v are those of a product without scaling. A product of finite values is the right
## number, the right infinity or zero and never NaN, whatever its parts are.
##
##   |v|    1/S ......... 1/H ........ 1 ........ H ......... S        H * H = S
##                         |<--- scaled to this range --->|
##           |<---------------- middle range ----------------->|
##
## A product of a number in the middle range, 2^-63 to 2^64 (float64: 2^-511 to 2^512), needs no scaling if it is in this range.
## The two highest bits of such an exponent differ.
<%def name="multiply(m, acc, name)">
<% T, R = m.wide(m.components[0][1]), m.wide(m.components[1][1]) %>
## The highest bit of the exponent is set if the number is in the middle range.
HELPER ${m.bits} ${name}_middle(const ${T} v) {
  const ${m.bits} bits = as_${m.bits}(${m.size('v') if m.complex else 'v'});
  return bits ^ (bits << 1);
}
HELPER ${acc} ${name}_scaled(${acc} a) {
  const ${R} size = ${m.size('a.v')};
  const ${R} k = size > ${m.scale(0.5)} ? a.k + 1 : (size < ${m.scale(-0.5)} ? a.k - 1 : a.k);
  a.v *= size > ${m.scale(0.5)} ? (${R})(${m.scale(-1)}) : (size < ${m.scale(-0.5)} ? (${R})(${m.scale(1)}) : (${R})(1));
  a.k = (size > 0) & (size < (${R})(INFINITY)) ? k : (${R})(0);
  return a;
}
HELPER ${acc} ${name}(${acc} a, ${acc} b) {
% if m.takes_first:
  if (!b.has) return a;
  if (!a.has) return b;
% endif
  ${acc} r = a;
  r.v = ${m.apply('a.v', 'b.v')};
  r.k = a.k + b.k;
  if (${m.passed(f'{name}_middle(r.v)')}) return r;
  a = ${name}_scaled(a);
  b = ${name}_scaled(b);
  a.v = ${m.apply('a.v', 'b.v')};
  a.k += b.k;
  return ${name}_scaled(a);
}
## The number that a state stands for.
HELPER ${T} ${name}_value(${acc} a) {
  if (!(${m.some('a.k != 0')})) return a.v;
  a = ${name}_scaled(a);
  a.v *= a.k > 0 ? (${R})(${m.scale(1)}) : (a.k < 0 ? (${R})(${m.scale(-1)}) : (${R})(1));
  return a.v * (a.k > 1 ? (${R})(${m.scale(1)}) : (a.k < -1 ? (${R})(${m.scale(-1)}) : (${R})(1)));
}
</%def>
## Values enter in pairs, so that the state waits for one multiplication of two. A pair between two numbers of the middle range is
## not subnormal, and so has all its digits.
<%def name="enter_product(m, acc, name, times, values)">
<%
  T, U = m.wide(m.components[0][1]), m.bits
  pairs = [values[n : n + 2] for n in range(0, len(values), 2)]
%>
HELPER ${U} ${name}(${acc} *r, ${', '.join(f'const {T} {x}' for x in values)}) {
  ${U} bits = ~(${U})0;
% for pair in pairs:
  r->v = ${m.apply('r->v', m.apply(*pair) if len(pair) == 2 else pair[0])};
  bits &= ${times}_middle(r->v);
% endfor
  return bits;
}
</%def>
## One value enters. If the state leaves the middle range it is scaled first, and if that is not enough, the value is too.
<%def name="enter_factor(m, acc, name, times)">
<% T, R, U = m.wide(m.components[0][1]), m.wide(m.components[1][1]), m.bits %>
HELPER ${acc} ${name}(const ${acc} a, const ${T} x) {
  ${acc} r = a;
  r.v = ${m.apply('a.v', 'x')};
  if (${m.passed(f'{times}_middle(r.v)')}) return r;
  r = ${times}_scaled(a);
  r.v = ${m.apply('r.v', 'x')};
  const ${R} size = ${m.size('a.v')};
  const ${m.comparison} live = (size > 0) & (size < (${R})(INFINITY));
  if (${m.passed(f'({times}_middle(r.v) | (live ? ({U})0 : ~({U})0))')}) return r;
  ${acc} b = a;
  b.v = x;
  b.k = (${R})(0);
  return ${times}(a, b);
}
</%def>
<%def name="product(m)">
<% single = m.at(1) %>
${multiply(m, 'acc_t', 'times')}
% if m.takes_first:
HELPER acc_t accumulate(const acc_t a, const ${m.value_type} x) {
  acc_t b;
  b.v = x;
  b.k = 0;
  b.has = -1;
  return times(a, b);
}
% else:
${enter_product(m, 'acc_t', 'fast', 'times', ['x'])}
${enter_product(m, 'acc_t', 'fast_block', 'times', [f'x{k}' for k in range(m.block_size)]) if m.block else ''}
${enter_factor(m, 'acc_t', 'accumulate', 'times')}
% endif
% if m.width > 1:
${multiply(single, 'state_t', 'combine')}
${enter_factor(single, 'state_t', 'accumulate_lane', 'combine')}
% else:
HELPER state_t combine(const state_t a, const state_t b) { return times(a, b); }
HELPER ${m.lane(m.components[0][1])} combine_value(const state_t a) { return times_value(a); }
HELPER state_t accumulate_lane(const state_t a, const ${m.value_type} x) { return accumulate(a, x); }
% endif
</%def>
<%def name="product_finish(m, t)">
HELPER ${t.result} ${t.finish}(const ${t.state} s) {
  const ${t.type(m.components[0][1])} v = ${'combine' if t.state == 'state_t' else 'times'}_value(s);
  return ${t.cast('v', m.components[0][1])};
}
</%def>

## Count, mean and sum of squared deviations. One value at a time: Welford, Technometrics 4(3), 1962. Several at
## once: their own mean and deviations first, then merged as in Chan, Golub and LeVeque, 1979. The mean has a
## low part, else it would stop moving once its steps are shorter than half its spacing, far from where it
## should be when values are large against their deviations. Both sums keep the error of every addition.
<%def name="moment_steps(m, acc, suffix, T, R)">
## How far the mean moves towards x. A step out of range leaves it where it is: the sum of squares is infinite then, and must
## not become NaN, unless x is not finite itself.
HELPER ${T} bounded${suffix}(const ${T} step, const ${T} x) { return step - step == 0 ? step : x - x; }
% if m.complex:
HELPER ${R} product${suffix}(const ${T} a, const ${T} b) { return a.x * b.x + a.y * b.y; }
% else:
HELPER ${R} product${suffix}(const ${T} a, const ${T} b) { return a * b; }
% endif
HELPER void move_mean${suffix}(${acc} *r, const ${T} x) {
  const ${T} s = r->mean + x, z = s - r->mean;
  r->low += (r->mean - (s - z)) + (x - z);
  r->mean = s;
}
HELPER void add_deviation${suffix}(${acc} *r, const ${R} x) {
  const ${R} s = r->m2 + x, z = s - r->m2;
  r->e += (r->m2 - (s - z)) + (x - z);
  r->m2 = s;
}
</%def>
<%def name="deviations(m)">
<% T, L = m.value_type, m.lane(m.components[1][1]) %>
<% R, S = m.wide(m.components[0][1]), m.real_lane %>
<% fraction = repr(1.0 / m.block_size) + ('f' if S == 'float' else '') %>
${moment_steps(m, 'acc_t', '', T, R)}
${moment_steps(m, 'state_t', '_lane', L, S)}
HELPER acc_t accumulate(const acc_t a, const ${T} x) {
  acc_t r = a;
  r.n = a.n + (${R})(1);
  const ${T} d = (x - a.mean) - a.low, step = bounded(d / r.n, x);
  move_mean(&r, step);
  add_deviation(&r, product(d, d - step));
  return r;
}
## The rounded mean of the values leaves deviations that do not quite add up to zero: what they add up to is its
## low part, and the sum of squares about it is corrected.
<% given = ', '.join(f'const {T} x{k}' for k in range(m.block_size)) %>
HELPER ${R} fast_block(acc_t *r, ${given}) {
  const ${T} mean = ${sum_tree([f'x{k}' for k in range(m.block_size)])} * ${fraction};
% for k in range(m.block_size):
  const ${T} d${k} = x${k} - mean;
% endfor
  const ${T} rest = ${sum_tree([f'd{k}' for k in range(m.block_size)])}, low = rest * ${fraction};
  const ${R} squares = ${sum_tree([f'product(d{k}, d{k})' for k in range(m.block_size)])}, less = product(rest, low);
  const ${R} m2 = squares - (less < squares ? less : (${R})(0)), n = r->n;
  const ${T} far = mean - r->mean, near = low - r->low, d = far + near;
  const ${R} all = n + (${R})(${m.block_size}), share = (${R})(${m.block_size}) / all, step = m2 + product(d * (n * share), d);
% if m.width > 1:
  // before the state changes: there are no registers for two
  if (!${m.passed('step')}) return step;
% endif
  r->n = all;
  move_mean(r, far * share);
  r->low += near * share;  // apart: the first block is far from 0, and its low part would be lost
  add_deviation(r, step);
  return step;
}
HELPER state_t combine(const state_t a, const state_t b) {
  if (b.n == 0) return a;
  if (a.n == 0) return b;
  state_t r = a;
  r.n = a.n + b.n;
  const ${L} d = (b.mean - a.mean) + (b.low - a.low);
  const ${S} share = b.n / r.n;
  move_mean_lane(&r, bounded_lane(d * share, b.mean));
  add_deviation_lane(&r, b.m2);
  add_deviation_lane(&r, product_lane(d * (a.n * share), d));
  r.e += b.e;
  return r;
}
</%def>
<%def name="sum_of_squares(m, t, divisor)">
HELPER ${t.result} ${t.finish}(const ${t.state} s) {
  const ${t.real} v = s.m2 + s.e;
  return (v - v == 0 ? v : s.m2)${divisor};
}
</%def>

<%def name="moments(m)">${deviations(m)}</%def>
<%def name="moments_finish(m, t)">${sum_of_squares(m, t, '')}</%def>

<%def name="variance(m)">${deviations(m)}</%def>
<%def name="variance_finish(m, t)">${sum_of_squares(m, t, ' / s.n')}</%def>

## The position of the first extremum; NaN goes before everything. The accumulator starts with the worst value
## there is, at no position (a number past all others): if it is still there at the end, every element is that
## value, and the first of them is at 0. Where the loops do not go through the positions in order, equal values
## are told apart by them, and so are NaNs where these are the worst: they differ in their other parts.
<%def name="extremum_index(m)">
HELPER acc_t accumulate(const acc_t a, const ${m.value_type} x, const ${m.index_type} i) {
% if m.ascending and not m.nan_is_worst:
  const ${m.mask_type} better = ${m.precedes('x', 'a.v', m.width)};
% else:
  const ${m.mask_type} worse = ${m.precedes('a.v', 'x', m.width)};
  const ${m.mask_type} better = ${m.precedes('x', 'a.v', m.width)} | (~worse & ${m.earlier('i', 'a.i')});
% endif
  acc_t r;
  r.v = ${m.select('better', 'x', 'a.v', m.components[0][1])};
  r.i = ${m.select('better', 'i', 'a.i', m.components[1][1])};
  return r;
}
HELPER state_t combine(const state_t a, const state_t b) {
  const char b_first = ${m.precedes('b.v', 'a.v', 1)};
  const char a_first = ${m.precedes('a.v', 'b.v', 1)};
  /* no && or ||: with branches here, LLVM 18 aborts for complex numbers */
  return (b_first | (!a_first & (b.i < a.i))) ? b : a;
}
</%def>
<%def name="extremum_index_finish(m, t)">
HELPER ${t.result} ${t.finish}(const ${t.state} s) {
  const ${t.type(m.components[1][1])} i = ${t.where(f's.i == {m.initial("i")}', '0', 's.i', m.components[1][1])};
  return ${t.cast('i', m.components[1][1])};
}
</%def>

## The first extremum itself, told from equal values and other NaNs by its position.
<%def name="extremum(m)">${extremum_index(m)}</%def>
<%def name="extremum_finish(m, t)">${fold_finish(m, t)}</%def>

## Two vector accumulators become one, lane by lane: for each lane what `combine` does.
<%def name="joining(m, acc, name)">
% if m.algebra == 'product':
${multiply(m, acc, name)}
% elif m.algebra == 'compensated':
${add(m, acc, name)}
% else:
HELPER ${acc} ${name}(const ${acc} a, const ${acc} b) {
  ${acc} r;
% if m.algebra == 'widened':
  r.v = a.v + b.v;
% elif m.algebra == 'fold':
  r.v = ${m.apply('a.v', 'b.v')};
% elif m.algebra == 'first':
  const ${m.wide(m.components[0][1])} both = ${m.apply('a.v', 'b.v')};
  const ${m.wide(m.components[0][1])} one = ${m.select('a.has', 'a.v', 'b.v', m.components[0][1])};
  r.v = ${m.select('a.has & b.has', 'both', 'one', m.components[0][1])};
  r.has = a.has | b.has;
% else:
  const ${m.mask_type} worse = ${m.precedes('a.v', 'b.v', m.width)};
  const ${m.mask_type} better = ${m.precedes('b.v', 'a.v', m.width)} | (~worse & ${m.earlier('b.i', 'a.i')});
  r.v = ${m.select('better', 'b.v', 'a.v', m.components[0][1])};
  r.i = ${m.select('better', 'b.i', 'a.i', m.components[1][1])};
% endif
  return r;
}
% endif
</%def>
