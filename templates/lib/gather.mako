## Gather: what gathers and scatters of CPUs and GPUs share.

## Check or bend a number into 0 .. bound - 1.
<%def name="resolve(k)">
% if mode == 'raise':
      if (${k} < 0) ${k} += bound;
      if (${k} < 0 || ${k} >= bound) { ${k} = 0; error[0] = 1; }
% elif mode == 'reversed':
      if (${k} < 0) ${k} += bound;
% elif mode == 'wrap':
      ${k} %= bound;
      if (${k} < 0) ${k} += bound;
% elif mode == 'clip':
      ${k} = ${k} < 0 ? 0 : ${k} >= bound ? bound - 1 : ${k};
% endif
</%def>
