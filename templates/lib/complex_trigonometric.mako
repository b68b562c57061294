## Complex circular and hyperbolic functions, with the special values of C99's Annex G.
<%def name="csinh(t)">
<% l = t.lane; limit = l.lit(9 if t.bits == 32 else 22) %>\
HELPER ${t} ca_csinh_${t}(${t} z) {
  const ${t.scalar} x = z.x, y = z.y;
  if (isfinite(x) && isfinite(y)) {
    if (y == 0) return (${t})(sinh(x), y);
    const ${t.scalar} c = cos(y), s = sin(y);
    if (fabs(x) < ${limit}) return (${t})(sinh(x) * c, cosh(x) * s);
    const ${t.scalar} h = exp(fabs(x) * ${l.lit("0.5")});
    return (${t})(copysign(h * ${l.lit("0.5")}, x) * c * h, h * ${l.lit("0.5")} * s * h);
  }
  if (x == 0) return (${t})(x, NAN);
  if (y == 0) return (${t})(x, y);
  if (isinf(x) && isfinite(y)) return (${t})(x * cos(y), ${l.inf} * sin(y));
  return isinf(x) ? (${t})(INFINITY, NAN) : (${t})(NAN, NAN);
}
</%def>
<%def name="ccosh(t)">
<% l = t.lane; limit = l.lit(9 if t.bits == 32 else 22) %>\
HELPER ${t} ca_ccosh_${t}(${t} z) {
  const ${t.scalar} x = z.x, y = z.y;
  if (isfinite(x) && isfinite(y)) {
    if (y == 0) return (${t})(cosh(x), x * y);
    const ${t.scalar} c = cos(y), s = sin(y);
    if (fabs(x) < ${limit}) return (${t})(cosh(x) * c, sinh(x) * s);
    const ${t.scalar} h = exp(fabs(x) * ${l.lit("0.5")});
    return (${t})(h * ${l.lit("0.5")} * c * h, copysign(h * ${l.lit("0.5")}, x) * s * h);
  }
  if (x == 0) return (${t})(NAN, 0);
  if (y == 0) return (${t})(x * x, isnan(x) ? y : copysign(${l.lit(0)}, x) * y);
  if (isinf(x) && isfinite(y)) return (${t})(${l.inf} * cos(y), x * sin(y));
  return isinf(x) ? (${t})(INFINITY, NAN) : (${t})(NAN, NAN);
}
</%def>
<%def name="ctanh(t)">
<% l = t.lane; limit = l.lit(11 if t.bits == 32 else 22) %>\
/* Kahan's formulas: from tan y and sinh x, nothing cancels. */
HELPER ${t} ca_ctanh_${t}(${t} z) {
  const ${t.scalar} x = z.x, y = z.y;
  if (isinf(x)) return (${t})(copysign(${l.lit(1)}, x), copysign(${l.lit(0)}, y));
  if (isnan(x)) return (${t})(x, y == 0 ? y : x);
  if (!isfinite(y)) return (${t})(x == 0 ? x : ${l.nan}, NAN);
  if (fabs(x) >= ${limit}) {
    const ${t.scalar} e = exp(-fabs(x));
    return (${t})(copysign(${l.lit(1)}, x), 4 * sin(y) * cos(y) * e * e);
  }
  const ${t.scalar} k = tan(y), beta = 1 + k * k, s = sinh(x), rho = sqrt(1 + s * s);
  if (isinf(k)) return (${t})(rho / s, 1 / k);
  const ${t.scalar} d = 1 + beta * s * s;
  return (${t})(beta * rho * s / d, k / d);
}
</%def>
<%def name="turned(name, source, t)">
HELPER ${t} ca_${name}_${t}(${t} z) { return ca_${source}_${t}(z.yx).yx; }
</%def>
<%def name="csin(t)">
${turned("csin", "csinh", t)}
</%def>
<%def name="ctan(t)">
${turned("ctan", "ctanh", t)}
</%def>
<%def name="ccos(t)">
HELPER ${t} ca_ccos_${t}(${t} z) { return ca_ccosh_${t}((${t})(-z.y, z.x)); }
</%def>
