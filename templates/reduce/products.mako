## Products that are summed: blocks of `products` vectors are added by fma in the products' own dtype, and only the sum of a block
## enters a state, as the sums of a tiled product of matrices are added to a second one. So what a state costs (two conversions and
## an addition in float64, six operations of a compensated sum) is paid once for a block.
##
##     s = x[0..V) y[0..V) + x[V..2V) y[V..2V) + ... `products` vectors      fma, as many chains as hide its latency
##     state += s                                                            once
##
## Along rows a block is `products` vectors, counted from the row's beginning; down columns it is X rows.
<%namespace name="access" file="/lib/access.mako" inheritable="True"/>
## What the sums of a block are made of, and how one enters: `call` is a ProductCall.
<%def name="functions(m)">
HELPER acc_t enter_products(const acc_t a, const ${m.product_type} s) { return accumulate(a, ${m.block_sum('s')}); }
</%def>
<%def name="add(s, tag)" filter="trim">
${s} = ${value.onto(s, 0, tag)};
</%def>
<%def name="add_where(inside, s, tag='')" filter="trim">
${s} = ${m.select(inside, value.onto(s, 0, tag), s, m.product_dtype)};
</%def>
## Elements first..last of a row enter, block by block: of several rows abreast, with an accumulator each, or of one row, of which
## as many blocks as there are accumulators are summed side by side. What a block has does not depend on that.
## A block whose sum leaves the range is added again, vector by vector: the state carries its range, the block does not.
## The operands named in `fetched` are fetched ahead.
<%def name="run(accumulators, rows, operands_of, pairs, fetched=())">
<%
  side = len(accumulators) // rows
  sums = [f's{n}' for n in range(max(rows, side))]
  length = V * products
%>
      // of few products each vector enters by itself: they are no slower, and as exact as NumPy's
      const ${I} length = r0 < ${policy.short} ? ${V} : ${length};
      ${I} at = first, again = first;
      while (at < last) {
% if side > 1:
        while (at >= again && at + ${side * length} ${'<' if pairs else '<='} last) {
% for s in sums:
          ${m.product_type} ${s} = (${m.product_type})(0);
% endfor
          const ${I} start = at;
          for (const ${I} stop = at + ${length}; at < stop; at += ${V}) {
% for n, s in enumerate(sums):
% for o in operands_of(0):
            ${access.load(o, o.base, f'at + {n * length}', f'_{n}')}
% endfor
            ${add(s, f'_{n}')}
% endfor
          }
          at = start + ${side * length};
          if (!(${m.in_range(sums)})) {
            again = at;
            at = start;
            break;
          }
% for s, acc in zip(sums, accumulators):
          ${acc} = enter_products(${acc}, ${s});
% endfor
        }
        if (at >= last) break;
% endif
        const ${I} start = at, stop = min(at + (at < again ? ${V} : length), last)${', end = min(stop, last - 1)' if pairs else ''};
% for y in range(rows):
        ${m.product_type} s${y} = (${m.product_type})(0);
% endfor
        ${access.fetch(I, [operands_of(y) for y in range(rows)], fetched, 'at', 'stop')}
        ## pairs read one element past their last, so the end is not theirs
        for (; at + ${V} <= ${'end' if pairs else 'stop'}; at += ${V}) {
% for y in range(rows):
% for o in operands_of(y):
          ${access.load(o, o.base, 'at', f'_{y}')}
% endfor
          ${add(f's{y}', f'_{y}')}
% endfor
        }
        if (at < stop) {
          const int count = (int)(stop - at);
          const bool ample = last - first >= ${V};
% for y in range(rows):
          {
% if pairs:
            ## one by one, into the lanes that a vector would bring them to
            const ${I} from = ample ? last - ${V} : at;
            const int taken = ample ? ${V} : count;
% for o in operands_of(y):
            ${access.load_partial(o, o.base, 'from', 'taken')}
% endfor
% else:
            ${access.load_end(operands_of(y), 'ample', f'last - {V}', 'at', 'count')}
% endif
            const ${m.mask_type} inside = ample ? ${m.lanes_from(f"{V} - count")} : ${m.lanes_below("count")};
            ${add_where('inside', f's{y}')}
          }
% endfor
          at = stop;
        }
        if (stop - start > ${V} && !(${m.in_range(sums[:rows])})) {
          again = stop;
          at = start;
          continue;
        }
% for y in range(rows):
        ${accumulators[y]} = enter_products(${accumulators[y]}, s${y});
% endfor
      }
</%def>
## Down the columns: blocks of X rows, of which each vector of outputs takes its sum; the last block may have fewer. Where
## the sum of a block leaves the range its rows are entered one by one.
<%def name="down(decode, place)">
    for (; row < row_last; row += ${X}) {
      const int depth = min((${I})${X}, row_last - row);
% for x in range(X):
% for s in operands:
      ${I} ${s.base}_${x} = ${s.name}kept;
% endfor
      {
        ${I} number = ${f'min(row + {x}, row_last - 1)' if x else 'row'};
        ${decode('r', 'number', reduced_rank, [at_row(s, x) for s in operands])}
      }
% endfor
      for (int v = 0; v < full; ++v) {
        if (depth == ${X}) {
          for (; v < full; ++v) {
            const ${I} j = first + ${place('v')};
            ${m.product_type} s = (${m.product_type})(0);
% for x in range(X):
${row_of_block(x)}
% endfor
            if (!(${m.in_range(['s'])})) break;
            acc[v] = enter_products(acc[v], s);
          }
        } else {
          for (; v < full; ++v) {
            const ${I} j = first + ${place('v')};
            ${m.product_type} s = (${m.product_type})(0);
${row_of_block(0)}
% for x in range(1, X - 1):
            if (depth > ${x}) {
${row_of_block(x)}
            }
% endfor
            if (!(${m.in_range(['s'])})) break;
            acc[v] = enter_products(acc[v], s);
          }
        }
        if (v == full) break;
        const ${I} j = first + ${place('v')};
        for (int x = 0; x < depth; ++x) {
          ${m.product_type} s = (${m.product_type})(0);
          ${of_row('x', decode)}
% for o in operands:
          ${access.load(o, o.base, 'j')}
% endfor
          ${add('s', '')}
          acc[v] = enter_products(acc[v], s);
        }
      }
      if (rest > 0) {
        const ${I} j = first + full * ${V};
        // the second turn, row by row, is for a sum that leaves the range
        for (int from = 0, step = depth; from < depth;) {
          ${m.product_type} s = (${m.product_type})(0);
          for (int x = from; x < from + step; ++x) {
            ${of_row('x', decode)}
% for o in operands:
            ${access.load_partial(o, o.base, 'j', 'rest')}
% endfor
            ${add('s', '')}
          }
          if (step > 1 && !(${m.in_range(['s'])})) {
            step = 1;
            continue;
          }
          acc[full] = enter_products(acc[full], s);
          from += step;
        }
      }
    }
</%def>
<%def name="row_of_block(x)">
% for s in operands:
          ${access.load(s, f'{s.base}_{x}', 'j', f'_{x}')}
% endfor
          ${add('s', f'_{x}')}
</%def>
## Where row `row` + x of the operands begins.
<%def name="of_row(x, decode)">
% for s in operands:
          ${I} ${s.base} = ${s.name}kept;
% endfor
          ${I} number = row + ${x};
          ${decode('r', 'number', reduced_rank, operands)}
</%def>
