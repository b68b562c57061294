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
HELPER state_t entered(const state_t c, const inner_t x) { return combine(c, begin(x)); }
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
HELPER ${m.narrow_result.result} final(const state_t c) { return result(high(c) + low(c)); }
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
</%def>

## The same for vectors: every lane combined with those before it, and all lanes in order. Halves of a vector are
## cheaper than its even and odd lanes, and as good for sums, which commute.
<%def name="vector(m)">
<% T, V = m.value_type, m.width %>
HELPER ${T} wide_combine(const ${T} a, const ${T} b) { return ${m.meet('a', 'b')}; }
HELPER ${T} prefix(${T} x) {
  const inner_t o = inner_identity();
<% d = 1 %>
% while d < V:
  { const ${T} t = (${T})(${', '.join(['o'] * d + [f'x.s{k:x}' for k in range(V - d)])}); x = wide_combine(t, x); }
<% d *= 2 %>
% endwhile
  return x;
}
HELPER state_t total(const ${T} x) {
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
% endif
  return r;
}
HELPER ${m.wide_result.result} wide_result(const ${T} x) { return ${m.wide_result.cast('x', m.entering)}; }
% if m.sums:
${halves('wide_', T, 'acc_t', m, V)}
HELPER ${m.wide_result.result} wide_placed(const state_t c, const ${T} x) { return wide_result((${T})(high(c)) + (x + (${T})(low(c)))); }
HELPER ${m.wide_result.result} wide_final(const acc_t c) { return wide_result(wide_high(c) + wide_low(c)); }
% else:
HELPER ${m.wide_result.result} wide_placed(const state_t c, const ${T} x) { return wide_result(wide_combine((${T})(c.v), x)); }
HELPER ${m.wide_result.result} wide_final(const acc_t c) { return wide_result(c.v); }
% endif
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
