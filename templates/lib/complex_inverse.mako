## Inverse complex circular and hyperbolic functions: the method of Hull, Fairgrieve and Tang (ACM TOMS 23, 1997), with its
## thresholds. casin and catan turn the hyperbolic ones; cacosh turns cacos.
<%!
    def constants(t):
        """Thresholds by precision."""
        if t.bits == 32:
            return dict(eps=2.0**-23, root=2.0**-61, square=2.0**-63, tiny=2.0**-13)
        return dict(eps=2.0**-52, root=2.0**-509, square=2.0**-511, tiny=2.0**-28)
%>
<%def name="hypot_less(t)">
/* (hypot(a, b) - b) / 2, h being hypot(a, b), without cancellation. */
HELPER ${t} ca_hypot_less_${t}(${t} a, ${t} b, ${t} h) {
  if (b < 0) return (h - b) * ${t.lit("0.5")};
  if (b == 0) return a * ${t.lit("0.5")};
  return a * a / (h + b) * ${t.lit("0.5")};
}
</%def>
<%def name="asinh_parts(t)">
<% l = t.lane; k = constants(t); eps = k["eps"] %>\
/* For x, y >= 0: the real part of asinh(x + iy), and (p, q) with atan2(p, q) its imaginary part; q < 0 says that it is
   asin(p) instead. */
HELPER ${t.scalar} ca_asinh_parts_${t}(${t.scalar} x, ${t.scalar} y, ${t.scalar} *p, ${t.scalar} *q) {
  const ${t.scalar} r = hypot(x, y + 1), s = hypot(x, y - 1);
  ${t.scalar} a = (r + s) * ${l.lit("0.5")}, real;
  const int apart = x >= ${l.lit(eps)} * fabs(y - 1);
  if (a < 1) a = 1;
  if (a < 10) {
    if (y == 1 && x < ${l.lit(eps * eps / 128)}) real = sqrt(x);
    else if (apart) {
      const ${t.scalar} m = ca_hypot_less_${l}(x, 1 + y, r) + ca_hypot_less_${l}(x, 1 - y, s);
      real = log1p(m + sqrt(m * (a + 1)));
    } else if (y < 1) real = x / sqrt((1 - y) * (1 + y));
    else real = log1p((y - 1) + sqrt((y - 1) * (y + 1)));
  } else real = log(a + sqrt(a * a - 1));
  *p = y;
  if (y < ${l.lit(k["root"])}) { *q = a * ${l.lit(2 / eps)}; *p = y * ${l.lit(2 / eps)}; return real; }
  if (y / a <= ${l.lit("0.6417")}) { *p = y / a; *q = -1; return real; }
  if (y == 1 && x < ${l.lit(eps / 128)}) *q = sqrt(x) * sqrt((a + y) * ${l.lit("0.5")});
  else if (apart) {
    const ${t.scalar} m = ca_hypot_less_${l}(x, y + 1, r) + ca_hypot_less_${l}(x, y - 1, s);
    *q = sqrt(m * (a + y));
  } else if (y > 1) {
    *q = x * ${l.lit(4 / eps / eps)} * y / sqrt((y + 1) * (y - 1));
    *p = y * ${l.lit(4 / eps / eps)};
  } else *q = sqrt((1 - y) * (1 + y));
  return real;
}
</%def>
<%def name="casinh(t)">
<% l = t.lane; k = constants(t) %>\
HELPER ${t} ca_casinh_${t}(${t} z) {
  const ${t.scalar} x = z.x, y = z.y, ax = fabs(x), ay = fabs(y);
  if (isnan(x) || isnan(y)) {
    if (isinf(x)) return (${t})(x, y + y);
    if (isinf(y)) return (${t})(INFINITY, x + x);
    return y == 0 ? (${t})(x + x, y) : (${t})(NAN, NAN);
  }
  if (ax > ${l.lit(1 / k["eps"])} || ay > ${l.lit(1 / k["eps"])}) {
    const ${t} w = ca_clog_${t}((${t})(ax, ay));
    return (${t})(copysign(w.x + ${l.lit("0.6931471805599453")}, x), copysign(w.y, y));
  }
  if (ax < ${l.lit(k["tiny"])} && ay < ${l.lit(k["tiny"])}) return z;
  ${t.scalar} p, q;
  const ${t.scalar} real = ca_asinh_parts_${t}(ax, ay, &p, &q);
  return (${t})(copysign(real, x), copysign(q < 0 ? asin(p) : atan2(p, q), y));
}
</%def>
<%def name="cacos(t)">
<% l = t.lane; k = constants(t); half_pi = l.lit("1.5707963267948966") %>\
HELPER ${t} ca_cacos_${t}(${t} z) {
  const ${t.scalar} x = z.x, y = z.y, ax = fabs(x), ay = fabs(y);
  if (isnan(x) || isnan(y)) {
    if (isinf(x)) return (${t})(y + y, -INFINITY);
    if (isinf(y)) return (${t})(x + x, -y);
    return x == 0 ? (${t})(${half_pi}, y + y) : (${t})(NAN, NAN);
  }
  if (ax > ${l.lit(1 / k["eps"])} || ay > ${l.lit(1 / k["eps"])}) {
    const ${t} w = ca_clog_${t}(z);
    return (${t})(fabs(w.y), copysign(w.x + ${l.lit("0.6931471805599453")}, -y));
  }
  if (x == 1 && y == 0) return (${t})(0, -y);
  if (ax < ${l.lit(k["tiny"])} && ay < ${l.lit(k["tiny"])}) return (${t})(${half_pi} - x, -y);
  ${t.scalar} p, q, angle;
  const ${t.scalar} imaginary = ca_asinh_parts_${t}(ay, ax, &p, &q);
  if (q < 0) angle = acos(copysign(p, x));
  else angle = atan2(q, copysign(p, x));
  return (${t})(angle, copysign(imaginary, -y));
}
</%def>
<%def name="cacosh(t)">
HELPER ${t} ca_cacosh_${t}(${t} z) {
  const ${t} w = ca_cacos_${t}(z);
  if (isnan(w.x) && isnan(w.y)) return w.yx;
  if (isnan(w.x)) return (${t})(fabs(w.y), w.x);
  if (isnan(w.y)) return z.x == 0 ? w.yx : w.yy;
  return (${t})(fabs(w.y), copysign(w.x, z.y));
}
</%def>
<%def name="real_reciprocal(t)">
/* x / (x^2 + y^2) for large operands. */
HELPER ${t.scalar} ca_real_reciprocal_${t}(${t} z) {
  const ${t.scalar} ax = fabs(z.x), ay = fabs(z.y), m = ax > ay ? ax : ay;
  if (isinf(m)) return copysign(${t.lane.lit(0)}, z.x);
  const ${t.scalar} a = z.x / m, b = z.y / m;
  return a / (a * a + b * b) / m;
}
</%def>
<%def name="catanh(t)">
<% l = t.lane; k = constants(t); half_pi = l.lit("1.5707963267948966") %>\
HELPER ${t} ca_catanh_${t}(${t} z) {
  const ${t.scalar} x = z.x, y = z.y, ax = fabs(x), ay = fabs(y);
  if (y == 0 && ax <= 1) return (${t})(atanh(x), y);
  if (x == 0) return (${t})(x, atan(y));
  if (isnan(x) || isnan(y)) {
    if (isinf(x)) return (${t})(copysign(${l.lit(0)}, x), y + y);
    if (isinf(y)) return (${t})(copysign(${l.lit(0)}, x), copysign(${half_pi}, y));
    return (${t})(NAN, NAN);
  }
  if (ax > ${l.lit(1 / k["eps"])} || ay > ${l.lit(1 / k["eps"])})
    return (${t})(ca_real_reciprocal_${t}(z), copysign(${half_pi}, y));
  if (ax < ${l.lit(k["tiny"])} && ay < ${l.lit(k["tiny"])}) return z;
  ${t.scalar} real, angle;
  if (ax == 1 && ay < ${l.lit(k["eps"])}) real = (${l.lit("0.6931471805599453")} - log(ay)) * ${l.lit("0.5")};
  else real = log1p(4 * ax / ((ax - 1) * (ax - 1) + (ay < ${l.lit(k["square"])} ? 0 : ay * ay))) * ${l.lit("0.25")};
  if (ax == 1) angle = atan2(${l.lit(2)}, -ay);
  else angle = atan2(2 * ay, (1 - ax) * (1 + ax) - (ay < ${l.lit(k["eps"])} ? 0 : ay * ay));
  return (${t})(copysign(real, x), copysign(angle * ${l.lit("0.5")}, y));
}
</%def>
<%def name="turned(name, source, t)">
HELPER ${t} ca_${name}_${t}(${t} z) { return ca_${source}_${t}(z.yx).yx; }
</%def>
<%def name="casin(t)">
${turned("casin", "casinh", t)}
</%def>
<%def name="catan(t)">
${turned("catan", "catanh", t)}
</%def>
