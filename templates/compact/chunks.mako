## Compaction by chunks, for CPUs: a work-item goes through its words of 64 elements.
##
## count  One bit per element, and how many are set in each work-item's words.
##
## write  In a word where many are kept, eight elements are stored at once without a test, each behind those
##        kept before it; one that is not kept is overwritten by the next:
##
##          flags   0 1 1 0 0 1 0 0      e: the number of flags set before each
##          e       0 0 1 2 2 2 3 3         o[e] = x, from left to right, leaves the kept ones in a row
##
##        That writes up to 8 elements more than are kept, so the last words of a work-item go one by one.
##
## once   One work-item does both, into memory for all elements: each is stored behind those kept before it, and is
##        overwritten by the next where it is not kept itself.
<%namespace name="access" file="/lib/access.mako" inheritable="True"/>
<%def name="words()">
  const long group = get_group_id(0), groups = get_num_groups(0);
  const long words = n / 64 + (n % 64 != 0);
  const long first = words / groups * group + min(group, words % groups);
  const long last = first + words / groups + (group < words % groups);
  ${access.prologue(inputs.operands, inputs.prepare)}
</%def>
<%def name="load(j)">
% for s in inputs.operands:
        ${access.load(s, s.base, j)}
% endfor
</%def>
<%def name="load_some(j, m)">
% for s in inputs.operands:
        ${access.load_partial(s, s.base, j, m)}
% endfor
</%def>
## Store those of some neighbours that are kept: all of them, or the first m.
<%def name="keep_some(m)">
    const char8 kept = ${keep.call(0)};
    const ${out.type} x = ${value.call(0)};
% for l in range(V):
    ${f'if ({l} < {m}) ' if m else ''}{ ${access.store_element(out, 'k', '0', f'x.s{l}')} k += kept.s${l} & 1; }
% endfor
</%def>
<%def name="bits(flags)" filter="trim">
## the lowest bits of eight bytes, side by side
(((as_ulong(${flags}) & 0x0101010101010101UL) * 0x0102040810204080UL) >> 56)
</%def>
${keep.text}
% if not same:
${value.text}
% endif
% if single_pass:
ATTR __kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void compact_once(${', '.join(params['compact_once'])}) {
  ${access.prologue(inputs.operands, inputs.prepare)}
  long k = 0;
% if V == 1:
  for (${I} j = 0; j < n; ++j) {
${load('j')}
    if (!(${keep.call(0)} & 1)) continue;
    const ${out.type} x = ${value.call(0)};
    ${access.store_element(out, 'k', '0', 'x')}
    ++k;
  }
% else:
  ${I} j = 0;
  for (; j + ${V} <= n; j += ${V}) {
${load('j')}
    ${keep_some('')}
  }
  if (j < n) {
    const int m = (int)(n - j);
${load_some('j', 'm')}
    ${keep_some('m')}
  }
% endif
  counts[0] = k;
}
% else:
ATTR __kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void compact_count(${', '.join(params['compact_count'])}) {
  ${words()}
  long total = 0;
  for (long w = first; w < last; ++w) {
    const long at = w * 64;
    const int count = n - at < 64 ? (int)(n - at) : 64;
    ulong found = 0;
% if V == 1:
    for (int k = 0; k < count; ++k) {
      const ${I} j = at + k;
${load('j')}
      found |= (ulong)(${keep.call(0)} & 1) << k;
    }
% else:
    if (count == 64) {
% for k in range(0, 64, 8):
      {
        const ${I} j = at + ${k};
${load('j')}
        const char8 kept = ${keep.call(0)};
        found |= ${bits('kept')} << ${k};
      }
% endfor
    } else {
      for (int k = 0; k < count; k += 8) {
        const ${I} j = at + k;
        const int m = count - k < 8 ? count - k : 8;
${load_some('j', 'm')}
        const char8 kept = ${keep.call(0)};
        found |= (${bits('kept')} & ((1UL << m) - 1)) << k;
      }
    }
% endif
    flags[w] = found;
    total += (long)popcount(found);
  }
  counts[group] = total;
}
ATTR __kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void compact_write(${', '.join(params['compact_write'])}) {
  ${words()}
  long k = 0;
  for (long g = 0; g < group; ++g) k += counts[g];
  const long end = k + counts[group];
  for (long w = first; w < last; ++w) {
    ulong found = flags[w];
    if (found == 0) continue;
    const long at = w * 64;
% if V == 1:
    while (found) {
      const ${I} j = at + (long)popcount((found & -found) - 1);
${load('j')}
      const ${out.type} kept = ${value.call(0)};
      ${access.store_element(out, 'k', '0', 'kept')}
      ++k;
      found &= found - 1;
    }
% else:
    const long count = n - at;
    if (k + 64 <= end && count >= 64 && popcount(found) >= ${policy.dense}) {
      ${access.rolled(2)}
      for (int b = 0; b < 64; b += 8) {
        const ${I} j = at + b;
${load('j')}
        const ${out.type} x = ${value.call(0)};
        const ulong e = places[(found >> b) & 255];
% for l in range(8):
        ${access.store_element(out, 'k', f'((e >> {8 * l}) & 15)' if l else '(e & 15)', f'x.s{l}')}
% endfor
        k += e >> 60;
      }
    } else {
      for (; found; found &= found - 1) {
        const ${I} j = at + (long)popcount((found & -found) - 1);
        if (j + 8 <= n) {
${load('j')}
          const ${out.type} x = ${value.call(0)};
          ${access.store_element(out, 'k', '0', 'x.s0')}
        } else {
          const int m = (int)(n - j);
${load_some('j', 'm')}
          const ${out.type} x = ${value.call(0)};
          ${access.store_element(out, 'k', '0', 'x.s0')}
        }
        ++k;
      }
    }
% endif
  }
}
% endif
