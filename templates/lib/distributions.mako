## Distributions that are drawn until a number fits. Element i has a block of its own per attempt (philox.mako), so that
## it is the same whatever the device does with its neighbours. A block gives two numbers of either precision.
<%def name="one(t)" filter="trim">${"w.x" if t.bits == 32 else "as_ulong(w.xy)"}</%def>
<%def name="two(t)" filter="trim">${"w.y" if t.bits == 32 else "as_ulong(w.zw)"}</%def>
<%def name="where()" filter="trim">ulong i, ulong key, ulong first, uint stream</%def>
<%def name="attempts(start=1)" filter="trim">
for (uint attempt = ${start}; attempt < 100000; ++attempt) {
    const uint4 w = ca_block_uint4(i, attempt, key, first, stream);
</%def>
<%def name="gamma_core(t)">
/* Marsaglia & Tsang (A simple method for generating gamma variables, 2000) for shapes of at least 1: d * cube. */
HELPER ${t} ca_gamma_core_${t}(${where()}, ${t} d) {
  const ${t} c = ${t.lit(1)} / sqrt(${t.lit(9)} * d);
  ${attempts()}
    const ${t} x = ca_normal_${t}(${one(t)}), u = ca_inside_${t}(${two(t)}), v = ${t.lit(1)} + c * x, cube = v * v * v;
    if (v <= 0) continue;
    if (u < ${t.lit(1)} - ${t.lit("0.0331")} * (x * x) * (x * x)) return cube;
    if (ca_portable_log_${t}(u) < ${t.lit("0.5")} * x * x + d * (${t.lit(1)} - cube + ca_portable_log_${t}(cube))) return cube;
  }
  return 1;
}
</%def>
<%def name="gamma(t)">
/* Of a shape below 1: that of the shape + 1, times u^(1 / shape). */
HELPER ${t} ca_gamma_${t}(${where()}, ${t} shape) {
  if (!(shape > 0)) return shape;
  const ${t} d = (shape < 1 ? shape + ${t.lit(1)} : shape) - ${t.lit("0.3333333333333333")};
  const ${t} r = d * ca_gamma_core_${t}(i, key, first, stream, d);
  if (shape >= 1) return r;
  const uint4 w = ca_block_uint4(i, 0, key, first, stream);
  return r * ca_portable_exp_${t}(ca_portable_log_${t}(ca_inside_${t}(${one(t)})) / shape);
}
</%def>
<%def name="loggamma(t)">
/* The logarithm of a gamma variate, which does not vanish where the shape is small. */
HELPER ${t} ca_loggamma_${t}(${where()}, ${t} shape) {
  if (!(shape > 0)) return shape == 0 ? -${t.inf} : shape;
  const ${t} d = (shape < 1 ? shape + ${t.lit(1)} : shape) - ${t.lit("0.3333333333333333")};
  const ${t} r = ca_portable_log_${t}(d) + ca_portable_log_${t}(ca_gamma_core_${t}(i, key, first, stream, d));
  if (shape >= 1) return r;
  const uint4 w = ca_block_uint4(i, 0, key, first, stream);
  return r + ca_portable_log_${t}(ca_inside_${t}(${one(t)})) / shape;
}
</%def>
## Gamma variates by vectors: the first attempt of all lanes at once, which one in twenty needs another of.
<%def name="gammas(t)">
${by_vectors(t, "uint", "gamma", "gammas")}
</%def>
<%def name="gammas_far(t)">
${by_vectors(t, "long", "gamma", "gammas_far")}
</%def>
<%def name="loggammas(t)">
${by_vectors(t, "uint", "loggamma", "loggammas")}
</%def>
<%def name="loggammas_far(t)">
${by_vectors(t, "long", "loggamma", "loggammas_far")}
</%def>
<%def name="by_vectors(t, position, scalar, name)">
<%
    from clarray._engine.ops.ctype import CType
    n = t.width
    p, u, w = CType(position, n), CType("uint", n), CType("ulong", n)
    numbers = ", ".join(f"{u} {x}" for x in ("k0", "k1", "f0", "f1", "stream"))
    one, two = ("low", "high")
    if t.bits == 32:
        one = dialect.convert(f"(low & ({w})(0xFFFFFFFFUL))", w, u)
        two = dialect.convert(f"(low >> ({w})(32UL))", w, u)
    logarithm = scalar == "loggamma"
%>\
HELPER ${t} ca_${name}_${t}(${p} i, ${numbers}, ${t} shape) {
% if n == 1:
  return ca_${scalar}_${t}((ulong)i, ca_joined_ulong(k0, k1), ca_joined_ulong(f0, f1), stream, shape);
% else:
  const ulong key = ca_joined_ulong(k0.s0, k1.s0), first = ca_joined_ulong(f0.s0, f1.s0);
  const ${w} at = ${dialect.convert("i", p, w)};
  const ${t.int_} small = shape < ${t.lit(1)}, sound = shape > ${t.lit(0)};
  const ${t} d = (small ? shape + ${t.lit(1)} : shape) - ${t.lit("0.3333333333333333")};
  ${w} low, high;
  ca_lane_blocks_${w}(at, 1, key, first, stream.s0, &low, &high);
  const ${t} x = ca_normal_${t}(${one}), v = ${t.lit(1)} + ${t.lit(1)} / sqrt(${t.lit(9)} * d) * x;
  const ${t} q = ca_inside_${t}(${two});
  ${t} cube = v * v * v;
  const ${t.int_} positive = v > ${t.lit(0)};
  ${t.int_} fits = q < ${t.lit(1)} - ${t.lit("0.0331")} * (x * x) * (x * x);
  fits |= ca_portable_log_${t}(q) < ${t.lit("0.5")} * x * x + d * (${t.lit(1)} - cube + ca_portable_log_${t}(positive ? cube : ${t.lit(1)}));
  const ${t.int_} again = ~(fits & positive) & sound;
  if (ca_some_${t.int_}(again)) {
    ${w.lane} is[${n}];
    ${t.lane} ds[${n}], cubes[${n}];
    ${t.int_.lane} which[${n}];
    vstore${n}(at, 0, is); vstore${n}(d, 0, ds); vstore${n}(cube, 0, cubes); vstore${n}(again, 0, which);
    for (int l = 0; l < ${n}; ++l)
      if (which[l]) cubes[l] = ca_gamma_core_${t.lane}(is[l], key, first, stream.s0, ds[l]);
    cube = vload${n}(0, cubes);
  }
  ${t} r = ${f"ca_portable_log_{t}(d) + ca_portable_log_{t}(sound ? cube : {t.lit(1)})" if logarithm else "d * cube"};
  if (ca_some_${t.int_}(small)) {
    ca_lane_blocks_${w}(at, 0, key, first, stream.s0, &low, &high);
    const ${t} power = ca_portable_log_${t}(ca_inside_${t}(${one})) / (sound ? shape : ${t.lit(1)});
    r = small ? ${f"r + power" if logarithm else f"r * ca_portable_exp_{t}(power)"} : r;
  }
  return sound ? r : ${f"(shape == {t.lit(0)} ? -{t.inf} : shape)" if logarithm else "shape"};
% endif
}
</%def>
<%def name="vonmises(t)">
/* Best & Fisher (Efficient simulation of the von Mises distribution, 1979), around 0; flat where kappa is tiny, normal
   where it is large. */
HELPER ${t} ca_vonmises_${t}(${where()}, ${t} kappa) {
<% small, large = ("1e-05", "1e+04") if t.bits == 32 else ("1e-08", "1e+06") %>\
  const ${t} pi = ${t.lit("3.141592653589793")};
  const uint4 w = ca_block_uint4(i, 0, key, first, stream);
  const ${t} u = ca_inside_${t}(${one(t)});
  if (kappa != kappa) return kappa;
  if (kappa < ${t.lit(small)}) return pi * (${t.lit(2)} * u - ${t.lit(1)});
  if (kappa > ${t.lit(large)}) return fmin(fmax(ca_normal_${t}(${two(t)}) / sqrt(kappa), -pi), pi);
  const ${t} r = ${t.lit(1)} + sqrt(${t.lit(1)} + ${t.lit(4)} * kappa * kappa);
  const ${t} rho = (r - sqrt(r + r)) / (kappa + kappa);
  const ${t} s = kappa < ${t.lit("0.001" if t.bits == 32 else "1e-05")} ? ${t.lit(1)} / kappa + kappa : (${t.lit(1)} + rho * rho) / (rho + rho);
  ${attempts()}
    /* cos of pi times a number of [0, 1) */
    const ${t} z = -ca_portable_sinpi_${t}(ca_unit_${t}(${one(t)}) - ${t.lit("0.5")}), v = ca_inside_${t}(${two(t)});
    const ${t} c = (${t.lit(1)} + s * z) / (s + z), y = kappa * (s - c);
    if (y * (${t.lit(2)} - y) - v >= 0 || ca_portable_log_${t}(y / v) + ${t.lit(1)} - y >= 0) {
      const ${t} clipped = fmin(fmax(c, ${t.lit(-1)}), ${t.lit(1)});
      const ${t} angle = ${t.lit(2)} * ca_portable_atan_${t}(sqrt((${t.lit(1)} - clipped) / (${t.lit(1)} + clipped)));
      return u < ${t.lit("0.5")} ? -angle : angle;
    }
  }
  return 0;
}
</%def>
<%def name="stirling(t)">
/* log k! - ((k + 1/2) log(k + 1) - (k + 1) + log(2 pi) / 2): Stirling's series; below 10 shifted there. */
HELPER ${t} ca_stirling_${t}(${t} k) {
  ${t} shift = 0;
  for (; k < 10; k += 1)
    shift += (k + ${t.lit("1.5")}) * ca_portable_onelog_${t}(${t.lit(1)} / (k + ${t.lit(1)})) - ${t.lit(1)};
  const ${t} x = ${t.lit(1)} / (k + ${t.lit(1)}), z = x * x;
  return shift + x * (${t.lit(repr(1 / 12))} - z * (${t.lit(repr(1 / 360))} - z * (${t.lit(repr(1 / 1260))} - z * (${t.lit(repr(1 / 1680))} - z * ${t.lit(repr(1 / 1188))}))));
}
</%def>
<%def name="factorial(t)">
/* log k! */
HELPER ${t} ca_factorial_${t}(${t} k) {
  const ${t} x = k + ${t.lit(1)};
  return (k + ${t.lit("0.5")}) * ca_portable_log_${t}(x) - x + ${t.lit("0.9189385332046727")} + ca_stirling_${t}(k);
}
</%def>
<%def name="poisson(t)">
/* By the cumulated probabilities below 10, else Hörmann's PTRS (The transformed rejection method for generating Poisson
   random variables, 1993). */
HELPER long ca_poisson_${t}(${where()}, ${t} mean) {
  if (!(mean > 0)) return 0;
  if (mean < 10) {
    const uint4 w = ca_block_uint4(i, 0, key, first, stream);
    ${t} u = ca_inside_${t}(${one(t)}), p = ca_portable_exp_${t}(-mean);
    int k = 0;
    while (u > p && k < 200) { u -= p; ++k; p *= mean / k; }
    return k;
  }
  const ${t} root = sqrt(mean), logarithm = ca_portable_log_${t}(mean);
  const ${t} b = ${t.lit("0.931")} + ${t.lit("2.53")} * root, a = ${t.lit("-0.059")} + ${t.lit("0.02483")} * b;
  const ${t} alpha = ${t.lit("1.1239")} + ${t.lit("1.1328")} / (b - ${t.lit("3.4")});
  const ${t} certain = ${t.lit("0.9277")} - ${t.lit("3.6224")} / (b - ${t.lit(2)});
  ${attempts()}
    const ${t} u = ca_inside_${t}(${one(t)}) - ${t.lit("0.5")}, v = ca_inside_${t}(${two(t)});
    const ${t} us = ${t.lit("0.5")} - fabs(u), k = floor((${t.lit(2)} * a / us + b) * u + mean + ${t.lit("0.43")});
    if (us >= ${t.lit("0.07")} && v <= certain) return (long)k;
    if (k < 0 || (us < ${t.lit("0.013")} && v > us)) continue;
    if (ca_portable_log_${t}(v * alpha / (a / (us * us) + b)) <= k * logarithm - mean - ca_factorial_${t}(k)) return (long)k;
  }
  return (long)mean;
}
</%def>
<%def name="binomial(t)">
/* By the cumulated probabilities where few are expected, else Hörmann's BTRS (The generation of binomial random
   variates, 1993); of the rarer outcome. */
HELPER long ca_binomial_${t}(${where()}, long n, ${t} chance) {
  if (n <= 0 || !(chance > 0)) return 0;
  const int rarer = chance <= ${t.lit("0.5")};
  const ${t} p = rarer ? chance : ${t.lit(1)} - chance, q = ${t.lit(1)} - p, count = n;
  if (!(p > 0)) return rarer ? 0 : n;
  if (count * p < 10) {
    const uint4 w = ca_block_uint4(i, 0, key, first, stream);
    ${t} u = ca_inside_${t}(${one(t)}), each = ca_portable_exp_${t}(count * ca_portable_onelog_${t}(-p));
    long k = 0;
    while (u > each && k < n && k < 200) { u -= each; ++k; each *= (count - k + 1) * p / (k * q); }
    return rarer ? k : n - k;
  }
  const ${t} spread = sqrt(count * p * q), b = ${t.lit("1.15")} + ${t.lit("2.53")} * spread;
  const ${t} a = ${t.lit("-0.0873")} + ${t.lit("0.0248")} * b + ${t.lit("0.01")} * p, centre = count * p + ${t.lit("0.5")};
  const ${t} certain = ${t.lit("0.92")} - ${t.lit("4.2")} / b, alpha = (${t.lit("2.83")} + ${t.lit("5.1")} / b) * spread;
  const ${t} r = p / q, m = floor((count + 1) * p), rest = count - m + 1;
  ${attempts()}
    const ${t} u = ca_inside_${t}(${one(t)}) - ${t.lit("0.5")}, v = ca_inside_${t}(${two(t)});
    const ${t} us = ${t.lit("0.5")} - fabs(u), k = floor((${t.lit(2)} * a / us + b) * u + centre);
    if (k < 0 || k > count) continue;
    int fits = us >= ${t.lit("0.07")} && v <= certain;
    if (!fits) {
      /* log of the probability of k over that of the mode m, by Stirling's formula */
      ${t} bound = (m + ${t.lit("0.5")}) * ca_portable_log_${t}((m + 1) / (r * rest));
      bound += (count + 1) * ca_portable_log_${t}(rest / (count - k + 1));
      bound += (k + ${t.lit("0.5")}) * ca_portable_log_${t}(r * (count - k + 1) / (k + 1));
      bound += ca_stirling_${t}(m) + ca_stirling_${t}(count - m) - ca_stirling_${t}(k) - ca_stirling_${t}(count - k);
      fits = ca_portable_log_${t}(v * alpha / (a / (us * us) + b)) <= bound;
    }
    if (fits) return rarer ? (long)k : n - (long)k;
  }
  return rarer ? (long)m : n - (long)m;
}
</%def>
<%def name="hypergeometric(t)">
/* One draw after the other where they are few, else Stadlober's HRUA (The ratio of uniforms approach for generating
   discrete random variates, 1990); of the rarer kind and the smaller sample. */
HELPER long ca_hypergeometric_${t}(${where()}, long good, long bad, long sample) {
  const long total = good + bad, fewer = min(good, bad), more = max(good, bad), taken = min(sample, total - sample);
  long k = 0;
  if (taken < 10) {
    long left = good;
    uint4 w = (uint4)(0);
    for (long j = 0; j < taken; ++j) {
      if (j % 2 == 0) w = ca_block_uint4(i, (uint)j, key, first, stream);
      const ${t} u = ca_inside_${t}(j % 2 ? ${two(t)} : ${one(t)});
      left -= u * (total - j) < left;
    }
    k = good - left;
    return taken < sample ? good - k : k;
  }
  const ${t} p = (${t})fewer / total, q = (${t})more / total, mean = taken * p;
  const ${t} spread = sqrt((${t})(total - taken) * taken * p * q / (total - 1) + ${t.lit("0.5")}), a = mean + ${t.lit("0.5")};
  const ${t} h = ${t.lit("1.7155277699214135")} * spread + ${t.lit("0.8989161620588988")};
  const ${t} m = floor((${t})(taken + 1) * (fewer + 1) / (total + 2));
  const ${t} g = ca_factorial_${t}(m) + ca_factorial_${t}(fewer - m) + ca_factorial_${t}(taken - m) + ca_factorial_${t}(more - taken + m);
  const ${t} end = fmin((${t})(min(taken, fewer) + 1), floor(a + 16 * spread));
  k = (long)m;
  ${attempts()}
    const ${t} u = ca_inside_${t}(${one(t)}), v = ca_inside_${t}(${two(t)}), x = a + h * (v - ${t.lit("0.5")}) / u;
    if (x < 0 || x >= end) continue;
    const ${t} y = floor(x);
    const ${t} ratio = g - (ca_factorial_${t}(y) + ca_factorial_${t}(fewer - y) + ca_factorial_${t}(taken - y) + ca_factorial_${t}(more - taken + y));
    if (u * (${t.lit(4)} - u) - ${t.lit(3)} > ratio && (u * (u - ratio) >= 1 || ${t.lit(2)} * ca_portable_log_${t}(u) > ratio)) continue;
    k = (long)y;
    break;
  }
  if (good > bad) k = taken - k;
  return taken < sample ? good - k : k;
}
</%def>
<%def name="logseries(t)">
/* Kemp (Efficient generation of logarithmically distributed pseudo-random variables, 1981). */
HELPER long ca_logseries_${t}(${where()}, ${t} p) {
  const ${t} r = ca_portable_onelog_${t}(-p);
  ${attempts()}
    const ${t} v = ca_inside_${t}(${one(t)});
    if (v >= p) return 1;
    const ${t} q = -ca_portable_expone_${t}(r * ca_inside_${t}(${two(t)}));
    if (v > q * q) return v >= q ? 1 : 2;
    const ${t} x = floor(${t.lit(1)} + ca_portable_log_${t}(v) / ca_portable_log_${t}(q));
    if (x >= 1 && x < ${t.lit("9.2e18")}) return (long)x;
  }
  return 1;
}
</%def>
<%def name="zipf(t)">
/* Devroye (Non-uniform random variate generation, 1986, X.6.1), from the numbers that lead to an int64 alone. */
HELPER long ca_zipf_${t}(${where()}, ${t} a) {
  if (!(a < 1025)) return 1;
  const ${t} less = a - ${t.lit(1)}, b = ca_portable_exp_${t}(less * ${t.lit("0.6931471805599453")});
  const ${t} least = ca_portable_exp_${t}(-less * ${t.lit("43.66827237527655")});
  ${attempts()}
    const ${t} z = ca_inside_${t}(${one(t)}), u = z * least + (${t.lit(1)} - z), v = ca_inside_${t}(${two(t)});
    const ${t} x = floor(ca_portable_exp_${t}(-ca_portable_log_${t}(u) / less));
    if (!(x >= 1 && x < ${t.lit("9.2e18")})) continue;
    const ${t} s = ca_portable_exp_${t}(less * ca_portable_onelog_${t}(${t.lit(1)} / x));
    if (v * x * (s - ${t.lit(1)}) / (b - ${t.lit(1)}) <= s / b) return (long)x;
  }
  return 1;
}
</%def>
