## Reduce: COMBINE over LOAD(i) of the reduced axes, for every position of the kept axes.
##
## rows       lanes = work-items along a row, `side` rows in a work-group, V elements per load, X loads at once
##
##            |<-V->|<-V->| ... lanes ... |<-V->|  x X loads  |<- next iteration
##             item0 item1                 last
##
##            Where a device has no work-groups, several rows may be gone along `abreast`, each with an accumulator of its
##            own: what all of them read is loaded once, and there are as many streams from memory.
##
## columns    a work-item holds `strip` vectors of V neighbouring outputs and walks down, X rows at a time
##
##            V outputs | V outputs | ...      (side work-items across, lanes work-items down)
##            V         | V
##            ...
##            Where outputs are read with a stride, scalar code takes V outputs `spread` = side apart instead, so
##            that neighbouring work-items still read neighbouring elements.
##
## What the lanes of an output hold is combined in local memory. A task is a block of outputs and a part of the
## reduced axes; with more than one part the states go to memory, and are combined by the block's last group where
## the policy has a fence, else by a second launch (combine.mako).
<%namespace name="access" file="/lib/access.mako" inheritable="True"/>
<%namespace name="monoids" file="/lib/monoids.mako"/>
<%namespace name="states" file="/lib/accumulators.mako"/>
<%namespace name="together" file="/reduce/abreast.mako"/>
<%namespace name="walking" file="/reduce/columns.mako"/>
<%namespace name="blocks" file="/reduce/products.mako"/>
<%namespace name="wholes" file="/reduce/rows.mako"/>
<%
  parts = V // d.width
  wg = policy.work_group
  # `lanes` is 1, the whole group, or, where it is 0, an argument
  shared = lanes != 1
  def of_lanes(n):
      return f'lanes * {n}' if lanes == 0 else str(lanes * n)
  def of_side(n):
      return f'side * {n}' if lanes == 0 else str(wg // lanes * n)
  apart = spread  # 1, or 'side'
  columns = form == 'columns'
  # independent accumulators hide the latency of an addition; scalar code has one per element of a load already
  pairs = any(s.access == 'pairs' for s in operands)
  within = '<' if pairs else '<='
  overlap = columns and d.width > 1 and not pairs
  final = last or not partial  # this launch stores results
  # `members` are the reductions of the pass; `m`, `value` and `masked` are the first one's, for what only a single one has
  def chains_of(e):
      return X if d.width > 1 and not e.m.block and not columns else 1
  def enters_in_blocks(e):
      """Whether several values enter at once, those that a mask leaves out as the identity."""
      return e.m.block and (e.mask is None or e.m.absorbs)
  def accumulators_of(e):
      """Of a block of all values of an iteration, one accumulator: fewer registers and divisions."""
      return 1 if enters_in_blocks(e) and e.m.block_size > X else parts
  def acc_of(e, w, chain):
      return f'acc{e.tag}{min(w, accumulators_of(e) - 1)}_{chain}'
  def joined(e, accs):
      half = len(accs) // 2
      return f'join{e.suffix}({joined(e, accs[:half])}, {joined(e, accs[half:])})' if half else accs[0]
  def entering(w, tag, e=members[0]):
      x = e.value.call(w, tag)
      return e.m.where_set(e.mask.call(w, tag), x) if e.mask is not None else x
  def enter_first(acc, tag, w):
      return enter(members[0], acc, tag, w)
  def enter_first_partial(acc, count, chain, inside=''):
      return enter_partial(members[0], acc, count, chain, inside)
%>
<%def name="enter(e, acc, tag, w)" filter="trim">
<% position = f', {e.m.position}{tag}_{w}' if e.m.indexed else '' %>
% if e.mask is not None:
${acc} = accumulate_if${e.suffix}(${e.mask.call(w, tag)}, ${acc}, ${e.value.call(w, tag)}${position});
% else:
${acc} = accumulate${e.suffix}(${acc}, ${e.value.call(w, tag)}${position});
% endif
</%def>
## Whether a whole vector may be loaded: pairs read one element past their last, so the end is not theirs. Not said
## as count == V: NVIDIA's compiler (driver 580.159) takes that comparison of a clamped number for last >= j.
<%def name="whole(j, last)" filter="trim">
${j} + ${V} ${within} ${last}
</%def>
## The values of an iteration along a row enter one after the other. They are loaded again, so that the fast path needs not keep them.
<%def name="one_by_one(e)">
for (${I} j = at + lane * ${V}, stop = j + ${of_lanes(V * X)}; j < stop; j += ${of_lanes(V)}) {
% for s in operands:
  ${access.load(s, s.base, 'j')}
% endfor
% for w in range(parts):
  ${enter(e, acc_of(e, w, 0), '', w)}
% endfor
}
</%def>
## Only the first `count` of V elements enter, or those of a mask.
<%def name="enter_partial(e, acc, count, chain, inside='')">
% for w in range(parts):
{
% if d.width == 1:
  if (${w} < ${count}) { ${enter(e, acc(w, chain), '', w)} }
% else:
  const ${e.m.mask_type} inside = ${inside or e.m.lanes_below(count)}${f' & {e.mask.call(w)}' if e.mask is not None else ''};
  ${acc(w, chain)} = accumulate_if${e.suffix}(inside, ${acc(w, chain)}, ${e.value.call(w)}${f', {e.m.position}_{w}' if e.m.indexed else ''});
% endif
}
% endfor
</%def>
## Where the outputs of vector `v` of a strip begin.
<%def name="place(v)" filter="trim">
% if overlap:
min((${I})(${v} * ${V}), most)
% else:
${v} * ${V}
% endif
</%def>
<%def name="decode(prefix, number, extents, operands, first=0)">
## `number` is used up: the last axis takes what is left
% for a in range(first, extents):
{
% if a < extents - 1:
  const ${I} c = ${number} % ${prefix}${a}; ${number} /= ${prefix}${a};
% else:
  const ${I} c = ${number};
% endif
% for s in operands:
  ${s.base} += c * ${s.name}${prefix}${a};
% endfor
}
% endfor
</%def>
## Combine `state` over the lanes of an output; lane 0 ends up with it.
<%def name="tree(e, state)">
% if shared:
% for n, dt in e.m.components:
local${e.tag}_${n}[item] = ${state}.${n};
% endfor
barrier(CLK_LOCAL_MEM_FENCE);
for (int half_ = ${of_lanes(1)} / 2; half_ > 0; half_ >>= 1) {
  if (lane < half_) {
    const int other = item + half_${' * side' if columns else ''};
    state_t${e.suffix} o;
% for n, dt in e.m.components:
    o.${n} = local${e.tag}_${n}[other];
% endfor
    ${state} = combine${e.suffix}(${state}, o);
% for n, dt in e.m.components:
    local${e.tag}_${n}[item] = ${state}.${n};
% endfor
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}
% endif
</%def>
## The state of an output goes to memory, for whoever combines the parts.
<%def name="keep(e, state, output)">
% for n, dt in e.m.components:
q${e.tag}_${n}[(long)part * outputs + ${output}] = ${state}.${n};
% endfor
</%def>
## The parts of an output, this lane's share of them, in order. The last work-group alone comes here, as a whole:
## PoCL 3.0 mis-compiles the form in which the others pass the same barriers with nothing to combine.
<%def name="gather_parts(e, state, output, wanted)">
${state} = state_identity${e.suffix}();
for (${I} p = ${wanted} ? lane : parts; p < parts; p += ${of_lanes(1)}) {
  state_t${e.suffix} s;
% for n, dt in e.m.components:
  s.${n} = q${e.tag}_${n}[(long)p * outputs + ${output}];
% endfor
  ${state} = combine${e.suffix}(${state}, s);
}
</%def>
<%def name="write(e, state, output, column='0')">
% if partial and not last:
${keep(e, state, output)}
% else:
{
  const ${e.out.lane} y_0 = ${e.epilogue.call(f'finish{e.suffix}({state})')};
  ${access.store_element(e.out, out.base, column, 'y_0')}
}
% endif
</%def>
## The types and functions of a monoid.
<%def name="algebra(m)">
${monoids.types(m)}
${monoids.identity(m)}
${getattr(monoids, m.algebra)(m)}
% if products:
${blocks.functions(m)}
% endif
% if final:
${getattr(monoids, m.algebra + '_finish')(m, m.narrow_result)}
% if wide:
${getattr(monoids, m.algebra + '_finish')(m, m.wide_result)}
% endif
% endif
${monoids.masked(m)}
% if d.width > 1:
${states.lanes(m)}
% endif
</%def>
% for e in members:
${renamed(capture(algebra, e.m), e.suffix)}
% endfor
ATTR __kernel __attribute__((reqd_work_group_size(${wg}, 1, 1)))
void reduce(${signature.declared}) {
  ${signature.opening}
  ${access.prologue(all_operands, prepare, other_outs)}
% if shared:
  const int item = get_local_id(0);
% for e in members:
% for n, dt in e.m.components:
  __local ${e.m.lane(dt)} local${e.tag}_${n}[${wg}];
% endfor
% endfor
% endif
% if last:
  __local int last_group;
% endif
% if wg == 1:
  const int lane = 0, beside = 0;
% else:
  const int side = ${f'{wg} / lanes' if lanes == 0 else wg // lanes};
% if columns:
  const int lane = get_local_id(0) / ${of_side(1)}, beside = get_local_id(0) % ${of_side(1)};
% else:
  const int lane = get_local_id(0) % ${of_lanes(1)}, beside = get_local_id(0) / ${of_lanes(1)};
% endif
% endif
% if policy.chunked:
  const long group = get_group_id(0), groups = get_num_groups(0);
  for (long task = tasks * group / groups, end = tasks * (group + 1) / groups; task < end; ++task) {
% else:
  for (${I} task = get_group_id(0); task < tasks; task += get_num_groups(0)) {
% endif
% if partial:
    const ${I} part = task % (${I})parts, block = task / (${I})parts;
% else:
    const ${I} part = 0, block = task;
% endif
% if rows_per_item > 1:
${together.rows(enter_first, enter_first_partial, decode, lambda state, output: write(members[0], state, output), entering)}
% elif not columns:
    const ${I} output = block * ${of_side(1)} + beside;
    const bool active = output < outputs;
% if partial:
    const ${I} row_part = part / (${I})inner_parts, inner_part = part % (${I})inner_parts;
    const ${I} row_first = row_part * (${I})rows_per_part;
    const ${I} row_last = active ? min((${I})(row_first + rows_per_part), (${I})rows) : row_first;
    const ${I} first = inner_part * (${I})inner_per_part;
    const ${I} last = min((${I})(first + inner_per_part), (${I})r0);
% else:
    const ${I} row_first = 0, row_last = active ? rows : 0;
    const ${I} first = 0, last = r0;
% endif
% for s in all_operands:
    ${I} ${s.name}kept = ${s.start if s.access == 'index' else '0'};
% endfor
    {
      ${I} number = output;
% for s in all_operands:
      ${I} ${s.base} = 0;
% endfor
      ${decode('k', 'number', kept_rank, all_operands)}
% for s in all_operands:
      ${s.name}kept += ${s.base};
% endfor
    }
% for number, stage in enumerate(stages):
% if number:
    // what the row's lanes have found, they now read
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
% endif
    {
% for e in stage:
% for c in range(chains_of(e)):
% for w in range(accumulators_of(e)):
    acc_t${e.suffix} ${acc_of(e, w, c)} = acc_identity${e.suffix}();
% endfor
% endfor
% endfor
    for (${I} row = row_first; row < row_last; ++row) {
% for s in operands:
      ${I} ${s.base} = ${s.name}kept;
% endfor
% if reduced_rank > 1:
      {
        ${I} number = row;
        ${decode('r', 'number', reduced_rank, operands, 1)}
      }
% endif
% if products:
${blocks.run([f'acc0_{c}' for c in range(chains_of(members[0]))], 1, lambda y: operands, pairs)}
% else:
      ${I} at = first;
      for (; at + ${of_lanes(V * X)} ${within} last; at += ${of_lanes(V * X)}) {
% for x in range(X):
        const ${I} j${x} = at + ${of_lanes(x * V)} + lane * ${V};
% for s in operands:
        ${access.load(s, s.base, f'j{x}', f'_{x}')}
% endfor
% endfor
% for e in stage:
% if enters_in_blocks(e):
<% count = accumulators_of(e) %>
${states.enter(e.m, [(acc_of(e, a, 0), ', '.join(entering(w, f'_{x}', e) for x in range(X) for w in range(a, parts, count))) for a in range(count)], 'fast_block', capture(one_by_one, e), e.suffix)}
% else:
% for x in range(X):
% for w in range(parts):
        ${enter(e, acc_of(e, w, x % chains_of(e)), f'_{x}', w)}
% endfor
% endfor
% endif
% endfor
      }
      for (; at < last; at += ${of_lanes(V)}) {
        const ${I} j = at + lane * ${V};
        const int count = max((${I})0, min((${I})${V}, (${I})(last - j)));
        if (${whole('j', 'last')}) {
% for s in operands:
          ${access.load(s, s.base, 'j')}
% endfor
% for e in stage:
% for w in range(parts):
          ${enter(e, acc_of(e, w, 0), '', w)}
% endfor
% endfor
        } else if (count > 0) {
% if d.width > 1 and not pairs:
          const bool ample = last - first >= ${V};
          ${access.load_end(operands, 'ample', f'last - {V}', 'j', 'count')}
% else:
% for s in operands:
          ${access.load_partial(s, s.base, 'j', 'count')}
% endfor
% endif
% for e in stage:
          ${enter_partial(e, lambda w, c: acc_of(e, w, c), 'count', 0, f'(ample ? {e.m.lanes_from(f"{V} - count")} : {e.m.lanes_below("count")})' if d.width > 1 and not pairs else '')}
% endfor
        }
      }
% endif
    }
% for e in stage:
    state_t${e.suffix} state${e.tag} = \
% if d.width == 1:
${acc_of(e, 0, 0)};
% for w in range(1, accumulators_of(e)):
    state${e.tag} = combine${e.suffix}(state${e.tag}, ${acc_of(e, w, 0)});
% endfor
% elif e.m.joins:
fold_lanes${e.suffix}(${joined(e, [acc_of(e, 0, c) for c in range(chains_of(e))])});
% else:
fold_lanes${e.suffix}(${acc_of(e, 0, 0)});
% for c in range(1, chains_of(e)):
    state${e.tag} = combine${e.suffix}(state${e.tag}, fold_lanes${e.suffix}(${acc_of(e, 0, c)}));
% endfor
% endif
    ${tree(e, f'state{e.tag}')}
% endfor
% if last:
    if (lane == 0 && active) {
% for e in stage:
      ${keep(e, f'state{e.tag}', 'output')}
% endfor
    }
    ${wholes.last_of_block()}
    if (last_group) {
% for e in stage:
    ${gather_parts(e, f'state{e.tag}', 'output', 'active')}
    ${tree(e, f'state{e.tag}')}
% endfor
    }
% endif
    if (lane == 0 && active${' && last_group' if last else ''}) {
% if final:
      const ${I} ${out.base} = ${out.name}kept;
% endif
% for e in stage:
      ${write(e, f'state{e.tag}', 'output')}
% endfor
    }
    }
% endfor
% if mapped is not None:
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    ${wholes.map_row(decode)}
% endif
% else:
    const ${I} across = ((${I})k0 + ${of_side(V * strip)} - 1) / (${of_side(V * strip)});
    const ${I} first = (block % across) * ${of_side(V * strip)} + beside * ${V * strip if spread == 1 else 1};
    const ${I} outer = block / across;
% if partial:
    const ${I} row_first = part * (${I})rows_per_part;
    const ${I} row_last = min((${I})(row_first + rows_per_part), (${I})rows);
% else:
    const ${I} row_first = 0, row_last = rows;
% endif
    const ${I} left = max((${I})0, min((${I})${V * strip}, (${I})((k0 - first + ${apart} - 1) / ${apart})));
% if overlap:
    // the last vector of outputs ends with the last of them, and has some of the one before again, to the same bits
    const int full = left < ${V} ? 0 : (left + ${V - 1}) / ${V}, rest = full ? 0 : left;
    const ${I} most = max((${I})0, left - ${V});
% else:
    const int full = max((${I})0, (${I})(left - ${1 if pairs else 0})) / ${V}, rest = left - full * ${V};
% endif
% for s in all_operands:
    ${I} ${s.name}kept = ${s.start if s.access == 'index' else '0'};
% endfor
    {
      ${I} number = outer;
% for s in all_operands:
      ${I} ${s.base} = 0;
% endfor
      ${decode('k', 'number', kept_rank, all_operands, 1)}
% for s in all_operands:
      ${s.name}kept += ${s.base};
% endfor
    }
% for e in members:
    acc_t${e.suffix} acc${e.tag}[${strip * parts}];
    for (int v = 0; v ${f'* {V} < left' if d.width > 1 else f'< {strip * parts}'}; ++v) acc${e.tag}[v] = acc_identity${e.suffix}();
% endfor
    ${I} row = row_first + lane;
% if products:
${blocks.down(decode, place)}
% else:
${walking.down(decode, place, enter, enter_partial, entering, enters_in_blocks)}
% endif
% if final:
    const ${I} ${out.base} = ${out.name}kept;
% endif
% if d.width > 1:
% if partial or wide:
    for (int v = 0; ${'v < full' if overlap else f'v * {V} + {V} <= left'}; ++v) {
      const ${I} column = first + ${place('v')};
% for e in members:
% if partial:
% for n, dt in e.m.components:
      vstore${V}(acc${e.tag}[v].${n}, 0, q${e.tag}_${n} + (long)part * outputs + outer * k0 + column);
% endfor
% else:
      {
        const ${e.out.type} y_0 = ${e.wide_epilogue.call(f'finish_wide{e.suffix}(acc{e.tag}[v])')};
        ${access.store(e.out, out.base, 'column', 'y')}
      }
% endif
% endfor
    }
% endif
<% begun = f'(full ? left : 0)' if overlap else f'left - left % {V}' %>
    for (int l = ${begun if partial or wide else '0'}; l < left; ++l) {
      const ${I} column = first + l;
% for e in members:
      const state_t${e.suffix} state${e.tag} = take_lane${e.suffix}(acc${e.tag}[l / ${V}], l - (${capture(place, f'(l / {V})')}));
      ${write(e, f'state{e.tag}', 'outer * k0 + column', 'column')}
% endfor
    }
% elif strip > 1:
    for (int l = 0; l < left; ++l) {
      const ${I} column = first + l;
% for e in members:
      const state_t${e.suffix} state${e.tag} = acc${e.tag}[l];
      ${write(e, f'state{e.tag}', 'outer * k0 + column', 'column')}
% endfor
    }
% else:
% for e in members:
% for w in range(strip * parts):
    state_t${e.suffix} state${e.tag}_${w} = acc${e.tag}[${w}];
    ${tree(e, f'state{e.tag}_{w}')}
% endfor
% if not final:
    if (lane == 0) {
% for w in range(strip * parts):
      if (${w} < left) { ${write(e, f'state{e.tag}_{w}', f'outer * k0 + first + {w} * {apart}')} }
% endfor
    }
% else:
    if (lane == 0 && first + ${strip * parts - 1} * ${apart} < k0) {
% for w in range(strip * parts):
      const ${e.out.lane} y_${w} = ${e.epilogue.call(f'finish{e.suffix}(state{e.tag}_{w})')};
% endfor
      ${access.store(e.out, out.base, 'first', 'y')}
    } else if (lane == 0) {
% for w in range(strip * parts):
      if (${w} < left) { ${write(e, f'state{e.tag}_{w}', '', f'first + {w} * {apart}')} }
% endfor
    }
% endif
% endfor
% endif
% endif
  }
}
