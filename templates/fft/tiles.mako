## A pass of a Fourier transform on a GPU: a work-group takes ${L} lines of ${R} values through local memory.
##
##   LOAD  ->  registers: butterflies  ->  local  ->  registers: butterflies  ->  ...  ->  STORE
##
## Lines are numbered (o, p, q), the last fastest. Where they lie closer together than their values do, neighbouring
## work-items take neighbouring lines; else neighbouring values. The two ends of a pass may differ in that.
<%namespace name="e" file="elements.mako" inheritable="True"/>
<%namespace name="access" file="/lib/access.mako" inheritable="True"/>
<%
  R = points
  whole_line = stored == 'half'
  last = len(butterfly_stages) - 1
  WG = policy.work_group
%>
## Where a value is held: after as many as there are banks of local memory comes a gap, since strides are powers of two.
<%def name="at(index)" filter="trim">
${f'HELD(({index}) * {L} + line_)' if across else f'HELD(line_ * {R} + ({index}))'}
</%def>
## Before a loop over values that are registers, if they are few.
<%def name="each(count)" filter="trim">
${'#pragma unroll' if count <= 64 else ''}
</%def>
## Which butterfly a work-item takes: of which line, p0 and q0.
<%def name="butterfly(r, s0, by_lines)">
      const int id = item + c * ${WG};
% if L * R // r % WG:
      if (id >= ${L * R // r}) continue;
% endif
% if by_lines:
      const int line_ = id % ${L}, number = id / ${L};
% else:
      const int number = id % ${R // r}, line_ = id / ${R // r};
% endif
      const int q0 = number % ${s0}, p0 = number / ${s0};
</%def>
${value.text}
% if ending is not None:
${ending.call.text}
% endif
#define HELD(at) ((at) + ((at) >> ${bank_shift}))
${e.types()}
% if computed:
${e.computed_root()}
% endif
ATTR __kernel __attribute__((reqd_work_group_size(${WG}, 1, 1)))
void fft(${', '.join(params)}) {
  ${access.prologue(operands, prepare, [('yp', 'yo')])}
  const int item = get_local_id(0);
  const ${I} first = (${I})get_group_id(0) * ${L};
% if last or whole_line:
  __local W held[${R * L + (R * L >> bank_shift)}];
% endif
% for number, (r, s0, turns, roots_at) in enumerate(butterfly_stages):
<%
  copies = -(-L * R // r // WG)
  ends = number == last and not whole_line
  by_lines = L > 1 and (out_across if ends else across)
%>
  {
  T re[${copies}][${r}], im[${copies}][${r}];
% if number:
  barrier(CLK_LOCAL_MEM_FENCE);
% endif
    ${each(copies * r)}
    for (int c = 0; c < ${copies}; ++c) {
${butterfly(r, s0, by_lines if number else L > 1 and across)}
% if number == 0:
      ${I} u = first + line_;
      if (u >= units) continue;
${e.place('u')}
      ${each(r)}
      for (int k = 0; k < ${r}; ++k) {
        const ${I} i = (${I})(p0 + ${turns} * k) * m + p;
${e.load()}
        re[c][k] = z.x; im[c][k] = z.y;
      }
% else:
      ${each(r)}
      for (int k = 0; k < ${r}; ++k) {
        const W z = held[${at(f'q0 + {s0} * (p0 + {turns} * k)')}];
        re[c][k] = z.x; im[c][k] = z.y;
      }
% endif
      ${butterflies[r]}
% if turns > 1:
      ${each(r)}
      for (int j = 1; j < ${r}; ++j) {
        const W z = times((W)(re[c][j], im[c][j]), tables[${roots_at - turns} + j * ${turns} + p0]);
        re[c][j] = z.x; im[c][j] = z.y;
      }
% endif
    }
% if number and not ends:
  barrier(CLK_LOCAL_MEM_FENCE);
% endif
    ${each(copies * r)}
    for (int c = 0; c < ${copies}; ++c) {
${butterfly(r, s0, by_lines if number else L > 1 and across)}
% if ends:
      const ${I} u = first + line_;
      if (u >= units) continue;
      const ${I} q = u % s, p = u / s % m, o = u / s / m;
      const ${I} y = o * stride;
      ${each(r)}
      for (int j = 0; j < ${r}; ++j) {
        const ${I} power = q0 + ${s0} * j;
        const ${I} at_ = (p * ${R} + power) * s + q;
% if cropped:
        if (at_ >= limit) continue;
% endif
        W z = (W)(re[c][j], im[c][j]);
% if rooted:
        z = times(z, ${f'computed_root(p * power, m * {R})' if computed else 'root(tables + coarse, tables + fine, shift, (long)p * power)'});
% endif
${e.store('at_', 'y')}
      }
% else:
      ${each(r)}
      for (int j = 0; j < ${r}; ++j) held[${at(f'q0 + {s0} * ({r} * p0 + j)')}] = (W)(re[c][j], im[c][j]);
% endif
    }
  }
% endfor
% if whole_line:
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int id = item; id < ${L * (R + 1)}; id += ${WG}) {
    const int k = ${f'id / {L}' if L > 1 and out_across else f'id % {R + 1}'}, line_ = ${f'id % {L}' if L > 1 and out_across else f'id / {R + 1}'};
    const ${I} u = first + line_;
    if (u >= units) continue;
    const W a_ = held[${at(f'(k == {R} ? 0 : k)')}], b_ = held[${at(f'(k == 0 ? 0 : {R} - k)')}];
${e.from_pairs('k')}
    const ${I} at_ = (${I})k * s + u % s;
    const ${I} y = u / s * stride;
${e.store('at_', 'y')}
  }
% endif
}
