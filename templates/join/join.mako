## Join: rows that are put together from rows of several contiguous arrays, elements moved as plain bits.
##
##   y   row 0 | part 0 | part 1 | ... | row 1 | part 0 | ...      `length` elements of every `pitch`
##             e0       e1       e2                                where each part ends
##
## On a CPU a work-item copies its chunk part by part; on a GPU it takes `V` neighbours of a row.
<%namespace name="lines" file="/lib/lines.mako"/>
<%namespace name="runs" file="/lib/runs.mako"/>
<%
    parts = range(count)
%>
typedef ${I} I;
typedef ${storage} T;
## Of the part that position q of a row is in: its pointer at the row's start, and where it begins and ends.
<%def name="find(row, q)">
      const int k = ${' + '.join(f'({q} >= e{k})' for k in parts[:-1])};
      const I from = ${''.join(f'k == {k} ? e{k - 1} : ' for k in parts[1:])}0;
      const I to = ${''.join(f'k == {k} ? e{k} : ' for k in parts[:-1])}e${count - 1};
      __global const T *z = ${''.join(f'k == {k} ? z{k} + o{k} : ' for k in parts[:-1])}z${count - 1} + o${count - 1};
      z += ${row} * (to - from) - from;
</%def>
% if policy.chunked:
${runs.copying(V, storage, stream)}
% endif
ATTR __kernel __attribute__((reqd_work_group_size(${policy.work_group}, 1, 1)))
void join(${', '.join(params)}) {
  yp += yo;
  const I length = e${count - 1};
% if policy.chunked and single:
  const long group = get_group_id(0), groups = get_num_groups(0);
  const long last = length * (group + 1) / groups;
  I q = length * group / groups;
  while (q < last) {
    ${find('0', 'q')}
    const I n = min(to, (I)last) - q;
    copy_run(yp + q, z + q, 1, n);
    q += n;
  }
% elif policy.chunked:
  ## some rows at a time, so that the lines of the cache that the parts share are written once
  const long group = get_group_id(0), groups = get_num_groups(0), last = rows * (group + 1) / groups;
  for (long r0 = rows * group / groups; r0 < last; r0 += ${block}) {
    const long r1 = min(r0 + ${block}, last);
% for k in parts:
    {
      const I from = ${f'e{k - 1}' if k else '0'}, n = e${k} - from;
      __global T *y = yp + from;
      __global const T *z = z${k} + o${k};
      if (n == 1) { for (long r = r0; r < r1; ++r) y[r * pitch] = z[r]; }
      else { for (long r = r0; r < r1; ++r) copy_run(y + r * pitch, z + r * n, 1, n); }
    }
% endfor
  }
% else:
  const long size = rows * length;
  ${lines.units('u', f'(size + {V - 1}) / {V}', policy)}
    const long p = u * ${V};
    const int m = (int)min((long)${V}, size - p);
% if single:
    I row = 0, q = (I)p;
% else:
    I row = (I)p / length;
    I q = (I)p - row * length;
% endif
    const I y_0 = row * pitch + q;
    T ${', '.join(f'v_{w} = (T)(0)' for w in range(V))};
% if V > 1 and not whole:
    I ${', '.join(f'y_{w} = y_0 + {w}' for w in range(1, V))};
% endif
    ${find('row', 'q')}
    if (q + ${V} <= to) {
% for w in range(V):
      v_${w} = z[q + ${w}];
% endfor
    } else {
      v_0 = z[q];
% for w in range(1, V):
      if (++q == length) { q = 0; ++row; }
      if (${w} < m) {
        ${find('row', 'q')}
        v_${w} = z[q];
% if not whole:
        y_${w} = row * pitch + q;
% endif
      }
% endfor
    }
% if V > 1 and whole:
    if (m == ${V}) *(__global ${storage}${V}*)(yp + y_0) = (${storage}${V})(${', '.join(f'v_{w}' for w in range(V))});
    else {
% for w in range(V - 1):
      if (${w} < m) yp[y_0 + ${w}] = v_${w};
% endfor
    }
% else:
% for w in range(V):
    ${f'if ({w} < m) ' if w else ''}yp[y_${w}] = v_${w};
% endfor
% endif
  }
% endif
}
