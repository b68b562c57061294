## Complex powers, exponentials and logarithms, with the special values of C99's Annex G.
<%def name="cexp(t)">
/* Beyond half the range the exponential is applied in two factors, so that cos and sin can bring it back. */
HELPER ${t} ca_cexp_${t}(${t} z) {
  if (z.y == 0) return (${t})(exp(z.x), z.y);
  if (z.x == 0) return (${t})(cos(z.y), sin(z.y));
  if (!isfinite(z.y)) {
    if (isinf(z.x)) return z.x < 0 ? (${t})(0, copysign(${t.lane.lit(0)}, z.y)) : (${t})(z.x, NAN);
    return (${t})(NAN, NAN);
  }
  const ${t.scalar} c = cos(z.y), s = sin(z.y);
  if (z.x > ${t.lane.lit(88 if t.bits == 32 else 709)} && isfinite(z.x)) {
    const ${t.scalar} h = exp(z.x * ${t.lane.lit("0.5")});
    return (${t})(c * h * h, s * h * h);
  }
  const ${t.scalar} e = exp(z.x);
  return (${t})(e * c, e * s);
}
</%def>
<%def name="clog(t)">
<% l = t.lane; big, small, up, shift = ("1e38", "1e-30", "1.8446744073709552e+19", 64) if t.bits == 32 else ("8e307", "1e-290", "1.8446744073709552e+19", 64)
ln2 = 0.6931471805599453 %>\
/* Near the unit circle log |z| comes from |z|^2 - 1, elsewhere from |z|, scaled where that would overflow or be subnormal. */
HELPER ${t} ca_clog_${t}(${t} z) {
  const ${t.scalar} angle = atan2(z.y, z.x), ax = fabs(z.x), ay = fabs(z.y);
  if (isinf(ax) || isinf(ay)) return (${t})(INFINITY, angle);
  const ${t.scalar} a = ax > ay ? ax : ay, b = ax > ay ? ay : ax;
  if (a > ${l.lit(big)})
    return (${t})(log(ca_cabs_${t}((${t})(a, b) * ${l.lit("0.25")})) + ${l.lit(repr(2 * ln2))}, angle);
  if (a < ${l.lit(small)} && a > 0)
    return (${t})(log(ca_cabs_${t}((${t})(a, b) * ${l.lit(up)})) - ${l.lit(repr(shift * ln2))}, angle);
  if (a > ${l.lit("0.7")} && a < ${l.lit("1.5")})
    return (${t})(log1p((a - 1) * (a + 1) + b * b) * ${l.lit("0.5")}, angle);
  return (${t})(log(ca_cabs_${t}((${t})(a, b))), angle);
}
</%def>
<%def name="cexp_two(t)">
HELPER ${t} ca_cexp_two_${t}(${t} z) { return ca_cexp_${t}(z * ${t.lane.lit("0.6931471805599453")}); }
</%def>
<%def name="clog_two(t)">
HELPER ${t} ca_clog_two_${t}(${t} z) { return ca_clog_${t}(z) * ${t.lane.lit("1.4426950408889634")}; }
</%def>
<%def name="clog_ten(t)">
HELPER ${t} ca_clog_ten_${t}(${t} z) { return ca_clog_${t}(z) * ${t.lane.lit("0.4342944819032518")}; }
</%def>
<%def name="cexp_minus_one(t)">
HELPER ${t} ca_cexp_minus_one_${t}(${t} z) {
  if (!isfinite(z.x)) return ca_cexp_${t}(z) - (${t})(1, 0);
  const ${t.scalar} a = sin(z.y * ${t.lane.lit("0.5")});
  const ${t.scalar} grown = z.x == 0 ? 0 : expm1(z.x) * cos(z.y); /* -0 becomes 0 */
  return (${t})(grown - 2 * a * a, sin(z.y) * exp(z.x));
}
</%def>
<%def name="clog_one_plus(t)">
<% l = t.lane %>\
HELPER ${t} ca_clog_one_plus_${t}(${t} z) {
  const ${t.scalar} a = z.x + 1, angle = atan2(z.y, a);
  /* |1 + z|^2 - 1 = x (x + 2) + y^2 keeps what 1 + x would round away */
  if (fabs(z.x) < ${l.lit("0.5")} && fabs(z.y) < ${l.lit("0.5")})
    return (${t})(log1p(z.x * (z.x + 2) + z.y * z.y) * ${l.lit("0.5")}, angle);
  return (${t})(ca_clog_${t}((${t})(a, z.y)).x, angle);
}
</%def>
<%def name="csqrt(t)">
<% l = t.lane; big, small, up, down = ("8e37", "1e-30", "1.8446744073709552e+19", "2.3283064365386963e-10") if t.bits == 32 else ("4e307", "1e-290", "1.8446744073709552e+19", "2.3283064365386963e-10") %>\
HELPER ${t} ca_csqrt_${t}(${t} z) {
  ${t.scalar} a = z.x, b = z.y, scale = 1;
  if (a == 0 && b == 0) return (${t})(0, b);
  if (isinf(b)) return (${t})(INFINITY, b);
  if (isnan(a)) return (${t})(NAN, NAN);
  if (isinf(a)) return a < 0 ? (${t})(fabs(b - b), copysign(a, b)) : (${t})(a, copysign(b - b, b));
  if (fabs(a) > ${l.lit(big)} || fabs(b) > ${l.lit(big)}) {
    a *= ${l.lit("0.25")}; b *= ${l.lit("0.25")}; scale = 2;
  } else if (fabs(a) < ${l.lit(small)} && fabs(b) < ${l.lit(small)}) {
    a *= ${l.lit(up)}; b *= ${l.lit(up)}; scale = ${l.lit(down)};
  }
  const ${t.scalar} r = sqrt((fabs(a) + ca_cabs_${t}((${t})(a, b))) * ${l.lit("0.5")});
  if (a >= 0) return (${t})(r * scale, b / (2 * r) * scale);
  return (${t})(fabs(b) / (2 * r) * scale, copysign(r, b) * scale);
}
</%def>
<%def name="cpow(t)">
/* NumPy's own cases first: powers of zero, and small whole powers by multiplication. */
HELPER ${t} ca_cpow_${t}(${t} a, ${t} b) {
  if (b.x == 0 && b.y == 0) return (${t})(1, 0);
  if (a.x == 0 && a.y == 0) return b.x > 0 ? (${t})(0, 0) : (${t})(NAN, NAN);
  if (b.y == 0 && fabs(b.x) < 100 && floor(b.x) == b.x) {
    if (b.x == 1) return a;
    if (b.x == 2) return ca_cmul_${t}(a, a);
    if (b.x == 3) return ca_cmul_${t}(a, ca_cmul_${t}(a, a));
    ${t} p = a, r = (${t})(1, 0);
    for (int n = (int)fabs(b.x); n != 0; n >>= 1) {
      if (n & 1) r = ca_cmul_${t}(r, p);
      if (n > 1) p = ca_cmul_${t}(p, p);
    }
    return b.x < 0 ? ca_cdiv_${t}((${t})(1, 0), r) : r;
  }
  return ca_cexp_${t}(ca_cmul_whole_${t}(b, ca_clog_${t}(a)));
}
</%def>
<%def name="cmul_whole(t)">
<% one, none = t.lane.lit(1), t.lane.lit(0) %>\
/* The product with Annex G's recovery: an infinite factor gives infinity though its parts gave NaN. */
HELPER ${t} ca_cmul_whole_${t}(${t} p, ${t} q) {
  ${t} r = ca_cmul_${t}(p, q);
  if (!isnan(r.x) || !isnan(r.y)) return r;
  const ${t} products = (${t})(isinf(p.x * q.x) || isinf(p.y * q.y), isinf(p.x * q.y) || isinf(p.y * q.x));
  int again = 0;
  if (isinf(p.x) || isinf(p.y)) {
    p = (${t})(copysign(isinf(p.x) ? ${one} : ${none}, p.x), copysign(isinf(p.y) ? ${one} : ${none}, p.y));
    if (isnan(q.x)) q.x = copysign(${none}, q.x);
    if (isnan(q.y)) q.y = copysign(${none}, q.y);
    again = 1;
  }
  if (isinf(q.x) || isinf(q.y)) {
    q = (${t})(copysign(isinf(q.x) ? ${one} : ${none}, q.x), copysign(isinf(q.y) ? ${one} : ${none}, q.y));
    if (isnan(p.x)) p.x = copysign(${none}, p.x);
    if (isnan(p.y)) p.y = copysign(${none}, p.y);
    again = 1;
  }
  if (!again && (products.x != 0 || products.y != 0)) {
    if (isnan(p.x)) p.x = copysign(${none}, p.x);
    if (isnan(p.y)) p.y = copysign(${none}, p.y);
    if (isnan(q.x)) q.x = copysign(${none}, q.x);
    if (isnan(q.y)) q.y = copysign(${none}, q.y);
    again = 1;
  }
  return again ? ca_cmul_${t}(p, q) * ${t.lane.inf} : r;
}
</%def>
