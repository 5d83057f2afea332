import { LooseleafError } from '@looseleaf/core'
import type { MoveWork } from '@looseleaf/protocol/internal'
import { expect, test } from 'vitest'
import { reported } from './move-events.ts'
import type { MoveStep } from './move-record.ts'

/** Reports work that ends so, and returns the events. */
async function eventsOf(end: MoveStep | Error): Promise<readonly object[]> {
  const events: object[] = []
  const work = {
    context: {
      driver: { shards: [{ name: 'a' }, { name: 'b' }] },
      events: { happened: (event: object) => events.push(event) },
    },
    move: { id: 7, from: 0, to: 1 },
  } as unknown as MoveWork
  const reporting = reported(work, async () => {
    if (typeof end === 'string') return end
    throw end
  })
  if (typeof end === 'string') await reporting
  else await expect(reporting).rejects.toBe(end)
  return events
}

test.each([
  ['done', 'ended'],
  ['emptying', 'ended'],
  ['undone', 'undone'],
  [new LooseleafError('ABORTED', 'The call was aborted.'), 'stopped'],
  [new LooseleafError('CONFLICT', 'Copies differ.'), 'failed'],
  [new TypeError('A mistake.'), 'failed'],
] as const)('an observer is told that work on a move begins, and how it ends: %s', async (end, outcome) => {
  const event = { kind: 'move', move: 7, from: 'a', to: 'b' }
  expect(await eventsOf(end)).toEqual([
    { ...event, outcome: 'begun' },
    { ...event, outcome },
  ])
})
