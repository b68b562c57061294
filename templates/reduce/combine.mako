## Combine: the second launch of a split reduction. States lie component by component, [part][output].
##
##            |<- side outputs ->|
##   part 0   item0 item1  ...         `lanes` work-items share an output: each takes a run of parts,
##   part p   item(side)   ...         and they meet in local memory. The order is always the same.
##
## Where groups have one work-item it combines a vector of neighbouring outputs at once, if the algebra has words for that.
<%namespace name="access" file="/lib/access.mako" inheritable="True"/>
<%namespace name="monoids" file="/lib/monoids.mako"/>
<%namespace name="states" file="/lib/accumulators.mako"/>
<%
  wg = policy.work_group
%>
<%def name="keep(e, state, output)">
      long number = ${output};
      long yb = 0;
% for a in range(kept_rank):
      {
% if a < kept_rank - 1:
        const long c = number % k${a}; number /= k${a};
% else:
        const long c = number;
% endif
        yb += c * yk${a};
      }
% endfor
      const ${e.out.lane} y_0 = ${e.epilogue.call(f'finish{e.suffix}({state})')};
      ${access.store_element(e.out, 'yb', '0', 'y_0')}
</%def>
<%def name="algebra(e)">
${monoids.types(e.m)}
${monoids.identity(e.m)}
${getattr(monoids, e.m.algebra)(e.m)}
${getattr(monoids, e.m.algebra + '_finish')(e.m, e.m.narrow_result)}
% if e.wide:
${states.accumulator(e.wide, 'wide_t')}
${monoids.joining(e.wide, 'wide_t', 'join_wide')}
% endif
</%def>
% for e in members:
${renamed(capture(algebra, e), e.suffix)}
% endfor
ATTR __kernel __attribute__((reqd_work_group_size(${wg}, 1, 1)))
void combine_parts(${signature.declared}) {
  ${signature.opening}
  ${access.prologue((), prepare, [(e.out.p, e.out.start) for e in members])}
% if shared:
  const int side = ${wg} / lanes, item = get_local_id(0), lane = item / side;
% for e in members:
% for n, dt in e.m.components:
  __local ${e.m.lane(dt)} local${e.tag}_${n}[${wg}];
% endfor
% endfor
% else:
  const int lanes = 1, side = ${wg}, lane = 0;
% endif
% if policy.chunked:
  const long group = get_group_id(0), groups = get_num_groups(0), first = outputs * group / groups, end = outputs * (group + 1) / groups;
% for e in members:
  {
  long output = first;
% if e.wide:
  for (; output + ${e.wide.width} <= end; output += ${e.wide.width}) {
    wide_t${e.suffix} all;
% for n, dt in e.wide.components:
    all.${n} = (${e.wide.wide(dt)})(${e.m.initial(n)});
% endfor
    for (long part = 0; part < parts; ++part) {
      wide_t${e.suffix} s;
% for n, dt in e.wide.components:
      s.${n} = vload${e.wide.width}(0, q${e.tag}_${n} + part * outputs + output);
% endfor
      all = join_wide${e.suffix}(all, s);
    }
% for n, dt in e.wide.components:
    ${e.m.lane(dt)} lanes_${n}[${e.wide.width}];
    vstore${e.wide.width}(all.${n}, 0, lanes_${n});
% endfor
    for (int l = 0; l < ${e.wide.width}; ++l) {
      state_t${e.suffix} state;
% for n, _ in e.wide.components:
      state.${n} = lanes_${n}[l];
% endfor
      ${keep(e, 'state', 'output + l')}
    }
  }
% endif
  for (; output < end; ++output) {
    const bool active = true;
    ${combine(e)}
  }
  }
% endfor
% else:
  for (long block = get_group_id(0); block * side < outputs; block += get_num_groups(0)) {
    const long output = block * side + get_local_id(0) % side;
    const bool active = output < outputs;
% for e in members:
    {
    ${combine(e)}
    }
% endfor
  }
% endif
}
## The parts of one output.
<%def name="combine(e)">
    state_t${e.suffix} state = state_identity${e.suffix}();
    const long per_lane = (parts + lanes - 1) / lanes;
    const long last = active ? min(parts, (lane + 1) * per_lane) : 0;
    for (long part = lane * per_lane; part < last; ++part) {
      state_t${e.suffix} s;
% for n, dt in e.m.components:
      s.${n} = q${e.tag}_${n}[part * outputs + output];
% endfor
      state = combine${e.suffix}(state, s);
    }
% if shared:
% for n, dt in e.m.components:
    local${e.tag}_${n}[item] = state.${n};
% endfor
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_ = lanes / 2; half_ > 0; half_ >>= 1) {
      if (lane < half_) {
        state_t${e.suffix} o;
% for n, dt in e.m.components:
        o.${n} = local${e.tag}_${n}[item + half_ * side];
% endfor
        state = combine${e.suffix}(state, o);
% for n, dt in e.m.components:
        local${e.tag}_${n}[item] = state.${n};
% endfor
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
% endif
    if (lane == 0 && active) {
      ${keep(e, 'state', 'output')}
    }
</%def>
