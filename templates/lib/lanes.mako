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
    bytes_ = dialect.convert("m", t, CType("char", t.width))
    test = {2: f"as_ushort({bytes_})", 4: f"as_uint({bytes_})", 8: f"as_ulong({bytes_})"}.get(t.width)
%>\
/* Whether a lane of the mask is set: as any(), which takes ten shuffles on PoCL. */
HELPER int ca_some_${t}(${t} m) {
% if t.width == 16:
  const ulong2 both = as_ulong2(${bytes_});
  return (both.x | both.y) != 0;
% else:
  return ${test} != 0;
% endif
}
</%def>
