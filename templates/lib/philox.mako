## Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC'11).
##
## A block is four 32-bit words, a bijection of a 128-bit counter under a 64-bit key:
##
##   counter  | block, low | block, high |   stream   |  attempt  |     words   | 4b | 4b + 1 | 4b + 2 | 4b + 3 |
##
## Word (or pair of words) number i of a draw is that of its first block plus i / 4 (i / 2), so that neighbours share
## blocks. What is drawn until it fits has a block of its own per element and attempt.
<%def name="philox(t)">
/* The block of a counter. */
HELPER uint4 ca_philox_uint4(uint4 c, ulong key) {
  uint k0 = (uint)key, k1 = (uint)(key >> 32);
% for turn in range(10):
  {
    const ulong a = c.x * 0xD2511F53UL, b = c.z * 0xCD9E8D57UL;
    c = (uint4)((uint)(b >> 32) ^ c.y ^ k0, (uint)b, (uint)(a >> 32) ^ c.w ^ k1, (uint)a);
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
% endfor
  return c;
}
</%def>
<%def name="philox_short(t)">
/* The same in a few instructions, for what is rarely needed: longer code there slows down what is around it. */
HELPER uint4 ca_philox_short_uint4(uint4 c, ulong key) {
  uint k0 = (uint)key, k1 = (uint)(key >> 32);
#pragma unroll 1
  for (int turn = 0; turn < 10; ++turn) {
    const ulong a = c.x * 0xD2511F53UL, b = c.z * 0xCD9E8D57UL;
    c = (uint4)((uint)(b >> 32) ^ c.y ^ k0, (uint)b, (uint)(a >> 32) ^ c.w ^ k1, (uint)a);
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return c;
}
</%def>
<%def name="block(t)">
/* Block number `position` of a draw that starts at block `first`. */
HELPER uint4 ca_block_uint4(ulong position, uint attempt, ulong key, ulong first, uint stream) {
  const ulong block = first + position;
  return ca_philox_uint4((uint4)((uint)block, (uint)(block >> 32), stream, attempt), key);
}
</%def>
<%def name="joined(t)">
HELPER ulong ca_joined_ulong(uint low, uint high) { return (ulong)low | ((ulong)high << 32); }
</%def>
<%def name="blocks(t)">
<%
    n = t.width
    def alternate(even, odd):
        return f"({t})({', '.join([even, odd] * (n // 2))})"
    swapped = "s" + "".join(f"{lane ^ 1:x}" for lane in range(n))
%>\
/* ${n // 2} neighbouring blocks side by side, as pairs of words. Words 0 and 2 of a block are neighbours in one vector, words
   1 and 3 in another, each in the low half of a lane: a round is one product for both halves of all blocks. */
HELPER ${t} ca_blocks_${t}(ulong block, ulong key, uint stream) {
  const ${t} low = (${t})(0xFFFFFFFFUL), even = ${alternate("0xFFFFFFFFUL", "0UL")};
  const ${t} each = (${t})(block) + (${t})(${", ".join(f"{lane // 2}UL" for lane in range(n))});
  ${t} x = (each & even) | ((${t})((ulong)stream) & ~even & low);
  ${t} y = (each >> (${t})(32UL)) & even;
  uint k0 = (uint)key, k1 = (uint)(key >> 32);
% for turn in range(10):
  {
    const ${t} p = (x & low) * ${alternate("0xD2511F53UL", "0xCD9E8D57UL")};
    const ${t} q = p.${swapped};
    x = (q >> (${t})(32UL)) ^ y ^ ${alternate("(ulong)k0", "(ulong)k1")};
    y = q;
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
% endfor
  return (x & low) | (y << (${t})(32UL));
}
</%def>
<%def name="lane_blocks(t)">
/* The blocks of ${t.width} elements at one attempt: words 0 and 1 of each in a lane of `low`, 2 and 3 in one of `high`. */
HELPER void ca_lane_blocks_${t}(${t} i, uint attempt, ulong key, ulong first, uint stream, ${t} *low, ${t} *high) {
  const ${t} mask = (${t})(0xFFFFFFFFUL), block = (${t})(first) + i;
  ${t} a = block & mask, b = block >> (${t})(32UL), c = (${t})((ulong)stream), d = (${t})((ulong)attempt);
  uint k0 = (uint)key, k1 = (uint)(key >> 32);
% for turn in range(10):
  {
    const ${t} p = (a & mask) * (${t})(0xD2511F53UL), q = (c & mask) * (${t})(0xCD9E8D57UL);
    a = (q >> (${t})(32UL)) ^ b ^ (${t})((ulong)k0);
    c = (p >> (${t})(32UL)) ^ d ^ (${t})((ulong)k1);
    b = q;
    d = p;
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
% endfor
  *low = (a & mask) | (b << (${t})(32UL));
  *high = (c & mask) | (d << (${t})(32UL));
}
</%def>
<%def name="words(t)">
${draw(t, "uint", "words")}
</%def>
<%def name="words_far(t)">
${draw(t, "long", "words_far")}
</%def>
## Words number i of a draw. Full vectors that start with a block, which contiguous loops have, take whole blocks.
<%def name="draw(t, position, name)">
<%
    from clarray._engine.ops.ctype import CType
    n = t.width
    p = CType(position, n)
    per_block = 128 // t.bits
    pairs = CType("ulong", n * t.bits // 64)
    numbers = ("k0", "k1", "f0", "f1", "stream")
    u = CType("uint", n)
    lane = "" if n == 1 else ".s0"
%>\
HELPER ${t} ca_${name}_${t}(${p} i, ${", ".join(f"{u} {name}" for name in numbers)}) {
% if n == 1:
  const uint4 w = ca_block_uint4((ulong)(i / ${per_block}), 0U, ca_joined_ulong(k0, k1), ca_joined_ulong(f0, f1), stream);
% if t.bits == 64:
  return as_ulong((i & 1) ? w.zw : w.xy);
% else:
  return (i & 2) ? ((i & 1) ? w.w : w.z) : ((i & 1) ? w.y : w.x);
% endif
% else:
% if n % per_block == 0:
  const ${p} expected = (${p})(i.s0) + (${p})(${", ".join(map(str, range(n)))});
  if ((i.s0 % ${per_block} == 0) & !ca_some_${p.int_}(i != expected)) {
    const ulong first = ca_joined_ulong(f0.s0, f1.s0) + i.s0 / ${per_block};
    return as_${t}(ca_blocks_${pairs}(first, ca_joined_ulong(k0.s0, k1.s0), stream.s0));
  }
% endif
  ${p.lane} is[${n}];
  ${t.lane} r[${n}];
  vstore${n}(i, 0, is);
  for (int l = 0; l < ${n}; ++l) r[l] = ca_${name}_${t.lane}(is[l], ${", ".join(f"{name}.s0" for name in numbers)});
  return vload${n}(0, r);
% endif
}
</%def>
<%def name="bounded(t)">
${below(t, "uint", "bounded")}
</%def>
<%def name="bounded_far(t)">
${below(t, "long", "bounded_far")}
</%def>
## Integers below a bound, without bias (Lemire: Fast random integer generation in an interval, 2019): the high half of
## word * bound, drawn again where the low half is below 2^bits % bound. Element i is drawn again from its own word of the
## blocks with the next attempts, so that it does not matter what becomes of others. Bound 0 stands for 2^bits.
<%def name="below(t, position, name)">
<%
    from clarray._engine.ops.ctype import CType
    n = t.width
    p = CType(position, n)
    per_block = 128 // t.bits
    numbers = ("k0", "k1", "f0", "f1", "stream")
    u = CType("uint", n)
    words = "words_far" if name.endswith("far") else "words"
    wide = CType("ulong", n)
%>\
% if n == 1:
HELPER ${t} ca_${name}_${t}(${p} i, ${", ".join(f"{u} {x}" for x in numbers)}, ${t} bound, ${t} least) {
  ${t} w = ca_${words}_${t}(i, ${", ".join(numbers)});
  if (bound == 0) return w;
  for (uint attempt = 1; w * bound < least && attempt < 1000; ++attempt) {
    const ulong block = ca_joined_ulong(f0, f1) + (ulong)(i / ${per_block});
    const uint4 counter = (uint4)((uint)block, (uint)(block >> 32), stream, attempt);
    const uint4 b = ca_philox_short_uint4(counter, ca_joined_ulong(k0, k1));
% if t.bits == 64:
    w = as_ulong((i & 1) ? b.zw : b.xy);
% else:
    w = (i & 2) ? ((i & 1) ? b.w : b.z) : ((i & 1) ? b.y : b.x);
% endif
  }
  return mul_hi(w, bound);
}
% else:
HELPER ${t} ca_${name}_${t}(${p} i, ${", ".join(f"{u} {x}" for x in numbers)}, ${t} bound, ${t} least) {
  const ${t} w = ca_${words}_${t}(i, ${", ".join(numbers)});
% if t.bits == 32:
  const ${wide} product = ${dialect.convert("w", t, wide)} * ${dialect.convert("bound", t, wide)};
  ${t} r = ${dialect.convert(f"(product >> ({wide})(32UL))", wide, t)};
% else:
  ${t} r = mul_hi(w, bound);
% endif
  r = bound == (${t})(0) ? w : r;
  const ${t.int_} again = (w * bound < least) & (bound != (${t})(0));
  if (ca_some_${t.int_}(again)) {
    ${p.lane} is[${n}];
    ${t.lane} rs[${n}], bounds[${n}], leasts[${n}];
    vstore${n}(i, 0, is); vstore${n}(r, 0, rs); vstore${n}(bound, 0, bounds); vstore${n}(least, 0, leasts);
    for (int l = 0; l < ${n}; ++l)
      rs[l] = ca_${name}_${t.lane}(is[l], ${", ".join(f"{x}.s0" for x in numbers)}, bounds[l], leasts[l]);
    r = vload${n}(0, rs);
  }
  return r;
}
% endif
</%def>
