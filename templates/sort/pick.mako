## Elements of lines in the order of positions along them: y[line, i] = x[line, at[line, i]].
ATTR __kernel __attribute__((reqd_work_group_size(${policy.work_group}, 1, 1)))
void radix_pick(${', '.join(params)}) {
<%namespace name="lines" file="/lib/lines.mako"/>
  ${lines.units('i', 'total', policy)}
    y[i] = x[xo + i / n * n + at[i]];
  }
}
