## Panels for a packed matrix product: R positions of the kept axis side by side, all of the summed axis below each
## other, so that the product reads nothing but whole vectors, one after the other.
##
##           k ->                                 panel 0        panel 1
##      +---------------+                       +--- R ---+    +--- R ---+
##      |  panel 0      | R                  k  | k=0     |    |         |
##   i  +---------------+           ->       |  | k=1     |    |         |      beyond the last i: zeros
##   |  |  panel 1      | R                  v  | ...     |    |         |
##   v  +---------------+
##
## Complex values are packed as R real parts and then R imaginary ones.
<%namespace name="lines" file="/lib/lines.mako"/>
<%def name="value(at)" filter="trim">
% if packed:
${packed.load.format(at=at, p='xp')}
% elif kind == 'b':
(${S})(xp[${at}] != 0)
% else:
(${S})xp[${at}]${part}
% endif
</%def>
<%def name="element(i, d, at)">
% if not complex_:
        to[${d} * ${R} + ${i}] = ${value(at)};
% elif kind == 'c':
        to[${d} * ${2 * R} + ${i}] = xp[${at}].x;
        to[${d} * ${2 * R} + ${R} + ${i}] = xp[${at}].y;
% else:
        to[${d} * ${2 * R} + ${i}] = ${value(at)};
        to[${d} * ${2 * R} + ${R} + ${i}] = 0;
% endif
</%def>
<% part = '' %>
ATTR __kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void matmul_pack(${', '.join(params)}) {
  const long panels = (extent + ${R - 1}) / ${R}, deep = (k + ${block - 1}) / ${block};
  ${lines.units('u', 'units', chunks)}
    long rest = u;
    const long panel = rest % panels; rest /= panels;
    const long d0 = rest % deep * ${block}; rest /= deep;
    __global ${S} *to = pp + ((rest * panels + panel) * k + d0) * ${2 * R if complex_ else R};
    long first = xo + panel * ${R} * outer + d0 * inner;
% for axis in range(rank):
    { const long c = rest % batch${axis}; rest /= batch${axis}; first += c * step${axis}; }
% endfor
    const int depth = min(k - d0, (long)${block});
    const int there = min(extent - panel * ${R}, (long)${R});
    if (there == ${R}) {
% if along:
      for (int d = 0; d < depth; ++d) {
        const long from = first + d * inner;
        for (int i = 0; i < ${R}; ++i) {
${element('i', 'd', 'from + i' if unit else 'from + i * outer')}
        }
      }
% else:
      for (int i = 0; i < ${R}; ++i) {
        const long from = first + i * outer;
        for (int d = 0; d < depth; ++d) {
${element('i', 'd', 'from + d' if unit else 'from + d * inner')}
        }
      }
% endif
    } else {
      for (int d = 0; d < depth; ++d) {
        const long from = first + d * inner;
        for (int i = 0; i < there; ++i) {
${element('i', 'd', 'from + i * outer')}
        }
        for (int i = there; i < ${R}; ++i) {
          to[d * ${2 * R if complex_ else R} + i] = 0;
% if complex_:
          to[d * ${2 * R} + ${R} + i] = 0;
% endif
        }
      }
    }
  }
}
