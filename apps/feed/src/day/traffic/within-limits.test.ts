import { expect, test } from 'vitest'
import type { Act } from '../script/timeline.ts'
import { withinLimits } from './within-limits.ts'

test('acts beyond the rate of a person go to the next one, and to nobody when all have acted enough', () => {
  const acts: Act[] = Array.from({ length: 20 }, (_, i) => ({
    at: i * 1_000,
    kind: 'post',
    person: 0,
    title: `${i}`,
  }))
  const kept = withinLimits([...acts, { at: 61_000, kind: 'post', person: 0, title: 'Later' }], 2)
  expect(kept.map((act) => (act.kind === 'post' ? act.person : -1))).toEqual([
    ...Array.from({ length: 6 }, () => 0),
    ...Array.from({ length: 6 }, () => 1),
    0,
  ])
})
