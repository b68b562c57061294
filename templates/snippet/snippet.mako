## A snippet as a kernel of its own: LOAD of every input, the user's function, a STORE of every output.
##
##   row 0 |<- segment ->|<- segment ->|<- rest ->|     CPU: unit u is segment u % segments of row u / segments
##   row 1 |<- segment ->| ...                          GPU: it is one element, neighbours side by side
##
## Arrays that are passed whole are pointers, moved to their first element; their sizes go with them.
<%namespace name="access" file="/lib/access.mako" inheritable="True"/>
<%namespace name="lines" file="/lib/lines.mako"/>
ATTR __kernel __attribute__((reqd_work_group_size(${policy.work_group}, 1, 1)))
void snippet(${', '.join(params)}) {
  ${access.prologue(everyone, prepare, [(f'{name}p', f'{name}o') for name in whole])}
% if policy.chunked:
  const ${I} segments = (k0 + ${segment - 1}) / ${segment};
  ${lines.units('u', 'rows * segments', policy)}
    ${I} row = u / segments;
    const ${I} first = (u - (long)row * segments) * ${segment};
    const ${I} last = min((${I})(first + ${segment}), (${I})k0);
% else:
  const ${I} total = rows * k0;
  for (${I} u = get_global_id(0); u < total; u += get_global_size(0)) {
% if rank > 1:
    ${I} row = u / k0;
    const ${I} j = u - row * k0;
% else:
    const ${I} row = 0, j = u;
% endif
% endif
    ${access.bases(I, everyone)}
${lines.move(I, [s.name for s in everyone], 'k', 'row', rank, 1)}
% if policy.chunked:
    for (${I} j = first; j < last; ++j) {
% else:
    {
% endif
% for s in operands:
      ${access.load(s, s.base, 'j')}
% endfor
% for line in call:
      ${line}
% endfor
% for o in outs:
      ${access.store_element(o, o.base, 'j', f'{o.name}_0')}
% endfor
    }
  }
}
