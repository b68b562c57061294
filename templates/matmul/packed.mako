## Product of packed matrices: a work-item computes blocks of c, panel by panel, in registers.
##
##                    columns:   P vectors of V          sum of ${'{'}rows x P{'}'} vectors stays in registers for `depth` steps of k
##                  +-----------+
##               k  | b panel   |      the b panel stays in the first-level cache while all a panels of the block pass,
##                  +-----------+      the block's a panels in the second-level cache while all b panels pass
##      k
##    +---+         +-----------+
##    | a | R rows  |    sum    |
##    +---+         +-----------+
<%
  N = V * P
  parts = ('r', 'i') if complex_ else ('',)
  wide = 2 if complex_ else 1

  def name(part, i, j):
      return f's{part}{i}_{j}'
%>
<%def name="stored(lane, at)" filter="trim">
% if packed:
${packed.store.format(v=lane, at=at, p='cp')}
% elif kind == 'b':
cp[${at}] = (uchar)((k0 > from && cp[${at}] != 0) || ${lane} != 0);
% else:
cp[${at}] = (${c_type})(k0 > from ? (${S})cp[${at}] + ${lane} : ${lane});
% endif
</%def>
${mac}
ATTR __kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void matmul_packed(${', '.join(params)}) {
  const long a_panels = (m + ${R - 1}) / ${R}, b_panels = (n + ${N - 1}) / ${N};
  long group = get_group_id(0);
  const long down = (a_panels + block_rows - 1) / block_rows, across = (b_panels + block_columns - 1) / block_columns;
  const long row_block = group % down; group /= down;
  const long column_block = group % across; group /= across;
  const long part = group % parts; group /= parts;
  const long matrix = group;
  long a_matrix = 0, b_matrix = 0;
% for axis in range(rank):
  { const long c = group % batch${axis}; group /= batch${axis}; a_matrix += c * am${axis}; b_matrix += c * bm${axis}; }
% endfor
  const long row_end = min(a_panels, (row_block + 1) * block_rows);
  const long column_end = min(b_panels, (column_block + 1) * block_columns);
  const long from = part * part_depth, to = min(k, from + part_depth);
  co += (part * matrices + matrix) * m * n;
  for (long k0 = from; k0 < to; k0 += depth) {
    const int steps = min(to - k0, depth);
    for (long column = column_block * block_columns; column < column_end; ++column) {
      __global const ${T} *panel = bp + ((b_matrix * b_panels + column) * k + k0) * ${P * wide};
      for (long row = row_block * block_rows; row < row_end; ++row) {
        __global const ${T} *b = panel;
        __global const ${S} *a = ap + ((a_matrix * a_panels + row) * k + k0) * ${R * wide};
% for part in parts:
        ${T} ${', '.join(f'{name(part, i, j)} = 0' for i in range(R) for j in range(P))};
% endfor
        for (int step = 0; step < steps; ++step, a += ${R * wide}, b += ${P * wide}) {
% for j in range(P * wide):
          const ${T} b${j} = b[${j}];
% endfor
% for i in range(R):
          {
% if complex_:
            const ${T} x = (${T})(a[${i}]), y = (${T})(a[${R + i}]);
% for j in range(P):
            ${name('r', i, j)} = MAC(-y, b${P + j}, MAC(x, b${j}, ${name('r', i, j)}));
            ${name('i', i, j)} = MAC(y, b${j}, MAC(x, b${P + j}, ${name('i', i, j)}));
% endfor
% else:
            const ${T} x = (${T})(a[${i}]);
% for j in range(P):
            ${name('', i, j)} = MAC(x, b${j}, ${name('', i, j)});
% endfor
% endif
          }
% endfor
        }
        const long left = m - row * ${R}, there = n - column * ${N};
        const long at = co + row * ${R} * n + column * ${N};
% if direct:
        if (there >= ${N}) {
% for i in range(R):
          if (left > ${i}) {
            __global ${S} *c = (__global ${S}*)(cp + at + ${i} * n);
% for j in range(P):
            vstore${V}(k0 > from ? ADD(vload${V}(${j}, c), ${name('', i, j)}) : ${name('', i, j)}, ${j}, c);
% endfor
          }
% endfor
        } else
% endif
        {
          ${S} lanes[${wide * R * N}];
% for i in range(R):
% for j in range(P):
% for number, part in enumerate(parts):
          vstore${V}(${name(part, i, j)}, ${(number * R + i) * P + j}, lanes);
% endfor
% endfor
% endfor
          for (int i = 0; i < min(left, (long)${R}); ++i)
            for (int l = 0; l < min(there, (long)${N}); ++l) {
% if complex_:
              const ${c_type} v = (${c_type})(lanes[i * ${N} + l], lanes[(${R} + i) * ${N} + l]);
              cp[at + i * n + l] = k0 > from ? cp[at + i * n + l] + v : v;
% else:
              ${stored(f'lanes[i * {N} + l]', 'at + i * n + l')}
% endif
            }
        }
      }
    }
  }
}
