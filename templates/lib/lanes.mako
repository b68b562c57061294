## A function that is scalar by nature, applied lane by lane.
<%def name="by_lane(name, t, count)">
<% names = "xyz"[:count] %>\
HELPER ${t} ca_${name}_${t}(${", ".join(f"{t} {n}" for n in names)}) {
% for n in names:
  ${t.scalar} ${n}s[${t.width}];
  vstore${t.width}(${n}, 0, ${n}s);
% endfor
  for (int k = 0; k < ${t.width}; k++) xs[k] = ca_${name}_${t.lane}(${", ".join(f"{n}s[k]" for n in names)});
  return vload${t.width}(0, xs);
}
</%def>
<%def name="some(t)">
<%
    from clarray._engine.ops.ctype import CType
    halves = [w for w in (8, 4, 2) if w < t.width and w * t.bits >= 128]
    width = min([t.width, *halves])
    words = width * t.bits // 64
    last = f"m{width}" if halves else "m"
%>\
/* Whether a bit of a lane is set: as any() of masks, which takes ten shuffles on PoCL. */
HELPER int ca_some_${t}(${t} m) {
% for w in halves:
  const ${CType(t.scalar, w)} m${w} = ${f"m{2 * w}" if 2 * w < t.width else "m"}.lo | ${f"m{2 * w}" if 2 * w < t.width else "m"}.hi;
% endfor
% if words >= 2:
  const ulong${words} words = as_ulong${words}(${last});
  return (${' | '.join(f"words.s{k}" for k in range(words))}) != 0;
% else:
  return as_${ {64: "ulong", 32: "uint", 16: "ushort"}[width * t.bits]}(${last}) != 0;
% endif
}
</%def>
