## What the work-items of an NVIDIA warp say to each other, and what work-groups say across the device, in PTX.
##
## OpenCL C 1.2 has neither. The `sync` forms are for all 32 work-items of a warp: no other may be elsewhere.
<%def name="shuffles()">
HELPER uint warp_up(const uint v, const uint d) {
  uint r;
  asm volatile("shfl.sync.up.b32 %0, %1, %2, 0, 0xffffffff;" : "=r"(r) : "r"(v), "r"(d));
  return r;
}
HELPER uint warp_across(const uint v, const uint d) {
  uint r;
  asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(r) : "r"(v), "r"(d));
  return r;
}
HELPER uint warp_last(const uint v) {
  uint r;
  asm volatile("shfl.sync.idx.b32 %0, %1, 31, 31, 0xffffffff;" : "=r"(r) : "r"(v));
  return r;
}
HELPER uint warp_ballot(const int p) {
  uint r;
  asm volatile("{.reg .pred p; setp.ne.s32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff;}" : "=r"(r) : "r"(p));
  return r;
}
HELPER ulong warp_up_long(const ulong v, const uint d) {
  return (ulong)warp_up((uint)v, d) | (ulong)warp_up((uint)(v >> 32), d) << 32;
}
HELPER ulong warp_last_long(const ulong v) {
  return (ulong)warp_last((uint)v) | (ulong)warp_last((uint)(v >> 32)) << 32;
}
HELPER ulong warp_across_long(const ulong v, const uint d) {
  return (ulong)warp_across((uint)v, d) | (ulong)warp_across((uint)(v >> 32), d) << 32;
}
</%def>
<%def name="relaxed()">
HELPER ulong device_read(__global const ulong *p) {
  ulong r;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(r) : "l"(p) : "memory");
  return r;
}
HELPER void device_write(__global ulong *p, const ulong v) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" : : "l"(p), "l"(v) : "memory");
}
</%def>
