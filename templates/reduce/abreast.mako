## Rows of a reduction that a work-item goes along at once, `abreast` of them: a task is a block of outputs. What all rows read is
## read as the first one's, so that the compiler loads and converts it once. Where fewer rows are left the last one is summed again.
<%namespace name="access" file="/lib/access.mako" inheritable="True"/>
<%namespace name="blocks" file="/reduce/products.mako"/>
<%namespace name="states" file="/lib/accumulators.mako"/>
<%def name="rows(enter, enter_partial, decode, write, entering)">
<%
  carried = m.carries and (not masked or m.absorbs)
  in_all = common
  def at_rows(operands, y, suffix=''):
      return [at_row(s, f'{y}{suffix}') for s in operands]
  def row_operands(y):
      """The operands of a row abreast: what is the same in all rows is read as the first row's."""
      return [at_row(s, 0 if s.name in in_all else y) for s in operands]
  ahead = policy.prefetch_bytes if d.clang else 0
  fetched = [s.name for s in operands if ahead and s.access == 'unit' and s.name not in in_all]
%>
% for s in (s for s in operands if s.name in fetched):
    // a processor foresees how a row goes on, but not where ${rows_per_item} short ones end: a whole number of such blocks ahead,
    // unless all rows are in its caches
    const ${I} ${s.name}block = r0 * ${rows_per_item * s.dtype.itemsize};
    const ${I} ${s.name}ahead = ${s.name}block > ${4 * ahead} || outputs * r0 < ${512 * ahead // s.dtype.itemsize} ? 0
        : ${s.name}k0 * ${rows_per_item} * max((${I})1, ${ahead} / max((${I})1, ${s.name}block));
% endfor
    const ${I} output = block * ${rows_per_item}, first = 0, last = r0;
% for y in range(rows_per_item):
% for s in at_rows(all_operands, y, 'kept'):
    ${I} ${s.base} = ${s.start if s.access == 'index' else '0'};
% endfor
    {
      ${I} number = ${f'min(output + {y}, (({I})outputs - 1))' if y else 'output'};
      ${decode('k', 'number', kept_rank, at_rows(all_operands, y, 'kept'))}
    }
    acc_t acc${y} = acc_identity();
% endfor
    for (${I} row = 0; row < rows; ++row) {
% for y in range(rows_per_item):
% for s in at_rows(operands, y):
      ${I} ${s.base} = ${s.base}kept;
% endfor
% if reduced_rank > 1:
      {
        ${I} number = row;
        ${decode('r', 'number', reduced_rank, at_rows(operands, y), 1)}
      }
% endif
% endfor
% if products:
${blocks.run([f'acc{y}' for y in range(rows_per_item)], rows_per_item, row_operands, False, fetched)}
% else:
      ${I} at = first;
      for (${I} stop = at; at + ${V} <= last; stop = at) {
        stop = min(stop + ${8 * V}, last);
        ${access.fetch(I, [row_operands(y) for y in range(rows_per_item)], fetched, 'at', 'stop')}
        for (; at + ${V} <= stop; at += ${V}) {
% for y in range(rows_per_item):
% for s in row_operands(y):
          ${access.load(s, s.base, 'at', f'_{y}')}
% endfor
% if not carried:
          ${enter(f'acc{y}', f'_{y}', 0)}
% endif
% endfor
% if carried:
${states.enter(m, [(f'acc{y}', entering(0, f'_{y}')) for y in range(rows_per_item)], 'fast', ' '.join(enter(f'acc{y}', f'_{y}', 0) for y in range(rows_per_item)))}
% endif
        }
      }
      if (at < last) {
        const int count = (int)(last - at);
        const bool ample = last - first >= ${V};
% for y in range(rows_per_item):
        {
          ${access.load_end(row_operands(y), 'ample', f'last - {V}', 'at', 'count')}
          ${enter_partial(lambda w, c: f'acc{y}', 'count', 0, f'(ample ? {m.lanes_from(f"{V} - count")} : {m.lanes_below("count")})')}
        }
% endfor
      }
% endif
    }
% for y in range(rows_per_item):
    if (output + ${y} < outputs) {
      const ${I} ${out.base} = ${at_row(out, y).base}kept;
      const state_t state = fold_lanes(acc${y});
      ${write('state', '')}
    }
% endfor
</%def>
