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
##   tiles     | 0 1 2 .. fan-1 | fan ..         | ... fan*fan |   told: every tile's total
##   blocks    |       0        |       1        | ...         |   told by a block's last tile: its total
##   sections  |                      0                        |   told by a section's last tile: all up to there
##
## What is before a tile is section before + blocks before in the section + tiles before in the block, each
## combined in the same way whoever comes first, so the bits are the same in every run.
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
  fan = policy.fan
%>
<%def name="head(name, more=())">
ATTR __kernel __attribute__((reqd_work_group_size(${WG}, 1, 1)))
void ${name}(${', '.join([*params, *more])}) {
  __local inner_t left_[${M}];
  __local inner_t all_;
% if wave == 1:
  __local inner_t steps_[${2 * WG}];
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
    inner_t v[${K * V}];
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
<%def name="scan_tile()">
    inner_t b[${K}];
% for k in range(K):
% for e in range(1, V):
    v[${k * V + e}] = inner_combine(v[${k * V + e - 1}], v[${k * V + e}]);
% endfor
    b[${k}] = v[${k * V + V - 1}];
% endfor
% if wave > 1:
% for d in (1, 2, 4, 8, 16):
% for k in range(K):
    { const inner_t u = inner_up(b[${k}], ${d}); if (lane >= ${d}) b[${k}] = inner_combine(u, b[${k}]); }
% endfor
% endfor
% for k in range(K):
    if (lane == ${wave - 1}) left_[${k * waves} + w] = b[${k}];
    { const inner_t u = inner_up(b[${k}], 1); if (lane) b[${k}] = u; else b[${k}] = inner_identity(); }
% endfor
    barrier(CLK_LOCAL_MEM_FENCE);
    if (w == 0) {
      inner_t own[${per}], x = inner_identity();
% for p in range(per):
      if (lane * ${per} + ${p} < ${M}) own[${p}] = left_[lane * ${per} + ${p}]; else own[${p}] = inner_identity();
      x = inner_combine(x, own[${p}]);
% endfor
% for d in (1, 2, 4, 8, 16):
      { const inner_t u = inner_up(x, ${d}); if (lane >= ${d}) x = inner_combine(u, x); }
% endfor
      if (lane == ${wave - 1}) all_ = x;
      total_ = inner_from(x, ${wave - 1});
      { const inner_t u = inner_up(x, 1); if (lane) x = u; else x = inner_identity(); }
% for p in range(per):
      if (lane * ${per} + ${p} < ${M}) left_[lane * ${per} + ${p}] = x;
      x = inner_combine(x, own[${p}]);
% endfor
    }
% else:
% for k in range(K):
    left_[${k * WG} + t] = b[${k}];
% endfor
    barrier(CLK_LOCAL_MEM_FENCE);
    {
      inner_t own[${per}], x = inner_identity();
% for p in range(per):
      own[${p}] = left_[t * ${per} + ${p}];
      x = inner_combine(x, own[${p}]);
% endfor
      int side = 0;
      steps_[t] = x;
      barrier(CLK_LOCAL_MEM_FENCE);
      for (int d = 1; d < ${WG}; d <<= 1) {
        x = steps_[side + t];
        if (t >= d) x = inner_combine(steps_[side + t - d], x);
        side = ${WG} - side;
        steps_[side + t] = x;
        barrier(CLK_LOCAL_MEM_FENCE);
      }
      if (t == ${WG - 1}) all_ = x;
      if (t) x = steps_[side + t - 1]; else x = inner_identity();
% for p in range(per):
      left_[t * ${per} + ${p}] = x;
      x = inner_combine(x, own[${p}]);
% endfor
    }
% endif
</%def>
<%def name="store_tile()">
% for k in range(K):
    {
% if wave > 1:
      const inner_t cb = inner_combine(carried(c), inner_combine(left_[${k * waves} + w], b[${k}]));
% else:
      const inner_t cb = inner_combine(carried(c), left_[${k * WG} + t]);
% endif
      const ${I} j = j0 + (${k * WG} + t) * ${V};
% for e in range(V):
      const ${out.type} y_${e} = result(inner_combine(cb, v[${k * V + e}]));
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
% if wave > 1:
      inner_t total_ = inner_identity();
% endif
${load_tile()}
      barrier(CLK_LOCAL_MEM_FENCE);
${scan_tile()}
      barrier(CLK_LOCAL_MEM_FENCE);
% if store:
${store_tile()}
% endif
      c = entered(c, all_);
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
<%def name="fold_wave(x)">
% for d in (1, 2, 4, 8, 16):
      { const state_t u = state_up(${x}, ${d}); if (lane >= ${d}) ${x} = combine(u, ${x}); }
% endfor
</%def>
<%def name="receive(kind, place, to)">
        ${kind}_words r_;
        if (await(${place}, r_.w, ${kind}_WORDS, epoch, chain + 1)) ${to} = ${'entered(state_identity(), inner_unpack(r_))' if kind == 'inner' else 'state_unpack(r_)'};
        else { late = 1; ok = 0; }
</%def>
<%def name="single()">
${head('scan_lookback', ['__global ulong *chain', 'const uint epoch', 'const long tiles', 'const long region'])}
  __local state_t near_, far_, base_;
% if wave == 1:
  __local state_t waited_[${fan}];
% endif
  __local state_t parked_[${WG}];
${lookback.ticket('(uint)units')}
  const uint line = ticket_ / (uint)tiles, number = ticket_ - line * (uint)tiles;
  const uint block = number / ${fan}, l = number - block * ${fan};
  const uint section = block / ${fan}, lb = block - section * ${fan};
  __global ulong *totals = chain + 2 + line * region;
  __global ulong *blocks = totals + tiles * inner_WORDS;
  __global ulong *sections = blocks + (tiles / ${fan} + 1) * state_WORDS;
  ${I} row = line;
  const ${I} j0 = (${I})number * ${tile}, last = n;
${bases()}
% if wave > 1:
  inner_t total_ = inner_identity();
% endif
${load_tile()}
${scan_tile()}
% if wave > 1:
  if (w == 0) {
    if (lane == 0) { inner_words r_ = inner_pack(total_); publish(totals + number * inner_WORDS, r_.w, inner_WORDS, epoch); }
    int ok = 1;
    state_t x = state_identity();
    if (lane < l) {
${receive('inner', 'totals + (number - l + lane) * inner_WORDS', 'x')}
    }
    ok = wave_all(ok);
${fold_wave('x')}
    if (lane == ${wave - 1}) {
      near_ = x;
      if (l == ${fan - 1} && ok) { state_words r_ = state_pack(entered(x, total_)); publish(blocks + block * state_WORDS, r_.w, state_WORDS, epoch); }
    }
  }
  if (w == ${1 % waves}) {
    int ok = 1;
    state_t x = state_identity();
    if (lane < lb) {
${receive('state', 'blocks + (block - lb + lane) * state_WORDS', 'x')}
    }
${fold_wave('x')}
    if (lane == ${wave - 1}) far_ = x;
  }
  if (t == ${2 % waves * wave}) {
    int ok = 1;
    state_t x = state_identity();
    if (section) {
${receive('state', 'sections + section * state_WORDS', 'x')}
    }
    base_ = x;
  }
% else:
  int ok = 1;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (t == 0) { inner_words r_ = inner_pack(all_); publish(totals + number * inner_WORDS, r_.w, inner_WORDS, epoch); }
  for (uint i = t; i < l; i += ${WG}) {
${receive('inner', 'totals + (number - l + i) * inner_WORDS', 'waited_[i]')}
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (t == 0) {
    state_t x = state_identity();
    for (uint i = 0; i < l; ++i) x = combine(x, waited_[i]);
    near_ = x;
    if (l == ${fan - 1} && !late) { state_words r_ = state_pack(entered(x, all_)); publish(blocks + block * state_WORDS, r_.w, state_WORDS, epoch); }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = t; i < lb; i += ${WG}) {
${receive('state', 'blocks + (block - lb + i) * state_WORDS', 'waited_[i]')}
  }
  if (t == 0) {
    int ok = 1;
    state_t x = state_identity();
    if (section) {
${receive('state', 'sections + section * state_WORDS', 'x')}
    }
    base_ = x;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (t == 0) {
    state_t x = state_identity();
    for (uint i = 0; i < lb; ++i) x = combine(x, waited_[i]);
    far_ = x;
  }
% endif
  barrier(CLK_LOCAL_MEM_FENCE);
  state_t c = combine(combine(base_, far_), near_);
  if (late) {
    ## Everything before the tile once more, each work-item a chunk of it.
    const ${I} chunk = (j0 + ${WG - 1}) / ${WG}, stop = min(j0, (${I})((t + 1) * chunk));
    state_t x = state_identity();
    for (${I} j = t * chunk; j < stop; ++j) {
% for s in inputs.operands:
      const ${s.type} ${s.name}q_0 = ${capture(access.element, s, s.base, 'j')};
% endfor
      x = entered(x, inner_of(${value.call(0, 'q')}));
    }
    parked_[t] = x;
    barrier(CLK_LOCAL_MEM_FENCE);
    c = state_identity();
    for (int i = 0; i < ${WG}; ++i) c = combine(c, parked_[i]);
  }
  if (t == 0 && l == ${fan - 1} && lb == ${fan - 1}) {
    state_words r_ = state_pack(entered(c, all_));
    publish(sections + (section + 1) * state_WORDS, r_.w, state_WORDS, epoch);
  }
${store_tile()}
}
</%def>
${scans.algebra(m, first)}
% if wave > 1 or mode == 'lookback':
${scans.words('inner', 'inner_t', inner_parts)}
${scans.words('state', 'state_t', state_parts)}
% endif
% if wave > 1:
${scans.wave('inner', 'inner_t')}
${scans.wave('state', 'state_t')}
${scans.vote()}
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
