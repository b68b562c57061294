## Hash table: which values occur, however far apart, while they are few; see unique/plan_hash_table.py.
##
##   memory   tables                            notes
##            [group 0: slots][group 1: slots]  zero seen 1, too many 2: of group 0, of group 1 ...    CPU
##            [one for all]                     "  ; how many are in the table                         GPU
##
## A slot holds the bits of a value, 0 where it is free: so of the value 0 there is only a note. A value is looked
## for from the slot that its bits are hashed to, on to the first free one. Which slot a value gets depends on who
## comes first, which values there are does not. A load of a slot may be stale: the exchange returns its value.
<%namespace name="access" file="/lib/access.mako" inheritable="True"/>
<%
  parts = V // d.width
  wg = policy.work_group
  X = policy.loads
  private = policy.chunked
%>
HELPER ${key} key_of(const ${lane} v) {
% if kind == 'f':
  return v != v ? (${key})${nan} : v == 0 ? 0 : as_${key}(v);
% else:
  return (${key})v;
% endif
}
HELPER uint home(const ${key} k) { return (uint)((k * (${key})${multiplier}) >> ${shift}); }
% if not private:
## Put a value into a table that many write to; false where it is full.
% for space in ('local', 'global'):
HELPER int remember_${space}(volatile __${space} uint *table, volatile __${space} int *count, const uint k) {
  uint s = home(k);
  for (int probe = 0; probe < ${slots}; ++probe) {
    uint c = ${atomic_load('table + s')};
    if (c == 0) {
      if (${atomic_load('count')} > ${limit}) return 0;
      c = atomic_cmpxchg(table + s, 0u, k);
      if (c == 0) { atomic_inc(count); return 1; }
    }
    if (c == k) return 1;
    s = (s + 1) & ${slots - 1};
  }
  return 0;
}
% endfor
% endif
<%def name="note(k, start)">
{
  const ${key} k = ${k};
  zero |= k == 0;
% if kind == 'f' and not equal_nan:
  many |= k == (${key})${nan};
% endif
% if private:
  uint s = ${start};
  ${key} c = table[s];
  while (c != k && c != 0) { s = (s + 1) & ${slots - 1}; c = table[s]; }
  if (c != k) { table[s] = k; ++count; }
% else:
  if (k != 0 && !many) many = !remember_local(table, &count, k);
% endif
}
</%def>
<%def name="enter(w, tag, count=None)">
% if d.width > 1:
{
  const ${wide_type} v = ${value.call(w, tag)};
% if kind == 'f':
  const ${key}${V} wide = (v != v) ? (${key}${V})(${nan}) : (v == 0) ? (${key}${V})(0) : as_${key}${V}(v);
% else:
  const ${key}${V} wide = as_${key}${V}(v);
% endif
  ${key} keys[${V}], homes[${V}];
  vstore${V}(wide, 0, keys);
  vstore${V}((wide * (${key})${multiplier}) >> (${key})${shift}, 0, homes);
  for (int l = 0; l < ${count or V}; ++l) {
    ${note('keys[l]', '(uint)homes[l]')}
  }
}
% else:
% if count is not None:
if (${w} < ${count})
% endif
{
  const ${key} key = key_of(${value.call(w, tag)});
  ${note('key', 'home(key)')}
}
% endif
</%def>
${value.text}
ATTR __kernel __attribute__((reqd_work_group_size(${wg}, 1, 1)))
void hash_table(${', '.join(params)}) {
  ${access.prologue(inputs.operands, inputs.prepare)}
  ${access.bases(I, inputs.operands, 'const ')}
  const long group = get_group_id(0), groups = get_num_groups(0);
  int zero = 0, many = 0;
% if private:
  __global ${key} *table = memory + group * ${slots};
  for (int s = 0; s < ${slots}; ++s) table[s] = 0;
  int count = 0;
  const long last = n * (group + 1) / groups;
  long j = n * group / groups;
  for (; j + ${V} <= last && count <= ${limit} && !many; j += ${V}) {
% for s in inputs.operands:
    ${access.load(s, s.base, 'j')}
% endfor
% for w in range(parts):
    ${enter(w, '')}
% endfor
  }
  if (j < last && j + ${V} > last) {
    const int left = last - j;
% for s in inputs.operands:
    ${access.load_partial(s, s.base, 'j', 'left')}
% endfor
% for w in range(parts):
    ${enter(w, '', 'left')}
% endfor
  }
  notes[notes_at + group] = zero | (count > ${limit} || many) << 1;
% else:
  const int item = get_local_id(0);
  __local uint table[${slots}];
  __local int count, noted;
  for (int s = item; s < ${slots}; s += ${wg}) table[s] = 0;
  if (item == 0) { count = 0; noted = 0; }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (${I} at = (${I})group * ${wg * V * X}; at < n && !many; at += (${I})groups * ${wg * V * X}) {
    if (at + ${wg * V * X} <= n) {
% for x in range(X):
      const ${I} j${x} = at + ${x * wg * V} + item * ${V};
% for s in inputs.operands:
      ${access.load(s, s.base, f'j{x}', f'_{x}')}
% endfor
% endfor
% for x in range(X):
% for w in range(parts):
      ${enter(w, f'_{x}')}
% endfor
% endfor
    } else {
      for (${I} j = at + item * ${V}; j < n; j += ${wg * V}) {
        const int left = min((${I})${V}, (${I})(n - j));
% for s in inputs.operands:
        ${access.load_partial(s, s.base, 'j', 'left')}
% endfor
% for w in range(parts):
        ${enter(w, '', 'left')}
% endfor
      }
    }
  }
  if (zero | many) atomic_or(&noted, zero | many << 1);
  barrier(CLK_LOCAL_MEM_FENCE);
  int full = noted >> 1;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = item; s < ${slots} && !full; s += ${wg}) {
    const uint k = table[s];
    if (k != 0) full = !remember_global(memory, notes + notes_at + 1, k);
  }
  if (full) atomic_or(&noted, 2);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (item == 0 && noted) atomic_or(notes + notes_at, noted);
% endif
}
