## What the kernels of scans share: values that meet each other in order, before and after a carry.
##
##   inner_t              a value, or several combined within a vector: one lane
##   inner_combine(a, b)  a is of earlier positions
##   state_t              what is carried on; that of a float sum knows what the sum has lost by rounding
##   entered(c, x)        the state after x
##   placed(c, x)         the result where x comes after c
##   final(c)             the result of a state
<%namespace name="monoids" file="/lib/monoids.mako"/>

<%def name="algebra(m, first)">
<% L = m.lane(m.entering) %>
${monoids.types(m)}
${monoids.identity(m)}
% if m.algebra == 'widened':
HELPER acc_t accumulate(const acc_t a, const ${m.value_type} x) { acc_t r; r.v = a.v + ${m.widen('x')}; return r; }
HELPER state_t combine(const state_t a, const state_t b) { state_t r; r.v = a.v + b.v; return r; }
% else:
${getattr(monoids, m.algebra)(m)}
% endif
HELPER state_t begin(const ${L} x) { state_t r; ${f"r.v = {m.widen('x', 1)};" if m.algebra == 'widened' else ' '.join(f'r.{n} = {text};' for n, text in first)} return r; }
% if m.plain:
typedef ${L} inner_t;
HELPER inner_t inner_identity(void) { return ${m.neutral}; }
HELPER inner_t inner_combine(const inner_t a, const inner_t b) { return ${m.meet_lane('a', 'b')}; }
HELPER inner_t inner_of(const ${L} x) { return x; }
% if m.products:
HELPER state_t entered(const state_t c, const inner_t x) { return accumulate_lane(c, x); }
% else:
HELPER state_t entered(const state_t c, const inner_t x) { return combine(c, begin(x)); }
% endif
% else:
typedef state_t inner_t;
HELPER inner_t inner_identity(void) { return state_identity(); }
HELPER inner_t inner_combine(const inner_t a, const inner_t b) { return combine(a, b); }
HELPER inner_t inner_of(const ${L} x) { return begin(x); }
HELPER state_t entered(const state_t c, const inner_t x) { return combine(c, x); }
% endif
HELPER ${m.narrow_result.result} result(const ${L} x) { return ${m.narrow_result.cast('x', m.entering)}; }
% if m.sums:
${halves('', L, 'state_t', m, 1)}
HELPER ${m.narrow_result.result} placed(const state_t c, const inner_t x) { return result(high(c) + (x + low(c))); }
HELPER ${m.narrow_result.result} final(const state_t c) { return result(both(c)); }
% elif m.products:
HELPER ${m.narrow_result.result} final(const state_t c) { return result(combine_value(c)); }
HELPER ${m.narrow_result.result} placed(const state_t c, const inner_t x) { return final(${'entered' if m.plain else 'combine'}(c, x)); }
% elif m.plain:
HELPER ${m.narrow_result.result} placed(const state_t c, const inner_t x) { return result(inner_combine(c.v, x)); }
HELPER ${m.narrow_result.result} final(const state_t c) { return result(c.v); }
% else:
HELPER ${m.narrow_result.result} placed(const state_t c, const inner_t x) { return result(combine(c, x).v); }
HELPER ${m.narrow_result.result} final(const state_t c) { return result(c.v); }
% endif
</%def>

## A sum as two numbers. The small one is left out where it is of no use, past the largest number, and one of zero
## does not take a zero's sign.
<%def name="halves(prefix, T, S, m, width)">
<% code = m if width > 1 else m.at(1) %>
% if m.algebra == 'widened':
HELPER ${T} ${prefix}high(const ${S} c) { return ${m.narrow('c.v', width)}; }
HELPER ${T} ${prefix}low(const ${S} c) {
  const ${T} e = ${m.narrow(f'(c.v - {m.widen(prefix + "high(c)", width)})', width)};
% else:
HELPER ${T} ${prefix}high(const ${S} c) { return c.s; }
HELPER ${T} ${prefix}low(const ${S} c) {
  const ${T} e = c.e;
% endif
  return (e - e == 0) & (e != 0) ? e : (${T})(-0.0f);
}
HELPER ${T} ${prefix}both(const ${S} c) {
  const ${T} v = ${prefix}high(c) + ${prefix}low(c);
% if m.algebra == 'widened':
  return v;
% else:
  if (${code.every('v - v == 0')}) return v;
  return v - v == 0 ? v : (c.s - c.s == 0 ? c.s : c.e * ${m.real('0x1p64')});
% endif
}
</%def>

## Whether x, several values combined, differs from what they give one after the other behind the state c: a sum that
## has overflowed, alone or in c, or a product out of the range in which it has all its digits. The values enter as states then.
<%def name="leaving(m)">
HELPER int leaves(const state_t c, const inner_t x) {
% if m.products:
  const ${m.at(1).bits} bits = as_${m.at(1).bits}(x);
  return ((bits ^ (bits << 1)) & ${m.high_bit}) == 0;
% elif m.algebra == 'widened':
  return !(${m.at(1).every('x - x == 0')}) | !(${m.at(1).every('high(c) - high(c) == 0')});
% else:
  return !(${m.at(1).every('x - x == 0')}) | !(${m.at(1).every('(c.s - c.s == 0) | (c.e != c.e)')});
% endif
}
</%def>

## The same for vectors: every lane combined with those before it, and all lanes in order. Halves of a vector are
## cheaper than its even and odd lanes, and as good for sums, which commute.
<%def name="vector(m)">
<%
  T, V = m.value_type, m.width
  steps = [1 << k for k in range(V.bit_length() - 1)]
  ranged = m.sums or m.products
  def moved(x, o, d):
      """The text of a vector whose lanes go d places up."""
      return ', '.join([o] * d + [f'{x}.s{k:x}' for k in range(V - d)])
%>
HELPER ${T} wide_combine(const ${T} a, const ${T} b) { return ${m.meet('a', 'b')}; }
HELPER ${T} prefix(${T} x${', int *out' if ranged else ''}) {
  const inner_t o = inner_identity();
% if m.products:
  ${m.bits} bits = as_${m.bits}(x), inside = bits ^ (bits << 1);
% endif
% for d in steps:
  { const ${T} t = (${T})(${moved('x', 'o', d)}); x = wide_combine(t, x); }
% if m.products:
  bits = as_${m.bits}(x);
  inside &= bits ^ (bits << 1);
% endif
% endfor
% if m.products:
  *out = ${m.some(f'(inside & {m.high_bit}) == 0')};
% elif m.sums:
  *out = !(${m.every('x - x == 0')});
% endif
  return x;
}
% if ranged:
${monoids.joining(m, 'acc_t', 'join')}
## The same as states.
HELPER acc_t prefix_states(const ${T} x) {
  acc_t r, t;
% if m.algebra == 'widened':
  r.v = ${m.widen('x')};
% elif m.products:
  r.v = x;
  r.k = (${T})(0);
% else:
  r.s = x;
  r.e = x - x == 0 ? (${T})(-0.0f) : x;
% endif
% for d in steps:
% for n, dt in m.components:
  t.${n} = (${m.wide(dt)})(${moved(f'r.{n}', m.initial(n), d)});
% endfor
  r = join(t, r);
% endfor
  return r;
}
HELPER state_t last_lane(const acc_t a) { state_t r; ${' '.join(f'r.{n} = a.{n}.s{V - 1:x};' for n, _ in m.components)} return r; }
% endif
HELPER state_t total(const ${T} x) {
% if m.products:
  int out;
  const ${T} p = prefix(x, &out);
  return out ? last_lane(prefix_states(x)) : begin(p.s${f'{V - 1:x}'});
}
% else:
% if m.algebra == 'widened':
  const ${m.state_at(V)} x${V} = ${m.widen('x')};
% else:
  const ${T} x${V} = x;
% endif
<% n = V %>
% while n > 1:
<% h = n // 2 %>
% if m.algebra == 'compensated':
  const ${m.state_at(h)} x${h} = x${n}.lo + x${n}.hi, z${h} = x${h} - x${n}.lo;
  const ${m.state_at(h)} e${h} = ${f'e{n}.lo + e{n}.hi + ' if n < V else ''}((x${n}.lo - (x${h} - z${h})) + (x${n}.hi - z${h}));
% elif m.algebra == 'widened':
  const ${m.state_at(h)} x${h} = x${n}.lo + x${n}.hi;
% else:
  const ${m.state_at(h)} x${h} = ${m.meet_at(h, f'x{n}.even', f'x{n}.odd')};
% endif
<% n = h %>
% endwhile
  state_t r;
  r.${m.components[0][0]} = x1;
% if m.algebra == 'compensated':
  r.e = e1;
  if (!(e1 - e1 == 0)) return last_lane(prefix_states(x));
% endif
  return r;
}
% endif
HELPER ${m.wide_result.result} wide_result(const ${T} x) { return ${m.wide_result.cast('x', m.entering)}; }
% if m.sums:
${halves('wide_', T, 'acc_t', m, V)}
HELPER ${m.wide_result.result} wide_placed(const state_t c, const ${T} x) { return wide_result((${T})(high(c)) + (x + (${T})(low(c)))); }
HELPER ${m.wide_result.result} wide_final(const acc_t c) { return wide_result(wide_both(c)); }
% elif m.products:
HELPER ${m.wide_result.result} wide_final(const acc_t c) { return wide_result(times_value(c)); }
HELPER ${m.wide_result.result} wide_placed(const state_t c, const ${T} x) {
  if (c.k == 0) return wide_result((${T})(c.v) * x);
  const state_t b = combine_scaled(c);
  acc_t r;
  r.v = (${T})(b.v) * x;
  r.k = (${T})(b.k);
  return wide_final(r);
}
% else:
HELPER ${m.wide_result.result} wide_placed(const state_t c, const ${T} x) { return wide_result(wide_combine((${T})(c.v), x)); }
HELPER ${m.wide_result.result} wide_final(const acc_t c) { return wide_result(c.v); }
% endif
## The results of a vector of values after the state c, which moves on.
HELPER ${m.wide_result.result} wide_step(state_t *c, const ${T} x) {
% if ranged:
<%
  out_of_range = {
      'product': '0',  # `wide_placed` asks
      'compensated': '(!(c->s - c->s == 0) & (c->e == c->e))',
      'widened': '!(high(*c) - high(*c) == 0)',
  }
%>
  int out;
  const ${T} p = prefix(x, &out);
  if (out | ${out_of_range[m.algebra]}) {
    const acc_t states = prefix_states(x);
    acc_t before;
    ${' '.join(f'before.{n} = ({m.wide(dt)})(c->{n});' for n, dt in m.components)}
    *c = combine(*c, last_lane(states));
    return wide_final(join(before, states));
  }
% else:
  const ${T} p = prefix(x);
% endif
  const ${m.wide_result.result} y = wide_placed(*c, p);
  *c = ${f'accumulate_lane(*c, p.s{V - 1:x})' if m.products else 'combine(*c, total(x))'};
  return y;
}
</%def>

## States as words of 32 bits, as which they travel between work-items.
<%def name="words(parts)">
#define WORDS ${sum(p.words for p in parts)}
typedef struct { uint w[${sum(p.words for p in parts)}]; } words_t;
HELPER words_t packed(const state_t x) {
  words_t r;
<% at = 0 %>
% for p in parts:
% for k in range(p.words):
  r.w[${at + k}] = ${p.word(k)};
% endfor
<% at += p.words %>
% endfor
  return r;
}
HELPER state_t unpacked(const words_t r) {
  state_t x;
<% at = 0 %>
% for p in parts:
  ${p.target} = ${p.value([f'r.w[{at + k}]' for k in range(p.words)])};
<% at += p.words %>
% endfor
  return x;
}
</%def>

## States of the work-items of a wave, 32 that run in step, exchanged without local memory: PTX.
<%def name="wave()">
HELPER state_t up(const state_t x, const uint d) {
  words_t r = packed(x);
  #pragma unroll
  for (int k = 0; k < WORDS; ++k)
    asm volatile("shfl.sync.up.b32 %0, %1, %2, 0, 0xffffffff;" : "=r"(r.w[k]) : "r"(r.w[k]), "r"(d));
  return unpacked(r);
}
HELPER state_t from(const state_t x, const uint lane) {
  words_t r = packed(x);
  #pragma unroll
  for (int k = 0; k < WORDS; ++k)
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(r.w[k]) : "r"(r.w[k]), "r"(lane));
  return unpacked(r);
}
HELPER void meet_wave(void) { asm volatile("bar.warp.sync 0xffffffff;" ::: "memory"); }
HELPER int wave_all(const int x) {
  int r;
  asm volatile("{.reg .pred p; setp.ne.s32 p, %1, 0; vote.sync.all.pred p, p, 0xffffffff; selp.s32 %0, 1, 0, p;}" : "=r"(r) : "r"(x));
  return r;
}
</%def>
