## Loads and stores by vector width: the only code that knows how elements lie in memory.
##
## An operand `s` (Operand of _engine/codegen/expression.py) has a pointer `s.p` (the prologue moves it to its first element), a
## compute type, and an access class along the innermost loop:
##
##   unit     elements j, j+1, j+2 ...          strided  elements j*stride
##   zero     the same element every time       pairs    elements 2*j: vector loads, the odd halves dropped
##   index    no memory: the value is base + j*stride
##   count    no memory: the value is j
##
## A full load of pairs reads one element past its last one: the caller keeps that inside the array.
##
## `V` elements are taken at a time. In the explicit dialect they are one OpenCL vector, x0_0 (W == V, one
## part); in the scalar dialect they are V scalars x0_0, x0_1 ... (W == 1, V parts), `spread` elements apart: a number,
## or the name of a variable.
<%!
  def apart(w, spread):
      return f'{w} * {spread}' if isinstance(spread, str) else w * spread
%>

## How a kernel begins: the pointers of operands and of `more` (pointer, offset) are moved to their first elements,
## and what was passed in parts becomes a variable.
<%def name="prologue(operands, prepare, more=())">
% for s in operands:
% if s.access not in ('index', 'count'):
  ${s.p} += ${s.start};
% endif
% endfor
% for pointer, offset in more:
  ${pointer} += ${offset};
% endfor
% for line in prepare:
  ${line}
% endfor
</%def>

## Where each operand's row begins, as far as it is known before its coordinates are.
<%def name="bases(I, operands, qualifier='')">
% for s in operands:
    ${qualifier}${'long' if s.access == 'index' else I} ${s.name}b = ${s.start if s.access == 'index' else '0'};
% endfor
</%def>

## The lines that hold elements `from`..`to` of rows to come are fetched into the caches: `rows` has the operands of each row,
## and those named in `fetched` have so many elements to the row to come as a variable says, unless that is 0.
<%def name="fetch(I, rows, fetched, from_, to)">
% for name in fetched:
<%
  each = [s for operands in rows for s in operands if s.name == name]
%>
        for (${I} line = ${from_}; ${name}ahead > 0 && line < ${to}; line += ${64 // each[0].dtype.itemsize}) {
% for s in each:
          __builtin_prefetch(${s.p} + ${s.base} + line + ${name}ahead);
% endfor
        }
% endfor
</%def>

<%def name="element(s, base, j)" filter="trim">
% if s.access == 'index':
((${s.lane})(${base} + (${j}) * ${s.step}))
% elif s.access == 'count':
((${s.lane})(${j}))
% elif s.kind == 'b':
((char)(-(${s.p}[${position(s, base, j)}] != 0)))
% elif s.packed:
${s.packed.load.format(at=capture(position, s, base, j), p=s.p)}
% else:
${s.p}[${position(s, base, j)}]
% endif
</%def>

<%def name="position(s, base, j)" filter="trim">
% if s.access == 'unit':
${base} + (${j})
% elif s.access == 'zero':
${base}
% elif s.access == 'pairs':
${base} + 2 * (${j})
% else:
${base} + (${j}) * ${s.step}
% endif
</%def>

## Declare the parts of operand `s` for elements j .. j+V-1.
<%def name="load(s, base, j, tag='')">
% if d.width == 1:
${load_scalars(s, base, j, tag)}
% elif s.access == 'zero':
const ${s.type} ${s.name}${tag}_0 = (${s.type})(${element(s, base, j)});
% elif s.access == 'unit' and s.kind == 'b':
const ${s.type} ${s.name}${tag}_0 = (vload${V}(0, ${s.p} + ${base} + (${j})) != (uchar${V})(0));
% elif s.access == 'unit' and s.packed:
const ${s.packed.word}${V} ${s.name}${tag}_h = vload${V}(0, (__global const ${s.packed.word}*)(${s.p} + ${base} + (${j})));
const ${s.type} ${s.name}${tag}_0 = ${s.packed.unpack.format(n=V, x=f'{s.name}{tag}_h')};
% elif s.access == 'unit':
const ${s.type} ${s.name}${tag}_0 = vload${V}(0, ${s.p} + ${base} + (${j}));
% elif s.access == 'pairs':
const ${s.type} ${s.name}${tag}_0 = (${s.type})(vload${V}(0, ${s.p} + ${base} + 2 * (${j})).even, vload${V}(0, ${s.p} + ${base} + 2 * (${j}) + ${V}).even);
% elif s.access == 'index':
const ${s.type} ${s.name}${tag}_0 = (${s.type})(${base} + (${j}) * ${s.step}) + (${s.type})(${s.step}) * (${s.type})(${', '.join(map(str, range(V)))});
% elif s.access == 'count':
const ${s.type} ${s.name}${tag}_0 = (${s.type})(${element(s, base, j)}) + (${s.type})(${', '.join(map(str, range(V)))});
% elif s.access == 'strided' and not s.packed:
const ${s.type} ${s.name}${tag}_0 = (${s.type})(${', '.join(capture(element, s, base, f'{j} + {l}') for l in range(V))});
% else:
${gather(s, base, j, V, tag)}
% endif
</%def>

## The same for the first `m` of them only; the others read nothing and hold zeros.
<%def name="load_partial(s, base, j, m, tag='')">
% if d.width == 1:
% for w in range(V):
const ${s.type} ${s.name}${tag}_${w} = (${w} < ${m}) ? ${element(s, base, f'{j} + {apart(w, spread)}')} : (${s.type})(0);
% endfor
% elif s.access in ('zero', 'index', 'count'):
${load(s, base, j, tag)}
% else:
${gather(s, base, j, m, tag)}
% endif
</%def>

## The last `m` of a row's elements, which are no whole vector: those from `j` on, or, where the row is `ample`, the V
## before its end, of which the last `m` count. That takes one load, and no loop.
<%def name="load_end(operands, ample, end, j, m)">
% for s in operands:
${s.type} ${s.name}_0;
% endfor
if (${ample}) {
% for s in operands:
  ${load(s, s.base, end, '_w')}
  ${s.name}_0 = ${s.name}_w_0;
% endfor
} else {
% for s in operands:
  ${load_partial(s, s.base, j, m, '_m')}
  ${s.name}_0 = ${s.name}_m_0;
% endfor
}
</%def>

## Before a loop: it is compiled as it stands, or `turns` at a time. Compilers take several times as long to make
## vectors and more turns of it, and gain nothing where a loop runs once per array, or is long enough itself.
<%def name="rolled(turns=1)" filter="trim">
% if d.clang:
_Pragma("clang loop vectorize(disable) unroll${f'_count({turns})' if turns > 1 else '(disable)'}")
% endif
</%def>

## Over the first `m` lanes; fewer than V are the end of an array.
<%def name="lanes(m)" filter="trim">
% if m != V:
${rolled()}
% endif
for (int l = 0; l < ${m}; ++l)
</%def>

<%def name="gather(s, base, j, m, tag)">
${s.lane} ${s.name}${tag}_a[${V}] = {0};
${lanes(m)} ${s.name}${tag}_a[l] = ${element(s, base, f'{j} + l')};
const ${s.type} ${s.name}${tag}_0 = vload${V}(0, ${s.name}${tag}_a);
</%def>

<%def name="load_scalars(s, base, j, tag)">
% if s.aligned and V > 1 and s.access == 'unit':
% if s.packed:
const ${s.lane}${V} ${s.name}${tag}_v = ${s.packed.load_aligned.format(n=V, p=f'{s.p} + {base} + ({j})')};
% else:
const ${s.storage}${V} ${s.name}${tag}_v = *(__global const ${s.storage}${V}*)(${s.p} + ${base} + (${j}));
% endif
% for w in range(V):
const ${s.type} ${s.name}${tag}_${w} = ${f'(char)(-({s.name}{tag}_v.s{w:x} != 0))' if s.kind == 'b' else f'{s.name}{tag}_v.s{w:x}'};
% endfor
% else:
% for w in range(V):
const ${s.type} ${s.name}${tag}_${w} = ${element(s, base, f'{j} + {apart(w, spread)}')};
% endfor
% endif
</%def>

<%def name="store_element(o, base, j, value)" filter="trim">
% if o.kind == 'b':
${o.p}[${position(o, base, j)}] = (uchar)(${value} & 1);
% elif o.packed:
${o.packed.store.format(v=value, at=capture(position, o, base, j), p=o.p)}
% else:
${o.p}[${position(o, base, j)}] = ${value};
% endif
</%def>

## Store the parts named `value_0`, `value_1` ... at elements j .. j+V-1.
<%def name="store(o, base, j, value, stream=False)">
% if d.width == 1 and o.aligned and V > 1 and o.access == 'unit' and not o.packed:
*(__global ${o.storage}${V}*)(${o.p} + ${base} + (${j})) = (${o.storage}${V})(${', '.join(f'{value}_{w} & 1' if o.kind == 'b' else f'{value}_{w}' for w in range(V))});
% elif d.width == 1:
% for w in range(V):
${store_element(o, base, f'{j} + {apart(w, spread)}', f'{value}_{w}')}
% endfor
% elif o.access == 'unit' and o.packed:
{
  ## as it is loaded: by way of an aligned variable
  ${o.packed.word}${V} ${o.name}_h;
  ${o.packed.pack.format(n=V, v=f'{value}_0', x=f'{o.name}_h')}
  vstore${V}(${o.name}_h, 0, (__global ${o.packed.word}*)(${o.p} + ${base} + (${j})));
}
% elif o.access == 'unit' and stream and o.kind != 'b':
__builtin_nontemporal_store(${value}_0, (__global ${o.type}*)(${o.p} + ${base} + (${j})));
% elif o.access == 'unit':
vstore${V}(${f'as_uchar{V}({value}_0 & (char{V})(1))' if o.kind == 'b' else f'{value}_0'}, 0, ${o.p} + ${base} + (${j}));
% else:
${store_partial(o, base, j, V, value)}
% endif
</%def>

<%def name="store_partial(o, base, j, m, value)">
% if d.width == 1:
% for w in range(V):
if (${w} < ${m}) { ${store_element(o, base, f'{j} + {apart(w, spread)}', f'{value}_{w}')} }
% endfor
% else:
{
  ${o.lane} lanes[${V}];
  vstore${V}(${value}_0, 0, lanes);
  ${lanes(m)} { ${store_element(o, base, f'{j} + l', 'lanes[l]')} }
}
% endif
</%def>
