## What passes of a Fourier transform share: the LOAD of a value of a line, with what is done to it before it is
## transformed, and the STORE of one, with what is done after. Parts are of type F, values of type W; T is F or a vector.
<%namespace name="access" file="/lib/access.mako" inheritable="True"/>
<%namespace name="lines" file="/lib/lines.mako"/>

<%def name="types()">
typedef ${scalar} F;
typedef ${scalar}2 W;
typedef ${scalar}${L if chunked and L > 1 else ''} T;
% for table in prime_tables:
${table}
% endfor
HELPER W times(const W a, const W b) { return (W)(MULTIPLY_ADD(a.x, b.x, -(a.y * b.y)), MULTIPLY_ADD(a.x, b.y, a.y * b.x)); }
## A power of the root that two tables hold; one of them alone has exact products.
HELPER W root(__global const W *coarse, __global const W *fine, const int shift, const long k) {
  return times(coarse[k >> shift], fine[k & ((1L << shift) - 1)]);
}
</%def>

## The k-th power of the root of this order, k below the order: quarters of the circle are taken off in integers, whose
## products may wrap around since what is left is small.
<%def name="computed_root()">
HELPER W computed_root(const ${I} k, const ${I} order) {
  const int quarter = (int)rint((F)k * (4 / (F)order));
  const ${I} rest = (${I})(4 * (u${I})k - (u${I})quarter * (u${I})order);
  const F half_turns = (F)rest * ((F)0.5 / (F)order), x = cospi(half_turns), y = sinpi(half_turns);
  const F c = quarter & 1 ? y : x, s = quarter & 1 ? x : y;
  return (W)((quarter + 1) & 2 ? -c : c, quarter & 2 ? s : -s);
}
</%def>

## The bases of the operands for the line (o, q), and the position p: from the unit `u`, which is used up.
<%def name="place(u)">
    const ${I} q = ${u} % s; ${u} /= s;
    const ${I} p = ${u} % m;
    const ${I} o = ${u} / m;
    ${I} line = o * s + q;
    ${access.bases(I, inputs.operands)}
${lines.move(I, [x.name for x in inputs.operands], 'k', 'line', rank)}
</%def>

## z: the value at position `i` of the line whose bases are in force, complex.
<%def name="value_at(z, i)">
      W ${z} = (W)(0);
% if padded:
      if (${i} < have) {
% else:
      {
% endif
% for x in inputs.operands:
        ${access.load(x, x.base, i)}
% endfor
        ${z} = ${f'(W)({value.call(0)}, 0)' if real else value.call(0)};
      }
</%def>

## z: what the transform takes at position i, an ${I}.
<%def name="load()">
      W z = (W)(0);
% if bounded:
      if (i < bound) {
% else:
      {
% endif
${formed()}
% for step in before:
% if step == 'swap':
      z = z.yx;
% else:
      z = times(z, tables[before_at + i]);
% endif
% endfor
      }
</%def>
<%def name="formed()">
% if form == 'pairs':
${value_at('even_', '(2 * i)')}
${value_at('odd_', '(2 * i + 1)')}
      z = (W)(even_.x, odd_.x);
% elif form == 'half':
${value_at('low', 'i')}
${value_at('high', '(whole - i)')}
      if (i == 0) low.y = high.y = 0;
      const W turn = root(tables + real_coarse, tables + real_fine, real_shift, i);
      const W gap = times((W)(low.x - high.x, low.y + high.y), (W)(turn.x, -turn.y));
      z = (W)(low.x + high.x - gap.y, low.y - high.y + gap.x);
% elif form == 'parted':
      const ${I} there = i == whole ? 0 : i, opposite = i == 0 ? 0 : whole - i;
${value_at('a_', 'there')}
${value_at('b_', 'opposite')}
      {
${from_pairs('i', declared=True)}
      }
% elif form == 'hermitian':
      const ${I} near = min(i, (${I})(whole - i));
${value_at('one', 'near')}
      z = (W)(one.x, i == 0 ? 0 : near == i ? one.y : -one.y);
% else:
${value_at('one', 'i')}
      z = one;
% endif
</%def>

## Store z, a value of what position `t` is in the lines after the axis and along it, from `y` on.
<%def name="store(t, y)">
% for step in after:
% if step == 'swap':
      z = z.yx;
% elif step == 'scale':
      z *= scale;
% else:
      z = times(z, tables[after_at + (${t}) / inner]);
% endif
% endfor
% if stored == 'pairs':
      {
        const ${I} at = (${t}) / inner * inner;
${put(f'{y} + ({t}) + at', 'z.x')}
${put(f'{y} + ({t}) + at + inner', 'z.y')}
      }
% elif stored == 'real':
${put(f'{y} + ({t})', 'z.x')}
% else:
${put(f'{y} + ({t})', 'z')}
% endif
</%def>

## Store a value at an element of the result: what is done to it takes operands that lie as the result does from there, and
## others by its place along the axes.
<%def name="put(at, value)">
% if ending is None:
      yp[${at}] = ${value};
% else:
      {
        const ${I} at_y = ${at};
        const ${stored_type} result_0 = ${value};
% for x in ending.operands:
        ${'long' if x.access == 'index' else I} ${x.name}b = ${x.start if x.access == 'index' else 'at_y' if x.access == 'unit' else '0'};
% endfor
% if ending.moved:
        ${I} place = at_y;
${lines.move(I, ending.moved, 'g', 'place', ending.rank)}
% endif
% for x in ending.operands:
        ${access.load(x, x.base, '0')}
% endfor
        const ${ending.out.type} y_0 = ${ending.call.call(0)};
        ${access.store_element(ending.out, 'at_y', '0', 'y_0')}
      }
% endif
</%def>

## z: value k of the transform of n reals, of that of the pairs: `a` is its value k, b value whole - k, both in place.
<%def name="from_pairs(k, declared=False)">
      const W turn = root(tables + real_coarse, tables + real_fine, real_shift, ${k});
      const W gap = times((W)(a_.y + b_.y, b_.x - a_.x), turn);
      ${'' if declared else 'W '}z = (W)(a_.x + b_.x + gap.x, a_.y - b_.y + gap.y) * (F)0.5;
</%def>
