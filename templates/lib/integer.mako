## Integer functions.
<%def name="iabs(t)">
<% u = t.uint %>\
/* |x|; the most negative number stays itself, as in NumPy. */
HELPER ${t} ca_iabs_${t}(${t} x) {
% if t.width == 1:
  return x < 0 ? (${t})(0 - (${"ulong" if t.bits == 64 else "uint"})x) : x;
% else:
  const ${u} negative = as_${u}(x < ${t.lit(0)});
  return as_${t}((as_${u}(x) ^ negative) - negative);
% endif
}
</%def>
