## Compaction by tiles, for GPUs: a work-group keeps what it finds in `W x L x V` neighbouring elements.
##
##   load l    | item 0: V | item 1: V | ... | item W-1: V |        C order is load, item, element of a vector
##
## Each work-item counts what it keeps of each load, 16 bits a load in one number, and one scan of these
## numbers over the work-group gives it the rank of everything it keeps. The kept elements are put into local
## memory by rank, and go from there to the output side by side.
##
## once   Every element is read once: a tile learns what the tiles before it keep by looking back at what they
##        have told, its own count (1) or that of all tiles up to it (2):
##
##          tile      t-4    t-3    t-2    t-1    t
##          told      2: 90  1: 7   1: 9   1: 5   looks back until it sees a 2: 90 + 7 + 9 + 5 before it
##
##        Tiles are numbered by a ticket, so those before a tile have been started. A work-group that has looked
##        `spins` times in vain gives up (3), all after it do so too, and the host goes another way.
##
## count, write   Two passes over the tiles of each work-group.
<%namespace name="access" file="/lib/access.mako" inheritable="True"/>
<%namespace name="warp" file="/lib/warp.mako"/>
<%
W = policy.work_group
L = loads
T = W * L * V
ptx = policy.look_back == 'ptx' and once
warps = W // 32
%>
<%def name="start()">
% for s in inputs.operands:
% if s.access != 'index':
  ${s.p} += ${s.start};
% endif
% endfor
% for line in inputs.prepare:
  ${line}
% endfor
  const uint item = get_local_id(0);
  const ${I} n = (${I})total;
</%def>
## Which elements of load `l` are kept, as bits of `flags`; with `values`, what they are.
<%def name="look(l, values)">
    {
      const ${I} j = first + (${I})(${l * W * V} + item * ${V});
      if (j + ${V} <= n) {
% for s in inputs.operands:
        ${access.load(s, s.base, 'j')}
% endfor
% for w in range(V):
        flags |= (uint)(${keep.call(w)} & 1) << ${l * V + w};
% if values:
        v_${l * V + w} = ${value.call(w)};
% endif
% endfor
      }
% if V > 1:
      else if (j < n) {
        const int m = (int)(n - j);
% for s in inputs.operands:
        ${access.load_partial(s, s.base, 'j', 'm')}
% endfor
% for w in range(V):
        if (${w} < m) {
          flags |= (uint)(${keep.call(w)} & 1) << ${l * V + w};
% if values:
          v_${l * V + w} = ${value.call(w)};
% endif
        }
% endfor
      }
% endif
    }
</%def>
## The tile from element `first` on: its values, flags, ranks, and how many are kept.
<%def name="ranks()">
    uint flags = 0;
    ${out.type} v_0 = (${out.type})(0)${''.join(f', v_{k} = ({out.type})(0)' for k in range(1, L * V))};
% for l in range(L):
    ${look(l, True)}
% endfor
    ulong mine = 0;
% for l in range(L):
    mine |= (ulong)popcount((flags >> ${l * V}) & ${(1 << V) - 1}u) << ${16 * l};
% endfor
    ulong upto = mine;
% if ptx:
% for d in (1, 2, 4, 8, 16):
    { const ulong other = warp_up_long(upto, ${d}); if (lane >= ${d}) upto += other; }
% endfor
    if (lane == 31) sums[item >> 5] = upto;
    barrier(CLK_LOCAL_MEM_FENCE);
    ulong all = 0, before = upto - mine;
% for k in range(warps):
    if (item >= ${32 * (k + 1)}) before += sums[${k}];
    all += sums[${k}];
% endfor
% else:
    sums[item] = upto;
    barrier(CLK_LOCAL_MEM_FENCE);
<% d = 1 %>
% while d < W:
    { const ulong other = item >= ${d} ? sums[item - ${d}] : 0; barrier(CLK_LOCAL_MEM_FENCE); upto += other; sums[item] = upto; barrier(CLK_LOCAL_MEM_FENCE); }
<% d *= 2 %>
% endwhile
    const ulong all = sums[${W - 1}], before = upto - mine;
% endif
    const uint kept = (uint)(${' + '.join(f'((all >> {16 * l}) & 0xffff)' for l in range(L))});
</%def>
## Put the kept elements where they belong, from `base` on.
<%def name="deliver()">
    {
      uint passed = 0;
% for l in range(L):
      {
        uint rank = passed + (uint)((before >> ${16 * l}) & 0xffff);
% for w in range(V):
% if policy.staged:
        if ((flags >> ${l * V + w}) & 1) staged[rank++] = v_${l * V + w};
% else:
        if ((flags >> ${l * V + w}) & 1) { ${access.store_element(out, '(base + rank)', '0', f'v_{l * V + w}')} ++rank; }
% endif
% endfor
        passed += (uint)((all >> ${16 * l}) & 0xffff);
      }
% endfor
    }
% if policy.staged:
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = item; k < kept; k += ${W}) {
      const ${out.type} x = staged[k];
      ${access.store_element(out, '(base + k)', '0', 'x')}
    }
% endif
</%def>
${keep.text}
% if not same:
${value.text}
% endif
% if ptx:
${warp.shuffles()}
${warp.relaxed()}
% elif once:
HELPER ulong device_read(volatile __global const ulong *p) { return *p; }
HELPER void device_write(volatile __global ulong *p, const ulong v) { *p = v; }
% endif
% if once:
ATTR __kernel __attribute__((reqd_work_group_size(${W}, 1, 1)))
void compact_once(${', '.join(params)}, const long total, const long tiles, __global ulong *told, __global ${out.storage} *restrict yp) {
  ${start()}
% if policy.staged:
  __local ${out.type} staged[${T}];
% endif
  __local ulong sums[${warps if ptx else W}];
  __local ulong base_of_tile[2];
  __local uint ticket;
% if ptx:
  const uint lane = item & 31;
% endif
  for (;;) {
    if (item == 0) ticket = atomic_inc((volatile __global uint *)told);
    barrier(CLK_LOCAL_MEM_FENCE);
    const long tile = ticket;
    if (tile >= tiles) return;
    const ${I} first = (${I})tile * ${T};
    ${ranks()}
    __global ulong *own = told + 4 + tile;
% if ptx:
    if (item < 32) {
      if (item == 0) device_write(own, (ulong)kept << 2 | 1);
      ulong earlier = 0;
      int failed = 0, spins = 0;
      for (long back = tile - 1;; back -= 32) {
        const long at = back - lane;
        ulong word = at >= 0 ? device_read(told + 4 + at) : 2;
        while (warp_ballot((word & 3) == 0) && spins < ${policy.spins}) {
          ++spins;
          if (at >= 0) word = device_read(told + 4 + at);
        }
        const uint done = warp_ballot((word & 3) == 2);
        const uint wanted = done ? (done ^ (done - 1)) : 0xffffffffu;
        failed = warp_ballot((word & 3) == 0 || (word & 3) == 3) & wanted;
        ulong part = (wanted >> lane) & 1 ? word >> 2 : 0;
% for d in (16, 8, 4, 2, 1):
        part += warp_across_long(part, ${d});
% endfor
        earlier += part;
        if (done || failed) break;
      }
% else:
    if (item == 0) {
      device_write(own, (ulong)kept << 2 | 1);
      ulong earlier = 0;
      int failed = 0, spins = 0;
      for (long at = tile - 1; at >= 0; --at) {
        ulong word = device_read(told + 4 + at);
        while ((word & 3) == 0 && spins < ${policy.spins}) { ++spins; word = device_read(told + 4 + at); }
        failed = (word & 3) == 0 || (word & 3) == 3;
        if (failed) break;
        earlier += word >> 2;
        if ((word & 3) == 2) break;
      }
% endif
      if (item == 0) {
        device_write(own, failed ? 3 : (earlier + kept) << 2 | 2);
        if (failed) told[2] = 1;
        if (tile + 1 == tiles) told[1] = earlier + kept;
        base_of_tile[0] = earlier;
        base_of_tile[1] = failed;
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const ulong base = base_of_tile[0];
    if (base_of_tile[1]) return;
    ${deliver()}
    barrier(CLK_LOCAL_MEM_FENCE);
  }
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
void compact_count(${', '.join(params)}, const long total, __global long *restrict counts) {
  ${start()}
  __local ulong sums[${W}];
  ${own_tiles()}
  ulong mine = 0;
  for (long tile = first_tile; tile < last_tile; ++tile) {
    const ${I} first = (${I})tile * ${T};
    uint flags = 0;
% for l in range(L):
    ${look(l, False)}
% endfor
    mine += popcount(flags);
  }
  ${add_up('mine')}
  if (item == 0) counts[group] = (long)sums[0];
}
ATTR __kernel __attribute__((reqd_work_group_size(${W}, 1, 1)))
void compact_write(${', '.join(params)}, const long total, __global const long *restrict counts, __global ${out.storage} *restrict yp) {
  ${start()}
% if policy.staged:
  __local ${out.type} staged[${T}];
% endif
  __local ulong sums[${W}];
  ${own_tiles()}
  ulong found = 0;
  for (long g = item; g < group; g += ${W}) found += (ulong)counts[g];
  ${add_up('found')}
  ulong base = sums[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (long tile = first_tile; tile < last_tile; ++tile) {
    const ${I} first = (${I})tile * ${T};
    ${ranks()}
    ${deliver()}
    base += kept;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
% endif
