## Matrix product on tensor cores: the tile of c that a work-group computes is divided between its warps, whose 32
## work-items multiply small matrices together, by one instruction:
##
##              columns n ->                    a step along k, D deep, is in local memory, and the ones after it are on
##            +-----+--[N]--+                   their way: in registers, or past them (`cp.async`), as many as stages hold
##          D |  b          |
##            +-----+-------+                   instruction m16n8k8, work-item 4 g + t of a warp:
##      D                                         a: rows g, g + 8        columns t, t + 4       of 16 x 8
##    +---+   +-----+---+---+                     b: rows t, t + 4        column g               of  8 x 8
##  m |   |   |     |w0 |w1 |                     c: rows g, g + 8        columns 2 t, 2 t + 1   of 16 x 8
##  [M]   |   |     +---+---+                   and its like: 8 rows are the first of these only, 4 deep are columns t
##    |   |   |     |w2 |w3 |                   of a only, 16 deep t, t + 4, t + 8 and t + 12
##    +---+   +-----+---+---+
##
## Local memory: an element of a, or of b turned, at side i and depth d lies where its work-items take it from without two
## of a half-warp (g 0..3 or 4..7, t 0..3) in one of the sixteen banks of 8 bytes, and its vectors of two go there whole:
##
##   loaded along the side     [d][i ^ 4 (d % 4)]                          as many columns as the side has
##   loaded along k            [i][d ^ 4 (i / (16 / D) % (D / 4))]         as many columns as the step is deep; D of 16 at most
##
## What is multiplied next is taken from local memory to registers before what is multiplied now, also from one step to
## the next: after the barrier, by which a step's last elements are in registers, its stage is free, and no warp waits for
## local memory before it multiplies.
##
## Every `depth` elements of k the sum is added to a second one, in registers or in c itself, as in the tiled product. An
## `update` subtracts the product from what is there, or is scaled as there; then the second sum is in registers.
<%namespace name="operands" file="operands.mako" inheritable="True"/>
<%
  one = t.instruction
  high, deep = one.rows // 8, one.depth // 4
  down, right = t.warp_rows // one.rows, t.warp_columns // one.columns
  across = t.columns // t.warp_columns
  left, sets = high * deep, t.depth // one.depth  # of an instruction's elements, and how often it is done in a step
%>
% for o in (a, b):
% if o.along:
#define PLACE_${o.name}(i, d) ((d) * ${o.side} + ((i) ^ (((d) & 3) << 2)))
% else:
#define PLACE_${o.name}(i, d) ((i) * ${t.depth} + ((d) ^ (((i) / ${max(1, 16 // t.depth)} & ${min(t.depth, 16) // 4 - 1}) << 2)))
% endif
% endfor
% if one.emulated:
${emulated()}
% else:
<%
  sums, left, more = 2 * high, high * deep, deep
  numbered = lambda first, count: '{' + ', '.join(f'%{first + k}' for k in range(count)) + '}'
  text = ', '.join((numbered(0, sums), numbered(sums, left), numbered(sums + left, more), numbered(sums + left + more, sums)))
  given = ', '.join([*(f'"d"(a_[{k}])' for k in range(left)), *(f'"d"(b_[{k}])' for k in range(more)), *(f'"d"(c_[{k}])' for k in range(sums))])
%>
#define MULTIPLY(c_, a_, b_) asm volatile("mma.sync.aligned.${one.name}.row.col.f64.f64.f64.f64 ${text};" : ${', '.join(f'"=d"(c_[{k}])' for k in range(sums))} : ${given})
% endif
% if t.copied:
${copies()}
% endif
ATTR __kernel __attribute__((reqd_work_group_size(${items}, 1, 1)))
void matmul(${', '.join(params)}) {
% for o in (a, b):
  __local ${W} ${o.name}l[${t.stages * t.depth * o.side}] __attribute__((aligned(16)));
% endfor
% if one.emulated:
  __local ${W} exchange[${items // 32 * one.depth * (one.rows + one.columns)}];
% endif
  const int item = get_local_id(0);
  const int g = item % 32 / 4, t = item % 4;
  const int y = item / ${32 * across} * ${t.warp_rows}, x = item / 32 % ${across} * ${t.warp_columns};
${operands.which()}
  const long step_a = ${t.depth} * ak, step_b = ${t.depth} * bk;
${operands.place(a)}
${operands.place(b)}
% for o, first in ((a, 'y'), (b, 'x')):
% for q in range(o.loads):
  const int ${o.name}to${q} = PLACE_${o.name}(${o.name}i${q}, ${o.name}d${q});
% endfor
% for f in range(2 if o.along else t.depth // 4):
  const int ${o.name}f${f} = PLACE_${o.name}(${f'{first} + {8 * f} + g, t' if o.along else f'{first} + g, {4 * f} + t'});
% endfor
% endfor
  ${W} sum[${down}][${right}][${2 * high}];
  ${clear('sum')}
% if t.total:
  ${W} total[${down}][${right}][${2 * high}];
  ${clear('total')}
% endif
  bool first = true;
  long flush = from + depth;
  /* what a step's part of the tiles gives to one instruction each, and to the next */
% for n in range(2):
  ${W} ae${n}[${down}][${left}], be${n}[${right}][${deep}];
% endfor
% if t.copied:
% for o in (a, b):
% for q in range(o.loads):
  __global const ${W} *${o.name}from${q} = ${o.name}p + ${o.name}at${q};
% endfor
% endfor
  long next = from;
% for s in range(t.stages):
${issue(str(s))}
% endfor
  COPIED(${t.stages - 1});
% else:
% for o in (a, b):
  ${W}${o.lanes if o.lanes > 1 else ''} ${', '.join(f'{o.name}r{q}' for q in range(o.loads))};
% endfor
${operands.waiting('from', True)}
${keep(a, '0')}
${keep(b, '0')}
${operands.waiting(f'from + {t.depth}')}
% endif
  barrier(CLK_LOCAL_MEM_FENCE);
  int stage = 0;
${take('stage', 0, 0)}
  for (long at = from + ${t.depth}; ; at += ${t.depth}) {
    const bool more = at < to;
% for s in range(sets - 1):
${take('stage', s + 1, (s + 1) % 2)}
${multiply(s % 2)}
% endfor
    const int read = stage;
    stage = ${'stage ^ 1' if t.stages == 2 else f'stage == {t.stages - 1} ? 0 : stage + 1'};
% if t.copied:
    COPIED(${t.stages - 2});
% else:
${keep(a, 'stage')}
${keep(b, 'stage')}
% endif
    barrier(CLK_LOCAL_MEM_FENCE);
${take('stage', 0, sets % 2)}
% if not t.copied:
${operands.waiting(f'at + {t.depth}')}
% endif
${multiply((sets - 1) % 2)}
% if t.copied:
${issue('read')}
% endif
% if sets == 1:
    ${' '.join(f'ae0[{i}][{k}] = ae1[{i}][{k}];' for i in range(down) for k in range(left))}
    ${' '.join(f'be0[{j}][{k}] = be1[{j}][{k}];' for j in range(right) for k in range(deep))}
% endif
${added()}
    if (!more) break;
  }
% if t.copied:
  COPIED(0);
% endif
% if update and update.scaled:
${put_scaled()}
% elif t.total:
${put('total')}
% endif
}
<%def name="clear(what)" filter="trim">
<% counts = (t.warp_rows // t.instruction.rows, t.warp_columns // t.instruction.columns, t.instruction.rows // 4) %>
% for i in range(counts[0]):
% for j in range(counts[1]):
  ${' '.join(f'{what}[{i}][{j}][{e}] = 0;' for e in range(counts[2]))}
% endfor
% endfor
</%def>
<%def name="keep(o, stage)">
% for q in range(o.loads):
% if o.lanes > 1:
    *(__local ${W}${o.lanes}*)(${o.name}l + ${stage} * ${t.depth * o.side} + ${o.name}to${q}) = ${o.name}r${q};
% else:
    ${o.name}l[${stage} * ${t.depth * o.side} + ${o.name}to${q}] = ${o.name}r${q};
% endif
% endfor
</%def>
## Let the next step be copied into a stage, with zeros behind the end of k; without a branch, so that it is done between products.
<%def name="issue(stage)">
    {
      const int left = (int)clamp(to - next, 0L, ${t.depth}L);
% for o in (a, b):
% for q in range(o.loads):
<% count = f'{o.name}d{q} < left ? {o.lanes} : 0' if o.along else f'clamp(left - {o.name}d{q}, 0, {o.lanes})' %>
      copy${o.lanes}(${o.name}l + ${stage} * ${t.depth * o.side} + ${o.name}to${q}, ${o.name}from${q}, ${count});
      ${o.name}from${q} += step_${o.name};
% endfor
% endfor
    }
    COPIES();
    next += ${t.depth};
</%def>
## What a warp multiplies in part s of a step, from local memory to registers
<%def name="take(stage, s, set)">
<%
  one = t.instruction
  high, deep = one.rows // 8, one.depth // 4
  down, right = t.warp_rows // one.rows, t.warp_columns // one.columns
  def at(o, block, k):
      if o.along:
          return f'{o.name}h[{o.name}f{block % 2} + {block // 2 * 16 + 4 * k * o.side}]'
      return f'{o.name}h[{o.name}f{k} + {block * 8 * t.depth}]'
%>
    {
      __local const ${W} *ah = al + ${stage} * ${t.depth * a.side}, *bh = bl + ${stage} * ${t.depth * b.side};
% for i in range(down):
      ${' '.join(f'ae{set}[{i}][{k * high + h}] = {at(a, i * high + h, s * deep + k)};' for k in range(deep) for h in range(high))}
% endfor
% for j in range(right):
      ${' '.join(f'be{set}[{j}][{k}] = {at(b, j, s * deep + k)};' for k in range(deep))}
% endfor
    }
</%def>
<%def name="multiply(set)">
% for i in range(t.warp_rows // t.instruction.rows):
% for j in range(t.warp_columns // t.instruction.columns):
    MULTIPLY(sum[${i}][${j}], ae${set}[${i}], be${set}[${j}]);
% endfor
% endfor
</%def>
<%def name="added()">
    if (at >= flush || !more) {
% if t.total:
<% counts = (t.warp_rows // t.instruction.rows, t.warp_columns // t.instruction.columns, t.instruction.rows // 4) %>
% for i in range(counts[0]):
% for j in range(counts[1]):
      ${' '.join(f'total[{i}][{j}][{e}] += sum[{i}][{j}][{e}];' for e in range(counts[2]))}
% endfor
% endfor
% else:
${put('sum')}
      first = false;
% endif
      ${clear('sum')}
      flush += depth;
    }
</%def>
## c = alpha * total + beta * d, or its lower triangle on both sides of the diagonal
<%def name="put_scaled()">
<% high = t.instruction.rows // 8 %>
% for block in range(t.warp_rows // 8):
    {
      const long row = am_first + y + ${8 * block} + g;
% for j in range(t.warp_columns // t.instruction.columns):
      {
        const long column = bn_first + x + ${8 * j} + 2 * t;
% for e in range(2):
        if (row < stored && ${f'column + {e} <= row' if update.mirrored else f'column + {e} < n'}) {
          ${W} v = alpha * total[${block // high}][${j}][${block % high * 2 + e}];
          if (beta != 0) v += beta * dp[d_o + row * ds + column + ${e}];
          cp[co + row * cs + column + ${e}] = v;
% if update.mirrored:
          if (column + ${e} < row) cp[co + (column + ${e}) * cs + row] = v;
% endif
        }
% endfor
      }
% endfor
    }
% endfor
</%def>
## What is added to is read a row of blocks at a time before any of it is used, where no element has to be left out.
<%def name="put(what)">
<%
  high, columns = t.instruction.rows // 8, t.warp_columns // 8
  values = lambda block, j: [f'{what}[{block // high}][{j}][{block % high * 2 + e}]' for e in range(2)]
%>
% if c_vectors:
    if (${'' if update else '!first && '}am_first + ${t.rows} <= stored && bn_first + ${t.columns} <= n) {
% for block in range(t.warp_rows // 8):
      {
        const long row = am_first + y + ${8 * block} + g;
        __global ${W}2 *to_ = (__global ${W}2*)(cp + co + row * ${'cs' if update else 'n'} + bn_first + x + 2 * t);
        const ${W}2 ${', '.join(f'v{j} = to_[{4 * j}]' for j in range(columns))};
% for j in range(columns):
        to_[${4 * j}] = v${j} ${'-' if update else '+'} (${W}2)(${', '.join(values(block, j))});
% endfor
      }
% endfor
    } else
% endif
    {
% for block in range(t.warp_rows // 8):
      const long row${block} = am_first + y + ${8 * block} + g;
      if (row${block} < stored) {
        const long place = co + row${block} * ${'cs' if update else 'n'};
% for j in range(columns):
        {
          const long column = bn_first + x + ${8 * j} + 2 * t;
% if c_vectors:
          if (column < n) {
            __global ${W}2 *to_ = (__global ${W}2*)(cp + place + column);
            const ${W}2 v = (${W}2)(${', '.join(values(block, j))});
            *to_ = ${'*to_ - v' if update else 'first ? v : *to_ + v'};
          }
% else:
% for e in range(2):
          if (column + ${e} < n) ${store(f'place + column + {e}', values(block, j)[e])}
% endfor
% endif
        }
% endfor
      }
% endfor
    }
</%def>
<%def name="store(at, v)" filter="trim">
% if update:
cp[${at}] -= ${v};
% else:
cp[${at}] = first ? ${v} : cp[${at}] + ${v};
% endif
</%def>
## Copies past the registers, whose end a stage is waited for; of `count` elements and zeros.
<%def name="copies()">
% if t.instruction.emulated:
#define COPIES()
#define COPIED(number)
% else:
#define COPIES() asm volatile("cp.async.commit_group;" : : : "memory")
#define COPIED(number) asm volatile("cp.async.wait_group " #number ";" : : : "memory")
% endif
% for lanes, cached in ((1, 'ca'), (2, 'cg')):
HELPER void copy${lanes}(__local ${W} *to, __global const ${W} *from, const int count) {
% if t.instruction.emulated:
  for (int l = 0; l < ${lanes}; ++l) to[l] = l < count ? from[l] : (${W})0;
% else:
  asm volatile("cp.async.${cached}.shared.global [%0], [%1], ${8 * lanes}, %2;" : : "r"((uint)(size_t)to), "l"(from), "r"(8 * count) : "memory");
% endif
}
% endfor
</%def>
## The instruction in OpenCL C, as the PTX manual has it: which element of a matrix is which work-item's.
<%def name="emulated()">
<% one = t.instruction %>
HELPER void multiply(${W} *c, const ${W} *a, const ${W} *b, __local ${W} *left, const int lane) {
  const int group = lane >> 2, thread = lane & 3;
  __local ${W} *right = left + ${one.rows * one.depth};
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < ${one.rows * one.depth // 32}; ++i) {
% if one.rows == 16:
    const int row = i % 2 == 0 ? group : group + 8, column = i % 2 == 0 ? 2 * i + thread : 2 * i - 2 + thread;
% else:
    const int row = group, column = thread;
% endif
    left[row * ${one.depth} + column] = a[i];
  }
  for (int i = 0; i < ${one.depth * one.columns // 32}; ++i) right[(thread + 4 * i) * ${one.columns} + group] = b[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < ${one.rows * one.columns // 32}; ++i) {
    const int row = i < 2 ? group : group + 8, column = 2 * thread + (i & 1);
    for (int k = 0; k < ${one.depth}; ++k) c[i] = fma(left[row * ${one.depth} + k], right[k * ${one.columns} + column], c[i]);
  }
}
#define MULTIPLY(c_, a_, b_) multiply(c_, a_, b_, exchange + item / 32 * ${one.depth * (one.rows + one.columns)}, item % 32)
</%def>
