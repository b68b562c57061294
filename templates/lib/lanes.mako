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
