import { parseId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { tableSpec } from '@looseleaf/index-engine/internal'
import { moveBuckets, type MoveProgress } from '@looseleaf/mover/internal'
import { announceMove, copyIndexRows, createThrottle } from '@looseleaf/protocol/internal'
import { DataStore } from '@looseleaf/store'
import { keepOpen } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, onTestFinished, test } from 'vitest'
import { byName } from './stores.ts'

test('a claim is copied by the state of its entity at the shard that has it, also if the mover knows only the shard before', async () => {
  const driver = await memoryShards(2).connect()
  const openProcess = async (): Promise<DataStore> => {
    const store = await DataStore.open({
      shards: keepOpen(driver),
      indexes: [byName],
      migrate: true,
      time: leapingTime(),
    })
    onTestFinished(() => store.close())
    return store
  }
  const [mover, other] = [await openProcess(), await openProcess()]
  const { context } = mover
  const { ofId, ofKey } = context.router.buckets!
  const name = ['a', 'b', 'c', 'd', 'e'].find((text) => context.router.shardOfKey(Buffer.from(text)) === 0)!
  const bucket = ofKey(Buffer.from(name))
  let id = other.newId()
  while (context.router.shardOfId(parseId(id)) !== 0 || ofId(parseId(id)) === bucket) id = other.newId()
  const { version } = await other.put({ name }, { id })
  const move = await announceMove(context, { from: 0, to: 1, buckets: `${bucket}` })

  // The entity moves, and its row stays at its former shard.
  const interrupted = new AbortController()
  const onProgress = ({ step }: MoveProgress): void => {
    if (step === 'emptying') interrupted.abort()
  }
  const plan = { from: 0, to: 1, buckets: `${ofId(parseId(id))}` }
  const moved = moveBuckets(other, plan, { signal: interrupted.signal, onProgress })
  await expect(moved).rejects.toMatchObject({ code: 'ABORTED' })
  await other.put({}, { id })
  await other.settled()

  const entry = context.catalog.current().indexes.find(({ unique }) => unique)!
  const [source, target] = driver.shards.map((shard) => shard.claims(tableSpec(entry)))
  // A claim of an attempt that has died.
  await source!.take([{ key: [Buffer.from(name)], entityId: parseId(id), version }])
  const work = { context, move, throttle: createThrottle(context.time, undefined), signal: undefined }
  expect(await copyIndexRows(work, entry, { comparing: false })).toMatchObject({ found: 1, written: 0 })
  const [taken] = await target!.take([
    { key: [Buffer.from(name)], entityId: Buffer.alloc(16, 9), version: 1 },
  ])
  expect(taken!.entityId).toEqual(Buffer.alloc(16, 9))
})
