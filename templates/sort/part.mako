## One word of complex numbers' order, in the order of positions found so far: imaginary part, real part, class.
<%namespace name="radix" file="/lib/radix.mako"/>
<%namespace name="lines" file="/lib/lines.mako"/>
typedef ${kind.type} key_t;
#define NUMBER(x) (((x) & (key_t)~(key_t)${kind.sign}) <= (key_t)${kind.infinity})
ATTR __kernel __attribute__((reqd_work_group_size(${policy.work_group}, 1, 1)))
void radix_part(${', '.join(params)}) {
  ${lines.units('i', 'total', policy)}
    const long j = 2 * (xo + ${'at[i]' if part else 'i'});
% if part == 2:
    y[i] = NUMBER(x[j]) ? (NUMBER(x[j + 1]) ? 0 : 1) : 2;
% else:
    y[i] = x[j + ${1 - part}];
% endif
  }
}
