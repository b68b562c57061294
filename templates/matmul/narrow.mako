## Product with so few columns that a row of the result is a few vectors: nothing is packed, any strides are read in place.
##
##               n <= a few vectors
##             +--------+
##          k  |   b    |     a row of b is loaded once for R rows of a, whose elements are each repeated in all lanes
##             +--------+
##      k
##    +---+    +--------+
##  R | a |    |  sums  |     R rows of the result, in registers for all of k
##    +---+    +--------+
##
## A unit of work is R rows of a matrix; where its last unit has fewer, its last row is computed, and stored, again.
## Complex numbers lie in vectors as they do in memory, real and imaginary parts in turn. The sums of x b and of y b, for the
## elements x + iy of a, are held apart, which is as exact as NumPy's: theirs is the first plus i times the second.
<%namespace name="lines" file="/lib/lines.mako"/>
<%
  wide = 2 if complex_ else 1
  b_pointer = b.compute if vectors and complex_ else b.storage
  c_pointer = S if complex_ else c.storage

  def parts(row, p, at):
      """The parts of an element, of which there are two where the product is complex."""
      if row.packed:
          found = [row.packed.load.format(at=at, p=p)]
      elif row.kind == 'b':
          found = [f'({S})({p}[{at}] != 0)']
      elif row.kind == 'c':
          found = [f'{p}[{at}].x', f'{p}[{at}].y']
      else:
          found = [f'({S}){p}[{at}]']
      return found + [f'({S})0'] * (wide - len(found))

  def row_vector(j):
      """Vector j of a row of b, with zeros beyond its end."""
      found, at = [], j * V
      for lanes in pieces[j]:
          if not vectors:
              for column in range(at // wide, (at + lanes) // wide):
                  found += parts(b, 'b', f'd * bk + {column} * bn')
          elif lanes > 1 and b.packed:
              found.append(b.packed.unpack.format(n=lanes, x=f'w{j}_{at}'))
          elif lanes > 1:
              place = f'b + d * {wide} * bk + {at}'
              text = f'*(__global const {b_pointer}{lanes}*)({place})' if b_aligned and lanes != 3 else f'vload{lanes}(0, {place})'
              text = f'(({text} != ({b.storage}{lanes})(0)) & (char{lanes})(1))' if b.kind == 'b' else text
              found.append(f'convert_{S}{lanes}({text})')
          else:
              found += parts(b, 'b', f'd * bk + {at}')
          at += lanes
      found += [f'({S})0'] * ((j + 1) * V - at)
      return f'({T})({", ".join(found)})' if len(found) > 1 else found[0]

  def words(j):
      """The vectors of such a row where its numbers have to be unpacked: variables."""
      found, at = [], j * V
      for lanes in pieces[j] if vectors and b.packed else ():
          if lanes > 1:
              word = b.packed.word
              found.append(f'const {word}{lanes} w{j}_{at} = vload{lanes}(0, (__global const {word}*)b + d * bk + {at});')
          at += lanes
      return ' '.join(found)

  def taken(vector, first, lanes):
      return f'{vector}.s' + ''.join(f'{first + lane:x}' for lane in range(lanes))
%>
${mac}
% if complex_:
HELPER ${T} times_i(const ${T} s) {
  return s.s${''.join(f'{lane ^ 1:x}' for lane in range(V))} * (${T})(${', '.join('1' if lane % 2 else '-1' for lane in range(V))});
}
% endif
ATTR __kernel __attribute__((reqd_work_group_size(${items}, 1, 1)))
void matmul_narrow(${', '.join(params)}) {
  ${lines.units('u', 'units', turns)}
    long matrix = ${'u / blocks' if several else 'u'};
    const long first = ${f'(u - matrix * blocks) * {R}' if several else 0};
    __global ${c.storage} *c = cp + co + (matrix * m + first) * ${n};
    long ab = ao + first * as, bb = bo;
    ${lines.move('long', ('a', 'b'), 'batch', 'matrix', rank)}
    __global const ${b_pointer} *b = (__global const ${b_pointer}*)(bp + bb);
% for i in range(R):
    const long row${i} = ${f'min({i}L, m - 1 - first)' if several else i};
    __global const ${a.storage} *a${i} = ap + ab + row${i} * as;
    ${T} ${', '.join(f'{sum}{i}_{j} = 0' for j in range(P) for sum in 'st'[:wide])};
% endfor
    for (long d = 0; d < k; ++d) {
% for j in range(P):
      ${words(j)}
      const ${T} b${j} = ${row_vector(j)};
% endfor
% for i in range(R):
      {
<% found = parts(a, f'a{i}', 'd' if a_unit else 'd * ak') %>
        const ${T} x = (${T})(${found[0]})${f', y = ({T})({found[1]})' if complex_ else ''};
% for j in range(P):
        s${i}_${j} = MAC(x, b${j}, s${i}_${j});
% if complex_:
        t${i}_${j} = MAC(y, b${j}, t${i}_${j});
% endif
% endfor
      }
% endfor
    }
% for i in range(R):
    {
      __global ${c_pointer} *to = (__global ${c_pointer}*)(c + row${i} * ${n});
% for j in range(P):
% if complex_:
      s${i}_${j} += times_i(t${i}_${j});
% endif
<% at = 0 %>
% for lanes in pieces[j]:
% if c.packed and lanes == 1:
      ${c.packed.store.format(v=taken(f's{i}_{j}', at, 1), at=j * V + at, p='to')}
% elif c.packed:
      ${c.packed.word}${lanes} w${j}_${at};
      ${c.packed.pack.format(n=lanes, v=taken(f's{i}_{j}', at, lanes), x=f'w{j}_{at}')}
      vstore${lanes}(w${j}_${at}, 0, (__global ${c.packed.word}*)to + ${j * V + at});
% elif stream:
      __builtin_nontemporal_store(s${i}_${j}, (__global ${T}*)to + ${j});
% elif lanes == 1:
      to[${j * V + at}] = (${c_pointer})${taken(f's{i}_{j}', at, 1)};
% elif out_aligned:
      *(__global ${c_pointer}${lanes}*)(to + ${j * V + at}) = convert_${c_pointer}${lanes}(${taken(f's{i}_{j}', at, lanes)});
% else:
      vstore${lanes}(convert_${c_pointer}${lanes}(${taken(f's{i}_{j}', at, lanes)}), 0, to + ${j * V + at});
% endif
<% at += lanes %>
% endfor
% endfor
    }
% endfor
  }
}
