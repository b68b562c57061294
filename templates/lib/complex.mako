## Complex functions on float2 and double2: x is the real part, y the imaginary part.
<%def name="cmul(t)">
HELPER ${t} ca_cmul_${t}(${t} a, ${t} b) {
  return (${t})(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
</%def>
