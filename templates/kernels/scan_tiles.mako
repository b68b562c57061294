## Scan of lines on a GPU, a work-group per tile of K x WG x V elements.
##
##   tile   |<-V->|<-V->| ... WG work-items ... |<-V->|  x K
##           every V by its work-item, the V's within a wave by exchange (PTX) or not at all, what is left
##           (K numbers per wave or work-item) by one wave, or by all work-items through local memory
##
## scan_finish    a work-group takes the tiles of a part of a line one after the other and carries a state
## scan_reduce    the same without results: the state of the part, q[part * lines + line]
## scan_carry     those states become the states before their parts, a work-group per line
## scan_lookback  one launch: each tile is a work-group's, which looks at what others have told
##
##   tiles     | 0 1 2 ... WG-1 | WG ...         |          told: every tile's total
##   sections  |                |                |          told by a section's last tile: all up to there
##
## What is before a tile is section before + tiles before in the section, each combined in the same way whoever
## comes first, so the bits are the same in every run.
<%namespace name="access" file="/lib/access.mako" inheritable="True"/>
<%namespace name="lines" file="/lib/lines.mako"/>
<%namespace name="scans" file="/lib/scans.mako"/>
<%namespace name="lookback" file="/lib/lookback.mako"/>
<%
  K, wave = policy.loads, policy.wave
  names = [s.name for s in everyone]
  waves = WG // wave
  M = K * waves                    # numbers that are left after the waves
  scanners = wave if wave > 1 else WG
  per = -(-M // scanners)
  tile = K * WG * V
%>
<%def name="head(name, more=())">
ATTR __kernel __attribute__((reqd_work_group_size(${WG}, 1, 1)))
void ${name}(${', '.join([*params, *more])}) {
  __local state_t left_[${M}];
  __local state_t all_;
% if wave == 1:
  __local state_t steps_[${2 * WG}];
% endif
% for s in pointers:
  ${s.p} += ${s.start};
% endfor
% for line in inputs.prepare:
  ${line}
% endfor
  const int t = get_local_id(0);
% if wave > 1:
  const uint lane = t & ${wave - 1}, w = t / ${wave};
% endif
</%def>
<%def name="bases()">
% for s in everyone:
    ${'long' if s.access == 'index' else I} ${s.name}b = ${s.start if s.access == 'index' else '0'};
% endfor
${lines.move(I, names, 'k', 'row', rank)}
</%def>
## Values of the tile from j0 on into v, of which those from `last` on are identities.
<%def name="load_tile()">
    if (j0 + ${tile} <= last) {
% for k in range(K):
      const ${I} j_${k} = j0 + (${k * WG} + t) * ${V};
% for s in inputs.operands:
      ${access.load(s, s.base, f'j_{k}', f'k{k}')}
% endfor
% endfor
% for k in range(K):
% for e in range(V):
      v[${k * V + e}] = inner_of(${value.call(e, f'k{k}')});
% endfor
% endfor
    } else {
% for k in range(K):
      {
        const ${I} j = j0 + (${k * WG} + t) * ${V};
        const ${I} have = last - j;
% for s in inputs.operands:
        ${access.load_partial(s, s.base, 'j', 'have')}
% endfor
% for e in range(V):
        if (${e} < have) v[${k * V + e}] = inner_of(${value.call(e)}); else v[${k * V + e}] = inner_identity();
% endfor
      }
% endfor
    }
</%def>
## b[k]: what is before the V elements k of this work-item in the tile; all_: the tile's total.
<%def name="scan_tile(tell)">
% for k in range(K):
    b[${k}] = ${'begin' if m.plain else ''}(v[${k * V}]);
% for e in range(1, V):
    b[${k}] = entered(b[${k}], v[${k * V + e}]);
    v[${k * V + e}] = inner_combine(v[${k * V + e - 1}], v[${k * V + e}]);
% endfor
% endfor
% if wave > 1:
% for d in (1, 2, 4, 8, 16):
% for k in range(K):
    { const state_t u = up(b[${k}], ${d}); if (lane >= ${d}) b[${k}] = combine(u, b[${k}]); }
% endfor
% endfor
% for k in range(K):
    if (lane == ${wave - 1}) left_[${k * waves} + w] = b[${k}];
    { const state_t u = up(b[${k}], 1); if (lane) b[${k}] = u; else b[${k}] = state_identity(); }
% endfor
    barrier(CLK_LOCAL_MEM_FENCE);
    if (w == 0) {
      state_t own[${per}], x = state_identity();
% for p in range(per):
      if (lane * ${per} + ${p} < ${M}) own[${p}] = left_[lane * ${per} + ${p}]; else own[${p}] = state_identity();
      x = combine(x, own[${p}]);
% endfor
% for d in (1, 2, 4, 8, 16):
      { const state_t u = up(x, ${d}); if (lane >= ${d}) x = combine(u, x); }
% endfor
      if (lane == ${wave - 1}) {
        all_ = x;
        ${tell}
      }
      { const state_t u = up(x, 1); if (lane) x = u; else x = state_identity(); }
% for p in range(per):
      if (lane * ${per} + ${p} < ${M}) left_[lane * ${per} + ${p}] = x;
      x = combine(x, own[${p}]);
% endfor
    }
    barrier(CLK_LOCAL_MEM_FENCE);
% for k in range(K):
    b[${k}] = combine(left_[${k * waves} + w], b[${k}]);
% endfor
% else:
% for k in range(K):
    left_[${k * WG} + t] = b[${k}];
% endfor
    barrier(CLK_LOCAL_MEM_FENCE);
    {
      state_t own[${per}], x = state_identity();
% for p in range(per):
      own[${p}] = left_[t * ${per} + ${p}];
      x = combine(x, own[${p}]);
% endfor
      int side = 0;
      steps_[t] = x;
      barrier(CLK_LOCAL_MEM_FENCE);
      for (int d = 1; d < ${WG}; d <<= 1) {
        x = steps_[side + t];
        if (t >= d) x = combine(steps_[side + t - d], x);
        side = ${WG} - side;
        steps_[side + t] = x;
        barrier(CLK_LOCAL_MEM_FENCE);
      }
      if (t == ${WG - 1}) {
        all_ = x;
        ${tell}
      }
      if (t) x = steps_[side + t - 1]; else x = state_identity();
% for p in range(per):
      left_[t * ${per} + ${p}] = x;
      x = combine(x, own[${p}]);
% endfor
    }
    barrier(CLK_LOCAL_MEM_FENCE);
% for k in range(K):
    b[${k}] = left_[${k * WG} + t];
% endfor
% endif
</%def>
<%def name="store_tile(v, b)">
% for k in range(K):
    {
      const state_t cb = combine(c, ${b}[${k}]);
      const ${I} j = j0 + (${k * WG} + t) * ${V};
% for e in range(V):
      const ${out.type} y_${e} = placed(cb, ${v}[${k * V + e}]);
% endfor
      if (j + ${V} <= last) {
        ${access.store(out, out.base, 'j', 'y')}
      } else {
        const ${I} have = last - j;
        ${access.store_partial(out, out.base, 'j', 'have', 'y')}
      }
    }
% endfor
</%def>
<%def name="parts(name, store)">
${head(name)}
  for (long u = get_group_id(0); u < units; u += get_num_groups(0)) {
    const ${I} line = u / parts, part = u - line * parts;
    ${I} row = line;
    const ${I} first = part * length, last = min((${I})n, (${I})(first + length));
${bases()}
    state_t c = state_identity();
% if store:
    if (part > 0) {
% for n, dt in m.components:
      c.${n} = q_${n}[(long)part * lines + line];
% endfor
    }
% endif
    for (${I} j0 = first; j0 < last; j0 += ${tile}) {
      inner_t v[${K * V}];
      state_t b[${K}];
${load_tile()}
      barrier(CLK_LOCAL_MEM_FENCE);
${scan_tile('')}
% if store:
${store_tile('v', 'b')}
% endif
      c = combine(c, all_);
    }
% if not store:
    if (t == 0) {
% for n, dt in m.components:
      q_${n}[(long)part * lines + line] = c.${n};
% endfor
    }
% endif
  }
}
</%def>
## One line's parts by a work-group: inclusive by steps of 1, 2, 4 ..., stored one part further.
<%def name="carry()">
ATTR __kernel __attribute__((reqd_work_group_size(${WG}, 1, 1)))
void scan_carry(${', '.join(states)}, const long lines, const long parts) {
  __local state_t steps_[${2 * WG}];
  const int t = get_local_id(0);
  for (long line = get_group_id(0); line < lines; line += get_num_groups(0)) {
    state_t c = state_identity();
    for (long base = 0; base < parts; base += ${WG}) {
      const long part = base + t;
      state_t x = state_identity();
      if (part < parts) {
% for n, dt in m.components:
        x.${n} = q_${n}[part * lines + line];
% endfor
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      int side = 0;
      steps_[t] = x;
      barrier(CLK_LOCAL_MEM_FENCE);
      for (int d = 1; d < ${WG}; d <<= 1) {
        x = steps_[side + t];
        if (t >= d) x = combine(steps_[side + t - d], x);
        side = ${WG} - side;
        steps_[side + t] = x;
        barrier(CLK_LOCAL_MEM_FENCE);
      }
      const state_t whole = steps_[side + ${WG - 1}];
      if (t) x = combine(c, steps_[side + t - 1]); else x = c;
      if (part < parts) {
% for n, dt in m.components:
        q_${n}[part * lines + line] = x.${n};
% endfor
      }
      c = combine(c, whole);
    }
  }
}
</%def>
## Wait for a state, and note it where nobody tells it.
<%def name="receive(place, to)">
        words_t r_;
        if (await(${place}, 1, r_.w, epoch, chain + 1)) ${to} = unpacked(r_);
        else atomic_or(&late, 1);
</%def>
<%def name="told(place, what)">
{ words_t r_ = packed(${what}); publish(${place}, r_.w, WORDS, epoch); }
</%def>
## near_, base_: what is before tile `number` in its section, and before that. Each work-item waits for one total.
<%def name="look_back()">
    {

      state_t x = state_identity();
      if (t < (int)l) {
${receive('totals + (number - l + t) * WORDS', 'x')}
      }
      state_t y = state_identity();
      if (t == ${WG - 1} && section) {
${receive('sections + section * WORDS', 'y')}
      }
% if wave > 1:
% for d in (1, 2, 4, 8, 16):
      { const state_t u = up(x, ${d}); if (lane >= ${d}) x = combine(u, x); }
% endfor
      if (lane == ${wave - 1}) parked_[w] = x;
      if (t == ${WG - 1}) base_ = y;
% else:
      parked_[t] = x;
      if (t == ${WG - 1}) base_ = y;
% endif
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    state_t c = base_;
    {
      state_t x = parked_[0];
      for (int i = 1; i < ${waves}; ++i) x = combine(x, parked_[i]);
      c = combine(c, x);
    }
</%def>
## Everything before the tile once more, each work-item a chunk of it. Runtimes of CPUs take no barrier that is
## behind a condition: there the chunks are empty where nobody is late.
<%def name="read_again()">
% if wave > 1:
  if (late) {
% else:
  {
    const int again = late;
% endif
    const ${I} chunk = (j0 + ${WG - 1}) / ${WG}, stop = ${'min(j0, (%s)((t + 1) * chunk))' % I if wave > 1 else 'again ? min(j0, (%s)((t + 1) * chunk)) : 0' % I};
    state_t x = state_identity();
    for (${I} j = t * chunk; j < stop; ++j) {
% for s in inputs.operands:
      const ${s.type} ${s.name}q_0 = ${capture(access.element, s, s.base, 'j')};
% endfor
      x = entered(x, inner_of(${value.call(0, 'q')}));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    parked_[t] = x;
    barrier(CLK_LOCAL_MEM_FENCE);
    state_t y = state_identity();
    for (int i = 0; i < ${WG}; ++i) y = combine(y, parked_[i]);
% if wave > 1:
    c = y;
% else:
    if (again) c = y;
% endif
  }
</%def>
## A work-group per tile, in the order in which the groups start.
<%def name="single()">
${head('scan_lookback', ['__global ulong *chain', 'const uint epoch', 'const long tiles', 'const long region'])}
  __local state_t base_;
  __local state_t parked_[${WG}];
  __local uint ticket_;
  __local int late;
  if (t == 0) {
    ticket_ = ${'next_ticket(chain, (uint)units - 1)' if policy.tickets else 'get_group_id(0)'};
    late = 0;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint line = ticket_ / (uint)tiles, number = ticket_ - line * (uint)tiles;
  const uint section = number / ${WG}, l = number - section * ${WG};
  __global ulong *totals = chain + 2 + line * region;
  __global ulong *sections = totals + tiles * WORDS;
  ${I} row = line;
  const ${I} j0 = (${I})number * ${tile}, last = n;
${bases()}
  inner_t v[${K * V}];
  state_t b[${K}];
${load_tile()}
${scan_tile(capture(told, 'totals + number * WORDS', 'x'))}
${look_back()}
${read_again()}
  if (t == 0 && l == ${WG - 1}) ${told('sections + (section + 1) * WORDS', 'combine(c, all_)')}
${store_tile('v', 'b')}
}
</%def>
${scans.algebra(m, first)}
% if wave > 1 or mode == 'lookback':
${scans.words(state_parts)}
% endif
% if wave > 1:
${scans.wave()}
% endif
% if mode == 'lookback':
${lookback.exchange(policy)}
${single()}
% else:
${parts('scan_finish', True)}
% if mode == 'split':
${parts('scan_reduce', False)}
${carry()}
% endif
% endif
