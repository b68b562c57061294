## Scan on a CPU: one work-item per work-group, in vectors of V elements.
##
## rows      | part 0          | part 1          |     a line cut into parts where there are few lines
##            <-V-> <-V-> ...                          x = prefix of a vector by shifts, then carry + x
##
## columns   strip of V-wide vectors, neighbouring lines: each vector lane carries its own line
##             |  V  |  V  | ...
##             |     |     |      row after row
##
## scan_lookback   rows in one launch, where the policy has it: see there
##
## Otherwise two kernels: scan_reduce gives the state of every part, q[part * lines + line]; scan_finish combines those of
## the parts before its own, in order, and stores every state. Lines that are not cut take the second alone.
<%namespace name="access" file="/lib/access.mako" inheritable="True"/>
<%namespace name="lines" file="/lib/lines.mako"/>
<%namespace name="scans" file="/lib/scans.mako"/>
<%namespace name="lookback" file="/lib/lookback.mako"/>
<% names = [s.name for s in everyone] %>
<%def name="load(j)">
% for s in inputs.operands:
      ${access.load(s, s.base, j)}
% endfor
</%def>
<%def name="load_partial(j, m)">
% for s in inputs.operands:
      ${access.load_partial(s, s.base, j, m)}
% endfor
</%def>
## The states of the parts before this one, of one line.
<%def name="before(state, line)">
    for (${I} p = 0; p < part; ++p) {
      state_t s;
% for n, dt in m.components:
      s.${n} = q_${n}[(long)p * lines + ${line}];
% endfor
      ${state} = combine(${state}, s);
    }
</%def>
<%def name="keep(state, line)">
% for n, dt in m.components:
    q_${n}[(long)part * lines + ${line}] = ${state}.${n};
% endfor
</%def>
<%def name="head(name)">
ATTR __kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void ${name}(${', '.join(params[name])}) {
  ${access.prologue(everyone, inputs.prepare)}
</%def>
## From `first` to before `last` of a line, with the state c.
<%def name="walk(c, first, last, store)">
    ${I} j = ${first};
    for (; j + ${V} <= ${last}; j += ${V}) {
${load('j')}
% if V == 1:
% if store:
      ${c} = entered(${c}, inner_of(${value.call(0)}));
      const ${out.type} y_0 = final(${c});
      ${access.store(out, out.base, 'j', 'y', False)}
% else:
      ${c} = entered(${c}, inner_of(${value.call(0)}));
% endif
% elif store:
      const ${m.value_type} x = ${value.call(0)};
      const ${out.type} y_0 = wide_step(&${c}, x);
      ${access.store(out, out.base, 'j', 'y', stream)}
% else:
      ${c} = combine(${c}, total(${value.call(0)}));
% endif
    }
% if V > 1:
    const int rest = ${last} - j;
    if (rest > 0) {
${load_partial('j', 'rest')}
      const ${m.value_type} x = ${value.call(0)};
% if store:
      const ${out.type} y_0 = wide_step(&${c}, x);
      ${access.store_partial(out, out.base, 'j', 'rest', 'y')}
% else:
      inner_t lanes[${V}];
      vstore${V}(x, 0, lanes);
      for (int l = 0; l < rest; ++l) ${c} = entered(${c}, lanes[l]);
% endif
    }
% endif
</%def>
## Tiles that stay in the cache: a work-item takes one after the other, as they come. It sums its tile up, adds that to
## what the tile before has published, publishes it in turn, and reads the tile once more. Where nobody tells, it sums up all
## tiles before its own, with the same bits.
<%def name="single()">
${head('scan_lookback')}
  const uint asked = (uint)units + (uint)get_num_groups(0) - 1;
  for (uint ticket = next_ticket(tile_state, asked); ticket < (uint)units; ticket = next_ticket(tile_state, asked)) {
    const ${I} line = ticket / tiles, tile = ticket - line * tiles;
    ${I} row = line;
    const ${I} first = tile * ${policy.tile}, last = min((${I})n, (${I})(first + ${policy.tile}));
    __global ulong *published = tile_state + 2 + line * region;
${access.bases(I, everyone)}
${lines.move(I, names, 'k', 'row', rank)}
    state_t whole = state_identity(), c = state_identity();
    {
${walk('whole', 'first', 'last', False)}
    }
    if (tile > 0) {
      words_t r_;
      if (await(published + (tile - 1) * WORDS, 1, r_.w, epoch, tile_state + 1)) c = unpacked(r_);
      else
        for (${I} before = 0; before < first; before += ${policy.tile}) {
          state_t s = state_identity();
${walk('s', 'before', f'(before + {policy.tile})', False)}
          c = combine(c, s);
        }
    }
    { words_t r_ = packed(combine(c, whole)); publish(published + tile * WORDS, r_.w, WORDS, epoch); }
${walk('c', 'first', 'last', True)}
  }
}
</%def>
<%def name="rows(name, store)">
${head(name)}
  ${lines.units('u', 'units', policy)}
    const ${I} line = u / parts, part = u - line * parts;
    ${I} row = line;
    const ${I} first = part * length, last = min((${I})n, (${I})(first + length));
${access.bases(I, everyone)}
${lines.move(I, names, 'k', 'row', rank)}
    state_t c = state_identity();
% if store:
${before('c', 'line')}
% endif
${walk('c', 'first', 'last', store)}
% if not store:
${keep('c', 'line')}
% endif
  }
}
</%def>
<%def name="step(c, store, j, partial)">
% if partial:
${load_partial(j, 'rest')}
% else:
${load(j)}
% endif
        ${c} = accumulate(${c}, ${value.call(0)});
% if store:
        const ${out.type} y_0 = ${'wide_final' if V > 1 else 'final'}(${c});
% if partial:
        ${access.store_partial(out, out.base, j, 'rest', 'y')}
% else:
        ${access.store(out, out.base, j, 'y', stream)}
% endif
% endif
</%def>
## Every lane's line: the state before the first row of the part, or after its last.
<%def name="lanes(c, at, count, store)">
    for (int v = 0; v < ${count}; ++v) {
% if store:
% for n, dt in m.components:
      ${m.lane(dt)} a_${n}[${V}];
% endfor
      for (int l = 0; l < ${V}; ++l) {
        state_t before_ = state_identity();
        const ${I} column = first + v * ${V} + l;
        if (column < k0) {
${before('before_', 'row_ * k0 + column')}
        }
% for n, dt in m.components:
        a_${n}[l] = before_.${n};
% endfor
      }
% for n, dt in m.components:
      ${c}[v].${n} = ${f'vload{V}(0, a_{n})' if V > 1 else f'a_{n}[0]'};
% endfor
% else:
% for n, dt in m.components:
      ${m.lane(dt)} a_${n}[${V}];
% if V > 1:
      vstore${V}(${c}[v].${n}, 0, a_${n});
% else:
      a_${n}[0] = ${c}[v].${n};
% endif
% endfor
      for (int l = 0; l < ${V}; ++l) {
        const ${I} column = first + v * ${V} + l;
        if (column < k0) {
% for n, dt in m.components:
          q_${n}[(long)part * lines + row_ * k0 + column] = a_${n}[l];
% endfor
        }
      }
% endif
    }
</%def>
<%def name="columns(name, store)">
${head(name)}
  const ${I} strips = (k0 + ${strip * V - 1}) / ${strip * V};
  ${lines.units('u', 'units', policy)}
    ${I} row = u / strips;
    const ${I} first = (u - row * strips) * ${strip * V};
    const ${I} part = row % parts, row_ = row / parts;
    row = row_;
    const ${I} top = part * length, bottom = min((${I})n, (${I})(top + length));
    const ${I} width = min((${I})(k0 - first), (${I})${strip * V});
    const int whole = width / ${V}, rest = width - (${I})whole * ${V}, vectors = whole + (rest > 0);
${access.bases(I, everyone)}
${lines.move(I, names, 'k', 'row', rank, 1)}
% for s in everyone:
    ${s.name}b += top * ${s.name}s + first * ${s.name}k0;
% endfor
    acc_t c[${strip}];
% if store:
    if (part > 0) {
${lanes('c', 'first', 'vectors', True)}
    } else
% endif
    for (int v = 0; v < vectors; ++v) c[v] = acc_identity();
    for (${I} i = top; i < bottom; ++i) {
      for (int v = 0; v < whole; ++v) {
        const ${I} j = v * ${V};
${step('c[v]', store, 'j', False)}
      }
% if V > 1:
      if (rest > 0) {
        const ${I} j = whole * ${V};
${step('c[whole]', store, 'j', True)}
      }
% endif
% for s in everyone:
      ${s.name}b += ${s.name}s;
% endfor
    }
% if not store:
${lanes('c', 'first', 'vectors', False)}
% endif
  }
}
</%def>
${scans.algebra(m, first)}
% if V > 1:
${scans.vector(m)}
% endif
% if mode == 'lookback':
${scans.words(state_parts)}
${lookback.exchange(policy)}
${single()}
% elif form == 'rows':
${rows('scan_reduce', False)}
${rows('scan_finish', True)}
% else:
${columns('scan_reduce', False)}
${columns('scan_finish', True)}
% endif
