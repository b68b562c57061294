## A block of panels is done. The rows that each has exchanged are exchanged in the panels before it too, a column to a
## work-item, and what all have exchanged is told as one exchange of the block's rows.
##
##      +----+----+----+      `ints` as in panel.mako: at 2 p of panels from column p on, each `comes` and `goes` of
##      | L  |    |    |      ${width}; from 2 * ${block} on `comes` and `goes` of the block, of ${block}.
##      |  ->| L  |    |
##      |  -----> | L  |
<%namespace name="numbers" file="/small_matrices/numbers.mako" inheritable="True"/>
<%namespace name="displaced" file="displaced.mako"/>
${numbers.define()}
ATTR __kernel __attribute__((reqd_work_group_size(${items}, 1, 1)))
void exchange(${', '.join(params)}) {
  const int column = get_global_id(0), panels = (columns + ${width - 1}) / ${width};
  if (column >= columns) return;
  __global int *moves = ip + io + ${ints}, *block = moves + ${2 * block};
  int from = column, to = column;
  for (int p = panels - 1; p >= 0; --p) {
${panel()}
    const int at = from - first;
    if (at >= 0 && at < size) from = first + comes[at];
    else if (at >= 0)
      for (int i = 0; i < size; ++i)
        if (goes[i] == at) from = first + i;
  }
  for (int p = 0; p < panels; ++p) {
${panel()}
    const int at = to - first;
    if (at >= 0 && at < size && goes[at] >= 0) to = first + goes[at];
    else if (at >= 0)
      for (int i = 0; i < size; ++i)
        if (comes[i] == at) to = first + i;
  }
  block[column] = from;
  block[${block} + column] = to < columns ? -1 : to;
  for (int p = column / ${width} + 1; p < panels; ++p) {
${panel()}
    __global E *line = wp + wo + column * pitch + first;
    E x[${width}];
    #pragma unroll
    for (int i = 0; i < ${width}; ++i)
      if (i < size) x[i] = line[comes[i]];
${displaced.put('line', width)}
    #pragma unroll
    for (int i = 0; i < ${width}; ++i)
      if (i < size) line[i] = x[i];
  }
}

<%def name="panel()" filter="trim">
    const int first = p * ${width}, size = min(${width}, columns - first);
    __global const int *comes = moves + 2 * first, *goes = comes + ${width};
</%def>
