## Join: rows that are put together from rows of several contiguous arrays, elements moved as plain bits.
##
##   y   row 0 | part 0 | part 1 | ... | row 1 | part 0 | ...      `length` elements of every `pitch`
##             e0       e1       e2                                where each part ends
##
## On a CPU a work-item walks its chunk run by run; on a GPU it takes `V` neighbours of a row.
<%namespace name="lines" file="/lib/lines.mako"/>
<%namespace name="runs" file="/lib/runs.mako"/>
<% parts = range(count) %>
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
% if policy.chunked:
  const long group = get_group_id(0), groups = get_num_groups(0), size = rows * length;
  const long last = size * (group + 1) / groups;
  long p = size * group / groups;
  I row = p / length, q = p - row * length;
  while (p < last) {
    ${find('row', 'q')}
    const long n = min((long)(to - q), last - p);
    copy_run(yp + row * pitch + q, z + q, 1, n);
    p += n;
    q += n;
    if (q == length) { q = 0; ++row; }
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
