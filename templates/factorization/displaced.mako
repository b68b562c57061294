## Rows of a line that pivots have displaced are put where they go, once those that come in their place have been read.
<%def name="put(line, rows)">
<% step = min(rows, 16) %>
% for first in range(0, rows, step):
  {
    E away[${step}];
    #pragma unroll
    for (int i = 0; i < ${step}; ++i)
      if (${first} + i < size && goes[${first} + i] >= 0) away[i] = (${line})[${first} + i];
    #pragma unroll
    for (int i = 0; i < ${step}; ++i)
      if (${first} + i < size && goes[${first} + i] >= 0) (${line})[goes[${first} + i]] = away[i];
  }
% endfor
</%def>
