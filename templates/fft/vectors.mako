## A pass of a Fourier transform on a CPU: a work-item takes L lines side by side, one in each lane of its vectors.
##
##            line 0 1 2 ... L-1
##   k = 0       x x x     x        first butterfly   from memory (LOAD) to the work-item's part a of `scratch`
##   k = 1       x x x     x        others            from a to b, from b to a
##   ...                            last one          to memory (STORE)
##
## Lines are numbered (o, p, q), the last fastest. Where L of them lie side by side whole vectors are loaded or stored.
<%namespace name="e" file="elements.mako" inheritable="True"/>
<%namespace name="access" file="/lib/access.mako" inheritable="True"/>
<%
  R = points
  whole_line = stored == 'half'
  last = len(butterfly_stages) - 1
  one = L == 1
%>
${value.text}
% if ending is not None:
${ending.call.text}
% endif
${e.types()}
ATTR __kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void fft(${', '.join(params)}) {
  ${access.prologue(operands, prepare, [('yp', 'yo')])}
  const long group = get_group_id(0), groups = get_num_groups(0);
  __global T *restrict a = scratch + group * ${4 * R};
  __global T *restrict b = a + ${2 * R};
  const long blocks = (units + ${L - 1}) / ${L};
  for (long block = blocks * group / groups, end_ = blocks * (group + 1) / groups; block < end_; ++block) {
    const long first = block * ${L};
    const int count = (int)min((long)${L}, units - first);
    long from[${L}], y[${L}], t[${L}], positions[${L}];
% for x in inputs.operands:
    long ${x.name}at[${L}];
% endfor
    ${access.rolled()}
    for (int l = 0; l < ${L}; ++l) {
      long u = first + min(l, count - 1);
${e.place('u')}
      positions[l] = p;
      t[l] = p * ${R} * s + q;
      y[l] = o * stride${' + t[l]' if simple_store else ''};
      from[l] = ${f'{inputs.operands[0].name}b + p * {inputs.operands[0].step}' if plain else '0'};
% for x in inputs.operands:
      ${x.name}at[l] = ${x.name}b;
% endfor
    }
    int loaded = count == ${L}, stored = count == ${L}, even = 1, ahead = 1;
    for (int l = 1; l < ${L}; ++l) {
      loaded &= from[l] == from[0] + l;
      stored &= y[l] == y[0] + l;
      even &= positions[l] == positions[0];
      ahead &= positions[l] == positions[0] + l;
    }
${stages()}
% if whole_line:
${half_spectrum()}
% endif
  }
}

<%def name="stages()">
% for number, (r, s0, turns, roots_at) in enumerate(butterfly_stages):
<% source, to = ('b', 'a') if number % 2 == 0 else ('a', 'b') %>
    for (int p0 = 0; p0 < ${turns}; ++p0)
      for (int q0 = 0; q0 < ${s0}; ++q0) {
        T re[${r}], im[${r}];
% if number == 0:
${load_lanes(r, turns)}
% else:
        __global const T *x_ = ${source} + 2 * (q0 + ${s0} * p0);
        ${each(r)}
        for (int k = 0; k < ${r}; ++k) { re[k] = x_[${2 * s0 * turns} * k]; im[k] = x_[${2 * s0 * turns} * k + 1]; }
% endif
        ${butterflies[r]}
% if turns > 1:
        __global const W *w_ = tables + ${roots_at} + p0 * ${r - 1};
        ${each(r)}
        for (int j = 1; j < ${r}; ++j) {
          const W w = w_[j - 1];
          ${turned('w.x', 'w.y')}
        }
% endif
% if number == last and not whole_line:
${store_lanes(r, s0)}
% else:
        __global T *y_ = ${to} + 2 * (q0 + ${s0 * r} * p0);
        ${each(r)}
        for (int j = 0; j < ${r}; ++j) { y_[${2 * s0} * j] = re[j]; y_[${2 * s0} * j + 1] = im[j]; }
% endif
      }
% endfor
</%def>

<%def name="load_lanes(r, turns)">
% if plain:
<% x, parts = inputs.operands[0], ('x', 'y') if one else ('even', 'odd') %>
        const long at = p0 * m * ${x.step}, apart = ${turns} * m * ${x.step};
        if (loaded) {
          ${each(r)}
          for (int k = 0; k < ${r}; ++k) {
            const ${scalar}${2 * L} z = ${f'{x.p}[from[0] + at + k * apart]' if one else f'vload{2 * L}(0, (__global const F*)({x.p} + from[0] + at + k * apart))'};
            re[k] = z.${parts[bool(before)]}; im[k] = z.${parts[not before]};
          }
        } else {
          ${each(r)}
          for (int k = 0; k < ${r}; ++k) {
% for l in range(L):
            const W z_${l} = ${x.p}[from[${l}] + at + k * apart];
% endfor
<% first, second = (f"(T)({', '.join(f'z_{l}.{part}' for l in range(L))})" for part in ('yx' if before else 'xy')) %>
            re[k] = ${first}; im[k] = ${second};
          }
        }
% else:
        F in_[${2 * r * L}];
          ${access.rolled()}
          for (int l = 0; l < ${L}; ++l) {
% for x in inputs.operands:
            const long ${x.name}b = ${x.name}at[l];
% endfor
            ${access.rolled()}
            for (int k = 0; k < ${r}; ++k) {
              const long i = (p0 + ${turns} * k) * m + positions[l];
${e.load()}
              in_[2 * k * ${L} + l] = z.x; in_[(2 * k + 1) * ${L} + l] = z.y;
            }
          }
        ${each(r)}
        for (int k = 0; k < ${r}; ++k) { re[k] = ${vector(f"in_ + {2 * L} * k")}; im[k] = ${vector(f"in_ + {2 * L} * k + {L}")}; }
% endif
</%def>
## Before a loop over a butterfly's values, which are variables of their own where they are few.
<%def name="each(r)" filter="trim">
${'_Pragma("unroll")' if r <= 16 else access.rolled()}
</%def>
<%def name="vector(at)" filter="trim">
${f'*({at})' if one else f'vload{L}(0, {at})'}
</%def>

## Value j times a root of unity.
<%def name="turned(x, y)" filter="trim">
const T v = re[j], x = (T)(${x}), y = (T)(${y});
          re[j] = MULTIPLY_ADD(v, x, -(im[j] * y)); im[j] = MULTIPLY_ADD(v, y, im[j] * x);
</%def>

<%def name="store_lanes(r, s0)">
% if rooted:
        ${each(r)}
        for (int j = 0; j < ${r}; ++j) {
          const long power = q0 + ${s0} * j;
          T wr, wi;
          if (even | ahead) {
            const W w = root(tables + coarse, tables + fine, shift, positions[0] * power);
            __global const F *beside = (__global const F*)(tables + lane_roots + (even ? 0 : power * ${L}));
            const T br = ${vector('beside')}, bi = ${vector(f'beside + {L}')};
            wr = MULTIPLY_ADD(br, (T)(w.x), -(bi * w.y)); wi = MULTIPLY_ADD(br, (T)(w.y), bi * w.x);
          } else {
            F lr[${L}], li[${L}];
            ${access.rolled()}
            for (int l = 0; l < ${L}; ++l) {
              const W w = root(tables + coarse, tables + fine, shift, positions[l] * power);
              lr[l] = w.x; li[l] = w.y;
            }
            wr = ${vector('lr')}; wi = ${vector('li')};
          }
          ${turned('wr', 'wi')}
        }
% endif
% if simple_store:
        __global W *to_ = yp + q0 * s;
        const long gap_ = ${s0} * s;
        ${each(r)}
        for (int j = 0; j < ${r}; ++j) {
<% first, second = ('im[j]', 're[j]') if 'swap' in after else ('re[j]', 'im[j]') %>
          ${scalar}${2 * L} z;
          z.${'x' if one else 'even'} = ${first}; z.${'y' if one else 'odd'} = ${second};
% if 'scale' in after:
          z *= scale;
% endif
          if (stored) ${'to_[y[0] + j * gap_] = z' if one else f'vstore{2 * L}(z, 0, (__global F*)(to_ + y[0] + j * gap_))'};
          else {
% for l in range(L):
            ${f'if ({l} < count) ' if l else ''}to_[y[${l}] + j * gap_] = ${'z' if one else f'z.s{2 * l:x}{2 * l + 1:x}'};
% endfor
          }
        }
% else:
        F lanes_[${2 * r * L}];
        ${each(r)}
        for (int j = 0; j < ${r}; ++j) {
          ${'lanes_[2 * j] = re[j]; lanes_[2 * j + 1] = im[j];' if one else f'vstore{L}(re[j], 0, lanes_ + {2 * L} * j); vstore{L}(im[j], 0, lanes_ + {2 * L} * j + {L});'}
        }
## what lies side by side is stored one after the other: the lanes of a value, or the values of a lane
<% loops = [f'for (int j = 0; j < {r}; ++j)', 'for (int l = 0; l < count; ++l)'] %>
% for header in loops if out_across else reversed(loops):
        ${access.rolled()}
        ${header}
% endfor
          {
            const long at_ = t[l] + (q0 + ${s0} * j) * s;
% if cropped:
            if (at_ >= limit) continue;
% endif
            W z = (W)(lanes_[2 * j * ${L} + l], lanes_[(2 * j + 1) * ${L} + l]);
${e.store('at_', 'y[l]')}
          }
% endif
</%def>

<%def name="half_spectrum()">
<% buffer = 'a' if last % 2 == 0 else 'b' %>
    ${access.rolled()}
    for (int l = 0; l < count; ++l)
      for (int k = 0; k <= ${R}; ++k) {
        __global const F *one_ = (__global const F*)(${buffer} + 2 * (k == ${R} ? 0 : k)) + l;
        __global const F *other_ = (__global const F*)(${buffer} + 2 * (k == 0 ? 0 : ${R} - k)) + l;
        const W a_ = (W)(one_[0], one_[${L}]), b_ = (W)(other_[0], other_[${L}]);
${e.from_pairs('k')}
        const long at_ = t[l] + k * s;
${e.store('at_', 'y[l]')}
      }
</%def>
