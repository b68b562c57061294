## Range table: which of the values of a small range occur, or how often; see unique/plan_range_table.py.
##
##   memory   tables                              ranges
##            [group 0: slots][group 1: slots]    least and largest of group 0, of group 1 ...    CPU
##            [one for all]                       "                                               GPU
##
## A GPU's cell is a bit of a word, or a count. Setting a bit and counting are atomic and integers: the order that
## work-items come in does not show. A load of a bit may be stale, and the bit is then set again.
<%namespace name="access" file="/lib/access.mako" inheritable="True"/>
<%
  parts = V // d.width
  wg = policy.work_group
  X = policy.loads
  private = policy.chunked
  cell = 'uint' if counted or not private else 'uchar'
  cells = slots if counted or private else slots // 32
  mask = f'{slots - 1}u'
  wide = checked and d.width > 1
%>
<%def name="note(slot)" filter="trim">
% if private and counted:
table[${slot}] += 1;
% elif private:
table[${slot}] = 1;
% elif counted:
atomic_inc(table + ${slot});
% else:
{ const uint s = ${slot}, bit = 1u << (s & 31u); if (!(${atomic_load('table + (s >> 5)')} & bit)) atomic_or(table + (s >> 5), bit); }
% endif
</%def>
## The values of part `w` go into the table and the range; `count` of them, where that is given.
<%def name="enter(w, tag, count=None)">
{
% if d.width > 1:
  const ${wide_type} v = ${value.call(w, tag)};
  ${lane} lanes[${V}];
  vstore${V}(v, 0, lanes);
% if count is None:
% if checked:
  low = (v < low) ? v : low;
  high = (v > high) ? v : high;
% endif
% for l in range(V):
  ${note(f'((uint)lanes[{l}] & {mask})')}
% endfor
% else:
  for (int l = 0; l < ${count}; ++l) {
% if checked:
    least = lanes[l] < least ? lanes[l] : least;
    most = lanes[l] > most ? lanes[l] : most;
% endif
    ${note(f'((uint)lanes[l] & {mask})')}
  }
% endif
% else:
% if count is not None:
  if (${w} < ${count})
% endif
  {
    const ${lane} v = ${value.call(w, tag)};
% if checked:
    least = v < least ? v : least;
    most = v > most ? v : most;
% endif
    ${note(f'((uint)v & {mask})')}
  }
% endif
}
</%def>
<%def name="fold()">
% if wide:
{
  ${lane} lows[${V}], highs[${V}];
  vstore${V}(low, 0, lows);
  vstore${V}(high, 0, highs);
  for (int l = 0; l < ${V}; ++l) {
    least = lows[l] < least ? lows[l] : least;
    most = highs[l] > most ? highs[l] : most;
  }
}
% endif
</%def>
<%def name="too_far()" filter="trim">
least <= most && (${unsigned})most - (${unsigned})least >= ${slots}u
</%def>
${value.text}
ATTR __kernel __attribute__((reqd_work_group_size(${wg}, 1, 1)))
void range_table(${', '.join(params)}) {
  ${access.prologue(inputs.operands, inputs.prepare)}
  ${access.bases(I, inputs.operands, 'const ')}
  const long group = get_group_id(0), groups = get_num_groups(0);
% if private:
  __global ${cell} *table = (__global ${cell}*)memory + group * ${cells};
  for (int s = 0; s < ${cells}; ++s) table[s] = 0;
% else:
  const int item = get_local_id(0);
  __local uint table[${cells}];
  for (int s = item; s < ${cells}; s += ${wg}) table[s] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
% endif
% if checked:
  ${lane} least = ${largest}, most = ${smallest};
% if wide:
  ${wide_type} low = (${wide_type})(${largest}), high = (${wide_type})(${smallest});
% endif
% endif
% if private:
  const long last = n * (group + 1) / groups;
  for (long block = n * group / groups; block < last; block += ${block}) {
    const long end = min(block + ${block}, last);
    long j = block;
    for (; j + ${V} <= end; j += ${V}) {
% for s in inputs.operands:
      ${access.load(s, s.base, 'j')}
% endfor
% for w in range(parts):
      ${enter(w, '')}
% endfor
    }
    if (j < end) {
      const int count = end - j;
% for s in inputs.operands:
      ${access.load_partial(s, s.base, 'j', 'count')}
% endfor
% for w in range(parts):
      ${enter(w, '', 'count')}
% endfor
    }
% if checked:
    ${fold()}
    if (${too_far()}) break;
% endif
  }
% else:
  for (${I} at = (${I})group * ${wg * V * X}; at < n; at += (${I})groups * ${wg * V * X}) {
    if (at + ${wg * V * X} <= n) {
% for x in range(X):
      const ${I} j${x} = at + ${x * wg * V} + item * ${V};
% for s in inputs.operands:
      ${access.load(s, s.base, f'j{x}', f'_{x}')}
% endfor
% endfor
% for x in range(X):
% for w in range(parts):
      ${enter(w, f'_{x}')}
% endfor
% endfor
    } else {
      for (${I} j = at + item * ${V}; j < n; j += ${wg * V}) {
        const int count = min((${I})${V}, (${I})(n - j));
% for s in inputs.operands:
        ${access.load_partial(s, s.base, 'j', 'count')}
% endfor
% for w in range(parts):
        ${enter(w, '', 'count')}
% endfor
      }
    }
% if checked:
    ${fold()}
    if (${too_far()}) break;
% endif
  }
% endif
% if checked and private:
  ranges += ranges_at + 2 * group;
  ranges[0] = (long)least;
  ranges[1] = (long)most;
% elif checked:
  __local ${lane} leasts[${wg}], mosts[${wg}];
  leasts[item] = least;
  mosts[item] = most;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_ = ${wg // 2}; half_ > 0; half_ >>= 1) {
    if (item < half_) {
      const ${lane} low_ = leasts[item + half_], high_ = mosts[item + half_];
      least = low_ < least ? low_ : least;
      most = high_ > most ? high_ : most;
      leasts[item] = least;
      mosts[item] = most;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  least = leasts[0];
  most = mosts[0];
  if (item == 0) {
    ranges += ranges_at + 2 * group;
    ranges[0] = (long)least;
    ranges[1] = (long)most;
  }
  if (${too_far()}) return;  // for nothing: nobody will read the table
% endif
% if not private:
% if not checked:
  barrier(CLK_LOCAL_MEM_FENCE);
% endif
  __global uint *merged = (__global uint*)memory;
  for (int s = item; s < ${cells}; s += ${wg}) {
    const uint mine = table[s];
% if counted:
    if (mine) atomic_add(merged + s, mine);
% else:
    if (mine && mine & ~${atomic_load('merged + s')}) atomic_or(merged + s, mine);
% endif
  }
% endif
}
