## Scatter update: y[numbers[m]] = VALUE(y[numbers[m]], LOAD(m)) for m = 0, 1, 2 ... in this order; see scatter/plan.py.
##
## A target's number counts the chosen axes in C order. `columns` are the elements of the rest axes: each
## update is done for a block of them.
<%namespace name="access" file="/lib/access.mako" inheritable="True"/>
<%namespace name="lines" file="/lib/lines.mako"/>
<% sources = [s.name for s in inputs.operands] %>
${value.text}
ATTR __kernel __attribute__((reqd_work_group_size(${policy.work_group}, 1, 1)))
void scatter_update(${', '.join(params)}) {
  ${access.prologue([*inputs.operands, target], inputs.prepare)}
  ${lines.units('u', 'units', policy)}
    const long part = u / blocks, block = u - part * blocks;
    const long low = part * per_part, high = min(low + per_part, targets);
    const long first = block * per_block, last = min(first + per_block, columns);
    for (long some = 0; some < count; some += 8) {
      if (some + 8 <= count) {
        const long8 eight = vload8(0, numbers + some);
        if (!ca_some_long8((eight >= low) & (eight < high))) continue;
      }
      const long end = min(some + 8, count);
      for (long m = some; m < end; ++m) {
        long target = numbers[m];
        if (target < low || target >= high) continue;
        long yb = 0;
        ${lines.move('long', ['y'], 'e', 'target', chosen_rank)}
        const long y_start = yb;
        ${access.bases('long', inputs.operands)}
        {
          long position = m;
          ${lines.move('long', sources, 'm', 'position', list_rank)}
        }
% for name in sources:
        const long ${name}_start = ${name}b;
% endfor
        for (long c = first; c < last; ++c) {
          long column = c;
          yb = y_start;
% for name in sources:
          ${name}b = ${name}_start;
% endfor
          ${lines.move('long', [*sources, 'y'], 'r', 'column', rest_rank)}
% for s in inputs.operands:
          ${access.load(s, s.base, '0')}
% endfor
          const ${target.lane} y_0 = ${access.element(target, 'yb', '0')};
          const ${target.lane} z_0 = ${value.call(0)};
          ${access.store_element(target, 'yb', '0', 'z_0')}
        }
      }
    }
  }
}
