## Scan of lines that lie side by side, on a GPU: neighbouring work-items take neighbouring lines.
##
##            line 0 1 2 ...             scan_finish    a work-item goes down the rows of a part and carries a state
##   row 0     x x x x x x               scan_reduce    the same without results: q[part * lines + line]
##   row 1     x x x x x x               scan_carry     those states become the states before their parts
##   ...                                 scan_lookback  one launch: a work-group takes a tile, `down` work-items
##                                       down by R rows each; what is before comes from the tile above, published by it
<%namespace name="access" file="/lib/access.mako" inheritable="True"/>
<%namespace name="lines" file="/lib/lines.mako"/>
<%namespace name="scans" file="/lib/scans.mako"/>
<%namespace name="lookback" file="/lib/lookback.mako"/>
<%
  R = policy.rows
  names = [s.name for s in everyone]
  across = WG // down
%>
<%def name="head(name)">
ATTR __kernel __attribute__((reqd_work_group_size(${WG}, 1, 1)))
void ${name}(${', '.join(params[name])}) {
  ${access.prologue(everyone, inputs.prepare)}
  const int t = get_local_id(0);
</%def>
<%def name="bases(column, top)">
    ${access.bases(I, everyone)}
${lines.move(I, names, 'k', 'row', rank, 1)}
% for s in everyone:
    ${s.name}b += ${column} * ${s.name}k0 + ${top} * ${s.name}s;
% endfor
</%def>
<%def name="load_row(r, row)">
% for s in inputs.operands:
      ${access.load(s, f'({s.base} + ({row}) * {s.name}s)', '0', f'r{r}')}
% endfor
</%def>
<%def name="store_row(row, value)">
      ${access.store_element(out, f'({out.base} + ({row}) * {out.name}s)', '0', value)}
</%def>
<%def name="parts(name, store)">
${head(name)}
  const ${I} strips = (k0 + ${WG - 1}) / ${WG};
  for (long u = get_group_id(0); u < units; u += get_num_groups(0)) {
    ${I} row = u / strips;
    const ${I} column = (u - row * strips) * ${WG} + t;
    if (column >= k0) continue;
    const ${I} part = row % parts;
    row /= parts;
    const ${I} line = row * k0 + column;
    const ${I} top = part * length, count = min((${I})(n - top), (${I})length);
${bases('column', 'top')}
    state_t c = state_identity();
% if store:
    if (part > 0) {
% for n, dt in m.components:
      c.${n} = q_${n}[(long)part * lines + line];
% endfor
    }
% endif
    ${I} i = 0;
    for (; i + ${R} <= count; i += ${R}) {
% for r in range(R):
${load_row(r, f'i + {r}')}
% endfor
% for r in range(R):
      c = entered(c, inner_of(${value.call(0, f'r{r}')}));
% if store:
${store_row(f'i + {r}', 'final(c)')}
% endif
% endfor
    }
    for (; i < count; ++i) {
${load_row(0, 'i')}
      c = entered(c, inner_of(${value.call(0, 'r0')}));
% if store:
${store_row('i', 'final(c)')}
% endif
    }
% if not store:
% for n, dt in m.components:
    q_${n}[(long)part * lines + line] = c.${n};
% endfor
% endif
  }
}
</%def>
<%def name="carry()">
ATTR __kernel __attribute__((reqd_work_group_size(${WG}, 1, 1)))
void scan_carry(${', '.join(params['scan_carry'])}) {
  for (long line = get_global_id(0); line < lines; line += get_global_size(0)) {
    state_t c = state_identity();
    for (long part = 0; part < parts; ++part) {
      state_t x;
% for n, dt in m.components:
      x.${n} = q_${n}[part * lines + line];
% endfor
% for n, dt in m.components:
      q_${n}[part * lines + line] = c.${n};
% endfor
      c = combine(c, x);
    }
  }
}
</%def>
## A tile's words: word k of all its lines, one beside the other.
<%def name="single()">
${head('scan_lookback')}
  __local state_t above_[${WG}];
  __local state_t carry_[${across}];
  __local uint ticket_;
  if (t == 0) ticket_ = ${'next_ticket(tile_state, (uint)units - 1)' if policy.tickets else 'get_group_id(0)'};
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint strips = (uint)(k0 + ${across - 1}) / ${across};
  ${I} row = ticket_ / (strips * (uint)tiles);
  const uint within = ticket_ - (uint)row * (strips * (uint)tiles);
  const uint tile = within / strips, strip = within - tile * strips;
  const int x = t % ${across}, y = t / ${across};
  const ${I} column = (${I})strip * ${across} + x, top = (${I})tile * ${down * R} + (${I})y * ${R};
  const int inside = column < k0;
  const ${I} count = inside ? (${I})(n - top) : 0;
  __global ulong *published = tile_state + 2 + ((ulong)row * strips + strip) * tiles * ${across} * WORDS + x;
${bases('column', 'top')}
  inner_t v[${R}];
% for s in everyone:
  const ${'long' if s.access == 'index' else I} ${s.name}first = ${s.name}b - top * ${s.name}s;
% endfor
  if (${R} <= count) {
% for r in range(R):
${load_row(r, r)}
% endfor
% for r in range(R):
    v[${r}] = inner_of(${value.call(0, f'r{r}')});
% endfor
  } else {
% for r in range(R):
    if (${r} < count) {
${load_row(0, r)}
      v[${r}] = inner_of(${value.call(0, 'r0')});
    } else v[${r}] = inner_identity();
% endfor
  }
  state_t mine = state_identity();
% for r in range(R):
  mine = entered(mine, v[${r}]);
% endfor
  above_[t] = mine;
  barrier(CLK_LOCAL_MEM_FENCE);
  state_t b = state_identity();
  for (int i = 0; i < y; ++i) b = combine(b, above_[i * ${across} + x]);
  if (y == ${down - 1}) {
    state_t c = state_identity();
    words_t r_;
    int ok = 1;
    if (tile > 0) {
      __global const ulong *p = published + (ulong)(tile - 1) * ${across} * WORDS;
      ok = await(p, ${across}, r_.w, epoch, tile_state + 1);
      if (ok) c = unpacked(r_);
      else if (inside) {
        ## Everything above the tile once more.
        for (${I} i = 0; i < (${I})tile * ${down * R}; ++i) {
% for s in inputs.operands:
          const ${s.type} ${s.name}q_0 = ${capture(access.element, s, f'({s.name}first + i * {s.name}s)', '0')};
% endfor
          c = entered(c, inner_of(${value.call(0, 'q')}));
        }
      }
    }
    carry_[x] = c;
    r_ = packed(combine(c, combine(b, mine)));
    for (int k = 0; k < WORDS; ++k) publish(published + ((ulong)tile * WORDS + k) * ${across}, r_.w + k, 1, epoch);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  b = combine(carry_[x], b);
% for r in range(R):
  b = entered(b, v[${r}]);
  if (${r} < count) {
${store_row(r, 'final(b)')}
  }
% endfor
}
</%def>
${scans.algebra(m, first)}
% if mode == 'lookback':
${scans.words(state_parts)}
${lookback.exchange(policy)}
${single()}
% else:
${parts('scan_finish', True)}
% if mode == 'split':
${parts('scan_reduce', False)}
${carry()}
% endif
% endif
