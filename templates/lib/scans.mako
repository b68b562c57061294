## What the kernels of scans share: values that meet each other in order, before and after a carry.
##
##   inner_t            a value, or several combined within a tile: one lane
##   inner_combine(a,b) a is of earlier positions
##   state_t            what is carried from tile to tile; float sums carry their rounding error along
##   entered(c, x)      the carry after x
##   carried(c)         the carry as an inner_t
##   result(x)          what is stored
<%namespace name="monoids" file="/lib/monoids.mako"/>

<%def name="algebra(m, first)">
${monoids.types(m)}
${monoids.identity(m)}
${getattr(monoids, m.algebra)(m)}
HELPER state_t begin(const ${m.lane(m.entering)} x) { state_t r; ${' '.join(f'r.{n} = {text};' for n, text in first)} return r; }
% if m.plain:
<% L = m.lane(m.entering) %>
typedef ${L} inner_t;
HELPER inner_t inner_identity(void) { return ${m.initial(m.components[0][0])}; }
HELPER inner_t inner_combine(const inner_t a, const inner_t b) { return ${m.meet_lane('a', 'b')}; }
HELPER inner_t inner_of(const ${L} x) { return x; }
HELPER state_t entered(const state_t c, const inner_t x) { return combine(c, begin(x)); }
% if m.algebra == 'compensated':
${corrected('carried', 'inner_t', 'state_t')}
% else:
HELPER inner_t carried(const state_t c) { return c.v; }
% endif
HELPER ${m.narrow_result.result} result(const inner_t x) { return ${m.narrow_result.cast('x', m.entering)}; }
% else:
typedef state_t inner_t;
HELPER inner_t inner_identity(void) { return state_identity(); }
HELPER inner_t inner_combine(const inner_t a, const inner_t b) { return combine(a, b); }
HELPER inner_t inner_of(const ${m.lane(m.entering)} x) { return begin(x); }
HELPER state_t entered(const state_t c, const inner_t x) { return combine(c, x); }
HELPER inner_t carried(const state_t c) { return c; }
HELPER ${m.narrow_result.result} result(const inner_t x) { return ${m.narrow_result.cast('x.v', m.components[0][1])}; }
% endif
</%def>

## A sum with its error. An error of no use is left out, and one of zero does not take a zero's sign.
<%def name="corrected(name, T, S)">
HELPER ${T} ${name}(const ${S} c) {
  const ${T} v = c.s + (c.e == 0 ? (${T})(-0.0f) : c.e);
  return v - v == 0 ? v : c.s;
}
</%def>

## The same for vectors: every lane combined with those before it, and all lanes in order.
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
HELPER inner_t total(const ${T} x${V}) {
<% n = V %>
% while n > 1:
  const ${m.type_at(n // 2)} x${n // 2} = ${m.meet_at(n // 2, f'x{n}.even', f'x{n}.odd')};
<% n //= 2 %>
% endwhile
  return x1;
}
HELPER ${m.wide_result.result} wide_result(const ${T} x) { return ${m.wide_result.cast('x', m.entering)}; }
% if m.algebra == 'compensated':
${corrected('wide_carried', T, 'acc_t')}
% else:
HELPER ${T} wide_carried(const acc_t c) { return c.v; }
% endif
</%def>

## Words of 32 bits, as which states travel between work-items.
<%def name="words(name, T, parts)">
#define ${name}_WORDS ${sum(p.words for p in parts)}
typedef struct { uint w[${sum(p.words for p in parts)}]; } ${name}_words;
HELPER ${name}_words ${name}_pack(const ${T} x) {
  ${name}_words r;
<% at = 0 %>
% for p in parts:
% for k in range(p.words):
  r.w[${at + k}] = ${p.word(k)};
% endfor
<% at += p.words %>
% endfor
  return r;
}
HELPER ${T} ${name}_unpack(const ${name}_words r) {
  ${T} x;
<% at = 0 %>
% for p in parts:
  ${p.target} = ${p.value([f'r.w[{at + k}]' for k in range(p.words)])};
<% at += p.words %>
% endfor
  return x;
}
</%def>

## Values of the work-items of a wave, 32 that run in step, without local memory: PTX.
<%def name="wave(name, T)">
HELPER ${T} ${name}_up(const ${T} x, const uint d) {
  ${name}_words r = ${name}_pack(x);
  #pragma unroll
  for (int k = 0; k < ${name}_WORDS; ++k)
    asm volatile("shfl.sync.up.b32 %0, %1, %2, 0, 0xffffffff;" : "=r"(r.w[k]) : "r"(r.w[k]), "r"(d));
  return ${name}_unpack(r);
}
HELPER ${T} ${name}_from(const ${T} x, const uint lane) {
  ${name}_words r = ${name}_pack(x);
  #pragma unroll
  for (int k = 0; k < ${name}_WORDS; ++k)
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(r.w[k]) : "r"(r.w[k]), "r"(lane));
  return ${name}_unpack(r);
}
</%def>
<%def name="vote()">
HELPER int wave_all(const int x) {
  int r;
  asm volatile("{.reg .pred p; setp.ne.s32 p, %1, 0; vote.sync.all.pred p, p, 0xffffffff; selp.s32 %0, 1, 0, p;}" : "=r"(r) : "r"(x));
  return r;
}
</%def>
