## How work-groups of one launch tell each other their results. A word of 32 bits and the number of the launch
## travel in one store of 64 bits, so that no fence is needed, and nothing has to be cleared between launches.
##
## Nobody waits for ever: after `spins` looks, or as soon as anyone else has given up in this launch, await says
## so, and the work-group computes for itself what it waited for.
<%def name="exchange(policy)">
% if policy.lookback == 'ptx':
HELPER ulong look(__global const ulong *p) { ulong r; asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(r) : "l"(p) : "memory"); return r; }
HELPER void tell(__global ulong *p, const ulong v) { asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" :: "l"(p), "l"(v) : "memory"); }
% else:
HELPER ulong look(__global const ulong *p) { return *(volatile __global const ulong *)p; }
HELPER void tell(__global ulong *p, const ulong v) { *(volatile __global ulong *)p = v; }
% endif
HELPER void publish(__global ulong *p, const uint *w, const int n, const uint epoch) {
  for (int k = 0; k < n; ++k) tell(p + k, ((ulong)epoch << 32) | w[k]);
}
HELPER int await(__global const ulong *p, uint *w, const int n, const uint epoch, __global ulong *failed) {
  for (int k = 0; k < n; ++k) {
    ulong e = look(p + k);
    for (uint looks = 0; (uint)(e >> 32) != epoch; ++looks) {
      if (looks >= ${policy.spins}u || ((looks & 255) == 255 && (uint)look(failed) == epoch)) {
        tell(failed, epoch);
        return 0;
      }
      e = look(p + k);
    }
    w[k] = (uint)e;
  }
  return 1;
}
HELPER uint next_ticket(__global ulong *chain, const uint last) {
  const uint ticket = atomic_inc((volatile __global uint *)chain);
  if (ticket == last) *(volatile __global uint *)chain = 0;
  return ticket;
}
</%def>
## The number of this work-group's next tile, in the order in which the groups ask; whoever gets the last one that
## is asked for sets the counter back. Every group asks until there are no more.
<%def name="ticket(total)" filter="trim">next_ticket(chain, ${total} + (uint)get_num_groups(0) - 1)</%def>
