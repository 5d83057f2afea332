import type { StoreEvent } from '@looseleaf/core'
import type { MoverEvent } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { DataStore } from '@looseleaf/store'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { keepOpen } from '@looseleaf/testkit'
import { expect, test } from 'vitest'
import { moveBuckets, movesOf, undoMove } from '@looseleaf/mover/internal'
import { filledStore, indexes, SOME_BUCKETS } from './stores.ts'

type OfKind<K> = Extract<MoverEvent, { readonly kind: K }>

async function observed(): Promise<{ store: DataStore; events: MoverEvent[] }> {
  const driver = await memoryShards(2).connect()
  const filled = await filledStore(driver, 300)
  await filled.close()
  const events: MoverEvent[] = []
  const store = await DataStore.open({
    shards: keepOpen(driver),
    indexes,
    time: leapingTime(),
    queryTimeMs: 5_000,
    observer: {
      happened(event: StoreEvent) {
        if (event.kind === 'move' || event.kind === 'copied' || event.kind === 'handed_over')
          events.push(event)
      },
    },
  })
  return { store, events }
}

function outcomesOf(events: readonly MoverEvent[]): readonly string[] {
  return events.flatMap((event) => (event.kind === 'move' ? [event.outcome] : []))
}

test('an observer is told of the begin and the end of a move, all copies and each group of buckets', async () => {
  const { store, events } = await observed()
  const { id, counts, seals } = await moveBuckets(store, { from: 0, to: 1, buckets: SOME_BUCKETS })

  const shards = { from: 'memory 0', to: 'memory 1' }
  expect(events.at(0)).toEqual({ kind: 'move', outcome: 'begun', move: id, ...shards })
  expect(events.at(-1)).toEqual({ kind: 'move', outcome: 'ended', move: id, ...shards })
  expect(outcomesOf(events)).toEqual(['begun', 'ended'])

  const copied = events.filter((event): event is OfKind<'copied'> => event.kind === 'copied')
  const sum = (name: 'entities' | 'rows' | 'claims'): number =>
    copied.reduce((total, event) => total + event[name], 0)
  expect(counts.entities).toBeGreaterThan(0)
  expect([sum('entities'), sum('rows'), sum('claims')]).toEqual([
    counts.entities,
    counts.rows + counts.late,
    counts.claims,
  ])

  const groups = events.filter((event): event is OfKind<'handed_over'> => event.kind === 'handed_over')
  expect(groups).toHaveLength(seals.groups)
  expect(groups.reduce((total, { buckets }) => total + buckets, 0)).toBe(1_024)
  expect(Math.max(...groups.map(({ sealedMs }) => sealedMs))).toBe(seals.worst)
})

test('an observer is told of a move that its signal stops, and of one that is undone', async () => {
  const { store, events } = await observed()
  const stop = new AbortController()
  const plan = { from: 0, to: 1, buckets: SOME_BUCKETS }
  const onProgress = (): void => stop.abort()
  await expect(moveBuckets(store, plan, { signal: stop.signal, onProgress })).rejects.toMatchObject({
    code: 'ABORTED',
  })
  expect(outcomesOf(events)).toEqual(['begun', 'stopped'])

  const [open] = await movesOf(store)
  const steps = new Set<string>()
  await undoMove(store, open!.id, { onProgress: ({ step }) => void steps.add(step) })
  expect([...steps]).toEqual(['undoing', 'undone'])
  expect(outcomesOf(events)).toEqual(['begun', 'stopped', 'begun', 'undone'])
})
