## Compaction by tiles, for GPUs: a work-group keeps what it finds in `W x L x V` neighbouring elements.
##
##   load l    | item 0: V | item 1: V | ... | item W-1: V |        C order is load, item, element of a vector;
##                                                                with warps: warp, load, item, element
##
## Each work-item counts what it keeps of each load, `field` bits a load in one number, and one scan of these
## numbers over the work-group (or over each warp, whose totals are then added up) gives it the rank of
## everything it keeps. The kept elements are put into local memory by rank, and go from there to the output
## side by side. Where the value is the position itself, what goes there is the position in the tile.
##
## once   Every element is read once: a tile learns what the tiles before it keep by looking back at what they
##        have published, its own count (1) or that of all tiles up to it (2):
##
##          tile      t-4    t-3    t-2    t-1    t
##          published 2: 90  1: 7   1: 9   1: 5   looks back until it sees a 2: 90 + 7 + 9 + 5 before it
##
##        A warp looks at 32 x `window` tiles at once: how fast the counts travel is what bounds the speed. A
##        word that was published in another launch has another `epoch`, and counts as not published. Groups start in
##        the order of their numbers, or take a ticket. A group that has looked `spins` times in vain gives up (3). All
##        groups after it give up too, so the last one writes -1 as the count, and the host takes two passes.
##
## count, write   Two passes over the tiles of each work-group.
<%namespace name="access" file="/lib/access.mako" inheritable="True"/>
<%namespace name="lookback" file="/lib/lookback.mako"/>
<%namespace name="warp" file="/lib/warp.mako"/>
<%
W = policy.work_group
L = loads
T = W * L * V
ptx = policy.look_back == 'ptx'
warps = W // 32
field = 8 if 32 * V < 256 and ptx else 16
packed = 'uint' if L * field <= 32 else 'ulong'
held = 'ushort' if positional else out.type
mask = (1 << field) - 1
bits = 'uint' if L * V <= 32 else 'ulong'
epoch_bits = 20
%>
<%def name="start()">
  ${access.prologue(inputs.operands, inputs.prepare)}
  const uint item = get_local_id(0);
% if ptx:
  const uint lane = item & 31, warp = item >> 5;
% endif
  const ${I} n = (${I})total;
</%def>
## Where in the tile a work-item's part of load `l` is.
<%def name="offset(l)" filter="trim">
${f'warp * {32 * L * V} + lane * {V} + {32 * l * V}' if ptx else f'{l * W * V} + item * {V}'}
</%def>
<%def name="judge(l, w, tag, values)">
        flags |= (${bits})(${keep.call(w, tag)} & 1) << ${l * V + w};
% if values:
        v_${l * V + w} = ${value.call(w, tag)};
% endif
</%def>
## Which elements of the tile are kept, as bits of `flags`; with `values`, what they are.
## All loads of a whole tile stand before the first use, so that they are under way together.
<%def name="look(values)">
    if (first + ${T} <= n) {
% for l in range(L):
      const ${I} j_${l} = first + (${I})(${offset(l)});
% for s in inputs.operands:
      ${access.load(s, s.base, f'j_{l}', f'_l{l}')}
% endfor
% endfor
% for l in range(L):
% for w in range(V):
      ${judge(l, w, f'_l{l}', values)}
% endfor
% endfor
    } else {
% for l in range(L):
      {
        const ${I} j = first + (${I})(${offset(l)});
        if (j < n) {
          const ${I} left = n - j;
          const int m = left < ${V} ? (int)left : ${V};
% for s in inputs.operands:
          ${access.load_partial(s, s.base, 'j', 'm')}
% endfor
% for w in range(V):
          if (${w} < m) {
            ${judge(l, w, '', values)}
          }
% endfor
        }
      }
% endfor
    }
</%def>
## The tile from element `first` on: its values, flags, ranks, and how many are kept.
<%def name="ranks()">
    ${bits} flags = 0;
% if not positional:
    ${out.type} v_0 = (${out.type})(0)${''.join(f', v_{k} = ({out.type})(0)' for k in range(1, L * V))};
% endif
    ${look(not positional)}
    ${packed} mine = 0;
% for l in range(L):
    mine |= (${packed})popcount((uint)(flags >> ${l * V}) & ${(1 << V) - 1}u) << ${field * l};
% endfor
    ${packed} upto = mine;
% if ptx:
% for d in (1, 2, 4, 8, 16):
    { const ${packed} other = warp_up${'_long' if packed == 'ulong' else ''}(upto, ${d}); if (lane >= ${d}) upto += other; }
% endfor
    const ${packed} all = warp_last${'_long' if packed == 'ulong' else ''}(upto), before = upto - mine;
    if (lane == 31) warp_kept[warp] = ${' + '.join(f'(uint)((all >> {field * l}) & {mask})' for l in range(L))};
    barrier(CLK_LOCAL_MEM_FENCE);
    uint kept = 0, passed = 0;
% for k in range(warps):
    if (warp == ${k}) passed = kept;
    kept += warp_kept[${k}];
% endfor
% else:
    sums[item] = upto;
    barrier(CLK_LOCAL_MEM_FENCE);
<% d = 1 %>
% while d < W:
    { const ${packed} other = item >= ${d} ? (${packed})sums[item - ${d}] : 0; barrier(CLK_LOCAL_MEM_FENCE); upto += other; sums[item] = upto; barrier(CLK_LOCAL_MEM_FENCE); }
<% d *= 2 %>
% endwhile
    const ${packed} all = (${packed})sums[${W - 1}], before = upto - mine;
    const uint kept = ${' + '.join(f'(uint)((all >> {field * l}) & {mask})' for l in range(L))};
    uint passed = 0;
% endif
</%def>
## Put the kept elements into local memory by rank.
<%def name="collect()">
    {
% for l in range(L):
      {
        uint rank = passed + (uint)((before >> ${field * l}) & ${mask});
% if positional:
        const uint at = ${offset(l)};
% endif
% for w in range(V):
        if ((flags >> ${l * V + w}) & 1) staged[rank++] = ${f'(ushort)(at + {w})' if positional else f'v_{l * V + w}'};
% endfor
        passed += (uint)((all >> ${field * l}) & ${mask});
      }
% endfor
    }
</%def>
## From local memory to the output, from `base` on.
<%def name="deliver()">
    for (uint k = item; k < kept; k += ${W}) {
% if positional:
      const ${out.type} x = ${origin} + ((${out.type})first + (${out.type})staged[k]) * ${stride};
% else:
      const ${out.type} x = staged[k];
% endif
      ${access.store_element(out, '(base + k)', '0', 'x')}
    }
</%def>
<%def name="rooms()">
  __local ${held} staged[${T}];
% if ptx:
  __local uint warp_kept[${warps}];
% else:
  __local ulong sums[${W}];
% endif
</%def>
${keep.text}
% if not same and not positional:
${value.text}
% endif
% if ptx:
${warp.shuffles()}
% endif
% if single_pass and ptx:
${warp.relaxed()}
% elif single_pass:
HELPER ulong device_read(volatile __global const ulong *p) { return *p; }
HELPER void device_write(volatile __global ulong *p, const ulong v) { *p = v; }
% endif
% if single_pass:
## What was published in this launch: 0 where nothing was.
HELPER ulong heard(const ulong word, const ulong epoch) { return (word >> ${64 - epoch_bits}) == epoch ? word & ${hex((1 << (64 - epoch_bits)) - 1)}UL : 0; }
HELPER ulong published_as(const ulong count, const ulong kind, const ulong epoch) { return epoch << ${64 - epoch_bits} | count << 2 | kind; }
ATTR __kernel __attribute__((reqd_work_group_size(${W}, 1, 1)))
void compact_once(${', '.join(params['compact_once'])}) {
  ${start()}
  ${rooms()}
  __local ulong base_of_tile[2];
% if policy.ticket:
  __local uint ticket;
  if (item == 0) {
    ticket = atomic_inc((volatile __global uint *)tile_state);
    if (ticket + 1 == tiles) *tile_state = 0;  /* for the next launch */
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const long tile = ticket;
% else:
  const long tile = get_group_id(0);
% endif
  const ${I} first = (${I})tile * ${T};
  ${ranks()}
  __global ulong *words = tile_state + 1;
  if (item == 0) device_write(words + tile, published_as(kept, 1, epoch));
  ${collect()}
% if ptx:
  if (item < 32) {
    ${lookback.pause(policy, 'tile')}
    ulong mine_of_earlier = 0;
    uint failed = 0, done = 0;
    int spins = 0;
    for (long back = tile - 1; !done && !failed; back -= ${32 * policy.window}) {
% for q in range(policy.window):
      ulong word_${q} = back - ${32 * q} >= lane ? heard(device_read(words + back - ${32 * q} - lane), epoch) : 2;
% endfor
% for q in range(policy.window):
      if (!done && !failed) {
        while (warp_ballot((word_${q} & 3) == 0) && spins < ${policy.spins}) {
          ++spins;
          if (back - ${32 * q} >= lane) word_${q} = heard(device_read(words + back - ${32 * q} - lane), epoch);
        }
        done = warp_ballot((word_${q} & 3) == 2);
        const uint wanted = done ? (done ^ (done - 1)) : 0xffffffffu;
        failed = warp_ballot((word_${q} & 3) == 0 || (word_${q} & 3) == 3) & wanted;
        if ((wanted >> lane) & 1) mine_of_earlier += word_${q} >> 2;
      }
% endfor
    }
    ulong earlier = mine_of_earlier;
% for d in (16, 8, 4, 2, 1):
    earlier += warp_across_long(earlier, ${d});
% endfor
% else:
  if (item == 0) {
    ulong earlier = 0;
    int failed = 0, spins = 0;
    for (long at = tile - 1; at >= 0; --at) {
      ulong word = heard(device_read(words + at), epoch);
      while ((word & 3) == 0 && spins < ${policy.spins}) { ++spins; word = heard(device_read(words + at), epoch); }
      failed = (word & 3) == 0 || (word & 3) == 3;
      if (failed) break;
      earlier += word >> 2;
      if ((word & 3) == 2) break;
    }
% endif
    if (item == 0) {
      device_write(words + tile, failed ? published_as(0, 3, epoch) : published_as(earlier + kept, 2, epoch));
      if (tile + 1 == tiles) *counts = failed ? -1 : (long)(earlier + kept);
      base_of_tile[0] = earlier;
      base_of_tile[1] = failed;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const ulong base = base_of_tile[0];
  if (base_of_tile[1]) return;
  ${deliver()}
}
% else:
<%def name="own_tiles()">
  const long tiles = (total + ${T - 1}) / ${T}, group = get_group_id(0), groups = get_num_groups(0);
  const long first_tile = tiles / groups * group + min(group, tiles % groups);
  const long last_tile = first_tile + tiles / groups + (group < tiles % groups);
</%def>
<%def name="add_up(name)">
    sums[item] = ${name};
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_ = ${W // 2}; half_ > 0; half_ /= 2) {
      if (item < half_) sums[item] += sums[item + half_];
      barrier(CLK_LOCAL_MEM_FENCE);
    }
</%def>
ATTR __kernel __attribute__((reqd_work_group_size(${W}, 1, 1)))
void compact_count(${', '.join(params['compact_count'])}) {
  ${start()}
  __local ulong sums[${W}];
  ${own_tiles()}
  ulong mine = 0;
  for (long tile = first_tile; tile < last_tile; ++tile) {
    const ${I} first = (${I})tile * ${T};
    ${bits} flags = 0;
    ${look(False)}
    mine += (ulong)popcount(flags);
  }
  ${add_up('mine')}
  if (item == 0) counts[group] = (long)sums[0];
}
ATTR __kernel __attribute__((reqd_work_group_size(${W}, 1, 1)))
void compact_write(${', '.join(params['compact_write'])}) {
  ${start()}
  ${rooms()}
% if ptx:
  __local ulong sums[${W}];
% endif
  ${own_tiles()}
  ulong found = 0;
  for (long g = item; g < group; g += ${W}) found += (ulong)counts[g];
  ${add_up('found')}
  ulong base = sums[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (long tile = first_tile; tile < last_tile; ++tile) {
    const ${I} first = (${I})tile * ${T};
    ${ranks()}
    ${collect()}
    barrier(CLK_LOCAL_MEM_FENCE);
    ${deliver()}
    base += kept;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
% endif
