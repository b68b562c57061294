## Accumulators of the algebras in monoids.mako: how several take values, and how the lanes of one are combined.
<%namespace name="monoids" file="/lib/monoids.mako"/>

## Several accumulators take values by the fast path, or else by the text `fallback`: `entering` has pairs of an accumulator
## and its values. `suffix` ends the names of the algebra's functions and types.
<%def name="enter(m, entering, fast, fallback, suffix='')">
{
% for n, (acc, values) in enumerate(entering):
  acc_t${suffix} t${n} = ${acc};
% endfor
  const ${m.check_type} check = ${f' {m.check_join} '.join(f'{fast}{suffix}(&t{n}, {values})' for n, (_, values) in enumerate(entering))};
  if (${m.passed('check')}) {
% for n, (acc, _) in enumerate(entering):
    ${acc} = t${n};
% endfor
  } else {
    ${fallback}
  }
}
</%def>

<%def name="accumulator(m, name)">
typedef struct { ${' '.join(f'{m.wide(d)} {n};' for n, d in m.components)} } ${name};
</%def>

## The product of the lanes of an accumulator that was not scaled, with one check.
<%def name="fold_product(m)">
<% halves = [m.width >> step for step in range(1, m.width.bit_length())] %>
if (!(${m.some(f'a{m.width}.k != 0')})) {
  const ${m.wide(m.components[0][1])} v${m.width} = a${m.width}.v;
% for half in halves:
<% h = m.at(half) %>
  const ${h.wide(m.components[0][1])} v${half} = v${2 * half}.lo * v${2 * half}.hi;
  const ${h.bits} bits${half} = ${f'join{half}' if half > 1 else 'combine'}_middle(v${half})${f' & bits{2 * half}.lo & bits{2 * half}.hi' if half < m.width // 2 else ''};
% endfor
  if (${m.at(1).passed('bits1')}) {
    state_t r = state_identity();
    r.v = v1;
    return r;
  }
}
</%def>
## From vector accumulators to the state of one lane: `join` makes one accumulator of two, lane by lane, where the algebra has words
## for vectors; `fold_lanes` combines the lanes of one, `take_lane` takes one of them.
<%def name="lanes(m)">
% if m.joins:
${monoids.joining(m, 'acc_t', 'join')}
## The halves of an accumulator, until two lanes are left: lane after lane takes longer than a row of thousands.
% for half in (m.width >> step for step in range(1, m.width.bit_length() - 1)):
${accumulator(m.at(half), f'acc{half}_t')}
${monoids.joining(m.at(half), f'acc{half}_t', f'join{half}')}
% endfor
HELPER state_t fold_lanes(const acc_t a${m.width}) {
% if m.algebra == 'product':
  ${capture(fold_product, m)}
% endif
% for half in (m.width >> step for step in range(1, m.width.bit_length() - 1)):
  acc${half}_t lo${half}, hi${half};
% for n, _ in m.components:
  lo${half}.${n} = a${2 * half}.${n}.lo;
  hi${half}.${n} = a${2 * half}.${n}.hi;
% endfor
  const acc${half}_t a${half} = join${half}(lo${half}, hi${half});
% endfor
  state_t lo, hi;
% for n, _ in m.components:
  lo.${n} = a2.${n}.lo;
  hi.${n} = a2.${n}.hi;
% endfor
  return combine(lo, hi);
}
% else:
## One after the other: the algebra combines no vectors.
HELPER state_t fold_lanes(const acc_t a) {
  state_t r = state_identity();
% for n, dt in m.components:
  ${m.lane(dt)} lanes_${n}[${m.width}];
  vstore${m.width}(a.${n}, 0, lanes_${n});
% endfor
  for (int l = 0; l < ${m.width}; ++l) {
    state_t s;
% for n, dt in m.components:
    s.${n} = lanes_${n}[l];
% endfor
    r = combine(r, s);
  }
  return r;
}
% endif
HELPER state_t take_lane(const acc_t a, const int l) {
  state_t s;
% for n, dt in m.components:
  ${m.lane(dt)} lanes_${n}[${m.width}];
  vstore${m.width}(a.${n}, 0, lanes_${n});
  s.${n} = lanes_${n}[l];
% endfor
  return s;
}
</%def>
