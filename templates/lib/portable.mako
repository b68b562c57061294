## Elementary functions that give the same bits on every device: sums, products, quotients and fused products alone,
## which IEEE 754 rounds in one way. For random numbers; errors are a few units in the last place.
##
## The polynomials interpolate at Chebyshev nodes; beside each is its relative error.
<%!
    from clarray._engine.ops.ctype import CType

    # (log(1 + f) - f) / f^2 in f, as GPUs divide floats slowly: 8.4e-9; (2 atanh(s) / s - 2) / s^2 in s^2: 3e-18
    LOG = {
        32: [
            "-0.49999997647663922", "0.333333300255065", "-0.25000781783350669", "0.20001235268559756",
            "-0.16626625947414201", "0.14204820403972513", "-0.13127730849307902", "0.1272303664500412",
            "-0.07673609974882996",
        ],
        64: [
            "0.66666666666666666", "0.40000000000000878", "0.2857142857080323", "0.22222222391800469",
            "0.18181795630884753", "0.15386240205813478", "0.13268759668560613", "0.13086767009948174",
        ],
    }
    # (exp(r) - 1 - r) / r^2 for |r| < ln(2) / 2: 2.9e-9, 3e-18
    EXP = {
        32: [
            "0.50000000134658092", "0.16666666681623231", "0.041666464925285905", "0.0083333109254809008",
            "0.001393364999630925", "0.00019890990824673654",
        ],
        64: [
            "0.5", "0.16666666666666671", "0.04166666666666667", "0.0083333333333261351", "0.0013888888888883748",
            "0.00019841269874820625", "2.4801587325547741e-05", "2.7557255400206424e-06", "2.7557273643110295e-07",
            "2.5105217004720745e-08", "2.0914686968086877e-09",
        ],
    }
    # (sin(pi r) / r - pi) / r^2 in r^2 for |r| < 1/2: 1.9e-10, 2.3e-18
    SIN = {
        32: [
            "-5.1677127791863118", "2.5501638671048269", "-0.59925899373367544", "0.082083717762861437",
            "-0.0070844887789561076",
        ],
        64: [
            "-5.16771278004997", "2.5501640398773401", "-0.59926452932034303", "0.082145886596752322",
            "-0.0073704307196345865", "0.00046630087411496363", "-2.1906201655131958e-05", "7.7257430307898759e-07",
        ],
    }
    # (atan(r) / r - 1) / r^2 in r^2 for |r| < tan(pi / 8): 1.6e-9, 3.5e-18
    ATAN = {
        32: [
            "-0.3333333327922454", "0.1999997724823353", "-0.14284150629730288", "0.11071354571201351",
            "-0.086245982151961267", "0.05047937432040091",
        ],
        64: [
            "-0.33333333333333333", "0.19999999999999804", "-0.14285714285659778", "0.11111111105150588",
            "-0.090909087532591129", "0.076922963680422971", "-0.066664247602005201", "0.058789275544738068",
            "-0.052304436406869477", "0.045515447340221617", "-0.03456931506332609", "0.016284375050043394",
        ],
    }
    # Where a number's bits lie: the mantissa's, the exponent's bias, the bits of sqrt(1/2), and ln 2 in two parts,
    # the first of which leaves room for the product with an exponent.
    FORMAT = {
        32: (23, 127, "0x3f3504f3", "0x1.62e4p-1", "0x1.7f7d1cp-20", "12582912.0", "0x4b400000"),
        64: (
            52, 1023, "0x3fe6a09e667f3bcd", "0x1.62e42fefa38p-1", "0x1.ef35793c7673p-45", "6755399441055744.0",
            "0x4338000000000000",
        ),
    }
%>
<%def name="horner(name, coefficients, x, t)">
  ${t} ${name} = ${t.lit(coefficients[-1])};
% for c in coefficients[-2::-1]:
  ${name} = fma(${name}, ${x}, ${t.lit(c)});
% endfor
</%def>
<%def name="hexadecimal(text, t)" filter="trim">
(${t})(${text}${"f" if t.bits == 32 else ""})
</%def>
<%def name="portable_log(t)">
<% i = t.int_; mantissa, bias, root, high, low, magic, shifted = FORMAT[t.bits] %>\
/* log x of a positive normal number, and -inf of 0: x = 2^k m, m = 1 + f; of doubles log m = 2 atanh(s), s = f / (2 + f). */
HELPER ${t} ca_portable_log_${t}(${t} x) {
  const ${i} k = (as_${i}(x) - ${i.lit(root)}) >> ${i.lit(mantissa)};
  const ${t} f = as_${t}(as_${i}(x) - (k << ${i.lit(mantissa)})) - ${t.lit(1)};
  const ${t} e = as_${t}(k + ${i.lit(shifted)}) - ${t.lit(magic)};
% if t.bits == 32:
${horner("p", LOG[t.bits], "f", t)}
  const ${t} m = fma(f * f, p, e * ${hexadecimal(low, t)}) + f;
% else:
  const ${t} s = f / (f + ${t.lit(2)}), z = s * s;
${horner("p", LOG[t.bits], "z", t)}
  const ${t} m = fma(s * z, p, fma(e, ${hexadecimal(low, t)}, s + s));
% endif
  return x == ${t.lit(0)} ? -${t.inf} : fma(e, ${hexadecimal(high, t)}, m);
}
</%def>
<%def name="portable_onelog(t)">
/* log(1 + y) for y > -1. */
HELPER ${t} ca_portable_onelog_${t}(${t} y) {
  const ${t} u = y + ${t.lit(1)};
  const ${t} lost = y > ${t.lit(1)} ? ${t.lit(1)} - (u - y) : y - (u - ${t.lit(1)});
  return u == ${t.lit(0)} ? -${t.inf} : (u == ${t.inf} ? u : ca_portable_log_${t}(u) + lost / u);
}
</%def>
<%def name="reduced_exp(t)">
<% i = t.int_; mantissa, bias, root, high, low, magic, shifted = FORMAT[t.bits]; most = bias + mantissa + 3 %>\
  /* x = n ln 2 + r */
  ${t} c = x > ${t.lit(most)} ? ${t.lit(most)} : x;
  c = c < ${t.lit(-most)} ? ${t.lit(-most)} : c;
  const ${t} nm = fma(c, ${t.lit("1.4426950408889634")}, ${t.lit(magic)});
  const ${t} n = nm - ${t.lit(magic)};
  const ${i} ni = as_${i}(nm) - ${i.lit(shifted)}, half_n = ni >> ${i.lit(1)};
  const ${t} r = fma(-n, ${hexadecimal(low, t)}, fma(-n, ${hexadecimal(high, t)}, c));
${horner("q", EXP[t.bits], "r", t)}
</%def>
<%def name="scaled(value, t)" filter="trim">
<% i = t.int_; mantissa, bias = FORMAT[t.bits][:2] %>\
${value} * as_${t}((half_n + ${i.lit(bias)}) << ${i.lit(mantissa)}) * as_${t}((ni - half_n + ${i.lit(bias)}) << ${i.lit(mantissa)})
</%def>
<%def name="portable_exp(t)">
/* exp x: 2^n in two steps, so that neither overflows early. */
HELPER ${t} ca_portable_exp_${t}(${t} x) {
${reduced_exp(t)}
  q = fma(r * r, q, r) + ${t.lit(1)};
  return x != x ? x : ${scaled("q", t)};
}
</%def>
<%def name="portable_expone(t)">
/* exp(x) - 1. */
HELPER ${t} ca_portable_expone_${t}(${t} x) {
${reduced_exp(t)}
  q = fma(r * r, q, r);
  return x != x ? x : (n == ${t.lit(0)} ? q : ${scaled(f"(q + {t.lit(1)})", t)} - ${t.lit(1)});
}
</%def>
<%def name="portable_sinpi(t)">
/* sin(pi x) for |x| <= 1/2. */
HELPER ${t} ca_portable_sinpi_${t}(${t} x) {
  const ${t} z = x * x;
${horner("p", SIN[t.bits], "z", t)}
  return fma(x * z, p, x * ${t.lit("3.141592653589793")});
}
</%def>
<%def name="portable_atan(t)">
/* atan x for x >= 0, one lane. */
HELPER ${t} ca_portable_atan_${t}(${t} x) {
  const int inverse = x > ${t.lit(1)};
  ${t} r = inverse ? ${t.lit(1)} / x : x;
  const int turned = r > ${t.lit("0.41421356237309503")};
  r = turned ? (r - ${t.lit(1)}) / (r + ${t.lit(1)}) : r;
  const ${t} z = r * r;
${horner("p", ATAN[t.bits], "z", t)}
  r = fma(r * z, p, r) + (turned ? ${t.lit("0.7853981633974483")} : ${t.lit(0)});
  return inverse ? ${t.lit("1.5707963267948966")} - r : r;
}
</%def>
