## Matrix product through local memory: a work-group computes a tile of c, each of its work-items a few rows and
## columns of the tile in registers.
##
##              columns n ->                    one step along k, D deep:
##            +-----+--[N]--+
##          D |  b          |     a[k .. k+D) x [M rows] and b[k .. k+D) x [N columns] go to local memory, the next
##            +-----+-------+     step's into the other half of it while this one's are multiplied
##      D
##    +---+   +-----+-------+
##  m |   |   |     |       |     work-item (x, y) has rows    y*L .. y*L+L, and again every M / (item rows / L)
##  [M]   |   |     |[tile] |                     and columns x*L .. x*L+L, and again every N / (item columns / L)
##    |   |   |     |       |     so that neighbours read neighbouring vectors of L elements of local memory
##    +---+   +-----+-------+
##
## Rows of local memory lie L elements further apart than they are long; or where vectors were loaded along k, which are
## stored down columns, each is turned (`TURNED`), by as much as the banks need.
##
## Every `depth` elements of k the sum is added to a second one, in registers or in c itself: it bounds the error of long sums.
##
## An `update` subtracts the product from what is there, rows of `cs` elements apart; `lower`: only tiles that touch the
## lower triangle are. Or it is scaled: c = alpha * a @ b + beta * d, where d is not read if beta is zero; and `mirrored`:
## c is Hermitian, and the tiles that touch its lower triangle store what lies above it, too.
<%namespace name="operands" file="operands.mako" inheritable="True"/>
<%
  tx, ty = t.columns // t.item_columns, t.rows // t.item_rows
  bx, by = min(8, tx), min(4, ty)
  wv = f'{W}{L}' if L > 1 else W
  def turn(o):
      """How far rows of local memory are turned (by exclusive or), and in how many ways: then vectors that were loaded
      along k, and are stored down columns, go to banks of their own."""
      banks = min(128 // itemsize, o.side, (ty if o.name == 'a' else tx) * L)
      far = max(L, banks // (t.depth // o.lanes))
      return (far, banks // far) if L > 1 and o.lanes > 1 and not o.along and far < banks else None
  def row(o):
      """Elements from one row of local memory to the next."""
      return o.side + (0 if L == 1 or turn(o) else L)
%>
% for o in (a, b):
<% far, ways = turn(o) or (0, 0) %>
#define TURNED_${o.name}(i, d) ${f'((i) ^ (d) / {o.lanes} % {ways} * {far})' if far else '(i)'}
% endfor
<%def name="keep(o, half)">
<% place = lambda q, lane=0: f'{o.name}l[({half}) + ({o.name}d{q} + {lane}) * {row(o)} + TURNED_{o.name}({o.name}i{q}, {o.name}d{q})]' %>
% for q in range(o.loads):
% if o.lanes > 1 and o.along:
      *(__local ${W}${o.lanes}*)&${place(q)} = ${o.name}r${q};
% elif o.lanes > 1:
% for l in range(o.lanes):
      ${place(q, l)} = ${o.name}r${q}.s${l};
% endfor
% else:
      ${place(q)} = ${o.name}r${q};
% endif
% endfor
</%def>
## A vector of what a work-item multiplies at depth d. NVIDIA's compiler makes the best of the sum in this order: with
## pointers to where it begins the product takes 2 to 3 % longer.
<%def name="taken(o, number, apart, place)" filter="trim">
${get(f'{o.name}l + half_ * {t.depth * row(o)} + d * {row(o)} + {number} * {apart * L} + TURNED_{o.name}({place} * {L}, d)')}
</%def>
<%def name="get(text)" filter="trim">
% if L > 1:
*(__local const ${wv}*)(${text})
% else:
*(${text})
% endif
</%def>
${mac}
ATTR __kernel __attribute__((reqd_work_group_size(${items}, 1, 1)))
void matmul(${', '.join(params)}) {
% for o in (a, b):
  __local ${W} ${o.name}l[${2 * t.depth * row(o)}] __attribute__((aligned(16)));
% endfor
  const int item = get_local_id(0);
  const int x = item / ${bx * by} % ${tx // bx} * ${bx} + item % ${bx};
  const int y = item / ${bx * by} / ${tx // bx} * ${by} + item / ${bx} % ${by};
${operands.which()}
  const long step_a = ${t.depth} * ak, step_b = ${t.depth} * bk;
${operands.place(a)}
${operands.place(b)}
% for o in (a, b):
  ${W}${o.lanes if o.lanes > 1 else ''} ${', '.join(f'{o.name}r{q}' for q in range(o.loads))};
% endfor
  ${wv} sum[${t.item_rows}][${t.item_columns // L}];
  ${clear('sum')}
% if total:
  ${wv} total[${t.item_rows}][${t.item_columns // L}];
  ${clear('total')}
% endif
${operands.waiting('from', True)}
${keep(a, '0')}
${keep(b, '0')}
  barrier(CLK_LOCAL_MEM_FENCE);
  int half_ = 0;
  bool first = true;
  long flush = from + depth;
  for (long at = from + ${t.depth}; ; at += ${t.depth}) {
    const bool more = at < to;
${operands.waiting('at')}
    #pragma unroll
    for (int d = 0; d < ${t.depth}; ++d) {
      ${wv} av[${t.item_rows // L}], bv[${t.item_columns // L}];
      #pragma unroll
      for (int i = 0; i < ${t.item_rows // L}; ++i) av[i] = ${taken(a, 'i', ty, 'y')};
      #pragma unroll
      for (int j = 0; j < ${t.item_columns // L}; ++j) bv[j] = ${taken(b, 'j', tx, 'x')};
      #pragma unroll
      for (int i = 0; i < ${t.item_rows // L}; ++i)
        #pragma unroll
        for (int j = 0; j < ${t.item_columns // L}; ++j) {
% if L > 1:
% for l in range(L):
          sum[i * ${L} + ${l}][j] = MAC((${wv})(av[i].s${l}), bv[j], sum[i * ${L} + ${l}][j]);
% endfor
% else:
          sum[i][j] = MAC(av[i], bv[j], sum[i][j]);
% endif
        }
    }
    if (at >= flush || !more) {
% if total:
      ${each('total[i][j] = ADD(total[i][j], sum[i][j]);')}
% else:
${put('sum')}
      first = false;
% endif
      ${clear('sum')}
      flush += depth;
    }
    if (!more) break;
    half_ ^= 1;
${keep(a, f'half_ * {t.depth * row(a)}')}
${keep(b, f'half_ * {t.depth * row(b)}')}
    barrier(CLK_LOCAL_MEM_FENCE);
  }
% if update and update.scaled:
${scale()}
% endif
% if update and update.mirrored:
${put_mirrored()}
% elif total:
${put('total')}
% endif
}
<%def name="each(text)" filter="trim">
#pragma unroll
  for (int i = 0; i < ${t.item_rows}; ++i)
    #pragma unroll
    for (int j = 0; j < ${t.item_columns // L}; ++j) ${text}
</%def>
<%def name="clear(what)" filter="trim">
${each(f'{what}[i][j] = ({wv})(0);')}
</%def>
## alpha * total + beta * d, in registers
<%def name="scale()">
  ${each('total[i][j] *= alpha;')}
  if (beta != 0) {
    #pragma unroll
    for (int i = 0; i < ${t.item_rows}; ++i) {
      const long row = am_first + i / ${L} * ${ty * L} + y * ${L} + i % ${L};
      #pragma unroll
      for (int j = 0; j < ${t.item_columns // L}; ++j) {
        const long column = bn_first + j * ${tx * L} + x * ${L};
        if (row < stored) {
          __global const ${W} *from_ = dp + d_o + row * ds + column;
% if c_vectors:
          if (column < n) total[i][j] += beta * *(__global const ${wv}*)from_;
% else:
% for l in range(L):
          if (column + ${l} < n) total[i][j]${f'.s{l}' if L > 1 else ''} += beta * from_[${l}];
% endfor
% endif
        }
      }
    }
  }
</%def>
<%def name="put_mirrored()">
  const bool below = am_first >= bn_first + ${t.columns};
  #pragma unroll
  for (int i = 0; i < ${t.item_rows}; i += ${L}) {
    const long row = am_first + i / ${L} * ${ty * L} + y * ${L};
    #pragma unroll
    for (int j = 0; j < ${t.item_columns // L}; ++j) {
      const long column = bn_first + j * ${tx * L} + x * ${L};
% if c_vectors:
      if (below) {
        if (row < stored && column < n) {
% for l in range(L):
          *(__global ${wv}*)(cp + co + (row + ${l}) * cs + column) = total[i + ${l}][j];
          *(__global ${wv}*)(cp + co + (column + ${l}) * cs + row) = (${wv})(${', '.join(f'total[i + {r}][j].s{l}' for r in range(L))});
% endfor
        }
        continue;
      }
% endif
% for r in range(L):
% for l in range(L):
<% v = f'total[i + {r}][j]' + (f'.s{l}' if L > 1 else '') %>
      if (row + ${r} < stored && column + ${l} <= row + ${r}) {
        cp[co + (row + ${r}) * cs + column + ${l}] = ${f'column < row ? {v} : ({W})({v}.x, 0)' if complex_ else v};
        if (column + ${l} < row + ${r}) cp[co + (column + ${l}) * cs + row + ${r}] = ${f'({W})({v}.x, -{v}.y)' if complex_ else v};
      }
% endfor
% endfor
    }
  }
</%def>
<%def name="put(what)">
    #pragma unroll
    for (int i = 0; i < ${t.item_rows}; ++i) {
      const long row = am_first + i / ${L} * ${ty * L} + y * ${L} + i % ${L};
      #pragma unroll
      for (int j = 0; j < ${t.item_columns // L}; ++j) {
        const long column = bn_first + j * ${tx * L} + x * ${L};
        if (row < stored) {
          const long place = co + row * ${'cs' if update else 'n'} + column;
% if c_vectors:
          if (column < n) {
            __global ${wv} *to_ = (__global ${wv}*)(cp + place);
% if update and update.scaled:
            *to_ = ${what}[i][j];
% elif update:
            *to_ -= ${what}[i][j];
% else:
            *to_ = first ? ${what}[i][j] : ADD(*to_, ${what}[i][j]);
% endif
          }
% else:
% for l in range(L):
          if (column + ${l} < n) { ${store(c, f'place + {l}', f'{what}[i][j].s{l}' if L > 1 else f'{what}[i][j]')} }
% endfor
% endif
        }
      }
    }
</%def>
<%def name="store(o, at, v)" filter="trim">
% if o.packed:
${o.packed.store.format(v=v, at=at, p='cp')}
% elif update and update.scaled:
cp[${at}] = ${v};
% elif update:
cp[${at}] -= ${v};
% elif o.dtype_kind == 'b':
cp[${at}] = (uchar)((!first && cp[${at}] != 0) || ${v} != 0);
% elif complex_:
cp[${at}] = first ? ${v} : cp[${at}] + ${v};
% else:
cp[${at}] = (${o.type})(first ? ${v} : (${W})cp[${at}] + ${v});
% endif
</%def>
