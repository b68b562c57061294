## Scan of lines on a GPU, a work-group per tile of WG x K x V elements.
##
##   memory   | item 0: V | item 1: V | ... |  x K   neighbouring work-items load neighbouring vectors,
##   local    | item 0: K x V | item 1: K x V | ... | which meet as runs, a run per work-item, and go back so
##
## Where waves exchange through registers (PTX) each has its own part of the tile and of local memory. A run's
## elements are combined by its work-item, the runs by the wave, the waves by everybody alike (without PTX: the
## runs by all work-items through local memory). Runs lie an odd number of vectors apart: no two lanes that load
## together meet in a bank.
##
## scan_finish    a work-group takes the tiles of a part of a line one after the other and carries a state
## scan_reduce    the same without results: the state of the part, q[part * lines + line]
## scan_carry     those states become the states before their parts, a work-group per line
## scan_lookback  one launch: each tile is a work-group's, which looks at what others have published
##
##   tiles     | 0 1 ... S-1 | S ...    |            published: every tile's total
##   blocks    |      0      |    1     | ...        published by a block's last tile: its sum
##   sections  |             0               | ...   published by a section's last tile: all up to there
##
##   before a tile:  section, blocks  | tiles of R-2 blocks | tiles of its own block |
##
## A work-group has R x S work-items, each of which waits for one of these. The nearest totals are looked at
## themselves, as the sums of their blocks come one step later. All is combined in an order that depends on the tile's number
## alone, whoever comes first, so the bits are the same in every run.
<%namespace name="access" file="/lib/access.mako" inheritable="True"/>
<%namespace name="lines" file="/lib/lines.mako"/>
<%namespace name="scans" file="/lib/scans.mako"/>
<%namespace name="lookback" file="/lib/lookback.mako"/>
<%
  K, wave = policy.loads, policy.wave
  names = [s.name for s in everyone]
  waves = WG // wave if wave > 1 else 1
  lanes = WG // waves              # work-items that exchange vectors
  apart = K | 1                    # vectors from run to run in local memory
  tile = K * WG * V
  S, R = block, WG // block
  L = m.type_at(1)
  vectors = V > 1 and m.plain and m.entering.kind != 'c'
  parked = waves if wave > 1 else WG
%>
<%def name="head(name)">
ATTR __kernel __attribute__((reqd_work_group_size(${WG}, 1, 1)))
void ${name}(${', '.join(params[name])}) {
  __local state_t left_[${waves if wave > 1 else 2 * WG}];
  __local ulong2 room_[${-(-WG * max(apart * V * held, m.state_bytes) // 16)}];
  ${access.prologue(everyone, inputs.prepare)}
  const int t = get_local_id(0);
% if wave > 1:
  const uint lane = t & ${wave - 1}, w = t / ${wave};
% else:
  const uint lane = t;
% endif
  __local inner_t *runs = (__local inner_t *)${part()};
  __local ${out.type} *results = (__local ${out.type} *)${part()};
</%def>
## The part of local memory of a wave, whose work-items meet there.
<%def name="part()" filter="trim">${f'((__local uchar *)room_ + w * {lanes * apart * V * held})' if waves > 1 else 'room_'}</%def>
<%def name="meet()" filter="trim">${'meet_wave();' if wave > 1 else 'barrier(CLK_LOCAL_MEM_FENCE);'}</%def>
## Where load k of this work-item is in the tile, and in local memory.
<%def name="place(k)" filter="trim">${f'w * {lanes * K * V} + ' if waves > 1 else ''}(${k * lanes} + lane) * ${V}</%def>
<%def name="spot(k)" filter="trim">((${k * lanes} + lane) / ${K} * ${apart} + (${k * lanes} + lane) % ${K}) * ${V}</%def>
<%def name="bases()">
    ${access.bases(I, everyone)}
${lines.move(I, names, 'k', 'row', rank)}
</%def>
## Values of the tile from j0 on into v, a run, of which those from `last` on are identities.
<%def name="load_tile()">
    if (j0 + ${tile} <= last) {
% for k in range(K):
      const ${I} j_${k} = j0 + ${place(k)};
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
        const ${I} j = j0 + ${place(k)};
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
% if K * V > 1:
    ${meet()}
% for k in range(K):
    ${put('runs', 'inner_t', 'v', k * V, capture(spot, k), vectors and f'{L}{V}')}
% endfor
    ${meet()}
% for k in range(K):
    ${get('runs', 'inner_t', 'v', k * V, f'(lane * {apart} + {k}) * {V}', vectors and f'{L}{V}')}
% endfor
% endif
</%def>
<%def name="put(to, type, from_, first, at, vector)">
% if vector:
    *(__local ${vector} *)(${to} + ${at}) = (${vector})(${', '.join(f'{from_}[{first + e}]' for e in range(V))});
% else:
% for e in range(V):
    ${to}[${at} + ${e}] = ${from_}[${first + e}];
% endfor
% endif
</%def>
<%def name="get(from_, type, to, first, at, vector)">
% if vector:
    { const ${vector} u = *(__local ${vector} *)(${from_} + ${at}); ${' '.join(f'{to}[{first + e}] = u.s{e:x};' for e in range(V))} }
% else:
% for e in range(V):
    ${to}[${first + e}] = ${from_}[${at} + ${e}];
% endfor
% endif
</%def>
## The run v becomes its states; b: what is before it in the tile; all: the tile's total.
<%def name="scan_tile()">
    state_t b = ${'begin' if m.plain else ''}(v[0]), all = state_identity();
% for e in range(1, K * V):
    b = entered(b, v[${e}]);
    v[${e}] = inner_combine(v[${e - 1}], v[${e}]);
% endfor
% if wave > 1:
% for d in (1, 2, 4, 8, 16):
    { const state_t u = up(b, ${d}); if (lane >= ${d}) b = combine(u, b); }
% endfor
    if (lane == ${wave - 1}) left_[w] = b;
    { const state_t u = up(b, 1); if (lane) b = u; else b = state_identity(); }
    barrier(CLK_LOCAL_MEM_FENCE);
    {
      state_t earlier = all;
% for i in range(waves):
      if (w == ${i}) earlier = all;
      all = combine(all, left_[${i}]);
% endfor
      b = combine(earlier, b);
    }
% else:
    {
      int side = 0;
      left_[t] = b;
      barrier(CLK_LOCAL_MEM_FENCE);
      for (int d = 1; d < ${WG}; d <<= 1) {
        b = left_[side + t];
        if (t >= d) b = combine(left_[side + t - d], b);
        side = ${WG} - side;
        left_[side + t] = b;
        barrier(CLK_LOCAL_MEM_FENCE);
      }
      all = left_[side + ${WG - 1}];
      if (t) b = left_[side + t - 1]; else b = state_identity();
    }
% endif
</%def>
## What comes after c and the run's b: back to the order of memory, and stored.
<%def name="store_tile()">
    b = combine(c, b);
    ${out.type} r[${K * V}];
% if m.plain and (m.sums or m.products):
    int out = 0;
% for e in range(K * V):
    out |= leaves(b, v[${e}]);
% endfor
% endif
% for e in range(K * V):
    r[${e}] = placed(b, v[${e}]);
% endfor
% if m.plain and (m.sums or m.products):
    ## The run once more, value by value as states.
    if (out) {
      const ${I} run = j0 + ${f'w * {lanes * K * V} + ' if waves > 1 else ''}lane * ${K * V};
      for (int e = 0; e < ${K * V} && run + e < last; ++e) {
        const ${I} j = run + e;
% for s in inputs.operands:
        const ${s.type} ${s.name}q_0 = ${capture(access.element, s, s.base, 'j')};
% endfor
        b = entered(b, inner_of(${value.call(0, 'q')}));
        r[e] = final(b);
      }
    }
% endif
<% whole = vectors and f'{out.type}{V}' %>
% if K * V > 1:
    ${meet()}
% for k in range(K):
    ${put('results', out.type, 'r', k * V, f'(lane * {apart} + {k}) * {V}', whole)}
% endfor
    ${meet()}
% endif
% for k in range(K):
    {
      const ${I} j = j0 + ${place(k)};
% if K * V > 1:
      ${get('results', out.type, 'r', k * V, capture(spot, k), whole)}
% endif
% for e in range(V):
      const ${out.type} y_${e} = r[${k * V + e}];
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
${load_tile()}
${scan_tile()}
% if store:
${store_tile()}
% endif
      c = combine(c, all);
      barrier(CLK_LOCAL_MEM_FENCE);
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
void scan_carry(${', '.join(params['scan_carry'])}) {
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
<%def name="receive(place)">
        words_t r_;
        there = await(${place}, 1, r_.w, epoch, tile_state + 1);
        if (there) x = unpacked(r_);
        else atomic_or(&late, 1);
</%def>
<%def name="publish_at(place, what)">
{ words_t r_ = packed(${what}); publish(${place}, r_.w, WORDS, epoch); }
</%def>
## c: what is before tile `number`. Each work-item waits for one state, earlier ones for earlier ones.
<%def name="look_back()">
    if (t == ${WG - 1}) ${publish_at('totals + number * WORDS', 'all')}
    ${lookback.pause(policy, 'number')}
    state_t c = state_identity();
    {
      const int block = number / ${S}, oldest = max(block - ${R - 2}, 0), section = oldest / ${S};
      const int row = t / ${S}, i = t - row * ${S};
      const long at = (long)(block - ${R - 1} + row) * ${S} + i;
      int there = 1;
      state_t x = c;
      if (t == 0) {
        if (section) {
${receive('sections + section * WORDS')}
        }
      } else if (t < ${S}) {
        if (section * ${S} + i - 1 < oldest) {
${receive('blocks + (section * %d + i - 1) * WORDS' % S)}
        }
      } else if (0 <= at && at < number) {
${receive('totals + at * WORDS')}
      }
% if wave > 1:
% for d in (1, 2, 4, 8, 16):
      { const state_t u = up(x, ${d}); if (lane >= ${d}) x = combine(u, x); }
% endfor
      if (lane == ${wave - 1}) parked_[w] = x;
      if (w == ${waves - 1} && number % ${S} == ${S - 1} && wave_all(there) && lane == ${wave - 1}) ${publish_at('blocks + block * WORDS', 'combine(x, all)')}
% else:
      parked_[t] = x;
% endif
    }
    barrier(CLK_LOCAL_MEM_FENCE);
% if wave == 1:
    if (t == ${WG - 1} && number % ${S} == ${S - 1} && !late) {
      state_t x = parked_[${WG - S}];
      for (int i = ${WG - S + 1}; i < ${WG}; ++i) x = combine(x, parked_[i]);
      ${publish_at('blocks + number / %d * WORDS' % S, 'combine(x, all)')}
    }
% endif
    for (int i = 0; i < ${parked}; ++i) c = combine(c, parked_[i]);
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
    __local state_t *own_ = (__local state_t *)room_;
    barrier(CLK_LOCAL_MEM_FENCE);
    own_[t] = x;
    barrier(CLK_LOCAL_MEM_FENCE);
    state_t y = state_identity();
    for (int i = 0; i < ${WG}; ++i) y = combine(y, own_[i]);
    barrier(CLK_LOCAL_MEM_FENCE);
% if wave > 1:
    c = y;
% else:
    if (again) c = y;
% endif
  }
</%def>
## A work-group per tile, in the order in which the groups start.
<%def name="single()">
${head('scan_lookback')}
  __local state_t parked_[${parked}];
  __local uint ticket_;
  __local int late;
  if (t == 0) {
    ticket_ = ${'next_ticket(tile_state, (uint)units - 1)' if policy.tickets else 'get_group_id(0)'};
    late = 0;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint line = ticket_ / (uint)tiles, number = ticket_ - line * (uint)tiles;
  __global ulong *totals = tile_state + 2 + line * region;
  __global ulong *blocks = totals + tiles * WORDS, *sections = blocks + (tiles / ${S} + 1) * WORDS;
  ${I} row = line;
  const ${I} j0 = (${I})number * ${tile}, last = n;
${bases()}
  inner_t v[${K * V}];
${load_tile()}
${scan_tile()}
${look_back()}
${read_again()}
  if (t == 0 && number % ${S * S} == ${S * S - 1}) ${publish_at('sections + (number / %d + 1) * WORDS' % (S * S), 'combine(c, all)')}
${store_tile()}
}
</%def>
${scans.algebra(m, first)}
% if m.plain and (m.sums or m.products):
${scans.leaving(m)}
% endif
% if wave > 1 or mode == 'lookback':
${scans.words(state_parts)}
% endif
% if wave > 1:
${scans.wave()}
% endif
% if mode == 'lookback':
${lookback.exchange(policy, policy.lookback == 'ptx' and sum(p.words for p in state_parts) % 2 == 0)}
${single()}
% else:
${parts('scan_finish', True)}
% if mode == 'split':
${parts('scan_reduce', False)}
${carry()}
% endif
% endif
