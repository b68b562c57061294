## How work-groups of one launch tell each other their results. A word of 32 bits and the number of the launch
## travel in one store of 64 bits, so that no fence is needed, and nothing has to be cleared between launches.
##
## Nobody waits for ever: after `spins` looks, or as soon as anyone else has given up in this launch, await says
## so, and the work-group computes for itself what it waited for.
##
## Before the first look there is a pause, where the device's row says so: what is looked for is not there yet, and
## looks stand in the way of what others load and tell. Where there are few tiles nothing else is to be done.
<%def name="pause(policy, tile)">
% if policy.pause:
if (${tile} > 256) asm volatile("nanosleep.u32 ${policy.pause};" ::: "memory");
% endif
</%def>
## `pairs`: words that lie side by side, an even number of them, travel two at a time.
<%def name="exchange(policy, pairs=False)">
% if policy.lookback == 'ptx':
HELPER ulong look(__global const ulong *p) { ulong r; asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(r) : "l"(p) : "memory"); return r; }
HELPER void tell(__global ulong *p, const ulong v) { asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" :: "l"(p), "l"(v) : "memory"); }
% if pairs:
HELPER void look_twice(__global const ulong *p, ulong *a, ulong *b) { asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(*a), "=l"(*b) : "l"(p) : "memory"); }
HELPER void tell_twice(__global ulong *p, const ulong a, const ulong b) { asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" :: "l"(p), "l"(a), "l"(b) : "memory"); }
% endif
% else:
HELPER ulong look(__global const ulong *p) { return *(volatile __global const ulong *)p; }
HELPER void tell(__global ulong *p, const ulong v) { *(volatile __global ulong *)p = v; }
% endif
HELPER void publish(__global ulong *p, const uint *w, const int n, const uint epoch) {
% if pairs:
  for (int k = 0; k < n; k += 2) tell_twice(p + k, ((ulong)epoch << 32) | w[k], ((ulong)epoch << 32) | w[k + 1]);
% else:
  for (int k = 0; k < n; ++k) tell(p + k, ((ulong)epoch << 32) | w[k]);
% endif
}
HELPER int await(__global const ulong *p, const int step, uint *w, const uint epoch, __global ulong *failed) {
  int there, on = 1;
  uint looks = 0;
  do {
    ulong e[WORDS];
    there = 1;
    #pragma unroll
% if pairs:
    for (int k = 0; k < WORDS; k += 2) look_twice(p + k, e + k, e + k + 1);
% else:
    for (int k = 0; k < WORDS; ++k) e[k] = look(p + k * step);
% endif
    #pragma unroll
    for (int k = 0; k < WORDS; ++k) {
      there &= (uint)(e[k] >> 32) == epoch;
      w[k] = (uint)e[k];
    }
% if not policy.spins:
    there = 0;  // no spins at all: everyone works alone, for tests
% endif
    if (looks >= ${policy.spins}u || ((looks & 255) == 255 && (uint)look(failed) == epoch)) on = 0;
    ++looks;
  } while (!there && on);
  if (!there) tell(failed, epoch);
  return there;
}
## The number of a work-group in the order in which they start; the last one sets the counter back.
HELPER uint next_ticket(__global ulong *tile_state, const uint last) {
  const uint ticket = atomic_inc((volatile __global uint *)tile_state);
  if (ticket == last) atomic_xchg((volatile __global uint *)tile_state, 0u);
  return ticket;
}
</%def>
