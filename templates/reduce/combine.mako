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
<%def name="keep(output)">
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
      const ${out.lane} y_0 = ${epilogue.call('finish(state)')};
      ${access.store_element(out, 'yb', '0', 'y_0')}
</%def>
${monoids.types(m)}
${monoids.identity(m)}
${getattr(monoids, m.algebra)(m)}
${getattr(monoids, m.algebra + '_finish')(m, m.narrow_result)}
% if wide:
${states.accumulator(wide, 'wide_t')}
${monoids.joining(wide, 'wide_t', 'join_wide')}
% endif
ATTR __kernel __attribute__((reqd_work_group_size(${wg}, 1, 1)))
void combine_parts(${signature.declared}) {
  ${signature.opening}
  ${access.prologue((), prepare, [('yp', 'yo')])}
% if shared:
  const int side = ${wg} / lanes, item = get_local_id(0), lane = item / side;
% for n, dt in m.components:
  __local ${m.lane(dt)} local_${n}[${wg}];
% endfor
% else:
  const int lanes = 1, side = ${wg}, lane = 0;
% endif
% if policy.chunked:
  const long group = get_group_id(0), groups = get_num_groups(0), end = outputs * (group + 1) / groups;
  long output = outputs * group / groups;
% if wide:
  for (; output + ${wide.width} <= end; output += ${wide.width}) {
    wide_t all;
% for n, dt in wide.components:
    all.${n} = (${wide.wide(dt)})(${m.initial(n)});
% endfor
    for (long part = 0; part < parts; ++part) {
      wide_t s;
% for n, dt in wide.components:
      s.${n} = vload${wide.width}(0, q_${n} + part * outputs + output);
% endfor
      all = join_wide(all, s);
    }
% for n, dt in wide.components:
    ${m.lane(dt)} lanes_${n}[${wide.width}];
    vstore${wide.width}(all.${n}, 0, lanes_${n});
% endfor
    for (int l = 0; l < ${wide.width}; ++l) {
      state_t state;
% for n, _ in wide.components:
      state.${n} = lanes_${n}[l];
% endfor
      ${keep('output + l')}
    }
  }
% endif
  for (; output < end; ++output) {
    const bool active = true;
% else:
  for (long block = get_group_id(0); block * side < outputs; block += get_num_groups(0)) {
    const long output = block * side + get_local_id(0) % side;
    const bool active = output < outputs;
% endif
    state_t state = state_identity();
    const long per_lane = (parts + lanes - 1) / lanes;
    const long last = active ? min(parts, (lane + 1) * per_lane) : 0;
    for (long part = lane * per_lane; part < last; ++part) {
      state_t s;
% for n, dt in m.components:
      s.${n} = q_${n}[part * outputs + output];
% endfor
      state = combine(state, s);
    }
% if shared:
% for n, dt in m.components:
    local_${n}[item] = state.${n};
% endfor
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_ = lanes / 2; half_ > 0; half_ >>= 1) {
      if (lane < half_) {
        state_t o;
% for n, dt in m.components:
        o.${n} = local_${n}[item + half_ * side];
% endfor
        state = combine(state, o);
% for n, dt in m.components:
        local_${n}[item] = state.${n};
% endfor
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
% endif
    if (lane == 0 && active) {
      ${keep('output')}
    }
  }
}
