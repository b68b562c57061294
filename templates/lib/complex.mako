## Complex arithmetic and comparison on float2 and double2: x is the real part, y the imaginary part.
<%def name="cmul(t)">
HELPER ${t} ca_cmul_${t}(${t} a, ${t} b) {
  return (${t})(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
</%def>
<%def name="cdiv(t)">
/* Smith's method, as NumPy divides. */
HELPER ${t} ca_cdiv_${t}(${t} a, ${t} b) {
  if (fabs(b.x) >= fabs(b.y)) {
    if (b.x == 0 && b.y == 0) return (${t})(a.x / fabs(b.x), a.y / fabs(b.x));
    const ${t.scalar} ratio = b.y / b.x, scale = 1 / (b.x + b.y * ratio);
    return (${t})((a.x + a.y * ratio) * scale, (a.y - a.x * ratio) * scale);
  }
  const ${t.scalar} ratio = b.x / b.y, scale = 1 / (b.y + b.x * ratio);
  return (${t})((a.x * ratio + a.y) * scale, (a.y * ratio - a.x) * scale);
}
</%def>
<%def name="creciprocal(t)">
HELPER ${t} ca_creciprocal_${t}(${t} a) {
  if (fabs(a.y) <= fabs(a.x)) {
    const ${t.scalar} ratio = a.y / a.x, d = a.x + a.y * ratio;
    return (${t})(1 / d, -ratio / d);
  }
  const ${t.scalar} ratio = a.x / a.y, d = a.x * ratio + a.y;
  return (${t})(ratio / d, -1 / d);
}
</%def>
<%def name="cabs(t)">
% if t.bits == 32 and dialect.fp64:
/* In double neither square overflows or vanishes, and the root is correct to the float. */
HELPER float ca_cabs_${t}(${t} a) {
  const double x = a.x, y = a.y;
  const float r = (float)sqrt(x * x + y * y);
  return isinf(a.x) || isinf(a.y) ? INFINITY : r;
}
% elif t.bits == 64:
/* To one ulp where no square overflows or vanishes: the runtimes' hypot takes up to ten times as long. */
HELPER double ca_cabs_${t}(${t} a) {
  const double p = fabs(a.x), q = fabs(a.y), x = p > q ? p : q, y = p > q ? q : p;
  if (x < 0x1p500 && (y > 0x1p-450 || (y == 0 && x > 0x1p-450))) return sqrt(fma(x, x, y * y));
  return hypot(a.x, a.y);
}
% else:
HELPER ${t.scalar} ca_cabs_${t}(${t} a) { return hypot(a.x, a.y); }
% endif
</%def>
<%def name="csign(t)">
HELPER ${t} ca_csign_${t}(${t} a) {
  const ${t.scalar} h = ca_cabs_${t}(a);
  if (isnan(h)) return (${t})(h, h);
  if (isinf(h)) {
    if (isinf(a.x) && isinf(a.y)) return (${t})(NAN, NAN);
    if (isinf(a.x)) return (${t})(copysign(${t.lane.lit(1)}, a.x), 0);
    if (isinf(a.y)) return (${t})(0, copysign(${t.lane.lit(1)}, a.y));
    /* only the modulus overflowed */
    const ${t.scalar} half_h = ca_cabs_${t}(a * ${t.lane.lit("0.5")});
    return (${t})(a.x * ${t.lane.lit("0.5")} / half_h, a.y * ${t.lane.lit("0.5")} / half_h);
  }
  return h == 0 ? (${t})(0, 0) : (${t})(a.x / h, a.y / h);
}
</%def>
<%def name="cnonzero(t)">
HELPER int ca_cnonzero_${t}(${t} a) { return (a.x != 0) | (a.y != 0); }
</%def>
<%def name="cless(t)">
/* Lexicographic; a NaN imaginary part makes it false. */
HELPER int ca_cless_${t}(${t} a, ${t} b) {
  return ((a.x < b.x) & (a.y == a.y) & (b.y == b.y)) | ((a.x == b.x) & (a.y < b.y));
}
</%def>
<%def name="clesseq(t)">
HELPER int ca_clesseq_${t}(${t} a, ${t} b) {
  return ((a.x < b.x) & (a.y == a.y) & (b.y == b.y)) | ((a.x == b.x) & (a.y <= b.y));
}
</%def>
<%def name="choose(name, order, nan, t)">
HELPER ${t} ca_${name}_${t}(${t} a, ${t} b) {
  if (${order} | (${nan}.x != ${nan}.x) | (${nan}.y != ${nan}.y)) return a;
  return b;
}
</%def>
<%def name="cmaximum(t)">
${choose("cmaximum", f"ca_clesseq_{t}(b, a)", "a", t)}
</%def>
<%def name="cminimum(t)">
${choose("cminimum", f"ca_clesseq_{t}(a, b)", "a", t)}
</%def>
<%def name="cclip(t)">
/* Not by the order of cless: what is NaN in one part is compared by the other, unless it is the value itself. */
HELPER ${t} ca_cclip_${t}(${t} a, ${t} low, ${t} high) {
  int kept = (a.x != a.x) | (a.y != a.y) | (a.x == low.x ? a.y > low.y : a.x > low.x);
  if (!kept) a = low;
  kept = (a.x != a.x) | (a.y != a.y) | (a.x == high.x ? a.y < high.y : a.x < high.x);
  if (!kept) a = high;
  return a;
}
</%def>
<%def name="cfmax(t)">
${choose("cfmax", f"ca_clesseq_{t}(b, a)", "b", t)}
</%def>
<%def name="cfmin(t)">
${choose("cfmin", f"ca_clesseq_{t}(a, b)", "b", t)}
</%def>
