## Lines sorted as one: the line of each position, and in the end the position along its line.
<%namespace name="lines" file="/lib/lines.mako"/>
ATTR __kernel __attribute__((reqd_work_group_size(${policy.work_group}, 1, 1)))
void radix_line_numbers(${', '.join(params)}) {
  ${lines.units('i', 'total', policy)}
    y[i] = (${out})(at[i] ${'%' if out == 'long' else '/'} n);
  }
}
