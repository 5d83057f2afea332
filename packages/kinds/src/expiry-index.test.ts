import { expect, test } from 'vitest'
import { defineKind, typed } from './index.ts'
import { addedInclude, withTime } from './expiry-index.ts'

test('the time of expiry is included once where an index includes properties, unless it is indexed', () => {
  const of = { of: 'string' } as const
  const { indexes } = defineKind('lease', {
    schema: typed<{ of: string; n: number; until: Date }>(),
    expires: 'until',
    indexes: {
      plain: { by: [of] },
      listed: { by: [of], include: ['n'] },
      both: { by: [of], include: ['until', 'n'] },
      byTime: { by: [of, { until: 'time' }], include: ['n'] },
      byDay: { by: [of, { until: { type: 'time', key: 'day', as: 'day' } }], include: ['n'] },
    },
  })
  expect(indexes.map(({ name, include }) => [name, include])).toEqual([
    ['lease_plain', undefined],
    ['lease_listed', ['n', 'until']],
    ['lease_both', ['until', 'n']],
    ['lease_by_time', ['n']],
    ['lease_by_day', ['n']],
    ['lease_expires', undefined],
  ])
})

test('only a time that the program has not included is one that was added', () => {
  const [listed] = defineKind('lease', {
    schema: typed<{ of: string; n: number; until: Date }>(),
    expires: 'until',
    indexes: { listed: { by: [{ of: 'string' }], include: ['n'] } },
  }).indexes
  expect([addedInclude(listed!, ['n']), addedInclude(listed!, ['n', 'until'])]).toEqual(['until', undefined])
  expect(addedInclude({ ...listed!, include: undefined } as never, undefined)).toBeUndefined()
  expect(withTime('n' as never, {}, 'until')).toEqual({})
})
